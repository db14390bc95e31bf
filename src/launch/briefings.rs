//! The files with the conversations for briefings of other agents, in a private directory.

use std::io;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};

use crate::session::Session;
use crate::session::branches::hash;
use crate::system::disk::Disk;
use crate::system::env::Env;
use crate::system::fsio::EntryKind;

/// Age in days at which `cleanup` removes a file.
pub(crate) const DAYS: i64 = 30;

/// Maximum bytes of an id in a file name.
const MAX_ID: usize = 100;

/// Returns the directory.
pub(crate) fn dir(env: &Env) -> PathBuf {
    env.state_dir().join("briefings")
}

/// Returns the file of a session. The next briefing on the session replaces it.
pub(crate) fn file(session: &Session, env: &Env) -> PathBuf {
    dir(env).join(format!("{}-{}.md", session.agent, in_a_name(session.id())))
}

/// Removes the files that are older than [`DAYS`], and returns their number. The next briefing on a session writes its file again.
pub(crate) fn remove_old(disk: &dyn Disk, env: &Env) -> io::Result<usize> {
    let dir = match disk.open_for_writing(&dir(env)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        opened => opened?,
    };
    let before = env.clock.now.checked_sub(SignedDuration::from_hours(24 * DAYS)).unwrap_or(Timestamp::MIN);
    let mut removed = 0;
    for name in disk.list(&dir)? {
        let look = disk.read_metadata((&dir, &name))?;
        let is_old = Timestamp::from_second(look.modified.0).is_ok_and(|modified| modified < before);
        if look.kind == EntryKind::File && is_old {
            disk.unlink((&dir, &name))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Returns an id as a part of a file name, with a hash if characters had to be replaced.
fn in_a_name(id: &str) -> String {
    let safe: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' }).collect();
    if safe == id && id.len() <= MAX_ID {
        return safe;
    }
    format!("{}-{:016x}", &safe[..safe.len().min(MAX_ID)], hash(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn briefing_file_name_has_no_path_separator() {
        assert_eq!(in_a_name("5a1e0c74-4e2b"), "5a1e0c74-4e2b");
        for id in ["../../etc", "a/b", "a\nb", "ü", ".x"] {
            let name = in_a_name(id);
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{name}");
        }
        assert_ne!(in_a_name("a/b"), in_a_name("a:b"));
        assert!(in_a_name(&"x".repeat(500)).len() < 120);
    }
}
