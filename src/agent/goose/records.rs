//! The messages of Goose: a list of content items as JSON, and flags that say who may see them.
//!
//! Facts: aaif-goose/goose 017176d0, schema 17.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::format::content::plain_text;
use crate::format::json::{Text, inner, member, text_in};
use crate::format::turn::{Turn, instant};
use crate::session::Role;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Item<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    text: Text<'a>,
    tool_call: Option<&'a RawValue>,
    tool_result: Option<&'a RawValue>,
}

/// What a tool was asked or answered, wrapped in whether that worked.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Wrapped<'a> {
    value: Option<&'a RawValue>,
    error: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Call<'a> {
    name: Text<'a>,
    arguments: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    user_visible: serde_json::Value,
}

/// Returns the model that a session's `model_config_json` names.
pub(crate) fn model(json: &str) -> Option<String> {
    text_in(serde_json::from_str(json).ok(), "model_name").filled().map(str::to_owned)
}

/// Makes a turn of a row: `created` is in seconds, or in milliseconds where it is too large for that.
pub(crate) fn turn(role: &str, content: &str, created: Option<i64>, metadata: Option<&str>) -> Turn {
    let role = match role {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => Role::System,
    };
    let mut turn = Turn::new(role, created.and_then(instant));
    // A summary that replaces what was said before is for the model alone.
    let metadata: Metadata = metadata.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    turn.counts = metadata.user_visible != false;
    let items: Vec<&RawValue> = serde_json::from_str(content).unwrap_or_default();
    for item in items {
        let item: Item<'_> = serde_json::from_str(item.get()).unwrap_or_default();
        match item.kind.get() {
            Some("text") => turn.say(item.text.get().unwrap_or_default()),
            Some("toolRequest" | "frontendToolRequest") => {
                let call: Call<'_> = unwrapped(item.tool_call);
                let name = call.name.get().unwrap_or("tool");
                turn.tool(format!("{name} {}", call.arguments.map_or("", RawValue::get)).trim_end().to_owned());
            }
            Some("toolResponse") => turn.tool(format!("→ {}", answer(item.tool_result))),
            _ => {}
        }
    }
    turn
}

fn unwrapped<'a, T: Default + Deserialize<'a>>(raw: Option<&'a RawValue>) -> T {
    inner(member(raw, "value"))
}

/// Returns what a tool answered: a list of items, in newer versions in an object.
fn answer(raw: Option<&RawValue>) -> String {
    let result: Wrapped<'_> = inner(raw);
    let content = member(result.value, "content").or(result.value);
    let text = plain_text(content);
    if text.is_empty() { result.error.get().unwrap_or_default().to_owned() } else { text }
}
