//! One line per copy of a session, so that a user can distinguish copies.

use super::text::{count, one_line, size};

/// Returns the number, directory, size and age of a copy: "copy 1: ~/work/beta, 8 messages, 22 hours ago".
///
/// `messages` is `None` if they were not counted; `active` is the last activity in words.
pub(crate) fn described(number: usize, dir: &str, messages: Option<u64>, bytes: u64, active: &str) -> String {
    let size = messages.map_or_else(|| size(bytes), |messages| count(messages, "message"));
    format!("copy {number}: {}, {size}, {active}", one_line(dir))
}
