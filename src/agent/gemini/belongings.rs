//! Finds the files that belong to a session of Gemini CLI in addition to its record.

use std::ffi::OsStr;

use serde::de::IgnoredAny;

use super::{Gemini, has_messages, is_session_id, retention, saved};
use crate::agent::prelude::*;
use crate::agent::upkeep::{Orphan, OrphanKind, Retention, Strays, temporary};

/// Maximum size of a file that may be only the beginning of a header.
const MAX_HEADER: u64 = 4 * 1024;
/// The settings of a machine, which overrule those of a user (0.61.0).
const SYSTEM_SETTINGS: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/GeminiCli/settings.json"
} else {
    "/etc/gemini-cli/settings.json"
};

impl Housekeeping for Gemini {
    fn find_belongings(&self, place: &Located, listings: &Listings) -> Result<Belongings, Unable> {
        Ok(belongings(place, listings))
    }

    /// At a start in a project, Gemini CLI deletes every session there whose last record is old, and every file that it cannot
    /// resume (measured on 0.61.0). Settings of projects are not read.
    fn retention(&self, store: &Store, env: &Env) -> Option<Retention> {
        let system = (!env.foreign_home).then(|| PathBuf::from(SYSTEM_SETTINGS));
        let files: Vec<PathBuf> = system.into_iter().chain([store.root.join("settings.json")]).collect();
        let rule = retention::of_settings(&files, true)?;
        Some(Retention { is_by_record: true, takes_unopenable: true, ..rule })
    }

    fn orphans(&self, store: &Store, _env: &Env) -> Strays {
        let mut found = Found::default();
        let projects = found.dirs(&store.root.join("tmp"));
        let debris = |project: &PathBuf| {
            let entries = found.entries(&project.join("chats")).into_iter().filter(|(_, kind)| kind.is_file());
            entries.map(|(entry, _)| entry.path()).filter(|path| is_debris(path)).collect::<Vec<_>>()
        };
        let debris: Vec<PathBuf> = projects.iter().flat_map(debris).collect();
        let orphan = |path| Orphan { kind: OrphanKind::Debris, ..temporary(AgentKind::Gemini, path) };
        Strays { orphans: debris.into_iter().map(orphan).collect(), problems: found.problems }
    }

    fn companions(&self, place: &Located) -> Vec<PathBuf> {
        // These files name the directory of the project; without them the client files its directory under another
        // name.
        let project = place.project.as_deref().unwrap_or_default();
        let marker = |base| place.store.root.join(base).join(project).join(".project_root");
        ["tmp", "history"].map(marker).into_iter().filter(|path| !project.is_empty() && is_there(path)).collect()
    }
}

/// Returns whether a file in the place of a session is empty, or has only the beginning of a header: the client died, or
/// a sub-agent ran away. A file with anything else may be a session.
fn is_debris(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let is_of_session = name.starts_with("session-") && (name.ends_with(".jsonl") || name.ends_with(".json"));
    let Some(bytes) = Some(path).filter(|_| is_of_session).and_then(|path| fsio::read_bounded(path, MAX_HEADER).ok())
    else {
        return false;
    };
    let is_cut = |bytes: &[u8]| {
        let error = serde_json::from_slice::<IgnoredAny>(bytes).err();
        bytes.starts_with(b"{\"sessionId\"") && !has_messages(path) && error.is_some_and(|error| error.is_eof())
    };
    bytes.iter().all(|byte| *byte == 0) || is_cut(&bytes)
}

/// Finds the belongings of a copy; lists its directory once per project.
fn belongings(place: &Located, listings: &Listings) -> Belongings {
    let mut own = vec![place.path.to_path_buf()];
    let Some(chats) = place.path.parent().filter(|_| !saved::is_in(place)) else {
        return Belongings { own, shared: Vec::new() };
    };
    let name = place.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // The client keeps unreadable content in these files before it rewrites the session.
    own.extend(listings.read_once(chats).entries_beginning_with(&format!("{name}.unreadable-")));
    // Everything else is named by the id alone, and a project may have several files of one id.
    let temp = if place.is_subagent { chats.parent() } else { Some(chats) }.and_then(Path::parent);
    let Some(temp) = temp else { return Belongings { own, shared: Vec::new() } };
    let artifacts = |id: &str| {
        let name = format!("session-{id}");
        [temp.join("logs").join(format!("{name}.jsonl")), temp.join("tool-outputs").join(name), temp.join(id)]
    };
    let mut shared = artifacts(&place.id).to_vec();
    if !place.is_subagent {
        let subagents = chats.join(&place.id);
        for (entry, kind) in Found::default().entries(&subagents) {
            let path = entry.path();
            let id = path.file_stem().and_then(|stem| stem.to_str()).filter(|id| is_session_id(id));
            shared.extend(id.filter(|_| kind.is_file()).into_iter().flat_map(artifacts));
        }
        shared.push(subagents);
    }
    shared.retain(|path| is_there(path));
    Belongings { own, shared }
}
