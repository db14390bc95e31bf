//! Amplifier's hook: saves the conversation after a tool or a turn.
//!
//! The bridge of amplifier-distro calls such a hook on these two events. The agent continues in any case.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::format::json::{NotAnObject, Text, object};

/// The longest input that is read.
pub(crate) const MAX_INPUT: u64 = 512 * 1024 * 1024;

/// The answer to every event.
pub(crate) const ANSWER: &str = r#"{"action":"continue"}"#;

/// A conversation to save.
#[derive(Clone, Debug)]
pub(crate) struct ConversationToSave<'a> {
    /// The session's directory; it need not exist.
    pub session_dir: PathBuf,
    /// The messages, as a JSON list.
    pub messages: &'a RawValue,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct AmplifierHookInput<'a> {
    event: Text<'a>,
    session_dir: Text<'a>,
    messages: Option<&'a RawValue>,
}

/// The reason why an input is not a usable event.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnusableAmplifierEvent {
    /// It is not one JSON object.
    #[error(transparent)]
    Input(#[from] NotAnObject),
    /// The event has no name.
    #[error("it names no event")]
    NoEvent,
    /// The directory of the session is missing or relative.
    #[error("its session_dir is not an absolute path")]
    BadDir,
    /// The messages are missing or not a list.
    #[error("its messages are not a list")]
    NoMessages,
}

/// Parses the input from Amplifier; `None` if there is nothing to do.
pub(crate) fn read(input: &[u8]) -> Result<Option<ConversationToSave<'_>>, UnusableAmplifierEvent> {
    let input = input.trim_ascii();
    let input: AmplifierHookInput<'_> = object(input)?;
    match input.event.filled() {
        Some("tool:post" | "orchestrator:complete") => {}
        Some(_) => return Ok(None),
        None => return Err(UnusableAmplifierEvent::NoEvent),
    }
    let session_dir = input.session_dir.filled().map(PathBuf::from);
    let is_sound = |dir: &PathBuf| dir.is_absolute() && !dir.as_os_str().as_encoded_bytes().contains(&0);
    Ok(Some(ConversationToSave {
        session_dir: session_dir.filter(is_sound).ok_or(UnusableAmplifierEvent::BadDir)?,
        messages: input
            .messages
            .filter(|list| list.get().starts_with('['))
            .ok_or(UnusableAmplifierEvent::NoMessages)?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_events_save_the_transcript() {
        let saved = |event: &str| {
            let input = format!(r#"{{"event":"{event}","session_dir":"/s","messages":[],"more":{{}}}}"#);
            read(input.as_bytes()).expect("an event").map(|save| save.session_dir)
        };
        assert_eq!(saved("tool:post"), Some(PathBuf::from("/s")));
        assert_eq!(saved("orchestrator:complete"), Some(PathBuf::from("/s")));
        assert_eq!(saved("prompt:submit"), None);
    }

    #[test]
    fn parser_refuses_invalid_event_with_reason() {
        for (input, expected) in [
            ("", "standard input is empty"),
            ("[]", "standard input is not a JSON object"),
            ("{}", "it names no event"),
            (r#"{"event":7}"#, "it names no event"),
            (r#"{"event":"tool:post","messages":[]}"#, "its session_dir is not an absolute path"),
            (r#"{"event":"tool:post","session_dir":"x","messages":[]}"#, "its session_dir is not an absolute path"),
            (r#"{"event":"tool:post","session_dir":"/s"}"#, "its messages are not a list"),
            (r#"{"event":"tool:post","session_dir":"/s","messages":null}"#, "its messages are not a list"),
            (r#"{"event":"tool:post","session_dir":"/s","messages":{}}"#, "its messages are not a list"),
        ] {
            assert_eq!(read(input.as_bytes()).expect_err("a refusal").to_string(), expected);
        }
        assert!(read(b"{").expect_err("a refusal").to_string().starts_with("standard input is not JSON"));
    }
}
