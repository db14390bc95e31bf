//! What the system knows of a process, for telling whether a session is in use.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Returns when a process started, in clock ticks since boot: field 22 of `/proc/PID/stat`.
///
/// `None` when there is no such process, or no `/proc`.
pub fn start_ticks(pid: u32) -> Option<u64> {
    let (file, _) = crate::fsio::open_regular(format!("/proc/{pid}/stat").as_ref()).ok()?;
    let mut stat = String::new();
    file.take(4096).read_to_string(&mut stat).ok()?;
    // The second field is the program's name in parentheses, and may hold anything, even `)`.
    let after_name = stat.rsplit_once(')')?.1;
    after_name.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Tells whether this system can answer [`start_ticks`].
pub fn has_start_ticks() -> bool {
    cfg!(target_os = "linux")
}

/// Tells whether some process has this id now.
pub fn exists(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    match rustix::process::test_kill_process(pid) {
        Ok(()) => true,
        // It exists and belongs to somebody else.
        Err(error) => error == rustix::io::Errno::PERM,
    }
}

/// Returns which of these files some process has open, as far as the system tells.
pub fn held(files: &[&Path]) -> BTreeSet<PathBuf> {
    // Paths may lead over links or into another name space, so files are told by what they are.
    let wanted: BTreeMap<(u64, u64), &Path> = files
        .iter()
        .filter_map(|path| path.symlink_metadata().ok().map(|metadata| ((metadata.dev(), metadata.ino()), *path)))
        .collect();
    if wanted.is_empty() {
        return BTreeSet::new();
    }
    let numbered = |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let is_process = |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| name.parse::<u32>().is_ok());
    numbered(Path::new("/proc"))
        .filter(|entry| is_process(&entry.file_name()))
        .flat_map(|process| numbered(&process.path().join("fd")))
        // The entry is a link to what is open; following it opens nothing.
        .filter_map(|open| open.path().metadata().ok())
        .filter_map(|metadata| wanted.get(&(metadata.dev(), metadata.ino())).map(|path| (*path).to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
    fn a_file_that_this_process_has_open_is_held() {
        let dir = tempfile::tempdir().expect("a directory");
        let (open, closed) = (dir.path().join("open"), dir.path().join("closed"));
        std::fs::write(&closed, "x").expect("a file");
        let file = std::fs::File::create(&open).expect("a file");
        let expected = if has_start_ticks() { BTreeSet::from([open.clone()]) } else { BTreeSet::new() };
        assert_eq!(held(&[&open, &closed]), expected);
        drop(file);
        assert_eq!(held(&[&open, &closed]), BTreeSet::new());
    }

    #[test]
    fn this_process_exists_and_has_a_start_time() {
        let pid = std::process::id();
        assert!(exists(pid));
        assert_eq!(start_ticks(pid).is_some(), has_start_ticks());
        assert!(!exists(0));
        assert_eq!(start_ticks(u32::MAX), None);
    }
}
