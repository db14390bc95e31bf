//! Completion of session ids in a shell: what is typed after `resume` and its like.

use clap_complete::CompletionCandidate;

use crate::env::Env;
use crate::render::text;
use crate::scan::{self, Wanted};
use crate::select::{self, SortKey};

/// More than a screen of candidates helps nobody.
const MOST: usize = 50;

/// Returns the ids of the newest sessions with their titles.
///
/// The shell asks before the command line is complete, so `--home` is not known here.
pub(crate) fn session_ids() -> Vec<CompletionCandidate> {
    let Ok(env) = Env::read(None) else { return Vec::new() };
    let wanted = Wanted { sizes: false, ..Wanted::GLANCE };
    let mut sessions = scan::locate(&env, &[]).read_all(&env, wanted).sessions;
    sessions.retain(|session| session.copy().kind.is_listed());
    select::sort(&mut sessions, SortKey::Active, false);
    sessions
        .iter()
        .take(MOST)
        .map(|session| {
            let label = text::one_line(session.label().unwrap_or_default());
            CompletionCandidate::new(&session.id).help(Some(format!("{} {label}", session.agent).into()))
        })
        .collect()
}
