//! Writes the log of launches.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::error::PathError;
use crate::fsio;
use crate::launch_log::Launch;

/// Above this size the older half of the log is dropped.
const MOST_BYTES: u64 = 256 * 1024;

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
    if path.symlink_metadata().map_or(0, |metadata| metadata.len()) <= MOST_BYTES {
        return Ok(());
    }
    let bytes = fsio::read_bounded(path, 2 * MOST_BYTES).unwrap_or_default();
    let half = &bytes[bytes.len() / 2..];
    let start = memchr::memchr(b'\n', half).map_or(half.len(), |newline| newline + 1);
    fsio::replace(path, &half[start..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch_log::{VERSION, read};
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
        assert!(path.metadata().expect("metadata").len() <= MOST_BYTES + 2048);
    }
}
