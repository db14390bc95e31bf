//! The rows of Hermes: what a session's settings say of where it comes from, and what a message says.
//!
//! Facts: Hermes 0.19.0, measured; sub-agents and compression by its code.

use serde_json::value::RawValue;

use crate::format::content::tool_calls;
use crate::format::json::texts_in;
use crate::format::turn::Turn;
use crate::session::Role;

/// Where a session comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A person or a program began it.
    Own,
    /// `/branch` copied another one.
    Branch(String),
    /// Another one had it do a part of its work.
    Delegate(String),
}

/// Returns where a session comes from, by its `model_config`.
pub(super) fn origin(config: &str) -> Origin {
    let [branch, delegate] = texts_in(serde_json::from_str(config).ok(), ["_branched_from", "_delegate_from"]);
    match (delegate.filled(), branch.filled()) {
        (Some(parent), _) => Origin::Delegate(parent.to_owned()),
        (None, Some(parent)) => Origin::Branch(parent.to_owned()),
        (None, None) => Origin::Own,
    }
}

/// What the columns of a message hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    pub role: Option<String>,
    pub content: Option<String>,
    pub tool_calls: Option<String>,
    /// Whether a rewind took it out of the conversation.
    pub is_rewound: bool,
    /// In milliseconds.
    pub at: Option<i64>,
}

/// Makes a turn of a message.
pub(super) fn turn(columns: &Columns) -> Turn {
    let role = Role::of(columns.role.as_deref());
    let mut turn = Turn::new(role, columns.at.and_then(|at| jiff::Timestamp::from_millisecond(at).ok()));
    if columns.is_rewound {
        return turn;
    }
    let content = columns.content.as_deref().unwrap_or_default();
    if role == Role::Tool {
        turn.tool(format!("→ {content}"));
        return turn;
    }
    turn.say(content);
    let calls: Option<&RawValue> = columns.tool_calls.as_deref().and_then(|text| serde_json::from_str(text).ok());
    tool_calls(calls).into_iter().for_each(|call| turn.tool(call));
    turn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_tells_what_it_was_made_of() {
        assert_eq!(origin(r#"{"max_tokens": null}"#), Origin::Own);
        assert_eq!(origin(r#"{"_branched_from": "a"}"#), Origin::Branch("a".to_owned()));
        assert_eq!(origin(r#"{"_delegate_from": "b", "_branched_from": "a"}"#), Origin::Delegate("b".to_owned()));
        for other in ["", "null", "[]", r#"{"_branched_from": 7}"#, r#"{"_branched_from": " "}"#, "{"] {
            assert_eq!(origin(other), Origin::Own, "{other}");
        }
    }

    #[test]
    fn what_was_said_called_and_answered_is_told_apart() {
        let said = |role: &str, content: &str, tool_calls: &str| {
            let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            let columns = Columns {
                role: text(role),
                content: text(content),
                tool_calls: text(tool_calls),
                ..Columns::default()
            };
            let turn = turn(&columns);
            let texts = turn.messages.iter().map(|message| (message.role, message.text.clone())).collect::<Vec<_>>();
            (turn.prompt().is_some(), turn.is_reply(), texts)
        };
        let call = r#"[{"id": "1", "type": "function", "function": {"name": "terminal", "arguments": "{\"command\": \"ls\"}"}}]"#;
        assert_eq!(said("user", "a\nb", ""), (true, false, vec![(Role::User, "a\nb".to_owned())]));
        let called = (Role::Tool, "terminal {\"command\": \"ls\"}".to_owned());
        assert_eq!(
            said("assistant", "Looking.", call),
            (false, true, vec![(Role::Assistant, "Looking.".to_owned()), called.clone()])
        );
        assert_eq!(said("assistant", "", call), (false, true, vec![called]));
        assert_eq!(
            said("tool", "{\"output\": 1}", ""),
            (false, false, vec![(Role::Tool, "→ {\"output\": 1}".to_owned())])
        );
        assert_eq!(said("assistant", "", "{"), (false, false, vec![]));
        assert_eq!(said("", "a", ""), (false, false, vec![(Role::System, "a".to_owned())]));
    }

    #[test]
    fn what_was_rewound_is_no_longer_said() {
        let columns = Columns {
            role: Some("user".to_owned()),
            content: Some("a".to_owned()),
            is_rewound: true,
            ..Columns::default()
        };
        assert!(turn(&columns).messages.is_empty());
    }
}
