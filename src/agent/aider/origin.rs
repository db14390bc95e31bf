//! Decides whether a history was written here, or came with the directory that contains it.
//!
//! No file outside of a project names its history, so git decides: Aider writes it to the root of a work tree and keeps
//! it untracked (measured on 0.86.2), and neither a clone nor a checkout creates an untracked file.

use crate::agent::prelude::*;
use memchr::memmem;

/// Maximum size of an index; a larger one would list millions of files.
const MAX_INDEX: u64 = 256 * 1024 * 1024;
/// Maximum size of a `.git` file, which contains one path.
const MAX_LINK: u64 = 16 * 1024;

/// Returns whether a file is at the root of a git work tree that does not track it; `false` if that cannot be
/// determined.
pub(super) fn is_untracked(dir: &Path, name: &str) -> bool {
    let Some(git_dir) = git_dir(dir) else { return false };
    match fsio::read_if_present(&git_dir.join("index"), MAX_INDEX) {
        Ok(Some(index)) => lists_all(&index) && memmem::find(&index, name.as_bytes()).is_none(),
        // No file was ever added to the index.
        Ok(None) => reach::is_file(&git_dir.join("HEAD")),
        Err(_) => false,
    }
}

/// Returns the git directory of a work tree, which may be elsewhere.
fn git_dir(dir: &Path) -> Option<PathBuf> {
    let path = dir.join(".git");
    let kind = reach::symlink_metadata(&path).ok()?.file_type();
    if kind.is_dir() {
        return Some(path);
    }
    let text = String::from_utf8(fsio::read_if_present(&path, MAX_LINK).ok()??).ok()?;
    Some(dir.join(text.strip_prefix("gitdir:")?.trim()))
}

/// Returns whether an index lists every file name in full: version 4 abbreviates names, and a split index has them in
/// another file.
fn lists_all(index: &[u8]) -> bool {
    let is_plain = index.starts_with(b"DIRC\0\0\0\x02") || index.starts_with(b"DIRC\0\0\0\x03");
    // The name of the extension, and the first bytes of its length.
    is_plain && memmem::find(index, b"link\0\0").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_git_index_lists_tracked_files() {
        assert!(lists_all(b"DIRC\0\0\0\x02\0\0\0\x01....README.md\0"));
        for other in [&b""[..], b"DIRC", b"DIRC\0\0\0\x04\0\0\0\x01", b"DIRC\0\0\0\x02..link\0\0\0\x1c"] {
            assert!(!lists_all(other), "{other:?}");
        }
    }
}
