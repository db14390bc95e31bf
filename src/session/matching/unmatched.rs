//! The reason why no session matches, with the nearest word or filter that would match.

use std::collections::BTreeSet;

use crate::session::nearly::nearest;

/// A part of a query that no session matches, or that is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unmatched {
    /// The reason as a clause: `no session has the tag shp`.
    pub why: String,
    /// The part as it was probably meant: `tag:shop`.
    pub near: Option<String>,
}

impl Unmatched {
    /// Creates a reason without a nearest part.
    pub(crate) fn new(why: String) -> Self {
        Self { why, near: None }
    }

    /// Adds the nearest part.
    #[must_use]
    pub(crate) fn near(self, near: Option<String>) -> Self {
        Self { near, ..self }
    }
}

impl std::fmt::Display for Unmatched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)?;
        self.near.as_ref().map_or(Ok(()), |near| write!(f, "; the nearest is {near}"))
    }
}

/// Describes a tag that no session has; the nearest one gets the prefix with which it is typed.
pub(crate) fn no_tag<'t>(tag: &str, known: impl Iterator<Item = &'t str>, prefix: &str) -> Unmatched {
    let near = nearest(tag, known.collect::<BTreeSet<_>>());
    Unmatched::new(format!("no session has the tag {tag}")).near(near.map(|near| format!("{prefix}{near}")))
}
