//! The functions that programs call: record a session's working directory, and read it back.
//!
//! Both are best effort and never panic, because a session must not fail over its bookkeeping. Failures are logged.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::agent::amplifier::session_info::{FILE_NAME, MAX_BYTES, parse, render};
use crate::error::PathError;
use crate::system::disk::{self, Disk, SYSTEM};
use crate::system::env::Env;
use crate::system::fsio;

/// Records the working directory of a session in its directory, best effort.
///
/// `working_dir` is expanded, made absolute and resolved. Returns whether the file was written;
/// the reason for a failure is logged as a warning.
pub fn write_session_info(session_dir: &Path, working_dir: &Path, created_at: Timestamp) -> bool {
    let resolved = match Env::read(None) {
        Ok(env) => env.resolve(working_dir),
        Err(error) => {
            log::warn!("cannot record the working directory in {}: {error}", session_dir.display());
            return false;
        }
    };
    match record(&SYSTEM, session_dir, &resolved, created_at) {
        Ok(()) => true,
        Err(error) => {
            log::warn!("cannot record the working directory: {error}");
            false
        }
    }
}

/// Reads the working directory that was recorded for a session.
///
/// `None` if there is none: a missing file is logged at debug level, an unusable one as a
/// warning. Whether the directory exists is not checked.
pub fn read_working_dir(session_dir: &Path) -> Option<PathBuf> {
    let path = session_dir.join(FILE_NAME);
    let bytes = match fsio::read_if_present(&path, MAX_BYTES) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => {
            log::debug!("there is no {}", path.display());
            return None;
        }
        Err(error) => {
            log::warn!("{error}");
            return None;
        }
    };
    let home = Env::read(None).ok().map(|env| env.home);
    let expand = |dir: &Path| match (dir.strip_prefix("~"), &home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => dir.to_owned(),
    };
    match parse(&bytes, expand) {
        Ok(info) => Some(info.working_dir),
        Err(why) => {
            log::warn!("cannot use {}: {why}", path.display());
            None
        }
    }
}

/// Writes the file; unknown keys of a readable old one survive.
pub(crate) fn record(
    disk: &dyn Disk,
    session_dir: &Path,
    working_dir: &Path,
    created_at: Timestamp,
) -> Result<(), PathError> {
    let path = session_dir.join(FILE_NAME);
    // If the file cannot be read, it is not replaced: its contents would be lost.
    let old = disk::read_if_present(disk, &path, MAX_BYTES).map_err(|error| PathError::new("read", &path, error))?;
    let contents = render(working_dir, created_at, old.as_deref()).ok_or_else(|| {
        let why = format!("{} is not UTF-8, which JSON cannot hold", working_dir.display());
        PathError::new("write", &path, std::io::Error::other(why))
    })?;
    disk::replace(disk, &path, contents.as_bytes())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;

    #[test]
    fn unusual_paths_round_trip() {
        let dir = tempfile::tempdir().expect("a directory");
        let created_at = "2026-02-01T10:00:00Z".parse().expect("a time");
        let long = format!("/no/{}", "x".repeat(250));
        for odd in ["/no/such dir/it's \"q\"", "/no/prøject-日本-🚀", "/no/a-b--c", &long, "/no/$HOME/`x`", "/"] {
            assert!(write_session_info(dir.path(), Path::new(odd), created_at));
            assert_eq!(read_working_dir(dir.path()).as_deref(), Some(Path::new(odd)));
        }
        assert!(write_session_info(dir.path(), Path::new("/no/x/../y/./z"), created_at));
        assert_eq!(read_working_dir(dir.path()).as_deref(), Some(Path::new("/no/y/z")));
    }

    #[test]
    fn read_and_write_errors_do_not_panic() {
        let created_at = "2026-02-01T10:00:00Z".parse().expect("a time");
        assert!(!write_session_info(Path::new("/no/such/session"), Path::new("/x"), created_at));
        assert_eq!(read_working_dir(Path::new("/no/such/session")), None);
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join(FILE_NAME), "{").expect("a file");
        assert_eq!(read_working_dir(dir.path()), None);
    }
}
