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

/// Declares the kinds of findings: the possible severities, the worst first, and the meaning. Without one, it is that of the
/// session's problem of the same name.
macro_rules! finding_codes {
    (meaning $code:ident) => { Health::$code.meaning() };
    (meaning $code:ident $meaning:literal) => { $meaning };
    ($($code:ident [$($severity:ident)+] $($meaning:literal)?;)+) => {
        /// The kinds of findings. Those that are also in a session's `health` have the same name there.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr, strum::VariantArray)]
        #[strum(serialize_all = "kebab-case")]
        pub(crate) enum Code {
            $($code,)+
        }

        impl Code {
            /// Returns its possible severities, the worst first.
            pub(crate) fn severities(self) -> &'static [Severity] {
                match self {
                    $(Self::$code => &[$(Severity::$severity),+],)+
                }
            }

            /// Returns its meaning, as a sentence without a period.
            pub(crate) fn meaning(self) -> &'static str {
                match self {
                    $(Self::$code => finding_codes!(meaning $code $($meaning)?),)+
                }
            }
        }
    };
}

finding_codes! {
    DuplicateSession [Error Warning Note];
    SharedId [Warning] "several agents have a session with the same id";
    AmbiguousPrefix [Warning] "the short id that the agent prints matches several sessions";
    MisfiledSession [Warning];
    MissingDirectory [Warning];
    LinkedDirectory [Warning] "its launch directory leads to another one, where its agent does not find it";
    UnknownDirectory [Warning];
    SlugCollision [Note] "one project on disk holds sessions of several directories";
    SessionInfoMissing [Note];
    SessionInfoInvalid [Warning];
    SessionInfoMismatch [Warning];
    EmptySession [Note];
    UnknownFormat [Warning];
    TornTranscript [Warning Note];
    BadLines [Warning];
    BrokenChain [Warning] "a record names a parent that is missing, so a resume loses the messages before it";
    OtherBranches [Warning Note] "its agent's resume shows one of its branches, and not the messages on others";
    StuckSession [Warning] "its last replies are API errors that a retry does not fix";
    OrphanBelongings [Warning Note] "files of a session are not next to its transcript";
    DanglingPointer [Warning Note] "a file names a session but does not lead to it";
    StaleCwdRecord [Note] "a record of a session's directory is no longer needed";
    SignatureInvalid [Error];
    Unsigned [Note];
    UnsupportedVersion [Error];
    MissingFields [Error];
    Oversize [Error];
    InvalidContent [Error];
    CannotOpen [Error];
    Unlisted [Warning Note];
    ArchiveMismatch [Warning];
    Planted [Warning];
    FutureTime [Warning];
    LeftoverTemp [Note] "a program that died left a file behind";
    UnreadFile [Warning Note] "a file next to sessions may hold a conversation, and no session is read from it";
    GoneSession [Note] "a list of its agent names sessions that have no files";
    LargeSession [Note] "its transcript is so large that its agent may not open it";
    LargeOutput [Note] "its background tasks left much output outside of its agent's store";
    ExpiresSoon [Warning Note] "its agent deletes it soon";
    Unreadable [Error] "it could not be read";
    InterruptedRun [Error] "a run of rejoin did not finish";
}

impl Code {
    /// Every code, in the order of the answers.
    pub(crate) const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the stable name.
    pub(crate) fn name(self) -> &'static str {
        self.into()
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
