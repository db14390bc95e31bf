//! The exit codes of a run, and the errors that carry an exit code and a hint.

mod code;

use std::io;
use std::process::ExitCode;

pub(crate) use code::RefusalCode;

/// The exit status of a run. The numbers are part of the interface (`rejoin help exit-codes`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success, also for an empty list.
    Ok,
    /// Failed.
    Failure,
    /// Wrong usage.
    Usage,
    /// Some items failed, the others succeeded.
    Partial,
    /// `doctor` has findings.
    Findings,
    /// No session matches the selector.
    NotFound,
    /// The selector matches several sessions, or several copies that evidence cannot rank.
    Ambiguous,
    /// Refused: the launch directory is gone, the session is live elsewhere, …
    Refused,
    /// A bug in rejoin ended the run.
    Bug,
    /// The agent's program cannot be executed.
    CannotRun,
    /// The agent's program does not exist.
    ProgramNotFound,
    /// The user left a prompt without an answer.
    Interrupted,
    /// A signal ended the run: 128 plus the signal's number.
    Signal(u8),
    /// The exit status of the agent that rejoin waited for.
    Agent(u8),
}

impl Exit {
    /// Returns the exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Partial => 3,
            Self::Findings => 4,
            Self::NotFound => 5,
            Self::Ambiguous => 6,
            Self::Refused => 7,
            Self::Bug => 101,
            Self::CannotRun => 126,
            Self::ProgramNotFound => 127,
            Self::Interrupted => 130,
            Self::Signal(status) | Self::Agent(status) => status,
        }
    }
}

/// Every exit code with its description, as in `rejoin help exit-codes` and in the man pages.
pub(crate) const EXIT_CODES: &[(u8, &str)] = &[
    (0, "done; an empty list is success"),
    (1, "failed, or you answered no and nothing was changed"),
    (2, "wrong usage, a mistake in the config file, or a removal without --yes and without a terminal to ask on"),
    (3, "partly done: some items failed or were refused, or a host did not answer; the rest were done"),
    (
        4,
        "`doctor` found an error or a warning, `archive --verify` found damage, or `cleanup --dry-run --exit-code` found something to do",
    ),
    (5, "no such session"),
    (6, "ambiguous: several sessions match, or the evidence cannot rank several copies; the candidates are listed"),
    (
        7,
        "refused: the launch directory is unknown, gone or not trusted; the session is live elsewhere, was resumed too often, or cannot be resumed or removed; a cleanup looks like a mistake, or a plan has changed",
    ),
    (101, "a bug in rejoin ended it: please report it"),
    (126, "the agent's program cannot be run"),
    (127, "the agent's program is not found"),
    (130, "interrupted"),
];

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

pub(crate) use changes::error::{PathError, reason};

/// An error that the user can act on: what failed, where, why, and the next command to type.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Refusal {
    /// The exit status of the run.
    pub exit: Exit,
    /// The reason, for scripts and for callers that handle it.
    pub code: RefusalCode,
    /// A description of the error with path and reason, without a period.
    pub message: String,
    /// The next command to type, or other advice.
    pub hint: Option<String>,
    /// The choices for the user, if there are several.
    pub candidates: Vec<RefusalCandidate>,
    /// The first search text of the picker, if the user could choose there instead.
    pub picker: Option<String>,
}

/// One of several sessions or copies that a selector could mean.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct RefusalCandidate {
    /// The agent of the session.
    pub agent: String,
    /// The full id.
    pub id: String,
    /// The path of the copy.
    pub path: String,
    /// The launch directory, `null` when unknown.
    pub dir: Option<String>,
    /// The title or else the first prompt.
    pub title: Option<String>,
    /// RFC 3339 time of the last activity, `null` when unknown.
    pub active_at: Option<String>,
    /// Bytes on disk.
    pub size_bytes: u64,
    /// Prompts and replies together, `null` when they were not counted.
    pub messages: Option<u64>,
    /// Its number for `--copy`, `null` when the session has one copy.
    pub copy: Option<usize>,
    /// The comparison with the first copy; `null` for that copy, or if they were not compared.
    pub differs: Option<String>,
    /// A selector for only this candidate.
    pub select: String,
    /// The fields that are shown as in a list.
    #[serde(skip)]
    pub row: CandidateTexts,
}

/// The texts of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CandidateTexts {
    /// The launch directory, shortened, or a question mark.
    pub dir: String,
    /// The last activity.
    pub active: String,
}

impl Refusal {
    /// Creates an error that ends the run with the usual exit code of its reason.
    pub(crate) fn new(code: RefusalCode, message: impl Into<String>) -> Self {
        Self { exit: code.exit(), code, message: message.into(), hint: None, candidates: Vec::new(), picker: None }
    }

    /// Adds a hint.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds choices for the user.
    #[must_use]
    pub(crate) fn candidates(mut self, candidates: Vec<RefusalCandidate>) -> Self {
        self.candidates = candidates;
        self
    }
}

/// Returns what to type after an error.
pub(crate) fn hint(error: &anyhow::Error) -> Option<&str> {
    /// A change needs some room for its journal, even one that makes room.
    const FULL_DISK: &str = "`rejoin undo --purge --every` deletes what is in the trash; a state directory on another disk \
                             is named by XDG_STATE_HOME";
    let is_full = || {
        let mut kinds = error.chain().filter_map(|cause| Some(cause.downcast_ref::<PathError>()?.kind()));
        kinds.any(|kind| matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    };
    match error.downcast_ref::<Refusal>() {
        Some(refusal) => refusal.hint.as_deref(),
        None => is_full().then_some(FULL_DISK),
    }
}

/// Returns whether an error is a pipe closed by its reader, which counts as success and is not reported.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        // JSON errors do not have the system's error as their source.
        let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        io.or(json) == Some(io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn io_error_reason_is_lower_case() {
        let error = PathError::new("read", Path::new("/x/y"), io::Error::from_raw_os_error(13));
        assert_eq!(error.to_string(), "cannot read /x/y: permission denied");
        let chain = anyhow::Error::from(error).context("cannot list");
        assert_eq!(format!("{chain:#}"), "cannot list: cannot read /x/y: permission denied", "the reason is said once");
    }

    #[test]
    fn every_exit_has_its_documented_meaning() {
        for exit in [
            Exit::Ok,
            Exit::Failure,
            Exit::Usage,
            Exit::Partial,
            Exit::Findings,
            Exit::NotFound,
            Exit::Ambiguous,
            Exit::Refused,
            Exit::CannotRun,
            Exit::ProgramNotFound,
            Exit::Interrupted,
        ] {
            assert!(EXIT_CODES.iter().any(|(code, _)| *code == exit.code()), "{exit:?}");
        }
    }
}
