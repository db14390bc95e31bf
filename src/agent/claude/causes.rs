//! Finds causes of a stuck conversation in the part of the transcript between the last reply and the first error after
//! it.
//!
//! Facts: the parts of a request by Anthropic's Messages API; the errors by reports in anthropics/claude-code (2146,
//! 6273, 66204).

use super::records::ClaudeRecord;
use super::{Repeats, branches};
use crate::agent::prelude::*;
use crate::format::json_text::has_lone_surrogate;
use crate::format::jsonl::Jsonl;
use crate::format::skim::Raw;
use crate::session::branches::{BranchFilter, Part};
use crate::session::causes::{Cause, CauseLine, MAX_IMAGE, SuspectPart, Suspects};

/// Maximum length of a line that is read: a request may have at most 32 MB.
const MAX_LINE: usize = 32 * 1024 * 1024;

/// The members of a block that are parsed.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct CauseBlock<'a> {
    #[serde(rename = "type")]
    kind: Raw<'a>,
    id: Raw<'a>,
    tool_use_id: Raw<'a>,
    signature: Raw<'a>,
    source: Raw<'a>,
    data: Raw<'a>,
    content: Raw<'a>,
}

/// Types of blocks that cannot be one of the causes.
const HARMLESS: [&str; 7] = [
    "text",
    "redacted_thinking",
    "document",
    "search_result",
    "tool_reference",
    "server_tool_use",
    "web_search_tool_result",
];

/// Reads the causes of the last error of a copy. `is_silent` identifies the records that carry no conversation.
pub(in crate::agent) fn read(
    copy: &SessionCopy,
    is_silent: impl Fn(&[u8]) -> bool,
) -> Result<Vec<CauseLine>, PathError> {
    let branches = branches::read(copy)?;
    let shows_sidechains = copy.kind == SessionKind::Subagent;
    let Some(file) = Jsonl::open_if_present(&copy.place.path)? else { return Ok(Vec::new()) };
    let mut lines = file.into_lines()?.up_to(MAX_LINE);
    let (mut suspects, mut repeats, mut at) = (Suspects::default(), Repeats::default(), 0);
    while let Some(line) = lines.next_line()? {
        at += 1;
        if !branches.has(at - 1, BranchFilter::Active) {
            continue;
        }
        let Some(record) = ClaudeRecord::of_line(line.bytes).filter(|_| line.left_out.is_none()) else {
            suspects.add_part(SuspectPart::Unknown, line.number);
            continue;
        };
        if !repeats.has(line.bytes) && (shows_sidechains || !record.is_sidechain.0) {
            see(&record, line.bytes, line.number, &mut suspects, &is_silent);
        }
    }
    Ok(suspects.finish())
}

fn see(
    record: &ClaudeRecord<'_>,
    bytes: &[u8],
    line: u64,
    suspects: &mut Suspects,
    is_silent: &impl Fn(&[u8]) -> bool,
) {
    if record.subtype.is("compact_boundary") {
        suspects.compact();
    }
    if !record.is_message() {
        if !is_silent(bytes) {
            suspects.add_part(SuspectPart::Unknown, line);
        }
        return;
    }
    if record.is_api_error() {
        suspects.fail();
        return;
    }
    if let Part::Reply(id) = record.part() {
        suspects.reply(id);
    }
    let content = record.content();
    if content.bytes().is_some_and(has_lone_surrogate) {
        suspects.add_part(SuspectPart::Cause(Cause::LoneSurrogate), line);
    }
    each_part(content, &mut |part| suspects.add_part(part, line));
}

/// Calls `see` with each part of a content value: a text, or a list of blocks.
fn each_part(content: Raw<'_>, see: &mut dyn FnMut(SuspectPart)) {
    match content.bytes() {
        Some([b'"', ..]) => {}
        Some(list) => match serde_json::from_slice::<Vec<CauseBlock<'_>>>(list) {
            Ok(blocks) => blocks.iter().for_each(|block| each_part_of(block, see)),
            Err(_) => see(SuspectPart::Unknown),
        },
        None => see(SuspectPart::Unknown),
    }
}

