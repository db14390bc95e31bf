//! Claude Desktop: tasks of its local agent mode ("Cowork"), each with a separate configuration directory for Claude Code,
//! and the index of its Code tab, whose sessions are in the client's own directory.
//!
//! `<config>/Claude/claude-code-sessions/<account>/<organisation>/local_<id>.json` names a session of the Code tab, with
//! the title and the archive mark that the app shows, its star (`isStarred`, by anthropics/claude-code #89451), and the
//! routine that ran it (`scheduledTaskId`, #78229).
//!
//! `<config>/Claude/local-agent-mode-sessions/<organisation>/<account>/[agent/]local_<id>/.claude`, with
//! `local_<id>.json` about the task next to its folder. Facts: skillsynchq/txcript 6699e3ed, docs/formats/cowork.md;
//! the app was never measured. Claude Code 2.1.332 resumed an invented task with its folder as `CLAUDE_CONFIG_DIR`, and
//! did not find it without.

use std::ffi::OsStr;

use serde_json::Value;

use super::sidecar;
use crate::agent::ids::is_uuid;
use crate::agent::mentions::Mention;
use crate::agent::prelude::*;
use crate::session::KeptBy;

const TASKS: &str = "local-agent-mode-sessions";
const INDEX: &str = "claude-code-sessions";
/// The source of a title in the index.
pub(super) const TITLE: &str = "desktop-app";
/// The note on a session that no person started.
const ROUTINE: &str = "a routine of Claude Desktop ran it";
/// The record of a task also contains the system prompt.
const MAX_RECORD: u64 = 4 * 1024 * 1024;

/// Returns the subdirectories whose names match a predicate.
fn dirs(dir: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut dirs = Found::default().dirs(dir);
    dirs.retain(|dir| dir.file_name().and_then(OsStr::to_str).is_some_and(&is_wanted));
    dirs
}

/// Returns a directory of the app, and the directories two levels below it, whose names are UUIDs.
fn accounts(env: &Env, name: &str) -> (PathBuf, Vec<PathBuf>) {
    let config =
        if cfg!(target_os = "macos") { env.home.join("Library/Application Support") } else { env.config_dir() };
    let top = config.join("Claude").join(name);
    let accounts = dirs(&top, is_uuid).iter().flat_map(|dir| dirs(dir, is_uuid)).collect();
    (top, accounts)
}

/// An entry of the index of the Code tab.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DesktopEntry {
    cli_session_id: Option<String>,
    title: Option<String>,
    cwd: Option<String>,
    is_archived: bool,
    is_starred: Option<Value>,
    scheduled_task_id: Option<Value>,
}

/// Reads the index of the Code tab, without the files that cannot be read. Returns its directory, and each entry with its
/// path.
fn index(env: &Env) -> (PathBuf, Vec<(PathBuf, DesktopEntry)>) {
    let (top, accounts) = accounts(env, INDEX);
    let mut entries = Vec::new();
    for account in accounts {
        Found::default().each_json(&account, MAX_RECORD, |path, bytes| {
            entries.extend(serde_json::from_slice(bytes).ok().map(|entry| (path, entry)));
        });
    }
    (top, entries)
}

/// Returns the titles and archive marks of the Code tab, whose sessions are in the client's default directory.
pub(super) fn notes(store: &Store, env: &Env) -> StoreNotes {
    let mut notes = StoreNotes::default();
    if store.is_default {
        for (_, DesktopEntry { cli_session_id, title, is_archived, is_starred, scheduled_task_id, .. }) in index(env).1
        {
            let Some(id) = cli_session_id else { continue };
            let starred = || (id.clone(), KeptBy::new("starred in Claude Desktop", "remove the star there"));
            notes.kept_by.extend(is_starred.filter(|is| *is != Value::Bool(false)).map(|_| starred()));
            notes.scheduled.extend(scheduled_task_id.map(|_| id.clone()));
            let title = title.map(|title| title.trim().to_owned()).filter(|title| !title.is_empty());
            notes.names.extend(title.map(|title| (id.clone(), Fact::new(title, TITLE))));
            notes.archived.insert(id, is_archived);
        }
    }
    notes
}

