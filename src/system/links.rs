//! Decides which symbolic links are followed: those to files of the same user, like `SymLinksIfOwnerMatch` of web
//! servers. So a link that another user could create is not followed, and neither is one to a directory that contains
//! the link.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use changes::links::is_trusted;

use super::reach;

/// Returns the real path to which a link leads, and its metadata.
///
/// # Errors
///
/// The link is not followed: it is dangling, or leads to a file of another user or to a directory that contains the
/// link.
pub(crate) fn follow(link: &Path) -> io::Result<(PathBuf, Metadata)> {
    changes::links::follow(link, reach::refuse_silent)
}

/// Returns the broken link that hides a missing path, with the reason; its target may be on a volume that is not
/// mounted.
pub(crate) fn broken(missing: &Path) -> Option<(PathBuf, io::Error)> {
    let there = missing.ancestors().find_map(|path| Some((path, reach::symlink_metadata(path).ok()?)));
    let (link, _) = there.filter(|(_, metadata)| metadata.is_symlink())?;
    Some((link.to_owned(), follow(link).err()?))
}

/// Returns a broken link directly in a directory, or the one that hides the directory, with the reason.
pub(crate) fn broken_in(dir: &Path) -> Option<(PathBuf, io::Error)> {
    let entries = reach::read_dir(dir).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let mut missing = entries.chain([dir.to_owned()]).filter(|path| reach::exists(path) == Some(false));
    missing.find_map(|path| broken(&path))
}

/// Returns the metadata of a path, through a link if it is followed.
///
/// # Errors
///
/// Nothing is at the path, or a link that is not followed.
pub(crate) fn metadata(path: &Path) -> io::Result<Metadata> {
    let itself = reach::symlink_metadata(path)?;
    if itself.is_symlink() { Ok(follow(path)?.1) } else { Ok(itself) }
}

/// Returns whether a file is at a path, possibly through a link.
pub(crate) fn is_file(path: &Path) -> bool {
    metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Returns whether a directory is at a path, possibly through a link.
pub(crate) fn is_dir(path: &Path) -> bool {
    metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// Returns the link through which a path below `root` leads out of it; the link may be the path itself. `None`
/// without such a link.
pub(crate) fn out_of(root: &Path, path: &Path) -> Option<PathBuf> {
    let below = path.strip_prefix(root).ok()?;
    let real_root = reach::canonicalize(root).ok()?;
    let mut way = root.to_owned();
    let leads_out = |part| {
        way.push(part);
        let is_link = reach::symlink_metadata(&way).is_ok_and(|metadata| metadata.is_symlink());
        let stays = || reach::canonicalize(&way).is_ok_and(|real| real.starts_with(&real_root));
        (is_link && !stays()).then(|| way.clone())
    };
    below.iter().find_map(leads_out)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use std::fs;
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    #[test]
    fn access_follows_link_to_path_of_same_user() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("a directory");
        fs::create_dir_all(root.join("store/project")).expect("a directory");
        fs::create_dir_all(root.join("shared")).expect("a directory");
        fs::write(root.join("shared/a.jsonl"), "{}\n").expect("a file");
        symlink("../shared/a.jsonl", root.join("store/a.jsonl")).expect("a link");
        symlink(root.join("shared"), root.join("store/b")).expect("a link");
        assert_eq!(follow(&root.join("store/a.jsonl")).expect("a file").0, root.join("shared/a.jsonl"));
        assert!(
            is_file(&root.join("store/a.jsonl"))
                && is_dir(&root.join("store/b"))
                && is_file(&root.join("store/b/a.jsonl"))
        );
        assert!(is_dir(&root.join("store/project")) && !is_dir(&root.join("store/none")));
    }

    #[test]
    fn access_refuses_dangling_or_circular_link() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("a directory");
        fs::create_dir_all(root.join("a")).expect("a directory");
        fs::create_dir_all(root.join("b")).expect("a directory");
        for (link, target, why) in [
            ("gone", "/nowhere/at/all", "which does not exist"),
            ("a/itself", ".", "which contains it"),
            ("a/above", "..", "which contains it"),
            ("a/to-root", "/", "so it is not followed"),
        ] {
            symlink(target, root.join(link)).expect("a link");
            let error = follow(&root.join(link)).expect_err("a refusal").to_string();
            assert!(error.starts_with("it is a link to /") || link.starts_with("a/"), "{error}");
            assert!(error.contains(why), "{error}");
        }
        // Two directories with links into each other would make an endless walk.
        symlink("../b", root.join("a/b")).expect("a link");
        symlink("../a", root.join("b/a")).expect("a link");
        assert!(is_dir(&root.join("a/b")) && !is_dir(&root.join("a/b/a")));
    }

    #[test]
    fn access_refuses_link_to_other_users_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let (file, link) = (dir.path().join("a"), dir.path().join("b"));
        fs::write(&file, "x").expect("a file");
        symlink(&file, &link).expect("a link");
        if lchown(&link, Some(12_345), None).is_err() {
            // Only root can change the owner of a link; other users can link to files of the system.
            symlink("/etc/passwd", dir.path().join("c")).expect("a link");
            assert!(!is_file(&dir.path().join("c")));
            return;
        }
        assert!(follow(&link).expect_err("a refusal").to_string().contains("which belongs to another user"));
        assert!(!is_file(&link));
    }
}
