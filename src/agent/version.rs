//! Which version of its agent wrote a session, where its records say so.

use serde_json::Value;

use super::Agent;
use crate::format::jsonl::Jsonl;
use crate::session::Copy;

/// More than this is no version.
const MAX_LENGTH: usize = 40;

/// Returns the version that the newest records of a copy name, or else its first.
pub(crate) fn of(agent: &dyn Agent, copy: &Copy) -> Option<String> {
    let at = agent.version_at()?;
    let path = agent.transcript(&copy.place)?;
    let find = |line: &[u8]| {
        let record: Value = serde_json::from_slice(line).ok()?;
        record.pointer(at)?.as_str().filter(|version| (1..=MAX_LENGTH).contains(&version.len())).map(str::to_owned)
    };
    let mut version = None;
    // A file that cannot be read names no version; elsewhere it is a problem.
    let _ = Jsonl::open(&path).ok()?.lines_backward(|line, _| {
        version = find(line);
        version.is_some()
    });
    if version.is_none() {
        let _ = Jsonl::open(&path).ok()?.lines_forward(|line| {
            version = find(line);
            version.is_some()
        });
    }
    version
}
