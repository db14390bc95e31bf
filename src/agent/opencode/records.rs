//! The records of OpenCode: JSON in the columns of its database and in the files of older versions.
//!
//! Facts: OpenCode 1.18.33, measured; anomalyco/opencode 063e8306 for the files.

use crate::agent::prelude::*;
use crate::format::content::call;
use crate::format::json::number;
use crate::format::turn::instant;

/// The record of a session in the files of older versions; the database has a column for each member.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct SessionFile<'a> {
    /// The directory.
    pub directory: Text<'a>,
    /// The title.
    pub title: Text<'a>,
    /// The session that started this one.
    #[serde(rename = "parentID")]
    pub parent_id: Text<'a>,
    time: Option<&'a RawValue>,
}

impl SessionFile<'_> {
    /// Returns the times of creation, update and archiving, in milliseconds.
    pub(crate) fn times(&self) -> [Option<i64>; 3] {
        members(self.time, ["created", "updated", "archived"]).map(number)
    }
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct MessageData<'a> {
    role: Text<'a>,
    time: Option<&'a RawValue>,
    #[serde(rename = "modelID")]
    model_id: Text<'a>,
    error: Option<&'a RawValue>,
    // In the newer form the content is in the message.
    text: Text<'a>,
    content: Option<&'a RawValue>,
    model: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct PartData<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    text: Text<'a>,
    synthetic: Flag,
    ignored: Flag,
    tool: Text<'a>,
    name: Text<'a>,
    state: Option<&'a RawValue>,
}

/// Returns the model in the JSON of a session's column.
pub(crate) fn model_id(json: &str) -> Option<String> {
    text_in(serde_json::from_str(json).ok(), "id").filled().map(str::to_owned)
}

/// Returns the directory in which a reply was made.
pub(super) fn worked_in(message: &str) -> Option<String> {
    text_in(member(serde_json::from_str(message).ok(), "path"), "cwd").filled().map(str::to_owned)
}

/// Begins a turn from a message's record. `created` (in milliseconds) and `kind` (the role) come from separate columns,
/// and apply if the record does not have them itself.
pub(crate) fn turn(created: Option<i64>, kind: Option<&str>, data: &str) -> Turn {
    let raw: MessageData<'_> = serde_json::from_str(data).unwrap_or_default();
    let role = match raw.role.get().or(kind) {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => Role::System,
    };
    let own = number(member(raw.time, "created"));
    let mut turn = Turn::new(role, own.or(created).and_then(instant));
    turn.counts = raw.error.is_none_or(|error| error.get() == "null");
    turn.model = match raw.model_id.filled() {
        Some(id) => Some(id.to_owned()),
        None => raw.model.filter(|_| role == Role::Assistant).and_then(|model| model_id(model.get())),
    };
    if let Some(text) = raw.text.get() {
        turn.add_text(text);
    }
    if let Some(text) = raw.error.and_then(error_text) {
        turn.error(text);
    }
    let parts: Vec<&RawValue> = inner(raw.content);
    parts.iter().for_each(|part| add_part(&mut turn, part.get()));
    turn
}

/// Returns the text of an error of the API, with its status (1.18.34); `None` if the user stopped the reply.
fn error_text(error: &RawValue) -> Option<String> {
    let [name, data] = members(Some(error), ["name", "data"]);
    let name = inner::<Text<'_>>(name);
    let name = name.filled().filter(|name| *name != "MessageAbortedError")?;
    let status = member(data, "statusCode").map(|status| format!(" {}", status.get())).unwrap_or_default();
    let message = text_in(data, "message").filled().map(|message| format!(": {message}")).unwrap_or_default();
    Some(format!("{name}{status}{message}"))
}

/// Adds a part of a message: a text, or a tool call.
pub(crate) fn add_part(turn: &mut Turn, data: &str) {
    let part: PartData<'_> = serde_json::from_str(data).unwrap_or_default();
    match part.kind.get() {
        // Files named in a prompt are added as text that the user did not type.
        Some("text") if !part.synthetic.0 && !part.ignored.0 => turn.add_text(part.text.get().unwrap_or_default()),
        Some("tool") => {
            let [input, output] = members(part.state, ["input", "output"]);
            turn.tool(call(part.tool.get().or(part.name.get()), input.map(RawValue::get)));
            if let Some(output) = inner::<Text<'_>>(output).filled() {
                turn.tool(format!("→ {output}"));
            }
        }
        _ => {}
    }
}
