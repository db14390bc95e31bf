//! Maps moved directories to their new locations; everything below a directory moves with it.

use std::path::{Path, PathBuf};

use crate::session::recorded;

/// Directories that have moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Old and new location of each, the deepest first, so that the closest one decides.
    pairs: Vec<(PathBuf, PathBuf)>,
}

impl Mapping {
    /// Sorts pairs of directories; if two have the same old location, the first one wins.
    pub(crate) fn new(pairs: Vec<(PathBuf, PathBuf)>) -> Self {
        let mut ordered: Vec<(PathBuf, PathBuf)> = Vec::new();
        for (from, to) in pairs {
            if from != to && ordered.iter().all(|(known, _)| *known != from) {
                ordered.push((from, to));
            }
        }
        ordered.sort_by_key(|(from, _)| std::cmp::Reverse(recorded::depth(from)));
        Self { pairs: ordered }
    }

    /// Returns the pairs of old and new location, the deepest first.
    pub(crate) fn pairs(&self) -> &[(PathBuf, PathBuf)] {
        &self.pairs
    }

    /// Returns the new location of a directory; `None` if it has not moved.
    ///
    /// A directory that is already in the new location stays there, even if the new location is inside the old one.
    pub(crate) fn new_location(&self, dir: &Path) -> Option<PathBuf> {
        let (from, to) = self.pairs.iter().find(|(from, _)| recorded::starts_with(dir, from))?;
        if let Some(rest) = recorded::below(dir, from) {
            return below_foreign(dir, &rest, to);
        }
        if to.starts_with(from) && dir.starts_with(to) {
            return None;
        }
        let rest = dir.strip_prefix(from).ok()?;
        // Joining an empty path would append a slash.
        Some(if rest == Path::new("") { to.clone() } else { to.join(rest) })
    }

    /// Like [`Mapping::new_location`], for a path as text; `None` for a relative path, which is not a specific directory.
    pub(crate) fn text_to(&self, dir: &str) -> Option<String> {
        let dir = recorded::is_absolute(Path::new(dir)).then(|| self.new_location(Path::new(dir)))??;
        dir.into_os_string().into_string().ok()
    }
}

/// Joins the rest of a path below a Windows directory to the new location, with the separators of the new location.
fn below_foreign(dir: &Path, rest: &[&str], to: &Path) -> Option<PathBuf> {
    let (mut joined, separator) = (to.to_str()?.to_owned(), if recorded::is_foreign(to) { '\\' } else { '/' });
    for name in rest {
        if !joined.ends_with(['/', '\\']) {
            joined.push(separator);
        }
        joined.push_str(name);
    }
    // A directory that is already in the new location stays there.
    let is_there = recorded::is_foreign(to) && recorded::starts_with(dir, to);
    (!is_there).then(|| PathBuf::from(joined))
}

impl Mapping {
    /// Returns a text with every moved directory in it, and every path below one, replaced.
    pub(crate) fn in_text(&self, text: &[u8]) -> Vec<u8> {
        let mut text = text.to_vec();
        for (from, to) in &self.pairs {
            let (from, to) = (from.as_os_str().as_encoded_bytes(), to.as_os_str().as_encoded_bytes());
            let (mut mapped, mut rest) = (Vec::with_capacity(text.len()), text.as_slice());
            while let Some(at) = memchr::memmem::find(rest, from) {
                let end = at + from.len();
                let is_name = rest.get(end).is_some_and(|byte| !b"/\"\\ \n".contains(byte));
                mapped.extend_from_slice(&rest[..at]);
                mapped.extend_from_slice(if is_name { from } else { to });
                rest = &rest[end..];
            }
            mapped.extend_from_slice(rest);
            text = mapped;
        }
        text
    }
}

/// Parses `OLD=NEW`, two absolute directories.
pub(crate) fn pair(text: &str) -> Result<(PathBuf, PathBuf), String> {
    // The name of a directory may contain `=` too; a path after the sign begins with a slash.
    let at = ["=/", "=~"].iter().filter_map(|sign| text.find(sign)).min();
    let (from, to) = at.map(|at| (&text[..at], &text[at + 1..])).ok_or("use OLD=NEW, with two absolute directories")?;
    if !from.starts_with(['/', '~']) && !recorded::is_foreign(Path::new(from)) {
        return Err(format!("{from} is not an absolute directory"));
    }
    Ok((from.into(), to.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(pairs: &[(&str, &str)]) -> Mapping {
        Mapping::new(pairs.iter().map(|(from, to)| (from.into(), to.into())).collect())
    }

    fn mapped(pairs: &[(&str, &str)], dir: &str) -> Option<String> {
        mapping(pairs).text_to(dir)
    }

    #[test]
    fn mapping_moves_subdirectories_but_not_siblings() {
        let app = [("/w/app", "/v/new")];
        assert_eq!(mapped(&app, "/w/app").as_deref(), Some("/v/new"));
        assert_eq!(mapped(&app, "/w/app/a b/c").as_deref(), Some("/v/new/a b/c"));
        for other in ["/w/app2", "/w", "/v/new", "w/app", ""] {
            assert_eq!(mapped(&app, other), None, "{other}");
        }
    }

    #[test]
    fn mapping_prefers_deepest_then_first_pair() {
        let pairs = [("/w", "/v"), ("/w/app", "/apps/one"), ("/w/app", "/apps/two")];
        assert_eq!(mapped(&pairs, "/w/app/src").as_deref(), Some("/apps/one/src"));
        assert_eq!(mapped(&pairs, "/w/other").as_deref(), Some("/v/other"));
    }

    #[test]
    fn mapping_moves_windows_subdirectories() {
        let home = [(r"C:\Users\ana", "/mnt/c/Users/ana")];
        for (dir, expected) in [
            (r"C:\Users\ana", Some("/mnt/c/Users/ana")),
            (r"c:\users\Ana\Shop\src", Some("/mnt/c/Users/ana/Shop/src")),
            ("C:/Users/ana/shop", Some("/mnt/c/Users/ana/shop")),
            (r"C:\Users\anabel", None),
            ("/mnt/c/Users/ana", None),
        ] {
            assert_eq!(mapped(&home, dir).as_deref(), expected, "{dir}");
        }
        let deeper = [(r"C:\", "/mnt/c"), (r"C:\Users\ana", "/home/ana"), (r"D:\w", r"E:\w")];
        assert_eq!(mapped(&deeper, r"c:\users\ana\x").as_deref(), Some("/home/ana/x"));
        assert_eq!(mapped(&deeper, r"c:\x").as_deref(), Some("/mnt/c/x"));
        assert_eq!(mapped(&deeper, "d:/W/x").as_deref(), Some(r"E:\w\x"));
    }

    #[test]
    fn mapping_keeps_paths_already_in_new_directory() {
        let inside = [("/w/app", "/w/app/sub")];
        assert_eq!(mapped(&inside, "/w/app").as_deref(), Some("/w/app/sub"));
        assert_eq!(mapped(&inside, "/w/app/src").as_deref(), Some("/w/app/sub/src"));
        assert_eq!(mapped(&inside, "/w/app/sub/src"), None);
        let outside = [("/w/app", "/w")];
        assert_eq!(mapped(&outside, "/w/app/src").as_deref(), Some("/w/src"));
        assert_eq!(mapped(&[("/w", "/w")], "/w/app"), None);
    }
}
