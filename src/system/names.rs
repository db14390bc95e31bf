//! Different names of one directory: links, and on macOS differences in case and in the encoding of accents.

use std::borrow::Cow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use unicode_normalization::{UnicodeNormalization as _, is_nfc, is_nfd};

use super::reach;

/// Returns a name with its accents composed (Unicode NFC), as Claude Code does before it names a project.
pub(crate) fn composed(name: &str) -> Cow<'_, str> {
    if is_nfc(name) { Cow::Borrowed(name) } else { Cow::Owned(name.nfc().collect()) }
}

/// Returns the spellings of a name: the name itself, and if it has accents, its composed (NFC) and decomposed (NFD)
/// forms.
///
/// macOS may report a directory in either form, and in the other one the next time.
pub(crate) fn spellings(name: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let decomposed = (!is_nfd(name)).then(|| Cow::Owned(name.nfd().collect()));
    let composed = Some(composed(name)).filter(|composed| matches!(composed, Cow::Owned(_)));
    std::iter::once(Cow::Borrowed(name)).chain(composed).chain(decomposed)
}

/// Returns the name of a directory on disk, if it differs: links resolved, case as stored.
pub(crate) fn on_disk(dir: &Path) -> Option<PathBuf> {
    reach::canonicalize(dir).ok().filter(|resolved| resolved != dir)
}

/// Returns the directory to which links lead from another one; `None` for a directory without links, and for another
/// spelling of it on a disk that ignores case.
pub(crate) fn link_target(dir: &Path) -> Option<PathBuf> {
    on_disk(dir).filter(|target| folded(dir).is_none_or(|dir| folded(target) != Some(dir)))
}

/// Returns whether a condition is true for a directory as named or as it is on disk; the latter only for an existing
/// directory.
pub(crate) fn is_either(dir: &Path, is: impl Fn(&Path) -> bool) -> bool {
    is(dir) || on_disk(dir).is_some_and(|dir| is(&dir))
}

/// Returns whether two paths are the same directory on disk.
pub(crate) fn is_same_dir(one: &Path, other: &Path) -> bool {
    one == other
        || match (reach::metadata(one), reach::metadata(other)) {
            (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
            _ => false,
        }
}

/// Returns whether a path is, or is below, a directory that it spells differently.
///
/// On macOS, most file systems ignore case and the encoding of accents.
pub(crate) fn is_respelled(path: &Path, dir: &Path) -> bool {
    other_spelling(path, dir).is_some_and(|spelling| is_same_dir(&spelling, dir))
}

/// Returns whether a path is, or is below, a directory that it names differently: through links, or in another spelling.
pub(crate) fn leads_below(path: &Path, dir: &Path) -> bool {
    is_respelled(path, dir) || reach::canonicalize_once(path).is_some_and(|real| real.starts_with(dir))
}

/// Returns whether two paths are equal but for case and the encoding of accents, in which macOS sees no difference.
pub(crate) fn is_alike(one: impl AsRef<Path>, other: impl AsRef<Path>) -> bool {
    let (one, other) = (one.as_ref(), other.as_ref());
    one.as_os_str().eq_ignore_ascii_case(other) || folded(one).is_some_and(|one| folded(other) == Some(one))
}

/// Returns the part of a path that may be another spelling of a directory; only the disk can decide that.
fn other_spelling(path: &Path, dir: &Path) -> Option<PathBuf> {
    let beginning: PathBuf = path.components().take(dir.components().count()).collect();
    (beginning != dir && folded(&beginning)? == folded(dir)?).then_some(beginning)
}

fn folded(path: &Path) -> Option<String> {
    path.to_str().map(|path| path.nfc().collect::<String>().to_lowercase())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;

    #[test]
    fn composition_normalizes_accents() {
        assert_eq!(composed("/w/cafe\u{301}"), "/w/caf\u{e9}");
        assert!(matches!(composed("/w/caf\u{e9}"), Cow::Borrowed(_)));
        assert_eq!(spellings("/w/cafe\u{301}").collect::<Vec<_>>(), ["/w/cafe\u{301}", "/w/caf\u{e9}"]);
        assert_eq!(spellings("/w/caf\u{e9}").collect::<Vec<_>>(), ["/w/caf\u{e9}", "/w/cafe\u{301}"]);
        assert_eq!(spellings("/w/cafe").collect::<Vec<_>>(), ["/w/cafe"]);
    }

    #[test]
    fn other_spelling_differs_in_case_or_accents() {
        let spelling = |path: &str, dir: &str| other_spelling(Path::new(path), Path::new(dir));
        for (path, dir, expected) in [
            ("/Users/ana/App/src", "/users/ana/app", "/Users/ana/App"),
            ("/Users/ana/App", "/users/ana/app", "/Users/ana/App"),
            ("/w/cafe\u{301}/x", "/w/caf\u{e9}", "/w/cafe\u{301}"),
            ("/w/CAFE\u{301}", "/w/caf\u{e9}", "/w/CAFE\u{301}"),
        ] {
            assert_eq!(spelling(path, dir), Some(expected.into()), "{path} {dir}");
        }
        for (path, dir) in [("/w/app", "/w/app"), ("/w/app2", "/w/App"), ("/w", "/W/app"), ("/w/cafe", "/w/caf\u{e9}")]
        {
            assert_eq!(spelling(path, dir), None, "{path} {dir}");
        }
    }

    #[test]
    fn is_same_dir_follows_links() {
        let root = tempfile::tempdir().expect("a directory");
        let [one, other, link] = ["one", "other", "link"].map(|name| root.path().join(name));
        std::fs::create_dir(&one).and_then(|()| std::fs::create_dir(&other)).expect("directories");
        std::os::unix::fs::symlink(&one, &link).expect("a link");
        assert!(is_same_dir(&one, &link) && !is_same_dir(&one, &other));
        assert!(!is_same_dir(&one, &root.path().join("gone")));
        assert_eq!(on_disk(&link), one.canonicalize().ok());
        assert_eq!(on_disk(&one.canonicalize().expect("a path")), None);
    }
}
