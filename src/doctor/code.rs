//! The codes of findings: stable names, possible severities, and meanings.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use strum::VariantArray as _;

use crate::session::Health;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Severity {
    /// A session cannot be read or resumed, or the right copy cannot be determined.
    Error,
    /// The session can be resumed, but something is lost, will be lost, or is misleading.
    Warning,
    /// A fact that needs no action.
    Note,
}

impl Severity {
    /// Returns the word of the JSON contract.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

/// The kinds of findings. Those that are also in a session's `health` have the same name there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Code {
    DuplicateSession,
    SharedId,
    AmbiguousPrefix,
    MisfiledSession,
    MissingDirectory,
    LinkedDirectory,
    UnknownDirectory,
    SlugCollision,
    SessionInfoMissing,
    SessionInfoInvalid,
    SessionInfoMismatch,
    EmptySession,
    UnknownFormat,
    TornTranscript,
    BadLines,
    BrokenChain,
    OtherBranches,
    StuckSession,
    OrphanBelongings,
    DanglingPointer,
    StaleCwdRecord,
    SignatureInvalid,
    Unsigned,
    UnsupportedVersion,
    MissingFields,
    Oversize,
    InvalidContent,
    CannotOpen,
    Unlisted,
    ArchiveMismatch,
    Planted,
    FutureTime,
    LeftoverTemp,
    UnreadFile,
    GoneSession,
    LargeSession,
    LargeOutput,
    ExpiresSoon,
    Unreadable,
    InterruptedRun,
}

impl Code {
    /// Every code, in the order of the answers.
    pub(crate) const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the code of a problem that is also in `health` of `list` and `show`.
    pub(crate) fn from_health(health: Health) -> Self {
        match health {
            Health::DuplicateSession => Self::DuplicateSession,
            Health::MisfiledSession => Self::MisfiledSession,
            Health::MissingDirectory => Self::MissingDirectory,
            Health::UnknownDirectory => Self::UnknownDirectory,
            Health::SessionInfoMissing => Self::SessionInfoMissing,
            Health::SessionInfoInvalid => Self::SessionInfoInvalid,
            Health::SessionInfoMismatch => Self::SessionInfoMismatch,
            Health::EmptySession => Self::EmptySession,
            Health::UnknownFormat => Self::UnknownFormat,
            Health::TornTranscript => Self::TornTranscript,
            Health::BadLines => Self::BadLines,
            Health::Unsigned => Self::Unsigned,
            Health::SignatureInvalid => Self::SignatureInvalid,
            Health::UnsupportedVersion => Self::UnsupportedVersion,
            Health::MissingFields => Self::MissingFields,
            Health::Oversize => Self::Oversize,
            Health::InvalidContent => Self::InvalidContent,
            Health::CannotOpen => Self::CannotOpen,
            Health::Unlisted => Self::Unlisted,
            Health::ArchiveMismatch => Self::ArchiveMismatch,
            Health::Planted => Self::Planted,
            Health::FutureTime => Self::FutureTime,
        }
    }

