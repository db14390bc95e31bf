//! What Otter writes: a header, then one message a line.

use serde::Deserialize;

use crate::format::json::Text;
use crate::session::{Message, Role};

/// The first line of a session.
#[derive(Deserialize)]
pub(super) struct Header<'a> {
    #[serde(borrow, default)]
    pub dir: Text<'a>,
    #[serde(borrow, default)]
    pub started: Text<'a>,
}

/// A message.
#[derive(Deserialize)]
pub(super) struct Record<'a> {
    #[serde(borrow, default)]
    pub role: Text<'a>,
    #[serde(borrow, default)]
    pub text: Text<'a>,
    #[serde(borrow, default)]
    pub at: Text<'a>,
}

impl Record<'_> {
    /// Returns the message, if it is one of a person or the model.
    pub(super) fn message(&self) -> Option<Message> {
        let role = match self.role.get()? {
            "user" => Role::User,
            "otter" => Role::Assistant,
            _ => return None,
        };
        Some(Message { role, text: self.text.get()?.to_owned(), at: self.at.instant() })
    }
}
