//! The data of the preview: facts about the highlighted session, and its last messages once they are read.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use crate::agent;
use crate::format::text;
use crate::session::branches::BranchFilter;
use crate::session::{Liveness, Role, Session};
use crate::system::env::Env;
use crate::view::render::table;

/// Maximum size of a transcript that is read for a preview.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Maximum messages of a preview; a pager shows all.
const MAX_MESSAGES: usize = 60;
/// Maximum length of a message.
const MAX_MESSAGE: usize = 4000;

/// The shown part of a session's conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Preview {
    /// The last messages, the newest last.
    Messages(Vec<PreviewMessage>),
    /// The transcript is too large for a preview.
    TooLarge(u64),
    /// The transcript cannot be read.
    Unreadable(String),
}

/// A message on one line, harmless for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PreviewMessage {
    pub(super) role: Role,
    /// The number of its branch; `None` on the active one.
    pub(super) branch: Option<u16>,
    pub(super) words: String,
}

impl Preview {
    /// Reads the last messages of the user and the model, or those around the message with this number. Stops when
    /// `is_wanted` returns false.
    pub(super) fn read(session: &Session, around: Option<u64>, is_wanted: &dyn Fn() -> bool) -> Self {
        let copy = session.copy();
        // If a session has only an event log, it counts as one without a transcript.
        let bytes = if copy.transcript_bytes > 0 { copy.transcript_bytes } else { copy.size_bytes };
        if bytes > MAX_BYTES {
            return Self::TooLarge(bytes);
        }
        let Some(agent) = agent::by_kind(session.agent) else { return Self::Messages(Vec::new()) };
        let mut last = VecDeque::with_capacity(MAX_MESSAGES + 1);
        let (mut number, end) = (0, around.map_or(u64::MAX, |around| around + MAX_MESSAGES as u64 / 2));
        // A search finds messages on any branch.
        let branches = if around.is_some() { BranchFilter::All } else { BranchFilter::Active };
        let outcome = agent.messages_on(copy, branches, &mut |message| {
            number += 1;
            let words = text::one_line(&message.text);
            if matches!(message.role, Role::User | Role::Assistant) && !words.is_empty() {
                let words = text::truncated(&words, MAX_MESSAGE).into_owned();
                last.push_back(PreviewMessage { role: message.role, branch: message.branch, words });
                if last.len() > MAX_MESSAGES {
                    last.pop_front();
                }
            }
            if is_wanted() && number < end { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        match outcome {
            Ok(()) => Self::Messages(last.into()),
            Err(error) => Self::Unreadable(error.reason()),
        }
    }
}

/// A fact about a session, as a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FactLine {
    pub(super) words: String,
    /// Set if the fact is a problem.
    pub(super) is_warning: bool,
}

/// Describes a session without reading its messages: its name, its problems, its directories.
pub(super) fn facts(session: &Session, env: &Env) -> Vec<FactLine> {
    let copy = session.copy();
    let dir = session.launch_dir().map_or_else(|| "directory unknown".to_owned(), |dir| env.tilde(dir));
    let fact = |words: String| FactLine { words: text::one_line(&words).into_owned(), is_warning: false };
    let warning = |words: String| FactLine { is_warning: true, ..fact(words) };
    let mut facts = vec![fact(format!("{} {}", session.agent, session.id())), fact(dir)];
    match &copy.liveness {
        Liveness::Live { pid } => {
            facts.push(warning(format!("in use by {}", table::holder(session, *pid, env.clock.now))))
        }
        Liveness::Maybe { why } => facts.push(warning(format!("maybe in use: {why}"))),
        Liveness::Idle => {}
    }
    facts.extend(session.health.iter().map(|health| match health {
        crate::session::Health::DuplicateSession => fact(format!("{} copies", session.copies.len())),
        health => warning(health.meaning().to_owned()),
    }));
    if session.is_stuck {
        facts.push(warning("its last replies are errors that a retry does not fix".to_owned()));
    }
    if let Some(at) = session.expires_at {
        let when = if at <= env.clock.now { "when it next starts" } else { "within seven days" };
        facts.push(warning(format!("{} deletes it {when}", session.agent)));
    }
    let named = |name: &str, value: Option<&str>| value.map(|value| format!("{name} {value}"));
    let more = [
        session.is_pinned.then(|| "pinned".to_owned()),
        (!session.tags.is_empty()).then(|| session.tags.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")),
        session.continues.as_ref().map(|origin| format!("continues {} {:.8}", origin.agent, origin.id)),
        named("branch", copy.git_branch.as_ref().map(|fact| &*fact.value)),
        named("model", copy.model.as_ref().map(|fact| &*fact.value)),
        copy.size().map(text::size),
        copy.created_at.as_ref().map(|at| format!("started {}", text::ago(Some(at.value), env.clock.now))),
    ];
    facts.push(fact(more.into_iter().flatten().collect::<Vec<_>>().join(", ")));
    facts
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;
    use crate::session::tests::{copy, session};

    fn preview(lines: &str, transcript_bytes: u64, is_wanted: bool) -> Preview {
        let dir = tempfile::tempdir().expect("a directory");
        let mut copy = copy("a");
        copy.place.path = dir.path().join("a.jsonl").into();
        copy.transcript_bytes = transcript_bytes;
        std::fs::write(&copy.place.path, lines).expect("a file");
        Preview::read(&session(vec![copy]), None, &|| is_wanted)
    }

    fn line(words: &str) -> PreviewMessage {
        PreviewMessage { role: Role::User, branch: None, words: words.to_owned() }
    }

    fn message_line(role: &str, text: &str) -> String {
        format!("{{\"type\":\"{role}\",\"message\":{{\"role\":\"{role}\",\"content\":\"{text}\"}}}}\n")
    }

    #[test]
    fn preview_keeps_last_messages_and_escapes_them() {
        let lines: String = (0..100).map(|n| message_line("user", &format!("n{n}\\n\\u001b[2J"))).collect();
        let Preview::Messages(messages) = preview(&lines, 1, true) else { panic!("no messages") };
        assert_eq!(messages.len(), MAX_MESSAGES);
        assert_eq!(messages.last(), Some(&line("n99 \\u{1b}[2J")));
    }

    #[test]
    fn preview_stops_reading_large_or_abandoned_transcript() {
        assert_eq!(preview(&message_line("user", "x"), MAX_BYTES + 1, true), Preview::TooLarge(MAX_BYTES + 1));
        let two = [message_line("user", "x"), message_line("assistant", "y")].concat();
        assert_eq!(preview(&two, MAX_BYTES, false), Preview::Messages(vec![line("x")]));
    }

    #[test]
    fn preview_describes_problems() {
        let mut session = super::super::item::tests::titled("a", "Title", "/no/such/place");
        session.launch_dir_exists = Some(false);
        session.copies[0].git_branch = Some(crate::session::Fact::new("main", "t"));
        session.assess();
        let facts = facts(&session, &crate::system::env::tests::fixed());
        let words: Vec<&str> = facts.iter().map(|fact| fact.words.as_str()).collect();
        assert_eq!(
            words,
            ["claude a", "/no/such/place", "its launch directory does not exist here", "branch main, 0 B"]
        );
        assert!(facts[2].is_warning && !facts[3].is_warning);
    }
}
