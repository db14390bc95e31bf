//! Facts about Claude Code for `doctor`: directories whose transcript is gone, registrations that a kill left, its own
//! deletion by age, and the chain of records.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;

use jiff::SignedDuration;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::live::{Registered, each_registration};
use super::relocation::{MAX_GLOBAL, global_file};
use super::{Claude, liveness};
use crate::agent::ids::is_uuid;
use crate::agent::log_places::uuids_in;
use crate::agent::prelude::*;
use crate::agent::upkeep::{
    Link, Orphan, OrphanKind, Retention, Strays, contents, is_own_temporary, modified_at, skimmed_link, temporary,
};
use crate::format::json::whole_record;

/// Settings of administrators, which override those of users (Claude Code's documentation, settings).
const MANAGED_SETTINGS: &str = "/etc/claude-code/managed-settings.json";
const MAX_SETTINGS: u64 = 4 * 1024 * 1024;
const RETENTION_KEY: &str = "cleanupPeriodDays";
/// The period without a setting (documented, and measured on 2.1.330).
const DEFAULT_DAYS: i64 = 30;

pub(super) fn orphans(agent: &Claude, store: &Store, env: &Env) -> Strays {
    let notes = agent.notes(store, env);
    let is_live = |id: &str| notes.live.get(id).is_some_and(|records| liveness(records) != Liveness::Idle);
    let mut found = Found::default();
    let projects = found.dirs(&store.root.join("projects"));
    let mut orphans = found.in_each(&projects, &|project, found| strays_in(project, is_live, found));
    registrations(store, env, &mut orphans, &mut found);
    Strays { orphans, problems: found.problems }
}

/// Finds temporary files in a project, and directories of sessions that have no transcript and are not in use.
fn strays_in(project: &Path, is_live: impl Fn(&str) -> bool, found: &mut Found) -> Vec<Orphan> {
    let mut orphans = Vec::new();
    let mut files: HashSet<OsString> = HashSet::new();
    let mut dirs = Vec::new();
    for (entry, kind) in found.entries(project) {
        let name = entry.file_name();
        match name.to_str() {
            Some(id) if kind.is_dir() && is_uuid(id) => dirs.push((id.to_owned(), entry.path())),
            Some(name) if kind.is_file() && is_own_temporary(name) => {
                orphans.push(temporary(AgentKind::Claude, entry.path()));
            }
            _ => {}
        }
        files.insert(name);
    }
    for (id, path) in dirs {
        let transcript = format!("{id}.jsonl");
        // The listing omits links, but a link of that name is a transcript too.
        if files.contains(Path::new(&transcript).as_os_str())
            || path.with_extension("jsonl").symlink_metadata().is_ok()
            || is_live(&id)
        {
            continue;
        }
        let (count, modified_at) = contents(&path);
        let (kind, holds) = match count {
            Ok(0) => (OrphanKind::Belongings, "nothing".to_owned()),
            Ok(1) => (OrphanKind::Belongings, "1 file".to_owned()),
            Ok(count) => (OrphanKind::Belongings, format!("{count} files")),
            Err(why) => (OrphanKind::UnreadBelongings, why),
        };
        let (agent, session_id, namesakes) = (AgentKind::Claude, Some(id), Vec::new());
        orphans.push(Orphan { agent, kind, session_id, path, holds, modified_at, namesakes });
    }
    find_namesakes(project, &mut orphans);
    orphans
}

/// Finds the files in and below a project that have the id of an orphan in their names: another program may have renamed
/// or moved the transcript. What cannot be listed may be the transcript, too.
fn find_namesakes(project: &Path, orphans: &mut [Orphan]) {
    let mut orphans: HashMap<String, &mut Orphan> = orphans
        .iter_mut()
        .filter(|orphan| orphan.kind != OrphanKind::Temporary)
        .filter_map(|orphan| Some((orphan.session_id.as_ref()?.to_ascii_lowercase(), orphan)))
        .collect();
    if orphans.is_empty() {
        return;
    }
    for entry in walkdir::WalkDir::new(project).sort_by_file_name() {
        match entry {
            Ok(entry) if entry.file_type().is_dir() => {}
            Ok(entry) => {
                let name = entry.file_name().to_string_lossy();
                for id in uuids_in(&name) {
                    if let Some(orphan) = orphans.get_mut(&id.to_ascii_lowercase()) {
                        orphan.namesakes.push(entry.path().to_owned());
                    }
                }
            }
            Err(error) => {
                let unread = error.path().unwrap_or(project);
                orphans.values_mut().for_each(|orphan| orphan.namesakes.push(unread.to_owned()));
            }
        }
    }
}

/// Finds registrations of processes that have ended: a kill leaves them until the next start of the client.
fn registrations(store: &Store, env: &Env, orphans: &mut Vec<Orphan>, found: &mut Found) {
    if env.foreign_home {
        // The processes of another machine or container are not visible.
        return;
    }
    each_registration(store, found, |Registered { path, id, process, .. }| {
        if liveness(std::slice::from_ref(&process)) == Liveness::Idle {
            let (agent, kind) = (AgentKind::Claude, OrphanKind::Registration);
            let holds = format!("process {}, which has ended", process.pid);
            orphans.push(Orphan {
                agent,
                kind,
                session_id: id,
                holds,
                modified_at: modified_at(&path),
                path,
                namesakes: Vec::new(),
            });
        }
    });
}

