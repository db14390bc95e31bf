//! Selects the run to undo, and reports unreadable runs.

use crate::change::apply::history::History;
use crate::change::apply::journal::Run;
use crate::change::apply::state_dir::{StateDir, order};
use crate::error::{Refusal, RefusalCode};
use crate::session::Problem;

/// The run to undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The newest run that can still be undone.
    Newest,
    /// The run of this name.
    Named(String),
}

pub(super) fn find<'a>(history: &'a History, which: &Which) -> Result<&'a Run, Refusal> {
    let unreadable = |problem: &Problem| {
        let message = format!("cannot read {}: {}", problem.path.display(), problem.reason);
        Refusal::new(RefusalCode::UnreadableRun, message).hint("`rejoin undo --list` shows the other runs")
    };
    match which {
        Which::Newest => {
            let newest = history.runs.iter().find(|run| run.is_undoable());
            // An unreadable run may be the newest.
            let is_later = |problem: &&Problem| newest.is_none_or(|run| order(name_of(problem)) > order(&run.id));
            if let Some(problem) = history.problems.iter().find(is_later) {
                return Err(unreadable(problem));
            }
            newest.ok_or_else(|| {
                Refusal::new(RefusalCode::NothingToUndo, "there is no run to undo")
                    .hint("run `rejoin undo --list` to see the runs")
            })
        }
        Which::Named(name) => {
            if let Some(problem) = history.problems.iter().find(|problem| name_of(problem) == name) {
                return Err(unreadable(problem));
            }
            let run = history.runs.iter().find(|run| run.id == *name).ok_or_else(|| {
                Refusal::new(RefusalCode::NoSuchRun, format!("there is no run {name}"))
                    .hint("run `rejoin undo --list` to see the runs")
            })?;
            if run.is_purged {
                let message = format!("what run {name} removed was purged from the trash");
                return Err(Refusal::new(RefusalCode::Purged, message));
            }
            Ok(run)
        }
    }
}

/// Returns the name of an unreadable run.
pub(super) fn name_of(problem: &Problem) -> &str {
    problem.path.file_stem().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Reports an unreadable entry that is left alone, with its path.
pub(super) fn not_understood(problem: &Problem, state_dir: &StateDir) -> String {
    let trash = state_dir.trash_of(name_of(problem));
    let path = problem.path.display();
    let rest = if trash == problem.path { String::new() } else { format!("; {} is left as it is", trash.display()) };
    format!("cannot read {path}: {}{rest}", problem.reason)
}
