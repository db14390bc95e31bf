//! The messages of a session and their roles.

use std::ops::ControlFlow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Message {
    /// The role of the speaker.
    pub role: Role,
    /// The text; tool calls and results are described in words.
    pub text: String,
    /// The time of the message.
    pub at: Option<Timestamp>,
    /// The number of its branch; `null` on the active one.
    pub branch: Option<u16>,
    /// Set if the message is an error of the API in place of a reply.
    #[serde(rename = "error")]
    pub is_error: bool,
}

impl Message {
    /// Creates a message on the active branch.
    pub(crate) fn new(role: Role, text: impl Into<String>, at: Option<Timestamp>) -> Self {
        Self { role, text: text.into(), at, branch: None, is_error: false }
    }

    /// Marks the message as an error of the API.
    pub(crate) fn into_error(self) -> Self {
        Self { is_error: true, ..self }
    }

    /// Sets the branch of the message; `None` for the active one.
    pub(crate) fn on_branch(self, branch: Option<u16>) -> Self {
        Self { branch, ..self }
    }
}

/// Receives messages one by one, until it breaks.
pub(crate) type Visitor<'v> = dyn FnMut(Message) -> ControlFlow<()> + 'v;

/// The speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool's call or result.
    Tool,
    /// The program itself.
    System,
}

impl Role {
    /// Parses the role name that most agents write; any other one means `System`.
    pub(crate) fn from_name(word: Option<&str>) -> Self {
        match word {
            Some("user") => Self::User,
            Some("assistant") => Self::Assistant,
            Some("tool") => Self::Tool,
            _ => Self::System,
        }
    }

    /// Returns the name for display and for JSON.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}
