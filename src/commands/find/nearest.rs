//! What a person may have meant by a name that is no session's.

use std::cmp::Reverse;

use clap::ValueEnum as _;

use crate::format::nearly::slips;
use crate::session::{AgentKind, Session};

/// More of them would be a list to read, not a reminder.
const MAX: usize = 3;
/// A shorter word is near to too many others.
const SHORTEST: usize = 4;
/// Nobody types more by hand: what is longer was pasted, and holds no slip of a finger.
const LONGEST: usize = 24;

/// Returns the sessions whose ids begin nearly so, or else those with nearly that word in their title or directory; the newest
/// first.
pub(super) fn nearest<'s>(text: &str, sessions: &'s [Session]) -> Vec<&'s Session> {
    let text = text.trim().to_lowercase();
    if !(SHORTEST..=LONGEST).contains(&text.chars().count()) {
        return Vec::new();
    }
    let is_listed = |session: &&Session| session.copy().kind.is_listed();
    let all = || sessions.iter().filter(is_listed);
    let mut found: Vec<&Session> = all().filter(|session| begins_nearly(session.id(), &text)).collect();
    if found.is_empty() {
        found = all().filter(|session| has_nearly(session, &text)).collect();
    }
    found.sort_by_key(|session| Reverse(session.recency()));
    found.truncate(MAX);
    found
}

/// Returns the name that was meant where the agent in front of an id is mistyped.
pub(super) fn of_nearest_agent(text: &str) -> Option<String> {
    let (typed, id) = text.split_once(':').filter(|(typed, _)| typed.len() >= SHORTEST)?;
    let typed = typed.to_lowercase();
    let agents = AgentKind::value_variants().iter().filter_map(|agent| Some((slips(agent.name(), &typed)?, agent)));
    agents.min_by_key(|(slips, _)| *slips).map(|(_, agent)| format!("{agent}:{id}"))
}

fn begins_nearly(id: &str, text: &str) -> bool {
    // Words are names of ids too, but nobody mistypes a word for hexadecimal digits.
    let beginning: String = id.chars().take(text.chars().count()).collect();
    text.contains(|c: char| c.is_ascii_digit()) && slips(&beginning.to_lowercase(), text).is_some()
}

fn has_nearly(session: &Session, text: &str) -> bool {
    let dir = session.launch_dir().and_then(|dir| dir.file_name()).map(|name| name.to_string_lossy().to_lowercase());
    let label = session.label().unwrap_or_default().to_lowercase();
    let mut words = label.split(|c: char| !c.is_alphanumeric()).chain(dir.as_deref());
    words.any(|word| slips(word, text).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_agent_is_known_by_its_name_alone() {
        for (text, expected) in
            [("cladue:12", Some("claude:12")), ("Codx:a b:c", Some("codex:a b:c")), ("fix:12", None), ("12", None)]
        {
            assert_eq!(of_nearest_agent(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn the_beginning_of_an_id_is_mistyped_but_no_word_is_one() {
        assert!(begins_nearly("d8c7b6a5-9483", "d8c7c6"));
        assert!(!begins_nearly("d8c7b6a5-9483", "lamp"));
    }
}
