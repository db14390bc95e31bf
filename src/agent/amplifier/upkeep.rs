//! Facts about Amplifier for `doctor`: temporary files, files that every save rewrites, and stray event logs.
//!
//! Sources: amplifier-foundation d0d96f70 (`io/files.py`, hooks-session-naming), amplifier-distro 17dd3e00
//! (`fileutil.atomic_write`).

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

use crate::agent::amplifier::records::EventLine;
use crate::agent::prelude::*;
use crate::agent::upkeep::{StrayLog, is_own_temporary};
use crate::format::jsonl::{Jsonl, Line};

const LOG: &str = "events.jsonl";

/// Returns whether a file is a temporary one of any writer: the client, the distro, the naming hook, or rejoin.
pub(super) fn is_temporary(name: &str) -> bool {
    let is_made = |start: &str| {
        name.strip_prefix(start).and_then(|rest| rest.strip_suffix(".tmp")).is_some_and(|random| {
            !random.is_empty() && random.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
    };
    name == "metadata.json.tmp"
        || is_own_temporary(name)
        || [".transcript_", ".metadata_", "transcript_", "metadata_", "tmp"].into_iter().any(is_made)
}

/// Returns whether a file is a small one that every save rewrites.
pub(super) fn is_state(name: &str) -> bool {
    let names = ["metadata.json", "metadata.json.backup", "transcript.jsonl.backup", "session-info.json"];
    names.contains(&name) || is_temporary(name)
}

/// Compares the event logs of a stray directory and of the session's own directory.
pub(super) fn fold(from: &Path, into: &Path) -> Result<Option<StrayLog>, PathError> {
    let entries = reach::read_dir(from).map_err(|error| PathError::new("read", from, error))?;
    let mut has_log = false;
    for entry in entries {
        let entry = entry.map_err(|error| PathError::new("read", from, error))?;
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        match entry.file_name().to_str() {
            Some(LOG) if is_file => has_log = true,
            Some(name) if is_file && is_state(name) => {}
            _ => return Ok(None),
        }
    }
    if !has_log {
        return Ok(None);
    }
    let hasher = RandomState::new();
    let facts = |line: &Line<'_>| {
        let at = serde_json::from_slice::<EventLine<'_>>(line.bytes).ok().and_then(|event| event.time());
        (hasher.hash_one((line.bytes, line.lost())), at)
    };
    let (mut known, mut last) = (HashSet::new(), None);
    if let Some(log) = Jsonl::open_if_present(&into.join(LOG))? {
        let mut lines = log.into_lines()?;
        while let Some((hash, at)) = lines.next_line()?.as_ref().map(facts) {
            known.insert(hash);
            last = last.max(at);
        }
    }
    let (mut all_known, mut all_newer) = (true, true);
    let mut lines = Jsonl::open(&from.join(LOG))?.into_lines()?;
    while let Some((hash, at)) = lines.next_line()?.as_ref().map(facts) {
        all_known &= known.contains(&hash);
        all_newer &= at.is_some_and(|at| Some(at) > last);
        if !all_known && !all_newer {
            break;
        }
    }
    Ok(Some(match (all_known, all_newer) {
        (true, _) => StrayLog::AllKnown,
        (_, true) => StrayLog::AllNewer,
        _ => StrayLog::Mixed,
    }))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;
    use crate::format::jsonl::MAX_LINE;

    #[test]
    fn name_identifies_temporary_files() {
        for name in
            [".transcript_ab12_x.tmp", "metadata_k3j4.tmp", "tmpa8f_1z.tmp", "metadata.json.tmp", ".rejoin-Qx.tmp"]
        {
            assert!(is_temporary(name), "{name}");
        }
        for name in ["transcript.jsonl", "notes.tmp", "tmp.tmp", "tmp x.tmp", "transcript_20260101.json", ".tmp"] {
            assert!(!is_temporary(name), "{name}");
        }
    }

    #[test]
    fn stray_log_is_duplicate_newer_or_mixed() {
        let dir = tempfile::tempdir().expect("a directory");
        let (from, into) = (dir.path().join("from"), dir.path().join("into"));
        std::fs::create_dir_all(&from).expect("a directory");
        std::fs::create_dir_all(&into).expect("a directory");
        let event = |minute: u8| format!("{{\"ts\":\"2026-02-01T10:{minute:02}:00.000+00:00\",\"event\":\"x\"}}\n");
        std::fs::write(into.join(LOG), event(1) + &event(2)).expect("a file");
        for (log, expected) in [
            (event(1), StrayLog::AllKnown),
            (event(3) + &event(4), StrayLog::AllNewer),
            (event(2) + &event(3), StrayLog::Mixed),
            (event(0), StrayLog::Mixed),
            ("no event\n".to_owned(), StrayLog::Mixed),
        ] {
            std::fs::write(from.join(LOG), log).expect("a file");
            assert_eq!(fold(&from, &into).expect("an answer"), Some(expected));
        }
        let image = |end: &str| {
            let data = format!("{}{end}", "A".repeat(MAX_LINE));
            format!("{{\"ts\":\"2026-02-01T10:01:00.000+00:00\",\"event\":\"x\",\"data\":\"{data}\"}}\n")
        };
        std::fs::write(into.join(LOG), image("A")).expect("a file");
        for (end, expected) in [("A", StrayLog::AllKnown), ("B", StrayLog::Mixed)] {
            std::fs::write(from.join(LOG), image(end)).expect("a file");
            assert_eq!(fold(&from, &into).expect("an answer"), Some(expected), "only the end of an image differs");
        }
        std::fs::write(from.join("transcript.jsonl"), "").expect("a file");
        assert_eq!(fold(&from, &into).expect("an answer"), None);
    }
}
