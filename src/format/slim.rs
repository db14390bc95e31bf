//! Replaces what makes a record large by a line of text: images and files in base64, and long results of tools.
//!
//! Everything else stays byte for byte. Other large values are kept, because they may be text that a user wrote.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::format::text;

/// Maximum size in bytes of an image, a file or a tool's result that is kept.
pub(crate) const LARGE: usize = 16 * 1024;

/// Maximum depth to which parts are searched, far deeper than any client nests them.
const DEEPEST: usize = 32;
/// Members with the arguments of a call, which the model wrote.
const ARGUMENTS: [&str; 2] = ["input", "arguments"];

type RawMembers<'a> = IndexMap<String, &'a RawValue>;

/// A kind of record, or of a part of one, with the result of a tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResultAt {
    /// The member and value that identify the object, such as `type` and `tool_result`.
    pub mark: (&'static str, &'static str),
    /// The members of that object that contain the result; other members are text.
    pub members: &'static [&'static str],
    /// Set if the result is recorded for the model, not repeated for the screen.
    pub counts: bool,
}

/// The members in which an agent records the large parts of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlimShape {
    pub results: &'static [ResultAt],
    /// Members that repeat a result for the screen.
    pub repeated: &'static [&'static str],
    /// Members with a list of images as data URLs, which repeat those of a message for the screen.
    pub images: &'static [&'static str],
}

/// The numbers of the replaced parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Removed {
    /// Number of images and files.
    pub files: u64,
    /// Number of results of tools.
    pub results: u64,
    /// Number of parts that repeat an image, a file or a result for the screen.
    pub repeated: u64,
}

/// The place of a value in its record.
#[derive(Clone, Copy)]
enum ValuePlace {
    Words,
    /// In an object with a result in one of its members.
    Marked(ResultAt),
    Result {
        counts: bool,
    },
}

impl Removed {
    /// Returns a record without its large parts; `None` if it has none.
    pub(crate) fn slim(&mut self, record: &str, shape: &SlimShape) -> Option<String> {
        self.value(record, shape, ValuePlace::Words, DEEPEST)
    }

    fn value(&mut self, json: &str, shape: &SlimShape, within: ValuePlace, depth: usize) -> Option<String> {
        let json = json.trim();
        // A part of a small value is small.
        if json.len() <= LARGE || depth == 0 {
            return None;
        }
        match (json.as_bytes().first()?, within) {
            (b'{', _) => self.object(&serde_json::from_str(json).ok()?, shape, within, depth),
            (b'[', _) => {
                let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
                let slim: Vec<Option<String>> =
                    items.iter().map(|item| self.value(item.get(), shape, within, depth - 1)).collect();
                let is_slimmer = slim.iter().any(Option::is_some);
                let items: Vec<String> =
                    slim.into_iter().zip(items).map(|(slim, item)| slim.unwrap_or_else(|| item.get().into())).collect();
                is_slimmer.then(|| format!("[{}]", items.join(",")))
            }
            (b'"', ValuePlace::Result { counts }) => {
                *(if counts { &mut self.results } else { &mut self.repeated }) += 1;
                Some(quoted(&removed("result of a tool", json.len() as u64)))
            }
            _ => None,
        }
    }

    fn object(
        &mut self,
        members: &RawMembers<'_>,
        shape: &SlimShape,
        within: ValuePlace,
        depth: usize,
    ) -> Option<String> {
        if let Some((kind, what)) = file(members) {
            self.files += 1;
            return Some(format!("{{\"type\":{},\"text\":{}}}", quoted(kind), quoted(&what)));
        }
        let is_known = |found: &&ResultAt| member(members, found.mark.0).as_deref() == Some(found.mark.1);
        let within = match (within, shape.results.iter().find(is_known)) {
            (ValuePlace::Words, Some(found)) => ValuePlace::Marked(*found),
            _ => within,
        };
        let mut is_slimmer = false;
        let members: Vec<String> = members
            .iter()
            .map(|(name, value)| {
                let slim = self.member(name, value.get(), shape, within, depth - 1);
                is_slimmer |= slim.is_some();
                format!("{}:{}", quoted(name), slim.as_deref().unwrap_or_else(|| value.get()))
            })
            .collect();
        is_slimmer.then(|| format!("{{{}}}", members.join(",")))
    }

    fn member(
        &mut self,
        name: &str,
        json: &str,
        shape: &SlimShape,
        within: ValuePlace,
        depth: usize,
    ) -> Option<String> {
        let within = match within {
            _ if shape.repeated.contains(&name) => ValuePlace::Result { counts: false },
            ValuePlace::Marked(found) if found.members.contains(&name) => ValuePlace::Result { counts: found.counts },
            ValuePlace::Words if ARGUMENTS.contains(&name) => return None,
            within => within,
        };
        if shape.images.contains(&name)
            && let Ok(urls) = serde_json::from_str::<Vec<String>>(json)
        {
            let small: Vec<&String> =
                urls.iter().filter(|url| data_url(url).is_none_or(|(_, data)| data <= LARGE)).collect();
            self.repeated += (urls.len() - small.len()) as u64;
            return (small.len() < urls.len()).then(|| serde_json::json!(small).to_string());
        }
        self.value(json, shape, within, depth)
    }
}