    /// Returns its possible severities, the worst first, and its meaning.
    const fn facts(self) -> (&'static [Severity], &'static str) {
        use Severity::{Error, Note, Warning};
        match self {
            Self::DuplicateSession => (&[Error, Warning, Note], Health::DuplicateSession.meaning()),
            Self::SharedId => (&[Warning], "several agents have a session with the same id"),
            Self::AmbiguousPrefix => (&[Warning], "the short id that the agent prints matches several sessions"),
            Self::MisfiledSession => (&[Warning], Health::MisfiledSession.meaning()),
            Self::MissingDirectory => (&[Warning], Health::MissingDirectory.meaning()),
            Self::LinkedDirectory => {
                (&[Warning], "its launch directory leads to another one, where its agent does not find it")
            }
            Self::UnknownDirectory => (&[Warning], Health::UnknownDirectory.meaning()),
            Self::SlugCollision => (&[Note], "one project on disk holds sessions of several directories"),
            Self::SessionInfoMissing => (&[Note], Health::SessionInfoMissing.meaning()),
            Self::SessionInfoInvalid => (&[Warning], Health::SessionInfoInvalid.meaning()),
            Self::SessionInfoMismatch => (&[Warning], Health::SessionInfoMismatch.meaning()),
            Self::EmptySession => (&[Note], Health::EmptySession.meaning()),
            Self::UnknownFormat => (&[Warning], Health::UnknownFormat.meaning()),
            Self::TornTranscript => (&[Warning, Note], Health::TornTranscript.meaning()),
            Self::BadLines => (&[Warning], Health::BadLines.meaning()),
            Self::BrokenChain => {
                (&[Warning], "a record names a parent that is missing, so a resume loses the messages before it")
            }
            Self::OtherBranches => {
                (&[Warning, Note], "its agent's resume shows one of its branches, and not the messages on others")
            }
            Self::StuckSession => (&[Warning], "its last replies are API errors that a retry does not fix"),
            Self::OrphanBelongings => (&[Warning, Note], "files of a session are not next to its transcript"),
            Self::DanglingPointer => (&[Warning, Note], "a file names a session but does not lead to it"),
            Self::StaleCwdRecord => (&[Note], "a record of a session's directory is no longer needed"),
            Self::SignatureInvalid => (&[Error], Health::SignatureInvalid.meaning()),
            Self::Unsigned => (&[Note], Health::Unsigned.meaning()),
            Self::UnsupportedVersion => (&[Error], Health::UnsupportedVersion.meaning()),
            Self::MissingFields => (&[Error], Health::MissingFields.meaning()),
            Self::Oversize => (&[Error], Health::Oversize.meaning()),
            Self::InvalidContent => (&[Error], Health::InvalidContent.meaning()),
            Self::CannotOpen => (&[Error], Health::CannotOpen.meaning()),
            Self::Unlisted => (&[Warning, Note], Health::Unlisted.meaning()),
            Self::ArchiveMismatch => (&[Warning], Health::ArchiveMismatch.meaning()),
            Self::Planted => (&[Warning], Health::Planted.meaning()),
            Self::FutureTime => (&[Warning], Health::FutureTime.meaning()),
            Self::LeftoverTemp => (&[Note], "a program that died left a file behind"),
            Self::UnreadFile => {
                (&[Warning, Note], "a file next to sessions may hold a conversation, and no session is read from it")
            }
            Self::GoneSession => (&[Note], "a list of its agent names sessions that have no files"),
            Self::LargeSession => (&[Note], "its transcript is so large that its agent may not open it"),
            Self::LargeOutput => (&[Note], "its background tasks left much output outside of its agent's store"),
            Self::ExpiresSoon => (&[Warning, Note], "its agent deletes it soon"),
            Self::Unreadable => (&[Error], "it could not be read"),
            Self::InterruptedRun => (&[Error], "a run of rejoin did not finish"),
        }
    }

    /// Returns the stable name.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Returns its possible severities, the worst first.
    pub(crate) fn severities(self) -> &'static [Severity] {
        self.facts().0
    }

    /// Returns its meaning, as a sentence without a period.
    pub(crate) fn meaning(self) -> &'static str {
        self.facts().1
    }
}

impl ValueEnum for Code {
    fn value_variants<'a>() -> &'a [Self] {
        Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()).help(self.meaning()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registry_sorts_codes_and_has_no_duplicate() {
        assert!(Code::ALL.is_sorted());
        let names: std::collections::BTreeSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        assert_eq!(Code::ALL.last(), Some(&Code::InterruptedRun));
    }

    #[test]
    fn each_code_sorts_its_severities() {
        for code in Code::ALL {
            assert!(!code.severities().is_empty() && code.severities().is_sorted(), "{}", code.name());
        }
    }
}
