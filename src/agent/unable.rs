//! The error of an agent's operations.

use crate::error::PathError;

/// The reason why an agent, or rejoin for it, cannot do something with a session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub(crate) struct Unable {
    /// The reason: a clause for the end of a message.
    pub why: String,
    /// The next command to type, or other advice.
    pub hint: Option<String>,
}

impl Unable {
    /// Adds advice for the user.
    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl From<String> for Unable {
    fn from(why: String) -> Self {
        Self { why, hint: None }
    }
}

impl From<&str> for Unable {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

impl From<PathError> for Unable {
    fn from(error: PathError) -> Self {
        error.to_string().into()
    }
}