#[derive(Deserialize)]
struct Settings {
    #[serde(default, rename = "cleanupPeriodDays")]
    days: Option<Value>,
}

pub(super) fn retention(store: &Store, env: &Env) -> Option<Retention> {
    let managed = (!env.foreign_home).then(|| PathBuf::from(MANAGED_SETTINGS));
    if let Some(managed) = managed.map_or(Ok(None), set_period).ok()? {
        return Some(managed);
    }
    let own = store.root.join("settings.json");
    let usual = match set_period(own.clone()).ok()? {
        Some(set) if set.refused.is_some() => return Some(set),
        Some(set) => set,
        None => after(DEFAULT_DAYS, own),
    };
    // The settings of a project replace those of the user. Ten minutes after a start there, the client deletes the
    // sessions of every project by them (measured on 2.1.332; anthropics/claude-code 90148).
    let of_project = |dir: PathBuf| {
        let files = ["settings.local.json", "settings.json"].map(|name| dir.join(".claude").join(name));
        let set = files
            .into_iter()
            .filter(|file| reach::exists(file) == Some(true))
            .find_map(|file| set_period(file).ok()?);
        Some(Retention { only_in: Some(dir), ..set? })
    };
    let projects = started_in(store, env).into_iter().filter(|dir| dir.join(".claude") != store.root);
    let shorter = projects.filter_map(of_project).filter(|set| set.period < usual.period);
    Some(shorter.min_by_key(|set| set.period).unwrap_or(usual))
}

/// Reads the period in a settings file; `None` if it sets none. Fails if the file cannot be read: the client then
/// deletes nothing (documented).
fn set_period(path: PathBuf) -> Result<Option<Retention>, ()> {
    let Some(bytes) = fsio::read_if_present(&path, MAX_SETTINGS).map_err(drop)? else { return Ok(None) };
    let settings: Settings = serde_json::from_slice(&bytes).map_err(drop)?;
    Ok(settings.days.map(|value| match whole_days(&value) {
        Some(days) => Retention { is_set: true, ..after(days, path) },
        None => Retention { is_set: true, refused: Some(value.to_string()), ..after(0, path) },
    }))
}

/// Returns the directories in which the client of a store was started: those in its global file.
fn started_in(store: &Store, env: &Env) -> Vec<PathBuf> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Global {
        projects: BTreeMap<PathBuf, IgnoredAny>,
    }
    if env.foreign_home {
        return Vec::new();
    }
    let bytes = fsio::read_if_present(&global_file(store, env), MAX_GLOBAL).ok().flatten();
    let global: Option<Global> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    global.map(|global| global.projects.into_keys().collect()).unwrap_or_default()
}

/// Parses a number of days that all versions accept. Versions before 2.1.89 keep nothing at 0, later ones accept no
/// number below 1 (documented); a fraction or a string is not documented for any version.
fn whole_days(value: &Value) -> Option<i64> {
    let days = value.as_f64().filter(|days| *days >= 1.0 && days.fract() == 0.0)?;
    // Users who want to keep everything set a very large number.
    #[expect(clippy::cast_possible_truncation, reason = "it is cut to a number that fits")]
    Some(days.min(1e6) as i64)
}

fn after(days: i64, path: PathBuf) -> Retention {
    let period = SignedDuration::from_hours(days * 24);
    Retention::new(period, (path, RETENTION_KEY))
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Chained<'a> {
    uuid: Text<'a>,
    parent_uuid: Text<'a>,
    leaf_uuid: Text<'a>,
}

/// Parses the chain: in an untouched file no parent is missing (measured on 2.1.330 and 2.1.197).
pub(in crate::agent) fn link(line: &[u8]) -> Option<Link<'_>> {
    skimmed_link(line, ["uuid", "parentUuid", "leafUuid"]).or_else(|| {
        let chained: Chained<'_> = whole_record(line)?;
        Some(Link {
            id: chained.uuid.into_inner(),
            parent: chained.parent_uuid.into_inner(),
            leaf: chained.leaf_uuid.into_inner(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_json_object_is_a_record() {
        let found = link(br#"{"uuid":"a","parentUuid":"b","message":{}}"#).expect("a link");
        assert_eq!((found.id.as_deref(), found.parent.as_deref()), (Some("a"), Some("b")));
        assert_eq!(link(br#"{"parentUuid":null,"type":"mode"}"#), Some(Link::default()));
        for bad in [
            &b"[]"[..],
            b"{} {}",
            b"{\"a\":",
            b"\0\0",
            b"null",
            br#"{"a":{"b" 1}}"#,
            br#"{"uuid":"a","uuid":"a"}"#,
            b"{\"a\":\"\t\"}",
            br#"{"a":"\x"}"#,
        ] {
            assert_eq!(link(bad), None, "{bad:?}");
        }
        // JavaScript reads these as well.
        assert!(link(br#"{"uuid":1e999}"#).is_some() && link(br#"{"uuid":"\ud800"}"#).is_some());
        assert!(link(br#"{"a":"\ud800\"","uuid":"\u0061"}"#).is_some_and(|link| link.id.as_deref() == Some("a")));
    }
}
