//! Replaces what makes a record large by a line of text: images and files in base64, and long results of tools.
//!
//! Everything else stays byte for byte. A large value that is neither is left alone: it may be what somebody wrote.

use indexmap::IndexMap;
use serde_json::value::RawValue;

use crate::format::text;

/// Maximum size in bytes of an image, a file or a tool's result that stays.
pub(crate) const LARGE: usize = 16 * 1024;

type Members<'a> = IndexMap<String, &'a RawValue>;

/// Where an agent records the results of tools.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Results {
    /// Members with a value by which an object is a result, such as `type` and `tool_result`.
    pub marks: &'static [(&'static str, &'static str)],
    /// Members that hold a result.
    pub members: &'static [&'static str],
}

/// What was replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Removed {
    /// Number of images and files.
    pub files: u64,
    /// Number of results of tools.
    pub results: u64,
}

impl Removed {
    /// Returns a record without its large parts; `None` if it has none.
    pub(crate) fn slim(&mut self, record: &str, results: Results) -> Option<String> {
        self.value(record, results, false)
    }

    fn value(&mut self, json: &str, results: Results, in_result: bool) -> Option<String> {
        let json = json.trim();
        // A part of a small value is small.
        if json.len() <= LARGE {
            return None;
        }
        match json.as_bytes().first()? {
            b'{' => self.object(&serde_json::from_str(json).ok()?, results, in_result),
            b'[' => {
                let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
                let slim: Vec<Option<String>> =
                    items.iter().map(|item| self.value(item.get(), results, in_result)).collect();
                let is_slimmer = slim.iter().any(Option::is_some);
                let items: Vec<String> =
                    slim.into_iter().zip(items).map(|(slim, item)| slim.unwrap_or_else(|| item.get().into())).collect();
                is_slimmer.then(|| format!("[{}]", items.join(",")))
            }
            b'"' if in_result => {
                self.results += 1;
                Some(quoted(&removed("result of a tool", json.len() as u64)))
            }
            _ => None,
        }
    }

    fn object(&mut self, members: &Members<'_>, results: Results, in_result: bool) -> Option<String> {
        if let Some((kind, what)) = file(members) {
            self.files += 1;
            return Some(format!("{{\"type\":{},\"text\":{}}}", quoted(kind), quoted(&what)));
        }
        let is_result = |(name, value): &(&str, &str)| member(members, name) == Some(*value);
        let in_result = in_result || results.marks.iter().any(is_result);
        let mut is_slimmer = false;
        let members: Vec<String> = members
            .iter()
            .map(|(name, value)| {
                let in_result = in_result || results.members.contains(&name.as_str());
                let slim = self.value(value.get(), results, in_result);
                is_slimmer |= slim.is_some();
                format!("{}:{}", quoted(name), slim.as_deref().unwrap_or_else(|| value.get()))
            })
            .collect();
        is_slimmer.then(|| format!("{{{}}}", members.join(",")))
    }
}

/// Returns the type of the text block in place of a block with an image or a file, and its text.
///
/// Known blocks: `source.data` of Anthropic's API, the data URLs of OpenAI's, and `data` with `mimeType` of MCP.
fn file(members: &Members<'_>) -> Option<(&'static str, String)> {
    let kind = member(members, "type")?;
    let (media, data) = match kind {
        "image" | "document" => {
            let source: Option<Members<'_>> =
                members.get("source").and_then(|source| serde_json::from_str(source.get()).ok());
            let members = source.as_ref().unwrap_or(members);
            let media = member(members, "media_type").or_else(|| member(members, "mimeType"));
            (media.unwrap_or(kind).to_owned(), member(members, "data")?.len())
        }
        "input_image" | "input_file" => {
            let url = member(members, "image_url").or_else(|| member(members, "file_data"))?;
            let (media, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
            (media.to_owned(), data.len())
        }
        _ => return None,
    };
    let kind = if kind.starts_with("input_") { "input_text" } else { "text" };
    (data > LARGE).then(|| (kind, removed(&media, data as u64 / 4 * 3)))
}

/// Returns the text of a member without escapes.
fn member<'a>(members: &Members<'a>, name: &str) -> Option<&'a str> {
    serde_json::from_str(members.get(name)?.get()).ok()
}

fn removed(what: &str, bytes: u64) -> String {
    format!("[{}, {}: removed by `rejoin rewind --slim`]", text::one_line(what), text::size(bytes))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const RESULTS: Results = Results { marks: &[("type", "tool_result")], members: &["toolUseResult"] };

    fn slim(record: &Value) -> (Value, Removed) {
        let mut removed = Removed::default();
        let text = record.to_string();
        let slim = removed.slim(&text, RESULTS).unwrap_or(text);
        (serde_json::from_str(&slim).expect("JSON"), removed)
    }

    #[test]
    fn images_files_and_long_results_become_a_line() {
        let data = "QUJD".repeat(10_000);
        let url = format!("data:image/png;base64,{data}");
        for (block, expected) in [
            (
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}),
                json!({"type": "text", "text": "[image/png, 29 KiB: removed by `rejoin rewind --slim`]"}),
            ),
            (
                json!({"type": "image", "data": data, "mimeType": "image/webp"}),
                json!({"type": "text", "text": "[image/webp, 29 KiB: removed by `rejoin rewind --slim`]"}),
            ),
            (
                json!({"type": "input_image", "image_url": url, "detail": "auto"}),
                json!({"type": "input_text", "text": "[image/png, 29 KiB: removed by `rejoin rewind --slim`]"}),
            ),
            (
                json!({"type": "tool_result", "tool_use_id": "t1", "content": data}),
                json!({"type": "tool_result", "tool_use_id": "t1",
                       "content": "[result of a tool, 39 KiB: removed by `rejoin rewind --slim`]"}),
            ),
        ] {
            let record = json!({"uuid": "u", "message": {"content": ["before", block, "after"]}});
            let (slim, removed) = slim(&record);
            assert_eq!(slim, json!({"uuid": "u", "message": {"content": ["before", expected, "after"]}}));
            assert_eq!(removed.files + removed.results, 1);
        }
    }

    #[test]
    fn words_small_parts_and_unknown_blocks_stay_as_they_are() {
        let long = "a word and ".repeat(10_000);
        for record in [
            json!({"message": {"content": [{"type": "text", "text": long}]}}),
            json!({"message": {"content": long}}),
            json!({"content": [{"type": "image", "source": {"type": "base64", "data": "QUJD"}}], "said": long}),
            json!({"content": [{"type": "image", "source": {"type": "url", "url": "https://example.org"}}], "said": long}),
            json!({"content": [{"type": "hologram", "data": long}]}),
            json!({"type": "tool_result", "content": "short"}),
        ] {
            assert_eq!(slim(&record), (record.clone(), Removed::default()));
        }
        // What stays is not even written anew.
        let mut removed = Removed::default();
        let record = format!("{{ \"b\": 1.00, \"a\": \"\\u0041\", \"toolUseResult\": \"{long}\"}}");
        let slim = removed.slim(&record, RESULTS).expect("a slimmer record");
        assert!(slim.starts_with("{\"b\":1.00,\"a\":\"\\u0041\",\"toolUseResult\":\"[result of a tool, "), "{slim}");
        assert_eq!(removed, Removed { files: 0, results: 1 });
    }
}
