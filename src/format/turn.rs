//! One message of a conversation in a database, a document or a log, whichever agent wrote it.

use jiff::Timestamp;

use crate::session::{Message, Role};

/// One message, put together from its rows or records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// The speaker.
    pub role: Role,
    /// When, if that is known.
    pub at: Option<Timestamp>,
    /// Set if it counts as a prompt or a reply: not if the agent made it itself, or it failed.
    pub counts: bool,
    /// Id of a message that has several turns; these count once.
    pub id: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// Texts, calls of tools and their answers.
    pub messages: Vec<Message>,
}

impl Turn {
    /// Begins a turn in which nothing has been said yet.
    pub(crate) fn new(role: Role, at: Option<Timestamp>) -> Self {
        Self { role, at, counts: true, id: None, model: None, messages: Vec::new() }
    }

    /// Adds what was said; blank text is nothing.
    pub(crate) fn say(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !text.trim().is_empty() {
            self.messages.push(Message::new(self.role, text, self.at));
        }
    }

    /// Adds a call of a tool or what it answered.
    pub(crate) fn tool(&mut self, text: impl Into<String>) {
        self.messages.push(Message::new(Role::Tool, text.into(), self.at));
    }

    /// Returns what a person typed, if this is that.
    pub(crate) fn prompt(&self) -> Option<&str> {
        let said = self.messages.iter().find(|message| message.role == Role::User);
        said.filter(|_| self.counts && self.role == Role::User).map(|message| message.text.as_str())
    }

    /// Returns whether this is a reply that says or calls something.
    pub(crate) fn is_reply(&self) -> bool {
        self.counts && self.role == Role::Assistant && !self.messages.is_empty()
    }
}

/// Reads a time in seconds or milliseconds since 1970: what is too large for seconds is milliseconds.
///
/// The border is the year 2286 in seconds, which in milliseconds is in April 1970. Goose mixes both.
pub(crate) fn instant(number: i64) -> Option<Timestamp> {
    const BORDER: i64 = 10_000_000_000;
    let time = if number > BORDER { Timestamp::from_millisecond(number) } else { Timestamp::from_second(number) };
    time.ok().filter(|_| number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_milliseconds_are_told_apart() {
        let expected: Timestamp = "2026-02-01T10:00:00Z".parse().expect("a time");
        assert_eq!(instant(expected.as_second()), Some(expected));
        assert_eq!(instant(expected.as_millisecond()), Some(expected));
        for none in [0, -1, i64::MIN, i64::MAX] {
            assert_eq!(instant(none), None);
        }
    }

    #[test]
    fn a_turn_that_says_nothing_is_neither_prompt_nor_reply() {
        let mut turn = Turn::new(Role::Assistant, None);
        turn.say(" \n");
        assert!(!turn.is_reply());
        turn.tool("bash");
        assert!(turn.is_reply() && turn.prompt().is_none());
        turn.counts = false;
        assert!(!turn.is_reply());
    }
}
