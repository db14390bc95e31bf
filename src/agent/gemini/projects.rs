//! Maps projects to their directories, and directories to the names of projects.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::agent::prelude::*;
use crate::format::text;

/// Largest `projects.json`, in bytes; it has one line per directory.
pub(super) const MAX_REGISTRY: u64 = 16 * 1024 * 1024;
/// Largest marker, in bytes; as long as the longest path.
pub(super) const MAX_MARKER: u64 = 4096;

/// Returns evidence for the directory of each project, under its name and under the hash of the directory.
pub(super) fn registry(root: &Path) -> StoreNotes {
    #[derive(Deserialize)]
    struct Registry<'a> {
        #[serde(borrow, default)]
        projects: BTreeMap<String, Text<'a>>,
    }
    let mut notes = StoreNotes::default();
    let mut owners: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut note = |project: String, dir: &Path, source: &'static str, detail: String, counts: bool| {
        let evidence = Evidence { dir: dir.into(), source, detail: detail.into(), counts };
        let list: &mut Vec<Evidence> = notes.dirs.entry(project).or_default();
        if list.iter().all(|known| *known.dir != *dir) {
            list.push(evidence);
        }
    };
    let mut problems = Found::default();
    for base in ["tmp", "history"] {
        for (entry, kind) in problems.entries(&root.join(base)) {
            let Some(project) = entry.file_name().to_str().filter(|_| kind.is_dir()).map(str::to_owned) else {
                continue;
            };
            // An unreadable marker is skipped; the registry may still name the directory.
            let bytes = fsio::read_if_present(&entry.path().join(".project_root"), MAX_MARKER).ok().flatten();
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
            let dir = Path::new(text.trim());
            if !recorded::is_absolute(dir) {
                continue;
            }
            // The client refuses a project whose two markers differ; the sessions are in the first.
            let owner = owners.entry(project.clone()).or_insert_with(|| dir.to_owned());
            note(project.clone(), dir, "project-root", format!("{base}/{project}/.project_root"), owner == dir);
            note(hash(text.trim()), dir, "project-root", format!("the hash of {base}/{project}/.project_root"), true);
        }
    }
    let bytes = read_or_report(&root.join("projects.json"), MAX_REGISTRY, &mut problems.problems);
    // The client replaces a broken registry, so it is not reported.
    let registry = bytes.as_deref().and_then(|bytes| serde_json::from_slice::<Registry<'_>>(bytes).ok());
    for (dir, project) in registry.into_iter().flat_map(|registry| registry.projects) {
        if !recorded::is_absolute(Path::new(&dir)) {
            continue;
        }
        note(hash(&dir), Path::new(&dir), "registry", "the hash of a directory in projects.json".to_owned(), true);
        if let Some(project) = project.filled() {
            let counts = owners.get(project).is_none_or(|owner| owner == Path::new(&dir));
            note(project.to_owned(), Path::new(&dir), "registry", "projects.json".to_owned(), counts);
        }
    }
    notes.problems = problems.problems;
    notes
}

/// Returns the name of a project of the older generation: the SHA-256 of its directory in hexadecimal digits.
pub(super) fn hash(dir: &str) -> String {
    text::hex(&Sha256::digest(dir.as_bytes()))
}

/// Returns the name of a project, made of the last component of its directory.
pub(super) fn slug(dir: &Path) -> String {
    let name = dir.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "project".to_owned() } else { words.join("-") }
}