fn each_part_of(block: &CauseBlock<'_>, see: &mut dyn FnMut(SuspectPart)) {
    let kind = block.kind.filled().unwrap_or_default();
    let id_of = |id: Raw<'_>, part: fn(String) -> SuspectPart| id.filled().map_or(SuspectPart::Unknown, part);
    match kind.as_str() {
        "tool_use" => see(id_of(block.id, SuspectPart::Call)),
        "tool_result" => {
            see(id_of(block.tool_use_id, SuspectPart::Result));
            if block.content.bytes().is_some() {
                each_part(block.content, see);
            }
        }
        "image" => {
            let source: CauseBlock<'_> = block.source.read();
            if source.data.bytes().is_some_and(|data| data.len() > MAX_IMAGE + "\"\"".len()) {
                see(SuspectPart::Cause(Cause::LargeImage));
            }
        }
        "thinking" if block.signature.filled().is_none() => see(SuspectPart::Cause(Cause::UnsignedThinking)),
        "thinking" => {}
        kind if HARMLESS.contains(&kind) => {}
        _ => see(SuspectPart::Unknown),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;

    const ERROR: &str = r#"{"type":"assistant","uuid":"e","isApiErrorMessage":true,"message":{"id":"e","content":[{"type":"text","text":"API Error: 400"}]}}"#;

    /// Returns the causes in a transcript of a good reply, records with these types and contents, and an error.
    fn found(records: &[(&str, &str)]) -> Vec<(Cause, u64)> {
        let good = r#"{"type":"assistant","uuid":"g","message":{"id":"g","content":[{"type":"text","text":"x"}]}}"#;
        let records = records.iter().enumerate().map(|(number, (kind, content))| {
            format!(r#"{{"type":"{kind}","uuid":"{number}","message":{{"id":"m","content":{content}}}}}"#)
        });
        let lines: Vec<String> = [good.to_owned()].into_iter().chain(records).chain([ERROR.to_owned()]).collect();
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.jsonl");
        std::fs::write(&path, lines.join("\n")).expect("a file");
        let mut copy = crate::session::tests::copy("a");
        copy.place.path = path.into();
        let found = read(&copy, super::super::is_silent).expect("a transcript");
        found.into_iter().map(|found| (found.cause, found.line)).collect()
    }

    #[test]
    fn each_cause_is_found_with_its_line() {
        let image =
            |size: usize| format!(r#"[{{"type":"image","source":{{"type":"base64","data":"{}"}}}}]"#, "A".repeat(size));
        let call = r#"[{"type":"tool_use","id":"c","name":"Bash","input":{}}]"#;
        let result = r#"[{"type":"tool_result","tool_use_id":"c","content":"x"}]"#;
        assert_eq!(found(&[("assistant", call)]), [(Cause::CallWithoutResult, 2)]);
        assert_eq!(found(&[("assistant", call), ("user", result), ("user", "\"x\"")]), []);
        assert_eq!(found(&[("user", "\"x\""), ("user", &image(MAX_IMAGE + 1))]), [(Cause::LargeImage, 3)]);
        assert_eq!(found(&[("user", &image(MAX_IMAGE))]), []);
        let read = format!(r#"[{{"type":"tool_result","tool_use_id":"c","content":{}}}]"#, image(9 << 20));
        assert_eq!(
            found(&[("assistant", call), ("user", &read)]),
            [(Cause::LargeImage, 3)],
            "of a tool, in a long line"
        );
        assert_eq!(found(&[("user", r#""a \ud83d b""#)]), [(Cause::LoneSurrogate, 2)]);
        assert_eq!(found(&[("user", r#""a \ud83d\ude00 \\ud83d b""#)]), []);
        for (members, expected) in [
            ("", [(Cause::UnsignedThinking, 2)].as_slice()),
            (r#","signature":"""#, &[(Cause::UnsignedThinking, 2)]),
            (r#","signature":"EqQB""#, &[]),
        ] {
            let thinking = format!(r#"[{{"type":"thinking","thinking":"hm"{members}}}]"#);
            assert_eq!(found(&[("assistant", &thinking)]), expected, "{members}");
        }
    }

    #[test]
    fn unknown_record_hides_every_cause() {
        let surrogate = ("user", r#""\ud83d""#);
        assert_eq!(found(&[surrogate]).len(), 1);
        for other in
            [("user", r#"[{"type":"hologram"}]"#), ("user", "7"), ("user", r#"[{"text":"x"}]"#), ("whisper", "\"x\"")]
        {
            assert_eq!(found(&[surrogate, other]), [], "{other:?}");
        }
        assert_eq!(found(&[surrogate, ("system", "\"x\"")]).len(), 1);
        let call = r#"[{"type":"tool_use","name":"Bash","input":{}}]"#;
        assert_eq!(found(&[("assistant", call)]), [], "it has no id");
    }

    #[test]
    fn part_before_good_reply_is_not_a_cause() {
        let surrogate = ("user", r#""\ud83d""#);
        let mut records = vec![surrogate, ("assistant", r#"[{"type":"text","text":"fine"}]"#), ("user", "\"x\"")];
        assert_eq!(found(&records), []);
        records.push(surrogate);
        assert_eq!(found(&records), [(Cause::LoneSurrogate, 5)]);
    }
}
