//! Parses the rows of Hermes: the origin in a session's settings, and the messages.
//!
//! Facts: Hermes 0.19.0, measured; sub-agents and compression by its code.

use crate::agent::prelude::*;
use crate::format::content::tool_calls;

/// The origin of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HermesOrigin {
    /// A session that the user or a program started.
    Own,
    /// A copy of another session by `/branch`.
    Branch(String),
    /// Started by another session for a part of its work.
    Delegate(String),
}

/// Returns the origin of a session from its `model_config`.
pub(super) fn origin(config: &str) -> HermesOrigin {
    let [branch, delegate] = texts_in(serde_json::from_str(config).ok(), ["_branched_from", "_delegate_from"]);
    match (delegate.filled(), branch.filled()) {
        (Some(parent), _) => HermesOrigin::Delegate(parent.to_owned()),
        (None, Some(parent)) => HermesOrigin::Branch(parent.to_owned()),
        (None, None) => HermesOrigin::Own,
    }
}

/// The columns of a message.
#[derive(Clone, Debug, Default)]
pub(super) struct HermesColumns {
    pub role: Option<String>,
    pub content: Option<String>,
    pub tool_calls: Option<String>,
    /// Set if a rewind removed the message from the conversation.
    pub is_rewound: bool,
    /// The time in milliseconds.
    pub at: Option<i64>,
}

/// Creates a turn from a message.
pub(super) fn turn(columns: &HermesColumns) -> Turn {
    let role = Role::from_name(columns.role.as_deref());
    let mut turn = Turn::new(role, columns.at.and_then(|at| Timestamp::from_millisecond(at).ok()));
    if columns.is_rewound {
        return turn;
    }
    let content = columns.content.as_deref().unwrap_or_default();
    if role == Role::Tool {
        turn.tool(format!("→ {content}"));
        return turn;
    }
    turn.add_text(content);
    let calls: Option<&RawValue> = columns.tool_calls.as_deref().and_then(|text| serde_json::from_str(text).ok());
    tool_calls(calls).into_iter().for_each(|call| turn.tool(call));
    turn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parser_distinguishes_branch_delegate_and_own_session() {
        assert_eq!(origin(r#"{"max_tokens": null}"#), HermesOrigin::Own);
        assert_eq!(origin(r#"{"_branched_from": "a"}"#), HermesOrigin::Branch("a".to_owned()));
        assert_eq!(origin(r#"{"_delegate_from": "b", "_branched_from": "a"}"#), HermesOrigin::Delegate("b".to_owned()));
        for other in ["", "null", "[]", r#"{"_branched_from": 7}"#, r#"{"_branched_from": " "}"#, "{"] {
            assert_eq!(origin(other), HermesOrigin::Own, "{other}");
        }
    }

    #[test]
    fn parser_distinguishes_text_tool_calls_and_results() {
        let row = |role: &str, content: &str, tool_calls: &str| {
            let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            let columns = HermesColumns {
                role: text(role),
                content: text(content),
                tool_calls: text(tool_calls),
                ..HermesColumns::default()
            };
            let turn = turn(&columns);
            let texts = turn.messages.iter().map(|message| (message.role, message.text.clone())).collect::<Vec<_>>();
            (turn.prompt().is_some(), turn.is_reply(), texts)
        };
        let call = r#"[{"id": "1", "type": "function", "function": {"name": "terminal", "arguments": "{\"command\": \"ls\"}"}}]"#;
        assert_eq!(row("user", "a\nb", ""), (true, false, vec![(Role::User, "a\nb".to_owned())]));
        let called = (Role::Tool, "terminal {\"command\": \"ls\"}".to_owned());
        assert_eq!(
            row("assistant", "Looking.", call),
            (false, true, vec![(Role::Assistant, "Looking.".to_owned()), called.clone()])
        );
        assert_eq!(row("assistant", "", call), (false, true, vec![called]));
        assert_eq!(
            row("tool", "{\"output\": 1}", ""),
            (false, false, vec![(Role::Tool, "→ {\"output\": 1}".to_owned())])
        );
        assert_eq!(row("assistant", "", "{"), (false, false, vec![]));
        assert_eq!(row("", "a", ""), (false, false, vec![(Role::System, "a".to_owned())]));
    }

    #[test]
    fn parser_omits_rewound_messages() {
        let columns = HermesColumns {
            role: Some("user".to_owned()),
            content: Some("a".to_owned()),
            is_rewound: true,
            ..HermesColumns::default()
        };
        assert!(turn(&columns).messages.is_empty());
    }
}
