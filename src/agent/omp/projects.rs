//! The names of oh-my-pi's projects.
//!
//! Facts: measured on 18.2.3 below a home; below the directory of temporary files, and older names, by its code.

use std::path::Component;

use crate::agent::pi::records::is_slug_of as is_slug_of_pi;
use crate::agent::prelude::*;

/// Returns whether the sessions of a directory are filed under a project; `None` for a hashed name, and for that of the
/// home, which may be another machine's.
///
/// A name starts at the home or at the directory of temporary files, so the last components of the directory must equal
/// those of the name. The program itself finds a session in any project, by its header.
pub(super) fn is_filed_under(project: &str, dir: &Path) -> Option<bool> {
    let Some(dir_text) = dir.to_str() else { return Some(false) };
    // Versions 17.2.5 to 17.2.8 ended a name with a hash.
    let is_hashed = |end: &str| end.len() == 64 && end.bytes().all(|byte| byte.is_ascii_hexdigit());
    if recorded::encodes(project, dir_text, is_slug_of_pi) {
        return Some(true);
    }
    if project == "-" || project.rsplit_once('-').is_some_and(|(_, end)| is_hashed(end)) {
        return None;
    }
    let Some(name) = project.strip_prefix('-') else { return Some(false) };
    let ends_so = |name: &str| {
        let mut rest = Path::new("").to_owned();
        let mut ends = Vec::new();
        for component in dir.components().rev().filter(|component| matches!(component, Component::Normal(_))) {
            rest = Path::new(component.as_os_str()).join(rest);
            ends.push(encoded(rest.to_str().unwrap_or_default().trim_end_matches('/')));
        }
        ends.iter().any(|end| end == name)
    };
    Some(ends_so(name) || name.strip_prefix("tmp-").is_some_and(ends_so))
}

/// Returns the project name of a directory, relative to a home and a directory of temporary files.
pub(super) fn project_of(dir: &str, home: &Path, temp: &Path) -> String {
    let below = |base: &Path| Path::new(dir).strip_prefix(base).ok().and_then(Path::to_str).map(encoded);
    if let Some(name) = below(home) {
        return format!("-{name}");
    }
    match below(temp).filter(|name| !name.is_empty()) {
        Some(name) => format!("-tmp-{name}"),
        None => crate::agent::pi::records::slug(dir),
    }
}

fn encoded(path: &str) -> String {
    path.replace(['/', '\\', ':'], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_name_is_path_relative_to_home() {
        let (home, temp) = (Path::new("/home/ana"), Path::new("/tmp"));
        for (dir, project) in [
            ("/home/ana/desk/two words", "-desk-two words"),
            ("/home/ana/desk/grün-山", "-desk-grün-山"),
            ("/home/ana/desk/a-b", "-desk-a-b"),
            ("/home/ana/desk/a/b", "-desk-a-b"),
            ("/home/ana", "-"),
            ("/tmp/x/y", "-tmp-x-y"),
            ("/srv/app", "--srv-app--"),
            ("/tmp", "--tmp--"),
        ] {
            assert_eq!(project_of(dir, home, temp), project);
            assert_ne!(is_filed_under(project, Path::new(dir)), Some(false), "{dir}");
        }
    }

    #[test]
    fn project_name_rejects_other_directories() {
        for (dir, project) in [
            ("/home/ana/desk/shop", "-desk-sho"),
            ("/home/ana/desk/shop", "-esk-shop"),
            ("/home/ana/desk/shop", "--desk-shop--"),
            ("/home/ana/desk/shop", "desk-shop"),
            ("/home/ana/desk/shop", ""),
        ] {
            assert_eq!(is_filed_under(project, Path::new(dir)), Some(false), "{project}");
        }
        let hashed = format!("home-repo-{}", "0f".repeat(32));
        assert_eq!(is_filed_under(&hashed, Path::new("/anywhere")), None);
        assert_eq!(is_filed_under("-", Path::new("/anywhere")), None);
    }
}
