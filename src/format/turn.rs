//! One message of a conversation from a database, a document or a log of any agent.

use jiff::Timestamp;

use crate::session::{Message, Role};

/// One message, assembled from its rows or records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// The author.
    pub role: Role,
    /// The time, if it is known.
    pub at: Option<Timestamp>,
    /// Set if the turn counts as a prompt or a reply: not if the agent generated it itself, or it failed.
    pub counts: bool,
    /// Id of a message that consists of several turns; these count once.
    pub id: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// Texts, tool calls and their results.
    pub messages: Vec<Message>,
}

impl Turn {
    /// Creates an empty turn.
    pub(crate) fn new(role: Role, at: Option<Timestamp>) -> Self {
        Self { role, at, counts: true, id: None, model: None, messages: Vec::new() }
    }

    /// Adds a text; a blank one is ignored.
    pub(crate) fn add_text(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !text.trim().is_empty() {
            self.messages.push(Message::new(self.role, text, self.at));
        }
    }

    /// Adds an error of the API.
    pub(crate) fn error(&mut self, text: impl Into<String>) {
        self.messages.push(Message::new(Role::System, text, self.at).into_error());
    }

    /// Adds a tool call or its result.
    pub(crate) fn tool(&mut self, text: impl Into<String>) {
        self.messages.push(Message::new(Role::Tool, text.into(), self.at));
    }

    /// Returns the text that the user typed, if the turn is a prompt.
    pub(crate) fn prompt(&self) -> Option<&str> {
        let prompt = self.messages.iter().find(|message| message.role == Role::User);
        prompt.filter(|_| self.counts && self.role == Role::User).map(|message| message.text.as_str())
    }

    /// Returns whether the turn is a reply with a text or a tool call.
    pub(crate) fn is_reply(&self) -> bool {
        self.counts && self.role == Role::Assistant && !self.messages.is_empty()
    }
}

/// Parses a time in seconds or milliseconds since 1970: a number too large for seconds is in milliseconds.
///
/// The border is the year 2286 in seconds, which in milliseconds is in April 1970. Goose mixes both units.
pub(crate) fn instant(number: i64) -> Option<Timestamp> {
    const BORDER: i64 = 10_000_000_000;
    let time = if number > BORDER { Timestamp::from_millisecond(number) } else { Timestamp::from_second(number) };
    time.ok().filter(|_| number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parser_distinguishes_seconds_and_milliseconds() {
        let expected: Timestamp = "2026-02-01T10:00:00Z".parse().expect("a time");
        assert_eq!(instant(expected.as_second()), Some(expected));
        assert_eq!(instant(expected.as_millisecond()), Some(expected));
        for none in [0, -1, i64::MIN, i64::MAX] {
            assert_eq!(instant(none), None);
        }
    }

    #[test]
    fn empty_turn_is_neither_prompt_nor_reply() {
        let mut turn = Turn::new(Role::Assistant, None);
        turn.add_text(" \n");
        assert!(!turn.is_reply());
        turn.tool("bash");
        assert!(turn.is_reply() && turn.prompt().is_none());
        turn.counts = false;
        assert!(!turn.is_reply());
    }
}
