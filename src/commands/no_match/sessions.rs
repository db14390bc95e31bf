//! Suggests sessions for a name that matches none.

use clap::ValueEnum as _;

use crate::session::nearly::{nearest as nearest_name, slips};
use crate::session::select;
use crate::session::{AgentKind, Session};

/// Maximum suggestions.
const MAX: usize = 3;
/// A shorter word is similar to too many others.
const SHORTEST: usize = 4;
/// Maximum length of a mistyped word: a longer one was pasted, and has no typing error.
const LONGEST: usize = 24;

/// Returns the sessions whose ids begin similarly, or else those with a similar word in their title or directory; the
/// newest first.
pub(in crate::commands) fn nearest<'s>(text: &str, sessions: &'s [Session]) -> Vec<&'s Session> {
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
    select::newest_first(&mut found);
    found.truncate(MAX);
    found
}

/// Corrects a mistyped agent before an id.
pub(in crate::commands) fn of_nearest_agent(text: &str) -> Option<String> {
    let (typed, id) = text.split_once(':').filter(|(typed, _)| typed.len() >= SHORTEST)?;
    let typed = typed.to_lowercase();
    let agents = AgentKind::value_variants().iter().map(|agent| agent.name());
    nearest_name(&typed, agents).map(|agent| format!("{agent}:{id}"))
}

fn begins_nearly(id: &str, text: &str) -> bool {
    // Words may be ids too, but a word is not a mistyped hexadecimal number.
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
    fn mistyped_agent_prefix_suggests_nearest_agent() {
        for (text, expected) in
            [("cladue:12", Some("claude:12")), ("Codx:a b:c", Some("codex:a b:c")), ("fix:12", None), ("12", None)]
        {
            assert_eq!(of_nearest_agent(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn error_recognizes_typo_in_id_prefix() {
        assert!(begins_nearly("d8c7b6a5-9483", "d8c7c6"));
        assert!(!begins_nearly("d8c7b6a5-9483", "lamp"));
    }
}
