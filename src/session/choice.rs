//! The choice among the copies of a session, and the comparison of their records.

use std::borrow::Cow;

/// The result of comparing a copy with another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Comparison {
    /// Both have the same records.
    Identical,
    /// This copy continues after the end of the other one.
    Longer {
        /// Number of common records.
        common: u64,
    },
    /// The other copy continues after the end of this one.
    Shorter {
        /// Number of common records.
        common: u64,
    },
    /// The copies have different continuations.
    Diverged {
        /// The first record that differs, counted from 1.
        record: u64,
    },
}

impl Comparison {
    /// Returns the word of the JSON contract.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the first record that differs, counted from 1, if the copies diverged.
    pub(crate) fn diverged_at(self) -> Option<u64> {
        match self {
            Self::Diverged { record } => Some(record),
            _ => None,
        }
    }

    /// Returns the comparison from the point of view of the other copy.
    #[must_use]
    pub(crate) fn reversed(self) -> Self {
        match self {
            Self::Longer { common } => Self::Shorter { common },
            Self::Shorter { common } => Self::Longer { common },
            same => same,
        }
    }
}

impl std::fmt::Display for Comparison {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Identical => f.write_str("the same as the first copy"),
            Self::Longer { common: 1 } => f.write_str("continues after the only record of the first copy"),
            Self::Longer { common } => write!(f, "continues after the {common} records of the first copy"),
            Self::Shorter { common: 0 } => f.write_str("has none of the first copy's records"),
            Self::Shorter { common: 1 } => f.write_str("has only the first record of the first copy"),
            Self::Shorter { common } => write!(f, "has only the first {common} records of the first copy"),
            Self::Diverged { record: 1 } => f.write_str("has no record in common with the first copy"),
            Self::Diverged { record } => write!(f, "differs from the first copy from record {record} on"),
        }
    }
}

/// The reason for choosing a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopyChoice {
    /// The reason, as text for the user.
    pub why: Cow<'static, str>,
    /// Set if evidence ranks the chosen copy over every other.
    pub is_decided: bool,
    /// The comparison of each copy with the first; `None` if they were not compared.
    pub comparisons: Vec<Option<Comparison>>,
    /// The number of the copy that the user named, which is the first one now; counted from 1.
    pub named: Option<usize>,
}

impl CopyChoice {
    /// Creates a choice that needed no comparison.
    pub(crate) fn new(why: impl Into<Cow<'static, str>>, is_decided: bool) -> Self {
        Self { why: why.into(), is_decided, comparisons: Vec::new(), named: None }
    }
}
