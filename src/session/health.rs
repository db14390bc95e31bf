//! Problems of a session: codes for scripts, marks for tables, descriptions for users.

use serde::{Deserialize, Serialize};
use strum::VariantArray as _;

/// Declares the problems of a session: the letter and the short mark for a table, and the description, a sentence without
/// a period.
macro_rules! problems {
    ($($problem:ident $letter:literal $mark:literal $meaning:literal;)+) => {
        /// A problem of a session; the names are `doctor`'s finding codes.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::IntoStaticStr,
            strum::VariantArray,
        )]
        #[serde(rename_all = "kebab-case")]
        #[strum(serialize_all = "kebab-case")]
        pub(crate) enum Health {
            $(#[doc = $meaning] $problem,)+
        }

        impl Health {
            /// Returns the letter of a narrow column.
            pub(crate) const fn letter(self) -> char {
                match self {
                    $(Self::$problem => $letter,)+
                }
            }

            /// Returns the short mark for a table.
            pub(crate) const fn mark(self) -> &'static str {
                match self {
                    $(Self::$problem => $mark,)+
                }
            }

            /// Returns the description, a sentence without a period.
            pub(crate) const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$problem => $meaning,)+
                }
            }
        }
    };
}

// The order is that of the answers, and of the bits in `HealthSet`.
problems! {
    DuplicateSession 'C' "duplicate" "the id has several copies";
    MisfiledSession 'M' "misfiled" "its recorded directory belongs to another project";
    MissingDirectory 'D' "dir gone" "its launch directory does not exist here";
    UnknownDirectory '?' "dir unknown" "the directory it was started in is unknown";
    SessionInfoMissing 'i' "no info" "it has no session-info.json";
    SessionInfoInvalid 'I' "bad info" "its session-info.json is unusable";
    SessionInfoMismatch 'J' "info mismatch" "its session-info.json names a directory of another project";
    EmptySession 'E' "empty" "it has neither a prompt nor a reply";
    UnknownFormat 'f' "unknown format"
        "it has records in an unknown format; update rejoin, and report it if that does not help";
    TornTranscript 'T' "torn" "the last line of its transcript was cut off";
    BadLines 'B' "bad lines" "its transcript has lines that cannot be read";
    Unsigned 'u' "unsigned" "it has no signature, and JidoCode accepts it with a warning";
    SignatureInvalid 'U' "bad signature" "its signature does not match its content and this machine's key";
    UnsupportedVersion 'N' "newer version" "it was written by a newer version of its agent";
    MissingFields 'R' "fields missing" "fields that its agent requires are missing";
    Oversize 'O' "oversize" "it is too large for its agent to load";
    InvalidContent 'V' "invalid" "its content is not in its agent's format";
    CannotOpen 'x' "cannot open" "its agent cannot open it as it is";
    Unlisted 'n' "unlisted" "its agent's own list does not lead to it, so the agent does not find it, or not all of it";
    ArchiveMismatch 'a' "closed?" "its agent's list and its place disagree whether it is closed";
    Planted '!' "planted" "it came with a directory that its agent has not registered, so anybody may have written it";
    FutureTime '>' "future" "it holds a time that is still to come";
}

impl Health {
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