/// Returns the type of the text block in place of a block with an image or a file, and its text.
///
/// Known blocks: `source` in base64 of Anthropic's API, the data URLs of OpenAI's, and `data` with `mimeType` of MCP.
fn file(members: &RawMembers<'_>) -> Option<(&'static str, String)> {
    let kind = member(members, "type")?;
    let (block, media, data) = match &*kind {
        "image" | "document" => {
            let source: Option<RawMembers<'_>> =
                members.get("source").and_then(|source| serde_json::from_str(source.get()).ok());
            let is_base64 = source.as_ref().is_none_or(|source| member(source, "type").as_deref() == Some("base64"));
            let (members, media) = source.as_ref().map_or((members, "mimeType"), |source| (source, "media_type"));
            let (media, data) = (member(members, media)?, member(members, "data")?);
            (is_base64 && is_in_base64(&data)).then_some(("text", media.into_owned(), data.len()))?
        }
        "input_image" | "input_file" => {
            let url = member(members, "image_url").or_else(|| member(members, "file_data"))?;
            let (media, data) = data_url(&url)?;
            ("input_text", media.to_owned(), data)
        }
        _ => return None,
    };
    (data > LARGE).then(|| (block, removed(&media, data as u64 / 4 * 3)))
}

/// Returns the media type of a data URL in base64, and the length of its data.
fn data_url(url: &str) -> Option<(&str, usize)> {
    let (media, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    is_in_base64(data).then_some((media, data.len()))
}

fn is_in_base64(data: &str) -> bool {
    data.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=' | b'\n' | b'\r'))
}

/// Returns the text of a member; `None` if it contains escapes.
fn member<'a>(members: &RawMembers<'a>, name: &str) -> Option<Cow<'a, str>> {
    #[derive(Deserialize)]
    struct MemberText<'t>(#[serde(borrow)] Cow<'t, str>);
    serde_json::from_str::<MemberText<'_>>(members.get(name)?.get()).ok().map(|text| text.0)
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

    const SHAPE: SlimShape = SlimShape {
        results: &[
            ResultAt { mark: ("type", "tool_result"), members: &["content"], counts: true },
            ResultAt { mark: ("role", "bashExecution"), members: &["output"], counts: false },
        ],
        repeated: &["toolUseResult"],
        images: &["images"],
    };

    fn slim(record: &Value) -> (Value, Removed) {
        let mut removed = Removed::default();
        let text = record.to_string();
        let slim = removed.slim(&text, &SHAPE).unwrap_or(text);
        (serde_json::from_str(&slim).expect("JSON"), removed)
    }

    #[test]
    fn slim_replaces_images_files_and_long_results() {
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
    fn slim_keeps_text_and_unknown_blocks() {
        let long = "a word and ".repeat(10_000);
        for record in [
            json!({"message": {"content": [{"type": "text", "text": long}]}}),
            json!({"message": {"content": long}}),
            json!({"content": [{"type": "image", "source": {"type": "base64", "data": "QUJD"}}], "said": long}),
            json!({"content": [{"type": "image", "source": {"type": "url", "url": "https://example.org"}}], "said": long}),
            json!({"content": [{"type": "hologram", "data": long}]}),
            json!({"type": "tool_result", "content": "short"}),
            json!({"type": "tool_use", "input": {"type": "document", "title": "Plan", "data": "QUJD".repeat(10_000)}}),
            json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": long}}),
            json!({"type": "image", "mimeType": "image/png", "data": long}),
            json!({"role": "bashExecution", "command": long}),
            json!({"images": ["https://example.org"], "said": long}),
        ] {
            assert_eq!(slim(&record), (record.clone(), Removed::default()));
        }
        // Records without a replaced part keep their bytes.
        let mut removed = Removed::default();
        let record = format!("{{ \"b\": 1.00, \"a\": \"\\u0041\", \"toolUseResult\": \"{long}\"}}");
        let slim = removed.slim(&record, &SHAPE).expect("a slimmer record");
        assert!(slim.starts_with("{\"b\":1.00,\"a\":\"\\u0041\",\"toolUseResult\":\"[result of a tool, "), "{slim}");
        assert_eq!(removed, Removed { repeated: 1, ..Removed::default() });
    }

    #[test]
    fn repeated_images_leave_the_list() {
        let url = format!("data:image/png;base64,{}", "QUJD".repeat(10_000));
        let (slim, removed) = slim(&json!({"images": [url, "https://example.org"]}));
        let expected = Removed { repeated: 1, ..Removed::default() };
        assert_eq!((slim, removed), (json!({"images": ["https://example.org"]}), expected));
    }

    #[test]
    fn deep_record_stays_as_it_is() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let record = format!("{}\"{}\"{}", open.repeat(100_000), "x".repeat(100_000), close.repeat(100_000));
            assert_eq!(Removed::default().slim(&record, &SHAPE), None);
        }
    }
}
