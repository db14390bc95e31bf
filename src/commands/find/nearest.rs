//! What a person may have meant by a name that is no session's.

use std::cmp::Reverse;

use strsim::osa_distance;

use crate::session::Session;

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
    let mut found: Vec<&Session> = all().filter(|session| begins_nearly(&session.id, &text)).collect();
    if found.is_empty() {
        found = all().filter(|session| has_nearly(session, &text)).collect();
    }
    found.sort_by_key(|session| Reverse(session.recency()));
    found.truncate(MAX);
    found
}

fn begins_nearly(id: &str, text: &str) -> bool {
    // Words are names of ids too, but nobody mistypes a word for hexadecimal digits.
    let beginning: String = id.chars().take(text.chars().count()).collect();
    text.contains(|c: char| c.is_ascii_digit()) && is_near(&beginning.to_lowercase(), text)
}

fn has_nearly(session: &Session, text: &str) -> bool {
    let dir = session.launch_dir().and_then(|dir| dir.file_name()).map(|name| name.to_string_lossy().to_lowercase());
    let label = session.label().unwrap_or_default().to_lowercase();
    let mut words = label.split(|c: char| !c.is_alphanumeric()).chain(dir.as_deref());
    words.any(|word| is_near(word, text))
}

/// Returns whether one or, of long words, two letters are wrong, missing, too many or in the wrong order.
fn is_near(word: &str, text: &str) -> bool {
    let most = if text.chars().count() < 8 { 1 } else { 2 };
    word.len().abs_diff(text.len()) <= 4 * most && osa_distance(word, text) <= most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_near_and_another_word_is_not() {
        for (word, text, expected) in [
            ("till", "til", true),
            ("till", "tlil", true),
            ("till", "bell", false),
            ("certificates", "certficate", true),
            ("certificates", "cert", false),
            ("d8c7b6a5", "d8c7b6a4", true),
            ("日本語", "日本", true),
        ] {
            assert_eq!(is_near(word, text), expected, "{word} {text}");
        }
        assert!(begins_nearly("d8c7b6a5-9483", "d8c7c6"));
        assert!(!begins_nearly("d8c7b6a5-9483", "lamp"));
    }
}
