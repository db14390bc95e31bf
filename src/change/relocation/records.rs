//! References to a moved directory outside of sessions: rejoin's own record, files in the projects, and on request the
//! agents' data about directories.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{AgentMove, MoveOptions, TakenPaths};
use crate::agent::relocation::Act;
use crate::agent::{self, Found};
use crate::change::plan::change::{ChangeItem, Contents, ItemSubject, Step};
use crate::scan::relocated::{self, Relocated};
use crate::system::env::Env;
use crate::system::{stamp, state_file};

/// Plans to write rejoin's own record.
pub(super) fn own(relocated: &Relocated, env: &Env) -> anyhow::Result<ChangeItem> {
    let path = relocated::file(env);
    let stamp = stamp::take_if_present(&path)?.map(Box::new);
    let contents = Contents::Bytes(state_file::to_json(relocated)?);
    let step = Step::Write { path, contents, stamp };
    Ok(item("rejoin's record of moves", "record", "it says which directory has become which", vec![step]))
}

/// Plans to change references in the projects, and on request the agents' data about directories.
pub(super) fn plan_references(parts: &[AgentMove<'_>], wish: MoveOptions<'_>, env: &Env) -> Vec<ChangeItem> {
    let mut items = Vec::new();
    let mut dirs: BTreeSet<PathBuf> = parts.iter().flat_map(|part| part.dirs.iter().cloned()).collect();
    dirs.extend(wish.mapping.pairs().iter().flat_map(|(from, to)| [from.clone(), to.clone()]));
    let mut add = |label: &str, acts: Vec<Act>| {
        // References that cannot be planned stay unchanged; sessions are found without them.
        let steps = TakenPaths::default().steps(acts).unwrap_or_default();
        if !steps.is_empty() {
            items.push(item(label, "reference", "it names a directory that has moved", steps));
        }
    };
    for writer in agent::pointer_writers() {
        let mut known = dirs.iter().map(PathBuf::as_path);
        let places = writer.dirs(env, &mut known, &mut Found::default());
        let names_one = |dir: &Path| {
            let pointer = writer.pointer_in(dir, env).ok().flatten();
            let id = pointer.and_then(|pointer| pointer.session_id);
            id.is_some_and(|id| wish.is_meant(writer.kind().session_owner(), &id))
        };
        let is_meant = |dir: &PathBuf| wish.only.is_none() || names_one(dir);
        for dir in places.into_iter().filter(is_meant) {
            let act = writer.moved_pointer(&dir, wish.mapping, env);
            add(&format!("the pointer of {} in {}", writer.kind(), dir.display()), act.into_iter().collect());
        }
    }
    for part in parts {
        if let Some(records) = part.agent.about().cwd_records {
            for dir in &dirs {
                for record in records.in_project(dir, &mut Found::default()) {
                    if !wish.is_meant(record.agent, &record.session_id) {
                        continue;
                    }
                    let acts = record.dir.and_then(|dir| wish.mapping.new_location(&dir));
                    let acts = acts.map(|to| Act::Write { path: record.path, contents: bytes(&to) });
                    add(&format!("the directory of {}", record.session_id), acts.into_iter().collect());
                }
            }
        }
        for store in part.stores.values().filter(|_| wish.all_references) {
            let acts = (part.agent.about().references)(store, wish.mapping, env);
            add(&format!("what {} keeps of directories", part.agent.kind()), acts);
        }
    }
    items
}

fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_encoded_bytes().to_vec()
}

fn item(about: &str, code: &'static str, reason: &str, steps: Vec<Step>) -> ChangeItem {
    ChangeItem::new(ItemSubject::Other(about.into()), code, reason, steps)
}
