//! Parses message content in the format of Google's API: a string, one part, or a list of parts.
//!
//! Gemini CLI (0.61.0, 0.25.0) and Qwen Code (0.24.4) share it.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::{Block, is_injected};
use super::json::{Flag, Text, inner, member, members, texts_in};

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct RawPart<'a> {
    text: Text<'a>,
    thought: Flag,
    function_call: Option<&'a RawValue>,
    function_response: Option<&'a RawValue>,
}

/// Splits a content value into its parts; an unreadable value has none.
pub(crate) fn parts(content: Option<&RawValue>) -> Vec<Block<'_>> {
    let Some(content) = content else { return Vec::new() };
    match content.get().as_bytes().first() {
        Some(b'[') => {
            let list: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
            list.into_iter().map(part).collect()
        }
        Some(b'"' | b'{') => vec![part(content)],
        _ => Vec::new(),
    }
}

/// Returns the ids of the calls whose results a content value has.
pub(crate) fn answered_ids(content: Option<&RawValue>) -> Vec<String> {
    let listed: Vec<&RawValue> = inner(content);
    let response = |part| member(Some(part), "functionResponse");
    let ids =
        listed.into_iter().chain(content).filter_map(response).map(|it| inner::<Text<'_>>(member(Some(it), "id")));
    ids.filter_map(|id| id.filled().map(str::to_owned)).collect()
}

/// Returns the first text that the program did not insert.
pub(crate) fn typed_text(parts: &[Block<'_>], injected: &[&str]) -> Option<String> {
    parts.iter().find_map(|part| match part {
        Block::Text(text) if !is_injected(text, injected) => Some(text.clone().into_owned()),
        _ => None,
    })
}

/// Returns the text that the user typed in a message; an image alone is an empty text.
pub(crate) fn prompt(parts: &[Block<'_>], injected: &[&str]) -> Option<String> {
    let has_texts = parts.iter().any(|part| matches!(part, Block::Text(_)));
    typed_text(parts, injected).or_else(|| (!has_texts && !parts.is_empty()).then(String::new))
}

fn part(raw: &RawValue) -> Block<'_> {
    match raw.get().as_bytes().first() {
        Some(b'"') => {
            let text: Text<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
            text.into_inner().map_or(Block::Other, Block::Text)
        }
        Some(b'{') => {
            let Ok(part) = serde_json::from_str::<RawPart<'_>>(raw.get()) else { return Block::Other };
            if let Some(call) = part.function_call {
                return tool_call(call);
            }
            if let Some(response) = part.function_response {
                return Block::ToolResult(result_text(response));
            }
            part.text.into_inner().filter(|_| !part.thought.0).map_or(Block::Other, Block::Text)
        }
        _ => Block::Other,
    }
}

/// Parses a tool call: an object with `name` and `args`.
pub(crate) fn tool_call(raw: &RawValue) -> Block<'_> {
    let [name, arguments] = members(Some(raw), ["name", "args"]);
    Block::ToolCall {
        name: inner::<Text<'_>>(name).filled().unwrap_or("tool").to_owned(),
        arguments: arguments.map_or("", RawValue::get).to_owned(),
    }
}

/// Returns the result of a tool: its `output` or `error`, or else the whole response as JSON.
fn result_text(raw: &RawValue) -> String {
    let Some(response) = member(Some(raw), "response") else { return String::new() };
    let [output, error] = texts_in(Some(response), ["output", "error"]);
    output.get().or(error.get()).unwrap_or(response.get()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).expect("JSON")
    }

    #[test]
    fn content_may_be_string_part_or_list() {
        assert_eq!(parts(Some(&raw(r#""a""#))), [Block::Text("a".into())]);
        assert_eq!(parts(Some(&raw(r#"{"text":"a"}"#))), [Block::Text("a".into())]);
        assert_eq!(parts(Some(&raw(r#"[{"text":"a"},"b"]"#))), [Block::Text("a".into()), Block::Text("b".into())]);
        for other in ["null", "7", "true"] {
            assert_eq!(parts(Some(&raw(other))), [], "{other}");
        }
        assert_eq!(parts(Some(&raw("[7,null,[],{},{\"text\":[]}]"))), vec![Block::Other; 5]);
        assert_eq!(parts(None), []);
    }

    #[test]
    fn answered_ids_are_those_of_responses() {
        let list = raw(r#"[{"functionResponse":{"id":"a","response":{}}},{"functionResponse":{}},{"text":"b"},"c",
                {"functionCall":{"id":"d"}}]"#);
        assert_eq!(answered_ids(Some(&list)), ["a"]);
        assert_eq!(answered_ids(Some(&raw(r#"{"functionResponse":{"id":"a"}}"#))), ["a"]);
        assert_eq!(answered_ids(Some(&raw(r#""a""#))).len() + answered_ids(None).len(), 0);
    }

    #[test]
    fn parser_distinguishes_calls_results_thoughts_and_images() {
        let list = raw(r#"[{"functionCall":{"name":"shell","args":{"c":1}}},{"functionCall":7},
                {"functionResponse":{"response":{"output":"done"}}},{"functionResponse":{"response":{"n":1}}},
                {"text":"hm","thought":true},{"inlineData":{"data":"AA=="}}]"#);
        assert_eq!(
            parts(Some(&list)),
            [
                Block::ToolCall { name: "shell".to_owned(), arguments: r#"{"c":1}"#.to_owned() },
                Block::ToolCall { name: "tool".to_owned(), arguments: String::new() },
                Block::ToolResult("done".to_owned()),
                Block::ToolResult(r#"{"n":1}"#.to_owned()),
                Block::Other,
                Block::Other,
            ]
        );
    }
}
