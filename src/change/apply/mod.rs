//! Applies changes in an environment: the engine, with the stores of this home and a final check of each session.

pub(crate) mod backfill;
mod bounds;
pub(crate) mod history;
pub(crate) mod in_use;
pub(crate) mod pins;
pub(crate) mod private_dir;
pub(crate) mod run;
pub(crate) mod state_dir;
pub(crate) mod undo;

use crate::error::{Refusal, RefusalCode};
use crate::session::when;
use changes::error::Error;

/// Converts an error of the engine to one with an exit code and a hint.
pub(crate) fn refusal(error: Error) -> anyhow::Error {
    let message = error.to_string();
    let refusal = match error {
        Error::Path(error) => return error.into(),
        Error::Locked { holder, waited } => {
            let who = holder.map_or_else(
                || "another rejoin".to_owned(),
                |holder| format!("process {} (rejoin {}, since {})", holder.pid, holder.verb, holder.since),
            );
            let waited =
                if waited.is_zero() { String::new() } else { format!("; waited {}", when::shown_period(waited)) };
            Refusal::new(RefusalCode::Locked, format!("{who} is changing sessions right now{waited}"))
                .hint("try again when it has finished, or wait longer with --lock-timeout")
        }
        Error::UnreadableRun(_) => {
            Refusal::new(RefusalCode::UnreadableRun, message).hint("`rejoin undo --list` shows the other runs")
        }
        Error::NothingToUndo => Refusal::new(RefusalCode::NothingToUndo, message),
        Error::NoSuchRun(_) => {
            Refusal::new(RefusalCode::NoSuchRun, message).hint("run `rejoin undo --list` to see the runs")
        }
        Error::Purged(_) => Refusal::new(RefusalCode::Purged, message),
    };
    refusal.into()
}
