//! `<project>/.claude/cat/sessions/<session id>.cwd`: the working directory of a Claude Code session, for use after a
//! compaction.
//!
//! The name and the contents, a bare path, are those of CAT (cowwoc/cat 1d1c204c), which reads these files too.

use crate::agent::prelude::*;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

/// The directories below a project that lead to the records, outermost first.
pub(crate) const DIRS: [&str; 3] = [".claude", "cat", "sessions"];
/// Maximum size of a record, which contains one path.
pub(crate) const MAX_BYTES: u64 = 4096;
/// With the suffix, an id of this length is a valid file name on every system.
const MAX_ID: usize = 200;

/// Returns the record's file name for a session, if its id can be part of one.
pub(crate) fn file_name(session_id: &str) -> Option<String> {
    let is_sound = !session_id.is_empty()
        && session_id.len() <= MAX_ID
        && !session_id.starts_with('-')
        && session_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    is_sound.then(|| format!("{session_id}.cwd"))
}

/// Returns the id of the session whose record has this file name.
pub(crate) fn session_id(file_name: &str) -> Option<&str> {
    let id = file_name.strip_suffix(".cwd")?;
    self::file_name(id).map(|_| id)
}

/// Parses a record and returns its path, if that is a directory.
///
/// Other writers may end the line, so white space at either end counts only if it is part of the name.
pub(crate) fn live_dir(contents: &[u8]) -> Option<PathBuf> {
    let as_written = Path::new(OsStr::from_bytes(contents));
    let trimmed = Path::new(OsStr::from_bytes(contents.trim_ascii()));
    [as_written, trimmed].into_iter().find(|dir| reach::is_dir(dir) == Some(true)).map(Path::to_owned)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;

    #[test]
    fn record_name_accepts_only_plain_ids() {
        assert_eq!(file_name("3f2b8c1e-6f0d").as_deref(), Some("3f2b8c1e-6f0d.cwd"));
        assert_eq!(session_id("a_B-9.cwd"), Some("a_B-9"));
        for bad in ["", "-rf", "../x", "a/b", "a.b", "a b", "ä", "a\0", "a\n", &"x".repeat(201)] {
            assert_eq!(file_name(bad), None, "{bad}");
            assert_eq!(session_id(&format!("{bad}.cwd")), None, "{bad}");
        }
        assert_eq!(session_id("a.txt"), None);
    }

    #[test]
    fn record_strips_newline_unless_directory_name_has_it() {
        let root = tempfile::tempdir().expect("a directory");
        let plain = root.path().join("plain");
        let odd = root.path().join("odd\n");
        std::fs::create_dir(&plain).expect("a directory");
        std::fs::create_dir(&odd).expect("a directory");
        let record = |dir: &Path, end: &str| live_dir(&[dir.as_os_str().as_bytes(), end.as_bytes()].concat());
        assert_eq!(record(&plain, ""), Some(plain.clone()));
        assert_eq!(record(&plain, "\r\n"), Some(plain.clone()));
        assert_eq!(record(&odd, ""), Some(odd.clone()));
        assert_eq!(record(&plain, "x"), None);
        assert_eq!(live_dir(b"."), None);
        assert_eq!(live_dir(b"/x\0y"), None);
        assert_eq!(live_dir(b""), None);
    }
}
