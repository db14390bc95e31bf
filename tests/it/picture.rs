//! A picture of a tree of files, so that a test can detect any change in it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Each path with mode, modification time and contents.
pub(crate) type Picture = BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)>;

/// Takes a picture of everything below a directory, and of the directory itself; paths are relative to it.
pub(crate) fn picture(root: &Path) -> Picture {
    let look = |path: &Path| {
        let metadata = path.symlink_metadata().expect("metadata");
        let contents = match () {
            () if metadata.is_file() => std::fs::read(path).expect("contents"),
            () if metadata.is_symlink() => {
                std::fs::read_link(path).expect("a link").into_os_string().into_encoded_bytes()
            }
            () => Vec::new(),
        };
        (metadata.mode(), metadata.mtime(), metadata.mtime_nsec(), contents)
    };
    walkdir::WalkDir::new(root)
        .into_iter()
        .map(|entry| entry.expect("an entry").into_path())
        .map(|path| (path.strip_prefix(root).expect("a path below").to_owned(), look(&path)))
        .collect()
}

/// Takes a picture of a home without rejoin's own files.
pub(crate) fn picture_of_stores(home: &Path) -> Picture {
    let mut picture = picture(home);
    picture.retain(|path, _| !path.as_os_str().is_empty() && !path.starts_with(".local"));
    picture
}

/// Returns the differences between two pictures, one per line.
pub(crate) fn differences(before: &Picture, after: &Picture) -> Vec<String> {
    let mut lines = Vec::new();
    for (path, was) in before {
        match after.get(path) {
            None => lines.push(format!("{} is gone", path.display())),
            Some(is) if is != was => {
                let what =
                    [(is.0 != was.0, "mode"), ((is.1, is.2) != (was.1, was.2), "time"), (is.3 != was.3, "bytes")];
                let what: Vec<_> = what.iter().filter(|(differs, _)| *differs).map(|(_, what)| *what).collect();
                lines.push(format!("{} differs in {}", path.display(), what.join(" and ")));
            }
            Some(_) => {}
        }
    }
    lines.extend(
        after.keys().filter(|path| !before.contains_key(*path)).map(|path| format!("{} is new", path.display())),
    );
    lines
}
