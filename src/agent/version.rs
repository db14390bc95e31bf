//! The version of the agent that wrote a session, if its records contain it.

use serde_json::Value;

use super::Agent;
use crate::format::jsonl::Jsonl;
use crate::session::SessionCopy;

/// Maximum length of a version.
const MAX_LENGTH: usize = 40;

/// Returns the numbers of a version such as `2.1.330`; `None` for any other text.
pub(crate) fn parts(version: &str) -> Option<Vec<u64>> {
    let parts: Vec<u64> = version.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    (parts.len() > 1).then_some(parts)
}

/// Returns the version in the newest records of a copy, or else in the first ones.
pub(crate) fn of(agent: &dyn Agent, copy: &SessionCopy) -> Option<String> {
    let at = agent.about().version_at?;
    let path = agent.transcript(&copy.place)?;
    let find = |line: &[u8]| {
        let record: Value = serde_json::from_slice(line).ok()?;
        record.pointer(at)?.as_str().filter(|version| (1..=MAX_LENGTH).contains(&version.len())).map(str::to_owned)
    };
    let mut version = None;
    // An unreadable file has no version here; it is reported elsewhere.
    let _ = Jsonl::open(&path).ok()?.lines_backward(&mut |line, _| {
        version = find(line);
        version.is_some()
    });
    if version.is_none() {
        let _ = Jsonl::open(&path).ok()?.lines_forward(&mut |line| {
            version = find(line);
            version.is_some()
        });
    }
    version
}
