//! Recorded directories: absolute on this system, absolute on Windows, or neither.
//!
//! A Windows home may be read from WSL or from a copy. Its directories are absolute, but not on this system: they are
//! never looked up here, and are compared by the rules of Windows.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Parses a recorded directory; `None` for a relative one, which would depend on the caller's directory.
pub(crate) fn dir(text: &str) -> Option<Arc<Path>> {
    Some(Path::new(text)).filter(|dir| is_absolute(dir)).map(Arc::from)
}

/// Returns whether a path is absolute, on this system or on Windows.
pub(crate) fn is_absolute(path: &Path) -> bool {
    path.is_absolute() || is_foreign(path)
}

/// Returns whether a path is absolute on Windows only: `C:\x`, `C:/x`, `\\server\share` or `\\?\C:\x`.
pub(crate) fn is_foreign(path: &Path) -> bool {
    match path.as_os_str().as_encoded_bytes() {
        [letter, b':', b'\\' | b'/', ..] => letter.is_ascii_alphabetic(),
        [b'\\', b'\\', name, ..] => !matches!(name, b'\\' | b'/'),
        _ => false,
    }
}

/// Returns whether a path is at or below a directory, compared by the rules of their system.
pub(crate) fn starts_with(path: &Path, dir: &Path) -> bool {
    path.starts_with(dir) || below(path, dir).is_some()
}

/// Returns the part of a path below a Windows directory, split into names; `None` if the path is not at or below it.
pub(crate) fn below<'p>(path: &'p Path, dir: &Path) -> Option<Vec<&'p str>> {
    if !is_foreign(path) || !is_foreign(dir) {
        return None;
    }
    let (path, dir) = (parts(path)?, parts(dir)?);
    let is_below = dir.len() <= path.len() && dir.iter().zip(&path).all(|(one, other)| folded(one) == folded(other));
    is_below.then(|| path[dir.len()..].to_vec())
}

/// Returns the number of names in a path, by the separators of its system.
pub(crate) fn depth(path: &Path) -> usize {
    match parts(path).filter(|_| is_foreign(path)) {
        Some(parts) => parts.len(),
        None => path.components().count(),
    }
}

/// Returns the last name of a path, by the separators of its system.
pub(crate) fn file_name(path: &Path) -> Option<&OsStr> {
    match parts(path).filter(|_| is_foreign(path)) {
        Some(parts) => parts.last().copied().map(OsStr::new),
        None => path.file_name(),
    }
}

/// Returns a canonical spelling of a Windows directory; any other path is unchanged.
pub(crate) fn one_spelling(path: &Path) -> Cow<'_, Path> {
    match parts(path).filter(|_| is_foreign(path)) {
        Some(parts) => Cow::Owned(PathBuf::from(folded(&parts.join("\\")))),
        None => Cow::Borrowed(path),
    }
}

/// Returns whether a project's name encodes a directory by an agent's rule; for Windows, case is ignored, as in its
/// directories.
pub(crate) fn encodes(project: &str, dir: &str, rule: impl Fn(&str, &str) -> bool) -> bool {
    rule(project, dir) || (is_foreign(Path::new(dir)) && rule(&folded(project), &folded(dir)))
}

