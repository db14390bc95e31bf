//! Records of directories that sessions which never ended have left behind.

use std::path::Path;

use jiff::Timestamp;
use smallvec::SmallVec;

use crate::agent;
use crate::agent::Found;
use crate::agent::cat;
use crate::agent::cat::CwdRecord;
use crate::change::pins::Pins;
use crate::change::plan::change::{About, Item, Step};
use crate::change::removal::{Summaries, day};
use crate::session::AgentKind;
use crate::session::select::Filter;
use crate::system::env::Env;
use crate::system::stamp;

/// The code of a record of a directory that a session was working in.
pub(crate) const CWD_RECORD: &str = "cwd-record";

/// Plans to remove the records of directories that sessions which never ended have left behind before `cutoff`.
pub(crate) fn cwd_records(
    summaries: &mut Summaries,
    cutoff: Timestamp,
    filter: &Filter,
    pins: &Pins,
    env: &Env,
) -> Vec<Item> {
    let mut found = Found::default();
    let is_in = |dir: &Path| filter.dirs.is_empty() || filter.dirs.iter().any(|asked| dir.starts_with(asked));
    let mut records: Vec<(&Path, CwdRecord)> = Vec::new();
    for dir in summaries.claude_dirs.iter().filter(|dir| is_in(dir)) {
        records.extend(cat::records_of_project(dir, &mut found).into_iter().map(|record| (dir.as_path(), record)));
    }
    let stores = agent::by_kind(AgentKind::Claude).map(|agent| agent.stores(env)).unwrap_or_default();
    for store in stores.iter().filter(|_| filter.dirs.is_empty()) {
        let of_store = cat::records_of_store(&store.root, &mut found);
        records.extend(of_store.into_iter().map(|record| (store.root.as_path(), record)));
    }
    records.sort_by(|a, b| a.1.path.cmp(&b.1.path));
    records.dedup_by(|a, b| a.1.path == b.1.path);
    let is_used = |id: &str| {
        summaries.find(AgentKind::Claude, id).flat_map(|at| summaries.copies(at)).any(|copy| copy.liveness.is_some())
    };
    let item = |(root, record): (&Path, CwdRecord)| {
        let id = record.session_id;
        let written_at = record.written_at.filter(|at| *at < cutoff)?;
        if is_used(&id) || pins.has(AgentKind::Claude, &id) {
            return None;
        }
        let dir = record.path.parent()?.canonicalize().ok()?;
        let stamp = stamp::take(&record.path).ok()?;
        dir.starts_with(root.canonicalize().ok()?).then(|| Item {
            about: About::Session(AgentKind::Claude, id.into()),
            seen: SmallVec::new(),
            code: CWD_RECORD,
            reason: format!("written {}, and never removed", day(written_at)).into(),
            steps: vec![Step::Trash { path: record.path.into(), stamp }],
        })
    };
    let items = records.into_iter().filter_map(item).collect();
    summaries.problems.append(&mut found.problems);
    items
}
