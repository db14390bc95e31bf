//! The codes of findings: stable names, how serious each can be, and what it means.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::session::Health;

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// A session cannot be read or resumed as it is, or nobody can tell which copy is the right one.
    Error,
    /// It works, but something is lost, will be, or does not lead where it seems to.
    Warning,
    /// Normal life, worth knowing.
    Info,
}

impl Severity {
    /// Returns the word of the JSON contract.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// What can be found; those that a session's `health` lists have the same name there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Code {
    DuplicateSession,
    SharedId,
    AmbiguousPrefix,
    MisfiledSession,
    MissingDirectory,
    UnknownDirectory,
    SlugCollision,
    SessionInfoMissing,
    SessionInfoInvalid,
    SessionInfoMismatch,
    EmptySession,
    TornTranscript,
    BadLines,
    OrphanBelongings,
    DanglingPointer,
    StaleCwdRecord,
    SignatureInvalid,
    Unsigned,
    UnsupportedVersion,
    MissingFields,
    Oversize,
    InvalidContent,
    Planted,
    FutureTime,
    LeftoverTemp,
    ExpiresSoon,
    Unreadable,
    InterruptedRun,
}

impl Code {
    /// Every code, in the order of the answers.
    pub(crate) const ALL: [Self; 28] = [
        Self::DuplicateSession,
        Self::SharedId,
        Self::AmbiguousPrefix,
        Self::MisfiledSession,
        Self::MissingDirectory,
        Self::UnknownDirectory,
        Self::SlugCollision,
        Self::SessionInfoMissing,
        Self::SessionInfoInvalid,
        Self::SessionInfoMismatch,
        Self::EmptySession,
        Self::TornTranscript,
        Self::BadLines,
        Self::OrphanBelongings,
        Self::DanglingPointer,
        Self::StaleCwdRecord,
        Self::SignatureInvalid,
        Self::Unsigned,
        Self::UnsupportedVersion,
        Self::MissingFields,
        Self::Oversize,
        Self::InvalidContent,
        Self::Planted,
        Self::FutureTime,
        Self::LeftoverTemp,
        Self::ExpiresSoon,
        Self::Unreadable,
        Self::InterruptedRun,
    ];

    /// Returns the code of a trouble that `list` and `show` know too.
    pub(crate) fn of(health: Health) -> Self {
        match health {
            Health::DuplicateSession => Self::DuplicateSession,
            Health::MisfiledSession => Self::MisfiledSession,
            Health::MissingDirectory => Self::MissingDirectory,
            Health::UnknownDirectory => Self::UnknownDirectory,
            Health::SessionInfoMissing => Self::SessionInfoMissing,
            Health::SessionInfoInvalid => Self::SessionInfoInvalid,
            Health::SessionInfoMismatch => Self::SessionInfoMismatch,
            Health::EmptySession => Self::EmptySession,
            Health::TornTranscript => Self::TornTranscript,
            Health::BadLines => Self::BadLines,
            Health::Unsigned => Self::Unsigned,
            Health::SignatureInvalid => Self::SignatureInvalid,
            Health::UnsupportedVersion => Self::UnsupportedVersion,
            Health::MissingFields => Self::MissingFields,
            Health::Oversize => Self::Oversize,
            Health::InvalidContent => Self::InvalidContent,
            Health::Planted => Self::Planted,
            Health::FutureTime => Self::FutureTime,
        }
    }

    /// Returns its name, the severities that it can have, the worst first, and what it means.
    const fn facts(self) -> (&'static str, &'static [Severity], &'static str) {
        use Severity::{Error, Info, Warning};
        const fn same(
            health: Health,
            severities: &'static [Severity],
        ) -> (&'static str, &'static [Severity], &'static str) {
            (health.code(), severities, health.meaning())
        }
        match self {
            Self::DuplicateSession => same(Health::DuplicateSession, &[Error, Warning, Info]),
            Self::SharedId => ("shared-id", &[Warning], "sessions of several agents have the id"),
            Self::AmbiguousPrefix => {
                ("ambiguous-prefix", &[Warning], "the short form of an id that the agent prints fits several sessions")
            }
            Self::MisfiledSession => same(Health::MisfiledSession, &[Warning]),
            Self::MissingDirectory => same(Health::MissingDirectory, &[Warning]),
            Self::UnknownDirectory => same(Health::UnknownDirectory, &[Warning]),
            Self::SlugCollision => {
                ("slug-collision", &[Info], "one project on disk holds sessions of several directories")
            }
            Self::SessionInfoMissing => same(Health::SessionInfoMissing, &[Info]),
            Self::SessionInfoInvalid => same(Health::SessionInfoInvalid, &[Warning]),
            Self::SessionInfoMismatch => same(Health::SessionInfoMismatch, &[Warning]),
            Self::EmptySession => same(Health::EmptySession, &[Info]),
            Self::TornTranscript => same(Health::TornTranscript, &[Warning, Info]),
            Self::BadLines => same(Health::BadLines, &[Warning]),
            Self::OrphanBelongings => {
                ("orphan-belongings", &[Warning, Info], "what belonged to a session lies where its transcript does not")
            }
            Self::DanglingPointer => {
                ("dangling-pointer", &[Warning, Info], "a file that names a session does not lead to it")
            }
            Self::StaleCwdRecord => {
                ("stale-cwd-record", &[Info], "a record of a session's directory is of no use any more")
            }
            Self::SignatureInvalid => same(Health::SignatureInvalid, &[Error]),
            Self::Unsigned => same(Health::Unsigned, &[Info]),
            Self::UnsupportedVersion => same(Health::UnsupportedVersion, &[Error]),
            Self::MissingFields => same(Health::MissingFields, &[Error]),
            Self::Oversize => same(Health::Oversize, &[Error]),
            Self::InvalidContent => same(Health::InvalidContent, &[Error]),
            Self::Planted => same(Health::Planted, &[Warning]),
            Self::FutureTime => same(Health::FutureTime, &[Warning]),
            Self::LeftoverTemp => ("leftover-temp", &[Info], "a writer that died left a file behind"),
            Self::ExpiresSoon => ("expires-soon", &[Warning, Info], "the agent itself will soon delete it"),
            Self::Unreadable => ("unreadable", &[Error], "it could not be read"),
            Self::InterruptedRun => ("interrupted-run", &[Error], "a run of this program did not finish"),
        }
    }

    /// Returns the stable name.
    pub(crate) fn name(self) -> &'static str {
        self.facts().0
    }

    /// Returns how serious it can be, the worst first.
    pub(crate) fn severities(self) -> &'static [Severity] {
        self.facts().1
    }

    /// Tells what it means, in a sentence without a period.
    pub(crate) fn meaning(self) -> &'static str {
        self.facts().2
    }
}

impl ValueEnum for Code {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()).help(self.meaning()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_listed_once_in_order() {
        assert!(Code::ALL.is_sorted());
        let names: std::collections::BTreeSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        assert_eq!(Code::ALL.last(), Some(&Code::InterruptedRun));
    }

    #[test]
    fn severities_are_given_from_the_worst_on() {
        for code in Code::ALL {
            assert!(!code.severities().is_empty() && code.severities().is_sorted(), "{}", code.name());
        }
    }
}
