//! Records of directories, left by sessions that never ended.

use std::path::Path;

use jiff::Timestamp;

use crate::agent::upkeep::{CwdRecord, CwdRecords};
use crate::agent::{self, Found};
use crate::change::pins::Pins;
use crate::change::plan::change::{About, Item, Step};
use crate::change::removal::{Summaries, day};
use crate::session::select::Filter;
use crate::session::{AgentKind, Store};
use crate::system::env::Env;
use crate::system::reach;
use crate::system::stamp;

/// Code of a record of a session's working directory.
pub(crate) const CWD_RECORD: &str = "cwd-record";

/// Plans to remove records of directories from before `cutoff`, left by sessions that never ended.
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
    let keepers = agent::all().iter().filter(|agent| filter.has_agent(agent.kind()));
    let keepers: Vec<_> = keepers.filter_map(|agent| Some((*agent, agent.about().cwd_records?))).collect();
    let stores: Vec<(Store, &dyn CwdRecords)> = keepers
        .iter()
        .filter(|_| filter.dirs.is_empty())
        .flat_map(|(agent, kept)| agent.stores(env).into_iter().map(move |store| (store, *kept)))
        .collect();
    for (agent, dir) in summaries.recorded_dirs.iter().filter(|(_, dir)| is_in(dir)) {
        let kept = keepers.iter().filter(|(agent_managed, _)| agent_managed.kind() == *agent);
        let of_project = kept.flat_map(|(_, kept)| kept.in_project(dir, &mut found));
        records.extend(of_project.map(|record| (dir.as_path(), record)));
    }
    for (store, kept) in &stores {
        let of_store = kept.in_store(&store.root, &mut found);
        records.extend(of_store.into_iter().map(|record| (store.root.as_path(), record)));
    }
    records.sort_by(|a, b| a.1.path.cmp(&b.1.path));
    records.dedup_by(|a, b| a.1.path == b.1.path);
    let is_used = |agent: AgentKind, id: &str| {
        summaries.find(agent, id).flat_map(|at| summaries.copies(at)).any(|copy| copy.liveness.is_some())
    };
    let item = |(root, record): (&Path, CwdRecord)| {
        let id = record.session_id;
        let written_at = record.written_at.filter(|at| *at < cutoff)?;
        if !filter.has_tags(record.agent, &id) || is_used(record.agent, &id) || pins.has(record.agent, &id) {
            return None;
        }
        let dir = reach::canonicalize(record.path.parent()?).ok()?;
        let stamp = stamp::take(&record.path).ok()?;
        dir.starts_with(reach::canonicalize(root).ok()?).then(|| {
            let steps = vec![Step::Trash { path: record.path.into(), stamp }];
            let reason = format!("written {}, and never removed", day(written_at));
            Item::new(About::Session(record.agent, id.into()), CWD_RECORD, reason, steps)
        })
    };
    let items = records.into_iter().filter_map(item).collect();
    summaries.problems.append(&mut found.problems);
    items
}
