//! Problems of a session: codes for scripts, marks for tables, descriptions for users.

use serde::{Deserialize, Serialize};
use strum::VariantArray as _;

/// A problem of a session; the names are `doctor`'s finding codes.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Health {
    /// One id has several copies.
    DuplicateSession,
    /// The session is in another project than the one to which its recorded directory encodes.
    MisfiledSession,
    /// The launch directory does not exist.
    MissingDirectory,
    /// No evidence counts for a launch directory.
    UnknownDirectory,
    /// The session has no session-info.json.
    SessionInfoMissing,
    /// The session-info.json is unusable.
    SessionInfoInvalid,
    /// The session-info.json names a directory that does not encode to the project.
    SessionInfoMismatch,
    /// The session has neither a prompt nor a reply.
    EmptySession,
    /// The records are not understood, so the session may contain a conversation.
    UnknownFormat,
    /// The last line of the transcript is torn.
    TornTranscript,
    /// The transcript has lines that cannot be read.
    BadLines,
    /// The session has no signature.
    Unsigned,
    /// The signature does not match the content or this machine's key.
    SignatureInvalid,
    /// A newer version of the agent wrote the session.
    UnsupportedVersion,
    /// Fields that the agent requires are missing.
    MissingFields,
    /// The session is larger than its agent loads.
    Oversize,
    /// The content is not valid for the agent.
    InvalidContent,
    /// The agent cannot open the session in its current form.
    CannotOpen,
    /// The agent's own list names another file for the id.
    Unlisted,
    /// The agent's list and the place of the session disagree whether it is archived.
    ArchiveMismatch,
    /// The session arrived with a directory, and the agent's own records do not name it.
    Planted,
    /// The session contains a time in the future.
    FutureTime,
}

impl Health {
    /// Returns the short mark for a table.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Self::DuplicateSession => "duplicate",
            Self::MisfiledSession => "misfiled",
            Self::MissingDirectory => "dir gone",
            Self::UnknownDirectory => "dir unknown",
            Self::SessionInfoMissing => "no info",
            Self::SessionInfoInvalid => "bad info",
            Self::SessionInfoMismatch => "info mismatch",
            Self::EmptySession => "empty",
            Self::UnknownFormat => "unknown format",
            Self::TornTranscript => "torn",
            Self::BadLines => "bad lines",
            Self::Unsigned => "unsigned",
            Self::SignatureInvalid => "bad signature",
            Self::UnsupportedVersion => "newer version",
            Self::MissingFields => "fields missing",
            Self::Oversize => "oversize",
            Self::InvalidContent => "invalid",
            Self::CannotOpen => "cannot open",
            Self::Unlisted => "unlisted",
            Self::ArchiveMismatch => "closed?",
            Self::Planted => "planted",
            Self::FutureTime => "future",
        }
    }

    /// Returns whether `resume` warns of this problem.
    pub(crate) fn warns_before_resume(self) -> bool {
        matches!(
            self,
            Self::MisfiledSession
                | Self::SessionInfoMismatch
                | Self::TornTranscript
                | Self::SignatureInvalid
                | Self::Oversize
                | Self::UnsupportedVersion
                | Self::MissingFields
                | Self::InvalidContent
                | Self::Unlisted
                | Self::ArchiveMismatch
                | Self::Planted
        )
    }

    /// Returns the stable code, as in JSON.
    pub(crate) fn code(self) -> &'static str {
        self.into()
    }

    /// Returns the description, a sentence without a period.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::DuplicateSession => "the id has several copies",
            Self::MisfiledSession => "its recorded directory belongs to another project",
            Self::MissingDirectory => "its launch directory does not exist here",
            Self::UnknownDirectory => "the directory it was started in is unknown",
            Self::SessionInfoMissing => "it has no session-info.json",
            Self::SessionInfoInvalid => "its session-info.json is unusable",
            Self::SessionInfoMismatch => "its session-info.json names a directory of another project",
            Self::EmptySession => "it has neither a prompt nor a reply",
            Self::UnknownFormat => {
                "it has records in an unknown format; update rejoin, and report it if that does not help"
            }
            Self::TornTranscript => "the last line of its transcript was cut off",
            Self::BadLines => "its transcript has lines that cannot be read",
            Self::Unsigned => "it has no signature, and JidoCode accepts it with a warning",
            Self::SignatureInvalid => "its signature does not match its content and this machine's key",
            Self::UnsupportedVersion => "it was written by a newer version of its agent",
            Self::MissingFields => "fields that its agent requires are missing",
            Self::Oversize => "it is too large for its agent to load",
            Self::InvalidContent => "its content is not in its agent's format",
            Self::CannotOpen => "its agent cannot open it as it is",
            Self::Unlisted => {
                "its agent's own list does not lead to it, so the agent does not find it, or not all of it"
            }
            Self::ArchiveMismatch => "its agent's list and its place disagree whether it is closed",
            Self::Planted => {
                "it came with a directory that its agent has not registered, so anybody may have written it"
            }
            Self::FutureTime => "it holds a time that is still to come",
        }
    }
}

/// A set of problems, one bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HealthSet(u32);

impl HealthSet {
    /// Adds a problem.
    pub(crate) fn insert(&mut self, problem: Health) {
        self.0 |= Self::bit(problem);
    }

    /// Removes a problem.
    pub(crate) fn remove(&mut self, problem: Health) {
        self.0 &= !Self::bit(problem);
    }

    /// Returns whether the set has a problem.
    pub(crate) fn contains(self, problem: Health) -> bool {
        self.0 & Self::bit(problem) != 0
    }

    /// Returns the problems in the order in which [`Health`] lists them.
    pub(crate) fn iter(self) -> impl Iterator<Item = Health> {
        Health::VARIANTS.iter().copied().filter(move |problem| self.contains(*problem))
    }

    fn bit(problem: Health) -> u32 {
        1 << problem as u32
    }
}

impl FromIterator<Health> for HealthSet {
    fn from_iter<I: IntoIterator<Item = Health>>(problems: I) -> Self {
        Self(problems.into_iter().fold(0, |bits, problem| bits | Self::bit(problem)))
    }
}

impl std::fmt::Debug for HealthSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
