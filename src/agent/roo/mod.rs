//! Roo Code, a fork of Cline's extension, and its command line: tasks with Cline's displayed messages, and
//! `history_item.json` with the facts about a task.
//!
//! Facts: read in RooCodeInc/Roo-Code cb836567 (3.52.1): packages/types/src/history.ts and message.ts,
//! src/core/task-persistence/TaskHistoryStore.ts and taskMetadata.ts, src/core/task/Task.ts, src/utils/storage.ts,
//! apps/cli/src/commands/cli/run.ts and lib/task-history/index.ts; never measured.

pub(super) mod about;

use super::cline::tasks::{self, Extension, Tasks};
use super::document::Document;
use super::ids::is_uuid;
use super::stores;
use super::unknown_format::has_any;
use crate::agent::prelude::*;
use crate::format::document::Shape;
use crate::format::json::{epoch, record};

/// The facts about a task.
const HISTORY_ITEM: &str = "history_item.json";
const MAX_ITEM: u64 = 4 * 1024 * 1024;
/// The component of the directory in which the command line stores tasks.
const COMMAND_LINE: &str = ".vscode-mock";

const ROO: Extension = Extension {
    agent: AgentKind::Roo,
    folder: "rooveterinaryinc.roo-cline",
    name: "Roo Code's extension",
    panel: "Roo Code's panel",
    document: Document {
        shape: Shape { list: "", members: &[] },
        turns: |raw| tasks::turn(raw).map(|turn| vec![turn]),
        first: Some(tasks::first_turn),
    },
    fill,
};

/// The parsed fields of `history_item.json`.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct HistoryItem<'a> {
    id: Text<'a>,
    parent_task_id: Text<'a>,
    /// The time of the last message, in milliseconds.
    ts: Option<&'a RawValue>,
    workspace: Text<'a>,
}

/// Implements [`Agent`](super::Agent) for Roo Code.
pub(super) struct Roo;

impl Reading for Roo {
    fn usual_stores(&self, env: &Env) -> Vec<Store> {
        stores::selected_stores(AgentKind::Roo, env).into_iter().chain(tasks::stores(&ROO, env)).collect()
    }

    fn engine(&self) -> &'static dyn Engine {
        &Tasks(&ROO)
    }

    /// Returns the file with the first prompt.
    fn texts(&self, place: &Located) -> Vec<PathBuf> {
        vec![place.path.join(HISTORY_ITEM)]
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        const SAYS: [&str; 11] = [
            "api_req_started",
            "api_req_finished",
            "api_req_retried",
            "api_req_retry_delayed",
            "api_req_rate_limit_wait",
            "api_req_deleted",
            "checkpoint_saved",
            "shell_integration_warning",
            "mcp_server_request_started",
            "sliding_window_truncation",
            "too_many_tools_warning",
        ];
        const ASKS: [&str; 2] = ["resume_task", "resume_completed_task"];
        has_any(record, &[("/say", &SAYS), ("/ask", &ASKS)])
    }
}

impl Resuming for Roo {
    fn warning(&self, copy: &SessionCopy, _env: &Env) -> Option<String> {
        (!is_of_command_line(copy)).then(|| tasks::warning(&ROO, copy))
    }

    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        if !is_of_command_line(copy) {
            return tasks::command(&ROO, copy, prompt);
        }
        refuse_prompt(
            prompt,
            "Roo Code takes no prompt with a task to resume; resume it without --prompt, and type it",
        )?;
        if !is_uuid(&copy.place.id) {
            return Err("Roo Code resumes a task by a UUID only, and its id is not one".into());
        }
        Ok(Command::new(&["roo", "--session-id", &copy.place.id], Vec::new()))
    }
}

impl Moving for Roo {}

impl Housekeeping for Roo {}

fn is_of_command_line(copy: &SessionCopy) -> bool {
    copy.place.store.root.components().any(|part| part.as_os_str() == COMMAND_LINE)
}

/// Adds the directory, the time and the parent of a task.
fn fill(copy: &mut SessionCopy, _context: &ReadContext<'_>) -> Result<(), PathError> {
    let path = copy.place.path.join(HISTORY_ITEM);
    let bytes = read_or_note(copy, &path, MAX_ITEM, HISTORY_ITEM).unwrap_or_default();
    let item: HistoryItem<'_> = record(&bytes).unwrap_or_default();
    if let Some(id) = item.id.filled().filter(|id| *id != copy.place.id) {
        copy.notes.push(format!("{HISTORY_ITEM} says that its id is {id}"));
    }
    if copy.active_at.is_none() {
        copy.active_at = epoch(item.ts, 1000).map(|at| Fact::new(at, "session"));
    }
    copy.parent_id = item.parent_task_id.filled().map(str::to_owned);
    if copy.parent_id.is_some() && copy.kind == SessionKind::Main {
        copy.kind = SessionKind::Subagent;
    }
    match item.workspace.filled() {
        Some(dir) => copy.set_dir(Some(dir), "workspace of history_item.json"),
        // The list of older versions was in a database of the editor.
        None => tasks::set_first_dir(copy),
    }
    Ok(())
}
