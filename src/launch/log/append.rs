//! Writes the log of launches.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::error::PathError;
use crate::launch::log::{Launch, is_newer};
use crate::system::fsio;

/// Above this size the older half of the log is dropped.
const MAX_BYTES: u64 = 256 * 1024;

/// Adds a launch; several programs may add at once, since one write appends one line.
#[expect(clippy::disallowed_methods, reason = "this log is appended to, which replaces nothing")]
pub(crate) fn append(path: &Path, launch: &Launch) -> Result<(), PathError> {
    let fail = |error| PathError::new("write", path, error);
    if let Some(dir) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(fail)?;
    }
    prune(path)?;
    let mut line = serde_json::to_vec(launch).map_err(|error| fail(error.into()))?;
    line.push(b'\n');
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    options.open(path).and_then(|mut file| file.write_all(&line)).map_err(fail)
}

fn prune(path: &Path) -> Result<(), PathError> {
    if path.symlink_metadata().map_or(0, |metadata| metadata.len()) <= MAX_BYTES {
        return Ok(());
    }
    let Ok(bytes) = fsio::read_bounded(path, 16 * MAX_BYTES) else { return Ok(()) };
    // What a newer version of this program wrote, it shall find again; it will drop its older half itself.
    if bytes.split(|byte| *byte == b'\n').any(is_newer) {
        return Ok(());
    }
    let half = &bytes[bytes.len() / 2..];
    let start = memchr::memchr(b'\n', half).map_or(half.len(), |newline| newline + 1);
    fsio::replace(path, &half[start..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::log::{VERSION, read};
    use crate::session::AgentKind;

    #[test]
    fn launches_are_read_back_newest_first_and_the_log_stays_small() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("state/rejoin/launches.jsonl");
        let launch = |number: usize| Launch {
            format_version: VERSION,
            at: "2026-03-01T12:00:00Z".parse().expect("a time"),
            agent: AgentKind::Claude,
            id: Some(number.to_string()),
            path: None,
            dir: "/x".repeat(500).into(),
            argv: Vec::new(),
            git_remote: None,
        };
        for number in 0..600 {
            append(&path, &launch(number)).expect("a line");
        }
        let newest: Vec<String> =
            read(&path).expect("launches").into_iter().filter_map(|launch| launch.id).take(3).collect();
        assert_eq!(newest, ["599", "598", "597"]);
        assert!(path.metadata().expect("metadata").len() <= MAX_BYTES + 2048);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
    fn lines_of_a_newer_version_are_read_as_far_as_possible_and_never_dropped() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("launches.jsonl");
        let old = r#"{"at":"2026-03-01T11:00:00Z","agent":"claude","id":"old","path":null,"dir":"/x","argv":[]}"#;
        let newer = r#"{"format_version":2,"at":"2026-03-01T11:30:00Z","agent":"claude","id":"newer","path":null,"dir":"/x","argv":[],"more":1}"#;
        let unreadable = r#"{"format_version":3,"when":"2026"}"#;
        let padding = format!("{{\"at\":\"{}\"}}\n", "x".repeat(1000)).repeat(300);
        std::fs::write(&path, format!("{newer}\n{padding}{unreadable}\n{old}\n")).expect("a file");
        let launch = Launch { id: Some("mine".to_owned()), ..read(&path).expect("launches").remove(0) };
        assert_eq!(launch.format_version, VERSION);
        append(&path, &launch).expect("a line");
        let text = std::fs::read_to_string(&path).expect("a log");
        assert!(text.starts_with(newer) && text.contains(unreadable) && text.len() as u64 > MAX_BYTES);
        let ids: Vec<_> = read(&path).expect("launches").into_iter().filter_map(|launch| launch.id).collect();
        assert_eq!(ids, ["mine", "old", "newer"]);
    }
}
