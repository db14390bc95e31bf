//! Finds the files that belong to a session of Gemini CLI in addition to its record.

use super::{Gemini, is_session_id, saved};
use crate::agent::prelude::*;

impl Housekeeping for Gemini {
    fn find_belongings(&self, place: &Located, listings: &Listings) -> Result<Belongings, Unable> {
        Ok(belongings(place, listings))
    }

    fn companions(&self, place: &Located) -> Vec<PathBuf> {
        // These files name the directory of the project; without them the client files its directory under another
        // name.
        let project = place.project.as_deref().unwrap_or_default();
        let marker = |base| place.store.root.join(base).join(project).join(".project_root");
        ["tmp", "history"].map(marker).into_iter().filter(|path| !project.is_empty() && is_there(path)).collect()
    }
}

/// Finds the belongings of a copy; lists its directory once per project.
fn belongings(place: &Located, listings: &Listings) -> Belongings {
    let mut own = vec![place.path.to_path_buf()];
    let Some(chats) = place.path.parent().filter(|_| !saved::is_in(place)) else {
        return Belongings { own, shared: Vec::new() };
    };
    let name = place.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // The client keeps unreadable content in these files before it rewrites the session.
    own.extend(listings.of(chats).with(&format!("{name}.unreadable-")));
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