/// Splits a Windows path: the drive, or the server after two backslashes, then each name.
fn parts(path: &Path) -> Option<Vec<&str>> {
    let text = path.to_str()?;
    let plain = text.strip_prefix(r"\\?\UNC\").or_else(|| text.strip_prefix(r"\\?\")).unwrap_or(text);
    let is_drive = plain.as_bytes().get(1) == Some(&b':');
    let names = plain.split(['\\', '/']).filter(|name| !name.is_empty() && *name != ".");
    if is_drive {
        return Some(names.collect());
    }
    let is_older = |at: usize, name: &str| at == 0 && name.eq_ignore_ascii_case(OLD_WSL);
    let names = names.enumerate().map(|(at, name)| if is_older(at, name) { WSL } else { name });
    Some(std::iter::once(r"\\").chain(names).collect())
}

/// The server by which Windows reaches the directories of WSL distributions, and its name before Windows 11.
const WSL: &str = "wsl.localhost";
const OLD_WSL: &str = "wsl$";

/// Returns the distribution of WSL, and the path in it, of a directory as Windows names it: `Ubuntu` and `/home/ana` for
/// `\\wsl.localhost\Ubuntu\home\ana`.
pub(crate) fn in_wsl(dir: &Path) -> Option<(&str, PathBuf)> {
    let parts = parts(dir).filter(|_| is_foreign(dir))?;
    let [r"\\", server, distribution, names @ ..] = parts.as_slice() else { return None };
    server.eq_ignore_ascii_case(WSL).then(|| (*distribution, Path::new("/").join(names.join("/"))))
}

/// Returns the name by which Windows reaches a directory of a distribution of WSL.
pub(crate) fn from_windows(distribution: &str, dir: &Path) -> Option<PathBuf> {
    let dir = dir.to_str().filter(|dir| dir.starts_with('/') && !dir.contains('\\'))?;
    Some(PathBuf::from(format!(r"\\{WSL}\{distribution}{}", dir.replace('/', r"\"))))
}

fn folded(name: &str) -> String {
    name.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_accepts_only_absolute_directories() {
        for absolute in ["/w", r"C:\w", "c:/w", r"\\server\share", r"\\?\C:\w", r"\\?\UNC\server\share", r"C:\"] {
            assert!(dir(absolute).is_some(), "{absolute}");
            assert_eq!(is_foreign(Path::new(absolute)), absolute != "/w", "{absolute}");
        }
        for relative in ["", ".", "w", "w/x", "C:", "C:w", r"\w", r"\\", r"\\\w", "1:/w", "~"] {
            assert_eq!(dir(relative), None, "{relative}");
        }
    }

    #[test]
    fn comparison_of_windows_paths_ignores_case_and_slash() {
        let is_in = |path: &str, dir: &str| starts_with(Path::new(path), Path::new(dir));
        for (path, dir) in [
            (r"c:\Users\Ana\shop", r"C:\users\ana"),
            ("C:/Users/ana/shop", r"C:\Users\ana\shop\"),
            (r"\\?\C:\Users\ana", r"C:\Users"),
            (r"\\Server\share\x", r"\\server\Share"),
            (r"\\?\UNC\server\share\x", r"\\server\share"),
            (r"\\WSL$\Ubuntu\home\ana", r"\\wsl.localhost\ubuntu\home"),
            ("/w/app/src", "/w/app"),
        ] {
            assert!(is_in(path, dir), "{path} {dir}");
        }
        for (path, dir) in [
            (r"C:\Users\anabel", r"C:\Users\ana"),
            (r"D:\Users", r"C:\"),
            ("/w/App", "/w/app"),
            (r"\\server\share", r"\\other\share"),
            (r"\\server\wsl$\x", r"\\server\wsl.localhost"),
            (r"C:\w", "/"),
            ("/w", r"C:\"),
        ] {
            assert!(!is_in(path, dir), "{path} {dir}");
        }
        assert_eq!(one_spelling(Path::new(r"\\wsl$\x\y")), one_spelling(Path::new(r"\\wsl.localhost\x\y")));
        assert_eq!(one_spelling(Path::new("C:/Users/Ana/")), one_spelling(Path::new(r"c:\users\ana")));
        assert_eq!(file_name(Path::new(r"C:\Users\ana\")), Some(OsStr::new("ana")));
    }

    #[test]
    fn directory_of_wsl_has_one_path_and_two_names() {
        for (dir, expected) in [
            (r"\\wsl.localhost\Ubuntu\home\ana", Some(("Ubuntu", "/home/ana"))),
            (r"\\wsl$\Ubuntu-24.04\home\ana\", Some(("Ubuntu-24.04", "/home/ana"))),
            (r"\\?\UNC\wsl.localhost\Ubuntu", Some(("Ubuntu", "/"))),
            (r"\\wsl.localhost", None),
            (r"\\server\Ubuntu\home\ana", None),
            (r"C:\wsl.localhost\Ubuntu", None),
            ("/home/ana", None),
        ] {
            let found = in_wsl(Path::new(dir));
            let found = found.as_ref().map(|(distribution, path)| (*distribution, path.to_str().expect("a path")));
            assert_eq!(found, expected, "{dir}");
            let back = found.and_then(|(distribution, path)| from_windows(distribution, Path::new(path)));
            assert!(back.is_none_or(|back| one_spelling(&back) == one_spelling(Path::new(dir))), "{dir}");
        }
    }
}
