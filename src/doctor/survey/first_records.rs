//! Reads the first records of a file that no reader accepts.

use std::path::Path;

use crate::agent::Agent;
use crate::agent::upkeep::is_object;
use crate::format::jsonl::Jsonl;

/// Maximum records of a file that are examined.
const RECORDS: usize = 64;

/// The first records of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstRecords {
    /// One may be part of a conversation, or the file cannot be read.
    Conversation,
    /// No record is part of a conversation, or the file is empty.
    Silent,
    /// No line is a record, as in a compressed file.
    Unknown,
}

/// Examines the first records of a file.
pub(super) fn first_records(agent: &dyn Agent, path: &Path) -> FirstRecords {
    let (mut seen, mut has_record, mut found) = (0, false, false);
    let read = Jsonl::open(path).and_then(|mut file| {
        file.lines_forward(&mut |line| {
            seen += 1;
            let is_record = is_object(line);
            has_record |= is_record;
            found = is_record && !agent.is_silent(line);
            found || seen == RECORDS
        })
    });
    match read {
        // An unreadable file may contain a conversation.
        Err(_) => FirstRecords::Conversation,
        Ok(_) if found => FirstRecords::Conversation,
        Ok(_) if seen > 0 && !has_record => FirstRecords::Unknown,
        Ok(_) => FirstRecords::Silent,
    }
}
