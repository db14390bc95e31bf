//! What is said in a session, and who says it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said; tool calls and results are put in words.
    pub text: String,
    /// When.
    pub at: Option<Timestamp>,
    /// The number of its branch; `null` on the one that a resume continues.
    pub branch: Option<u16>,
}

impl Message {
    /// Notes the branch that it is on; `None` for the active one.
    pub(crate) fn on(self, branch: Option<u16>) -> Self {
        Self { branch, ..self }
    }
}

/// Who speaks in a message.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
    clap::ValueEnum,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Role {
    /// A person.
    User,
    /// The model.
    Assistant,
    /// A tool's call or result.
    Tool,
    /// The program itself.
    System,
}

impl Role {
    /// Understands the word that most agents write; another one is said by the program.
    pub(crate) fn of(word: Option<&str>) -> Self {
        match word {
            Some("user") => Self::User,
            Some("assistant") => Self::Assistant,
            Some("tool") => Self::Tool,
            _ => Self::System,
        }
    }

    /// Returns the word for people and for JSON.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}
