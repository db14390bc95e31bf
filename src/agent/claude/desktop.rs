//! Tasks of Claude Desktop's local agent mode ("Cowork"), each with a separate configuration directory for Claude Code.
//!
//! `<config>/Claude/local-agent-mode-sessions/<organisation>/<account>/[agent/]local_<id>/.claude`, with
//! `local_<id>.json` about the task next to its folder. Facts: skillsynchq/txcript 6699e3ed, docs/formats/cowork.md;
//! the app was never measured. Claude Code 2.1.332 resumed an invented task with its folder as `CLAUDE_CONFIG_DIR`, and
//! did not find it without.

use std::ffi::OsStr;

use serde_json::Value;

use crate::agent::ids::is_uuid;
use crate::agent::prelude::*;

const TASKS: &str = "local-agent-mode-sessions";
/// The record of a task also contains the system prompt.
const MAX_RECORD: u64 = 4 * 1024 * 1024;

/// Finds the configuration directories of all tasks with transcripts. The names of organisations and accounts are
/// UUIDs.
pub(super) fn roots(env: &Env) -> Vec<PathBuf> {
    let config =
        if cfg!(target_os = "macos") { env.home.join("Library/Application Support") } else { env.config_dir() };
    let dirs = |dir: &Path, is_wanted: &dyn Fn(&str) -> bool| -> Vec<PathBuf> {
        let mut dirs = Found::default().dirs(dir);
        dirs.retain(|dir| dir.file_name().and_then(OsStr::to_str).is_some_and(is_wanted));
        dirs
    };
    let organisations = dirs(&config.join("Claude").join(TASKS), &is_uuid);
    let accounts = organisations.iter().flat_map(|organisation| dirs(organisation, &is_uuid));
    let folders = accounts.flat_map(|account| [account.join("agent"), account]);
    let tasks = folders.flat_map(|folder| dirs(&folder, &|name| name.starts_with("local_")));
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

/// Sets the title of a copy to that of its task, unless the transcript contains one.
pub(super) fn entitle(copy: &mut SessionCopy) {
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

/// Returns a warning for a task that is resumed outside of the app.
pub(super) fn warning(store: &Store) -> Option<String> {
    is_in(store).then(|| {
        "Claude Desktop started this session; Claude Code finds it in the app's directory, but may ask you to log in there, and lacks \
         the app's tools and instructions"
            .to_owned()
    })
}
