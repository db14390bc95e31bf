//! Parses a session's file: its metadata, and each exchange with the model, a request and a response.
//!
//! Facts: read in the package of Auggie 0.36.0.

use crate::agent::document::{Document, compact};
use crate::agent::prelude::*;
use crate::format::content::call;
use crate::format::document::Shape;
use crate::format::json::list;

const MEMBERS: &[&str] = &["created", "modified", "title", "customTitle", "parentConversationId"];

/// The conversation of a session.
pub(super) const DOCUMENT: Document =
    Document { shape: Shape { list: "chatHistory", members: MEMBERS }, turns, first: None };

/// The members after the conversation.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct AuggieNames<'a> {
    pub(super) title: Text<'a>,
    /// The title that the user set.
    pub(super) custom_title: Text<'a>,
    /// The session that started this one for a part of its work.
    pub(super) parent_conversation_id: Text<'a>,
}

/// Returns the member of [`AuggieNames`] on a line: a document is indented by two blanks per level, so a string is one line.
pub(super) fn member_of_names(line: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(line).ok()?.strip_prefix("  ")?.trim_end().trim_end_matches(',');
    let is_wanted = ["\"title\": \"", "\"customTitle\": \"", "\"parentConversationId\": \""];
    is_wanted
        .iter()
        .any(|start| line.starts_with(start) && line.len() > start.len() && line.ends_with('"'))
        .then_some(line)
}

/// Returns the directory of an exchange, if it is recorded.
pub(super) fn workspace(raw: &RawValue) -> Option<Arc<Path>> {
    let nodes = list(member(member(Some(raw), "exchange"), "request_nodes"));
    let folder = |node: &RawValue| {
        let folders = member(member(Some(node), "ide_state_node"), "workspace_folders");
        let [root, folder] = texts_in(list(folders).first().copied(), ["repository_root", "folder_root"]);
        root.filled().or(folder.filled()).and_then(recorded::dir)
    };
    nodes.into_iter().find_map(folder)
}

/// Parses an exchange: the prompt or the tool results, then the reply.
fn turns(raw: &RawValue) -> Option<Vec<Turn>> {
    let [exchange, finished, summary] = members(Some(raw), ["exchange", "finishedAt", "isHistorySummary"]);
    let [request, response] = members(Some(exchange?), ["request_nodes", "response_nodes"]);
    let [typed, answered] = texts_in(exchange, ["request_message", "response_text"]);
    // The compaction summary is not a message of the user or the model.
    let is_summary = summary.is_some_and(|flag| flag.get() == "true");
    let role = |role| if is_summary { Role::System } else { role };
    let (request, response) = (list(request), list(response));
    let mut asked = Turn::new(role(Role::User), None);
    let texts = texts_of(&request, |node| text_in(member(Some(node), "text_node"), "content"));
    asked.add_text(if texts.is_empty() { typed.get().unwrap_or_default().to_owned() } else { texts });
    for answer in request.iter().filter_map(|node| member(Some(node), "tool_result_node")) {
        asked.tool(format!("→ {}", text_in(Some(answer), "content").get().unwrap_or_default()));
    }
    let mut reply = Turn::new(role(Role::Assistant), inner::<Text<'_>>(finished).instant());
    let texts = texts_of(&response, |node| text_in(Some(node), "content"));
    reply.add_text(if texts.is_empty() { answered.get().unwrap_or_default().to_owned() } else { texts });
    for tool in response.iter().filter_map(|node| member(Some(node), "tool_use")) {
        let [name, input] = texts_in(Some(tool), ["tool_name", "input_json"]);
        reply.tool(call(name.filled(), input.get().map(compact).as_deref()));
    }
    Some(vec![asked, reply])
}

/// Returns the text of the plain text nodes.
fn texts_of<'a>(nodes: &[&'a RawValue], text: impl Fn(&'a RawValue) -> Text<'a>) -> String {
    let is_text = |node: &RawValue| member(Some(node), "type").is_none_or(|kind| kind.get() == "0");
    let texts = nodes.iter().filter(|node| is_text(node)).map(|node| text(node));
    texts.filter_map(|text| text.filled().map(str::to_owned)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).expect("JSON")
    }

    fn parsed_messages(text: &str) -> Vec<(Role, String)> {
        let turns = turns(&raw(text)).expect("an exchange");
        turns.into_iter().flat_map(|turn| turn.messages).map(|message| (message.role, message.text)).collect()
    }

    #[test]
    fn exchange_has_prompt_or_tool_results_and_reply() {
        let nodes = r#"{"exchange":{"request_message":"no","request_nodes":[{"type":4},{"type":0,"text_node":{"content":"a"}}],
            "response_text":"no","response_nodes":[{"type":0,"content":"b"},{"type":8,"thinking":{"content":"c"}},
            {"type":2,"content":"b"},{"type":5,"content":"","tool_use":{"tool_name":"view","input_json":"{ \"path\": \".\" }"}}]}}"#;
        let expected = [(Role::User, "a"), (Role::Assistant, "b"), (Role::Tool, r#"view {"path":"."}"#)];
        assert_eq!(parsed_messages(nodes), expected.map(|(role, text)| (role, text.to_owned())));
        let plain = r#"{"exchange":{"request_message":"a","response_text":"b"}}"#;
        assert_eq!(parsed_messages(plain), [(Role::User, "a".to_owned()), (Role::Assistant, "b".to_owned())]);
        let answer =
            r#"{"exchange":{"request_message":"","request_nodes":[{"type":1,"tool_result_node":{"content":"x"}}]}}"#;
        assert_eq!(parsed_messages(answer), [(Role::Tool, "→ x".to_owned())]);
        assert!(
            turns(&raw(answer)).expect("an exchange").iter().all(|turn| turn.prompt().is_none() && !turn.is_reply())
        );
        let summary = r#"{"isHistorySummary":true,"exchange":{"request_message":"a","response_text":"b"}}"#;
        assert!(parsed_messages(summary).iter().all(|(role, _)| *role == Role::System));
        assert!(["7", "{}"].iter().all(|none| turns(&raw(none)).is_none()));
    }

    #[test]
    fn workspace_comes_from_exchange() {
        let of = |node: &str| workspace(&raw(&format!(r#"{{"exchange":{{"request_nodes":[{{"type":0}},{node}]}}}}"#)));
        let node = |folders: &str| format!(r#"{{"type":4,"ide_state_node":{{"workspace_folders":{folders}}}}}"#);
        assert_eq!(of(&node(r#"[{"repository_root":"/a","folder_root":"/b"}]"#)), Some(Path::new("/a").into()));
        assert_eq!(of(&node(r#"[{"folder_root":"/b"}]"#)), Some(Path::new("/b").into()));
        assert!(["[]", "[{}]", "7"].iter().all(|folders| of(&node(folders)).is_none()));
    }

    #[test]
    fn names_come_only_from_top_level_members() {
        assert_eq!(member_of_names(br#"  "title": "a",  "#), Some(r#""title": "a""#));
        let others =
            [&b"    \"title\": \"a\""[..], b"  \"title\": {", b"  \"title\": \"", b"  \"x\": \"a\"", b"  ],", b"\xff"];
        assert!(others.iter().all(|line| member_of_names(line).is_none()));
    }
}
