//! CAT: records of the directory that a session of Claude Code was working in when it was compacted.
//!
//! A record is only needed until its session goes on; an end that was killed leaves it behind.
//! Facts: cowwoc/cat 1d1c204c (`<project>/.claude/cat/sessions/<id>.cwd`), 33d2a5c5 (below the configuration directory).

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::Found;
use super::upkeep::modified_at;
use crate::fsio;

/// A record holds one path.
const MAX_BYTES: u64 = 64 * 1024;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CwdRecord {
    /// The file.
    pub path: PathBuf,
    /// The session that it is about.
    pub session_id: String,
    /// The directory that it names; `None` when it names none.
    pub dir: Option<PathBuf>,
    /// When it was written.
    pub written_at: Option<Timestamp>,
}

/// Finds the records of a project's directory.
pub fn records_of_project(dir: &Path, found: &mut Found) -> Vec<CwdRecord> {
    records_in(&dir.join(".claude/cat/sessions"), found)
}

/// Finds the records below a configuration directory of Claude Code.
pub fn records_of_store(root: &Path, found: &mut Found) -> Vec<CwdRecord> {
    let projects = found.entries(&root.join("projects"));
    let projects: Vec<PathBuf> =
        projects.into_iter().filter(|(_, kind)| kind.is_dir()).map(|(entry, _)| entry.path()).collect();
    projects.iter().flat_map(|project| records_in(&project.join("cat/sessions"), found)).collect()
}

fn records_in(dir: &Path, found: &mut Found) -> Vec<CwdRecord> {
    let mut records = Vec::new();
    // A project that may not be entered is the launch check's business.
    for (entry, kind) in Found::default().entries(dir) {
        let path = entry.path();
        let Some(id) = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".cwd"))
        else {
            continue;
        };
        let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        if !is_id || !kind.is_file() {
            continue;
        }
        let session_id = id.to_owned();
        match fsio::read_bounded(&path, MAX_BYTES) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let dir = Some(text.trim()).filter(|text| !text.is_empty()).map(PathBuf::from);
                records.push(CwdRecord { session_id, dir, written_at: modified_at(&path), path });
            }
            Err(error) => found.problem(&path, error.reason()),
        }
    }
    records
}
