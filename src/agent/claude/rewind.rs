//! Writes a rewound copy of a session like `claude --fork-session` writes a fork: every record keeps its id and its
//! time, and gets the id of the new session.
//!
//! Facts: measured on 2.1.332, whose resume of such a file sends exactly these messages to the model.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::json;
use serde_json::value::to_raw_value;

use super::records::ClaudeRecord;
use super::{Repeats, branches, messages};
use crate::agent::prelude::*;
use crate::agent::rewind::{self, CutPoint, MAX_BYTES, NewCopy};
use crate::format::jsonl::Jsonl;
use crate::format::slim::{Removed, ResultAt, SlimShape};
use crate::session::branches::BranchFilter;

/// Types of records with a title.
const TITLES: [&str; 2] = ["custom-title", "ai-title"];

/// The results of tools: each is in its message, and in `toolUseResult` again for the screen.
const SHAPE: SlimShape = SlimShape {
    results: &[ResultAt { mark: ("type", "tool_result"), members: &["content"], counts: true }],
    repeated: &["toolUseResult"],
    images: &[],
};

/// Implements [`Rewind`](crate::agent::rewind::Rewind).
pub(super) fn rewound(copy: &SessionCopy, cut: CutPoint, id: &str) -> Result<NewCopy, PathError> {
    if copy.transcript_bytes > MAX_BYTES {
        return Err(rewind::fails(copy, "it is larger than 512 MiB"));
    }
    copied(copy, cut, id, &mut |_| None)
}

/// Implements [`Slim`](crate::agent::rewind::Slim).
pub(super) fn slim(copy: &SessionCopy, id: &str) -> Result<NewCopy, PathError> {
    let mut removed = Removed::default();
    let whole = CutPoint { branch: BranchFilter::Active, messages: u64::MAX };
    let new = copied(copy, whole, id, &mut |line| removed.slim(std::str::from_utf8(line).ok()?, &SHAPE))?;
    Ok(NewCopy { removed, ..new })
}

fn copied(
    copy: &SessionCopy,
    cut: CutPoint,
    id: &str,
    slim: &mut dyn FnMut(&[u8]) -> Option<String>,
) -> Result<NewCopy, PathError> {
    rewind::check(copy)?;
    let path = &copy.place.path;
    let (branches, mut repeats, mut number) = (branches::read(copy)?, Repeats::default(), 0);
    let (mut bytes, mut kept, mut leaf, mut prompt) = (Vec::new(), 0, None, None);
    let mut titles = BTreeMap::new();
    let mut lines = Jsonl::open(path)?.into_lines()?.up_to(usize::MAX);
    while let Some(line) = lines.next_line()? {
        let (at, line) = (number, line.bytes);
        number += 1;
        let is_kept = kept < cut.messages && branches.has(at, cut.branch);
        let Some(record) = ClaudeRecord::of_line(line) else { continue };
        // A title may have been set later.
        let title = TITLES.iter().find(|kind| record.kind.is(kind));
        let uuid = record.uuid.filled();
        if title.is_none() && (!is_kept || uuid.is_none() || record.is_sidechain.0 || repeats.has(line)) {
            continue;
        }
        let slim = slim(line);
        let copied = with_session(slim.as_deref().map_or(line, str::as_bytes), id)
            .map_err(|error| rewind::fails(copy, &format!("line {number}: {error}")))?;
        match title {
            Some(kind) => _ = titles.insert(*kind, copied),
            None => {
                bytes.extend_from_slice(&copied);
                leaf = uuid;
                prompt = record.prompt().or(prompt.take());
                kept += messages(line, false).len() as u64;
                if bytes.len() as u64 > MAX_BYTES {
                    return Err(rewind::fails(copy, "without large parts, it is still larger than 512 MiB"));
                }
            }
        }
    }
    titles.values().for_each(|title| bytes.extend_from_slice(title));
    let last = json!({"type": "last-prompt", "lastPrompt": prompt, "leafUuid": leaf, "sessionId": id});
    bytes.extend_from_slice(format!("{last}\n").as_bytes());
    let file = path.with_file_name(format!("{id}.jsonl"));
    Ok(NewCopy { dir: None, files: vec![(file, bytes)], removed: Removed::default() })
}

/// Returns a line with the id of another session; everything else is kept verbatim.
fn with_session(line: &[u8], id: &str) -> serde_json::Result<Vec<u8>> {
    let mut members: IndexMap<String, &RawValue> = serde_json::from_slice(line)?;
    let id = to_raw_value(id)?;
    if let Some(session) = members.get_mut("sessionId") {
        *session = &id;
    }
    let mut line = serde_json::to_vec(&members)?;
    line.push(b'\n');
    Ok(line)
}