/// Returns the sessions in the index of the Code tab.
pub(super) fn mentions(store: &Store, env: &Env) -> Vec<Mention> {
    let (list, entries) = if store.is_default { index(env) } else { Default::default() };
    let mention = |(path, entry): (PathBuf, DesktopEntry)| Mention {
        agent: AgentKind::Claude,
        id: entry.cli_session_id,
        list: list.clone(),
        entry: Some(path),
        dir: entry.cwd.map(PathBuf::from),
        at: None,
        text: entry.title.unwrap_or_default(),
    };
    entries.into_iter().map(mention).collect()
}

/// Finds the configuration directories of all tasks with transcripts. The names of organisations and accounts are
/// UUIDs.
pub(super) fn roots(env: &Env) -> Vec<PathBuf> {
    let (_, accounts) = accounts(env, TASKS);
    let folders = accounts.into_iter().flat_map(|account| [account.join("agent"), account]);
    let tasks = folders.flat_map(|folder| dirs(&folder, |name| name.starts_with("local_")));
    let mut roots: Vec<PathBuf> = tasks.map(|task| task.join(".claude")).collect();
    roots.retain(|root| links::is_dir(&root.join("projects")));
    roots.sort();
    roots
}

/// Returns the directory of all tasks if `root` is the configuration directory of one.
pub(super) fn tasks(root: &Path) -> Option<&Path> {
    root.ancestors().skip(1).find(|dir| dir.ends_with(TASKS)).filter(|_| root.ends_with(".claude"))
}

/// Returns whether a store belongs to a task.
pub(super) fn is_in(store: &Store) -> bool {
    tasks(&store.root).is_some()
}

/// Sets the title of a copy to that of its task, unless the transcript contains one; or to that in the index of the Code
/// tab, unless the user named it in the client. Marks what the app has archived.
pub(super) fn entitle(copy: &mut SessionCopy, notes: &StoreNotes) {
    let is_named = copy.title.as_ref().is_some_and(|title| ["custom-title", sidecar::TITLE].contains(&title.source));
    if let Some(name) = notes.names.get(&copy.place.id).filter(|_| !is_named) {
        copy.title = Some(name.clone());
    }
    if notes.scheduled.contains(&copy.place.id) && copy.kind == SessionKind::Main {
        copy.kind = SessionKind::Exec;
        copy.notes.push(ROUTINE.to_owned());
    }
    if notes.archived.get(&copy.place.id) == Some(&true) && copy.kind.is_listed() {
        copy.kind = SessionKind::Archived;
        copy.notes.push("closed in Claude Desktop; Claude Code resumes it nevertheless".to_owned());
    }
    let Some(task) = copy.place.store.root.parent().filter(|_| copy.title.is_none() && is_in(&copy.place.store)) else {
        return;
    };
    let name = format!("{}.json", task.file_name().unwrap_or_default().to_string_lossy());
    // An unreadable record has no title.
    let bytes = fsio::read_if_present(&task.with_file_name(name), MAX_RECORD).ok().flatten().unwrap_or_default();
    let record: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let is_own = record.get("cliSessionId").and_then(Value::as_str).is_none_or(|id| id == copy.place.id);
    let title = record.get("title").and_then(Value::as_str).map(str::trim).filter(|title| is_own && !title.is_empty());
    copy.title = title.map(|title| Fact::new(title, "task"));
}

/// Returns whether a routine of the app ran a session.
pub(super) fn is_of_routine(copy: &SessionCopy) -> bool {
    copy.notes.iter().any(|note| note == ROUTINE)
}

/// Returns a warning for a task that is resumed outside of the app.
pub(super) fn warning(store: &Store) -> Option<String> {
    is_in(store).then(|| {
        "Claude Desktop started this session; Claude Code finds it in the app's directory, but may ask you to log in there, and lacks \
         the app's tools and instructions"
            .to_owned()
    })
}
