//! The last messages of a session, read when the cursor rests on it and never for the whole list.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use crate::agent;
use crate::format::text;
use crate::session::{Role, Session};

/// A larger transcript is not read only to be looked at in passing.
const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// More messages than this fit no preview.
const MAX_MESSAGES: usize = 12;
/// More of a message is not shown.
const MAX_MESSAGE: usize = 1000;

/// What is shown of a session's conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Preview {
    /// Who said what, the newest last; each on one line and harmless.
    Messages(Vec<(Role, String)>),
    /// The transcript is too large to be read for this.
    TooLarge(u64),
    /// It cannot be read.
    Unreadable(String),
}

impl Preview {
    /// Reads the last things that a person and the model said to each other.
    pub(super) fn read(session: &Session) -> Self {
        let copy = session.copy();
        // A session that has nothing but its event log counts as having no transcript.
        let bytes = if copy.transcript_bytes > 0 { copy.transcript_bytes } else { copy.size_bytes };
        if bytes > MAX_BYTES {
            return Self::TooLarge(bytes);
        }
        let Some(agent) = agent::by_kind(session.agent) else { return Self::Messages(Vec::new()) };
        let mut last = VecDeque::with_capacity(MAX_MESSAGES + 1);
        let outcome = agent.messages(copy, &mut |message| {
            let words = text::one_line(&message.text);
            if matches!(message.role, Role::User | Role::Assistant) && !words.is_empty() {
                last.push_back((message.role, text::truncated(&words, MAX_MESSAGE).into_owned()));
                if last.len() > MAX_MESSAGES {
                    last.pop_front();
                }
            }
            ControlFlow::Continue(())
        });
        match outcome {
            Ok(()) => Self::Messages(last.into()),
            Err(error) => Self::Unreadable(error.reason()),
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
mod tests {
    use super::*;
    use crate::session::tests::{copy, session};

    fn preview(lines: &str, transcript_bytes: u64) -> Preview {
        let dir = tempfile::tempdir().expect("a directory");
        let mut copy = copy("a");
        copy.place.path = dir.path().join("a.jsonl").into();
        copy.transcript_bytes = transcript_bytes;
        std::fs::write(&copy.place.path, lines).expect("a file");
        Preview::read(&session(vec![copy]))
    }

    fn said(role: &str, text: &str) -> String {
        format!("{{\"type\":\"{role}\",\"message\":{{\"role\":\"{role}\",\"content\":\"{text}\"}}}}\n")
    }

    #[test]
    fn only_the_last_messages_are_kept_and_they_are_harmless() {
        let lines: String = (0..40).map(|n| said("user", &format!("n{n}\\n\\u001b[2J"))).collect();
        let Preview::Messages(messages) = preview(&lines, 1) else { panic!("no messages") };
        assert_eq!(messages.len(), MAX_MESSAGES);
        assert_eq!(messages.last(), Some(&(Role::User, "n39 \\u{1b}[2J".to_owned())));
    }

    #[test]
    fn a_large_transcript_is_not_read() {
        assert_eq!(preview(&said("user", "x"), MAX_BYTES + 1), Preview::TooLarge(MAX_BYTES + 1));
        assert_eq!(preview(&said("user", "x"), MAX_BYTES), Preview::Messages(vec![(Role::User, "x".to_owned())]));
    }
}
