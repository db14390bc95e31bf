//! Wishes to keep a session that the user expressed in its agent, such as a pin there.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::path::Path;

/// A reason outside of rejoin for keeping a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptBy {
    /// The reason, the same for many sessions: `pinned in Codex`.
    pub why: &'static str,
    /// The part of the reason that differs between sessions.
    pub detail: Option<Box<str>>,
    /// The action that releases the session, as an imperative.
    pub end: Cow<'static, str>,
}

impl KeptBy {
    /// Returns a reason without details.
    pub(crate) fn new(why: &'static str, end: impl Into<Cow<'static, str>>) -> Self {
        Self { why, detail: None, end: end.into() }
    }

    /// Returns the reason of each session of a store if the file with the wishes is not understood.
    pub(crate) fn unknown(why: &'static str, file: &Path) -> Self {
        let end = format!("update rejoin, or move {} away", file.display());
        Self { detail: Some(format!("({} is not understood)", file.display()).into()), ..Self::new(why, end) }
    }

    /// Adds the part of the reason that differs between sessions.
    pub(crate) fn with(self, detail: String) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }
}

impl Display for KeptBy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.why)?;
        self.detail.as_ref().map_or(Ok(()), |detail| write!(f, " {detail}"))
    }
}
