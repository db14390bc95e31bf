//! CAT: records of the working directory of a Claude Code session at its compaction.
//!
//! A record is only needed until its session continues; a killed session leaves it. Facts: cowwoc/cat 1d1c204c
//! (`<project>/.claude/cat/sessions/<id>.cwd`), 33d2a5c5 (below the configuration directory).

pub(crate) mod record;

use super::upkeep::{CwdRecord, CwdRecords, modified_at};
use crate::agent::prelude::*;

/// Maximum size of a record, which contains one path.
const MAX_BYTES: u64 = 64 * 1024;

/// The program.
#[derive(Debug)]
pub(super) struct Cat;

impl CwdRecords for Cat {
    fn dir_in(&self, project: &Path) -> PathBuf {
        record::DIRS.iter().fold(project.to_owned(), |dir, name| dir.join(name))
    }

    fn in_project(&self, dir: &Path, found: &mut Found) -> Vec<CwdRecord> {
        records_in(&self.dir_in(dir), found)
    }

    fn in_store(&self, root: &Path, found: &mut Found) -> Vec<CwdRecord> {
        let projects = found.dirs(&root.join("projects"));
        found.in_each(&projects, &|project, found| records_in(&project.join("cat/sessions"), found))
    }
}

fn records_in(dir: &Path, found: &mut Found) -> Vec<CwdRecord> {
    let mut records = Vec::new();
    // The launch check reports an inaccessible project.
    for (entry, kind) in Found::default().entries(dir) {
        let path = entry.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(session_id) = name.and_then(record::session_id).filter(|_| kind.is_file()) else { continue };
        let session_id = session_id.to_owned();
        match fsio::read_bounded(&path, MAX_BYTES) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let dir = Some(text.trim()).filter(|text| !text.is_empty()).map(PathBuf::from);
                let written_at = modified_at(&path);
                records.push(CwdRecord { agent: AgentKind::Claude, session_id, dir, written_at, path });
            }
            Err(error) => found.problem(&path, error.reason()),
        }
    }
    records
}
