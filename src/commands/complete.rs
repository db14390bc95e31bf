//! Completion in a shell: the command line as a shell completes it, with session ids where a session is named.

use std::ffi::OsString;

use clap::CommandFactory as _;
use clap_complete::{ArgValueCandidates, CompleteEnv, CompletionCandidate};

use crate::cli::Cli;
use crate::error::Exit;
use crate::format::text;
use crate::scan::{self, Wanted};
use crate::session::select::{self, SortKey};
use crate::system::env::Env;

/// More than a screen of candidates helps nobody.
const MAX_CANDIDATES: usize = 50;

/// Answers a shell that asks for completions; `None` when none does.
pub(crate) fn answer(args: &[OsString]) -> Option<Exit> {
    match CompleteEnv::with_factory(command).try_complete(args.iter().cloned(), None) {
        Ok(is_answered) => is_answered.then_some(Exit::Ok),
        Err(error) => {
            // A shell that is gone wants no error.
            let _ = error.print();
            Some(Exit::Usage)
        }
    }
}

/// Returns the command line with candidates for each argument that names a session.
fn command() -> clap::Command {
    Cli::command().mut_subcommands(|verb| {
        verb.mut_args(|arg| {
            let names_session = arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == "SESSION"));
            if names_session { arg.add(ArgValueCandidates::new(session_ids)) } else { arg }
        })
    })
}

/// Returns the ids of the newest sessions with their titles.
///
/// The shell asks before the command line is complete, so `--home` is not known here.
fn session_ids() -> Vec<CompletionCandidate> {
    let Ok(env) = Env::read(None) else { return Vec::new() };
    let wanted = Wanted { sizes: false, ..Wanted::GLANCE };
    let mut sessions = scan::locate(&env, &[]).read_all(&env, wanted).sessions;
    sessions.retain(|session| session.copy().kind.is_listed());
    select::sort(&mut sessions, SortKey::Active, false);
    sessions
        .iter()
        .take(MAX_CANDIDATES)
        .map(|session| {
            let label = text::one_line(session.label().unwrap_or_default());
            CompletionCandidate::new(&session.id).help(Some(format!("{} {label}", session.agent).into()))
        })
        .collect()
}
