//! The messages of Amp's threads, and the directory in their environment.

use crate::agent::document::{Document, compact};
use crate::agent::prelude::*;
use crate::format::content::call;
use crate::format::document::Shape;
use crate::format::file_uri;
use crate::format::json::{epoch, list};

/// A thread.
pub(super) const DOCUMENT: Document = Document {
    shape: Shape { list: "messages", members: &["id", "title", "created", "env"] },
    turns: |raw| turn(raw).map(|turn| vec![turn]),
    first: None,
};

fn turn(raw: &RawValue) -> Option<Turn> {
    let [role, content, meta, usage] = members(Some(raw), ["role", "content", "meta", "usage"]);
    let [model, answered_at] = texts_in(usage, ["model", "timestamp"]);
    let at = answered_at.instant().or_else(|| epoch(member(meta, "sentAt"), 1000));
    let role = match inner::<Text<'_>>(role).get()? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        // A summary of the thread.
        _ => Role::System,
    };
    let mut turn = Turn::new(role, at);
    turn.model = model.filled().map(str::to_owned);
    for block in list(content) {
        let [kind, text, name] = texts_in(Some(block), ["type", "text", "name"]);
        match kind.get() {
            Some("text") => turn.add_text(text.get().unwrap_or_default()),
            Some("tool_use") => turn.tool(call(name.filled(), member(Some(block), "input").map(RawValue::get))),
            Some("tool_result") => turn.tool(format!("→ {}", result(block))),
            _ => {}
        }
    }
    Some(turn)
}

/// Returns the result of a tool: a text, the output in an object, or an error.
fn result(block: &RawValue) -> String {
    let [content, run] = members(Some(block), ["content", "run"]);
    let [result, error] = members(run, ["result", "error"]);
    let Some(value) = result.or(content) else {
        return text_in(error, "message").get().unwrap_or_default().to_owned();
    };
    let output = members(Some(value), ["output", "content", "diff"]).into_iter().flatten().next();
    let value = output.unwrap_or(value);
    inner::<Text<'_>>(Some(value)).get().map_or_else(|| compact(value.get()), str::to_owned)
}

/// Returns the directory of a thread: `cwd`, or its only tree. `None` with several trees, which are ambiguous.
pub(super) fn directory(env: Option<&RawValue>) -> Option<String> {
    let initial = member(env, "initial");
    if let Some(cwd) = text_in(initial, "cwd").filled() {
        return Some(cwd.to_owned());
    }
    let [tree] = list(member(initial, "trees"))[..] else { return None };
    let uri = text_in(Some(tree), "uri");
    file_uri::path(uri.filled()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).expect("JSON")
    }

    #[test]
    fn parser_accepts_every_form_of_tool_result() {
        let shown = |block: &str| {
            let message = raw(&format!(r#"{{"role":"user","content":[{block}]}}"#));
            let turn = turn(&message).expect("a message");
            assert_eq!(turn.prompt(), None, "{block}");
            turn.messages[0].text.clone()
        };
        for (block, expected) in [
            (r#"{"type":"tool_result","tool_use_id":"1","content":"package main"}"#, "→ package main"),
            (r#"{"type":"tool_result","toolUseID":"1","run":{"status":"done","result":"text"}}"#, "→ text"),
            (r#"{"type":"tool_result","run":{"status":"done","result":{"output":"a b","exitCode":0}}}"#, "→ a b"),
            (r#"{"type":"tool_result","run":{"status":"done","result":[1,2]}}"#, "→ [1,2]"),
            (r#"{"type":"tool_result","run":{"status":"error","error":{"message":"no file"}}}"#, "→ no file"),
            (r#"{"type":"tool_use","name":"Read","input":{"path":"a"}}"#, r#"Read {"path":"a"}"#),
        ] {
            assert_eq!(shown(block), expected);
        }
    }

    #[test]
    fn directory_needs_exactly_one_local_tree() {
        let of = |initial: &str| directory(Some(&*raw(&format!(r#"{{"initial":{initial}}}"#))));
        assert_eq!(of(r#"{"cwd":"/w/a","trees":[]}"#).as_deref(), Some("/w/a"));
        assert_eq!(of(r#"{"trees":[{"displayName":"a","uri":"file:///w/a%20b"}]}"#).as_deref(), Some("/w/a b"));
        for none in [
            r#"{"trees":[{"uri":"file:///w/a"},{"uri":"file:///w/b"}]}"#,
            r#"{"trees":[{"uri":"vscode-remote://ssh/w/a"}]}"#,
            r#"{"trees":[{"uri":7}]}"#,
            "{}",
        ] {
            assert_eq!(of(none), None, "{none}");
        }
    }
}
