//! Yields removals session by session; each is freed at once, because there may be many.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use smallvec::SmallVec;

use crate::agent::upkeep::{CwdRecord, CwdRecords, Orphan, OrphanKind, WRITERS_TIME};
use crate::agent::{self, Found};
use crate::change::pins::Pins;
use crate::change::plan::change::{Change, ChangeItem, Handed, ItemSubject, PlannedCopy, Step};
use crate::change::removal::inspection::Inspection;
use crate::change::removal::summary::CopySummary;
use crate::change::removal::{Summaries, day};
use crate::session::select::Filter;
use crate::session::{AgentKind, Store};
use crate::system::env::Env;
use crate::system::fsio::EntryMetadata;
use crate::system::process::{self, OpenFiles};
use crate::system::{reach, stamp};

/// A session to remove, with its sub-agents.
#[derive(Debug)]
pub(crate) struct Removal {
    /// The agent and id.
    pub about: ItemSubject,
    /// The title.
    pub title: Option<Box<str>>,
    /// Number of sub-agents removed with the session.
    subagents: usize,
    seen: SmallVec<[PlannedCopy; 1]>,
    steps: Result<Vec<Step>, String>,
    /// Set if only the agent can remove the session.
    its_agents: bool,
}

/// Method of a removal.
#[derive(Debug)]
pub(crate) enum Going {
    /// Removes its files.
    Item(ChangeItem),
    /// Its agent removes it by a command.
    Handed(Handed),
}

impl Removal {
    /// Returns the change that removes it, or the reason why it cannot be removed.
    pub(crate) fn item(self, code: &'static str, reason: Arc<str>) -> Result<Going, (ItemSubject, String)> {
        let Self { about, title, subagents, seen, steps, its_agents } = self;
        if its_agents {
            let place = seen.first().map(|seen| &*seen.place);
            let agent_managed =
                place.and_then(|place| Some((agent::by_kind(place.agent())?.agent_managed(place)?, place)));
            let Some((agent_managed, place)) = agent_managed else {
                return Err((about, "its agent removes a part of it".to_owned()));
            };
            let command = agent_managed.removal(&place.id);
            return Ok(Going::Handed(Handed { about, title, seen, code, reason, command, size_bytes: 0 }));
        }
        match steps {
            Ok(steps) => {
                Ok(Going::Item(ChangeItem { seen, title, subagents, ..ChangeItem::new(about, code, reason, steps) }))
            }
            Err(why) => Err((about, why)),
        }
    }
}

impl Summaries {
    /// Yields the families to remove, which must be inspected, each as the session itself and then its sub-agents;
    /// frees everything else.
    pub(crate) fn leave<F: AsRef<[usize]>>(self, going: Vec<F>) -> impl Iterator<Item = (F, Removal)> {
        let Self { copies, starts, mut inspection, .. } = self;
        let mut stays = vec![true; starts.len()];
        going.iter().flat_map(AsRef::as_ref).for_each(|at| stays[*at] = false);
        let mut copies: Vec<_> = copies.into_iter().map(Some).collect();
        for at in (0..starts.len().saturating_sub(1)).filter(|at| stays[*at]) {
            copies[starts[at]..starts[at + 1]].fill_with(|| None);
        }
        going.into_iter().map(move |family| {
            let members = family.as_ref();
            let places = |at: &usize| starts[*at]..starts[at + 1];
            let mut seen = SmallVec::new();
            let mut title = None;
            for (number, at) in members.iter().enumerate() {
                for copy in copies[places(at)].iter_mut().filter_map(Option::take) {
                    let CopySummary { place, active_at, transcript_bytes, title: of_copy, .. } = *copy;
                    title = title.or(of_copy.filter(|_| number == 0));
                    seen.push(PlannedCopy { place, active_at, transcript_bytes });
                }
            }
            let root = seen.first().map(|seen: &PlannedCopy| Arc::clone(&seen.place));
            let about = root.map_or(ItemSubject::Other(Box::default()), ItemSubject::Copy);
            let its_agents = members.iter().any(|at| {
                let inspection = inspection.get(*at).and_then(Option::as_deref);
                inspection.is_some_and(|inspection| inspection.its_agents().is_some())
            });
            let inspection = members.iter().filter_map(|at| inspection.get_mut(*at)?.take());
            let subagents = members.len().saturating_sub(1);
            let items = Removal { about, title, subagents, seen, steps: steps(inspection), its_agents };
            (family, items)
        })
    }
}

/// Combines the steps of a removal, or returns the obstacle.
fn steps(members: impl Iterator<Item = Box<Inspection>>) -> Result<Vec<Step>, String> {
    let mut parts = Vec::new();
    for inspection in members {
        match inspection.blocker.and_then(|blocker| blocker.obstacle) {
            Some(why) => return Err(why),
            None => parts.push(inspection.steps),
        }
    }
    if parts.len() == 1 {
        return Ok(parts.swap_remove(0).into_vec());
    }
    let mut steps: Vec<Step> = parts.into_iter().flatten().collect();
    // An entry below another one is removed with it.
    let all: HashSet<PathBuf> = steps.iter().map(|step| step.path().to_owned()).collect();
    steps.retain(|step| !step.path().ancestors().skip(1).any(|above| all.contains(above)));
    steps.shrink_to_fit();
    Ok(steps)
}

/// Code of a record of a session's working directory.
pub(crate) const CWD_RECORD: &str = "cwd-record";

/// Code of a file that an agent created for a session but that has no message.
pub(crate) const DEBRIS: &str = "debris";

/// Code of the output of a session's background tasks.
pub(crate) const OUTPUT: &str = "output";

/// The largest output that is copied to a trash on another file system, in bytes. `doctor` reports a larger one.
const LARGEST_COPIED: u64 = 64 * 1024 * 1024;

/// Returns whether an item with this code removes a session.
pub(crate) fn is_session(code: &str) -> bool {
    ![CWD_RECORD, DEBRIS, OUTPUT].contains(&code)
}

/// Plans to remove the output of the background tasks of the sessions that a change removes, unless a process has a
/// file of it open. Each output is a separate item, so that a session can be restored without it.
pub(crate) fn outputs(change: &Change, env: &Env) -> Vec<ChangeItem> {
    let outputs = agent::Outputs::read(env);
    if outputs.iter().next().is_none() {
        return Vec::new();
    }
    let open = OpenFiles::now();
    let state_dir = env.state_dir();
    let trash_device = state_dir.ancestors().find_map(|dir| Some(EntryMetadata::of_path(dir).ok()?.identity.0));
    let item = |at: usize, agent: AgentKind, id: &str, path: &Path| {
        let parent = EntryMetadata::of_path(path.parent()?).ok()?;
        let mut is_held = !open.is_known();
        let see = &mut |_: &Path, look: &EntryMetadata| is_held |= open.holds_file(look.identity);
        let stamp = stamp::take_in(path, parent.identity, see).ok()?;
        let stays = Some(stamp.device) != trash_device && stamp.size > LARGEST_COPIED;
        (!is_held && !stays).then(|| {
            let steps = vec![Step::Trash { path: path.into(), stamp }];
            let about = ItemSubject::Part("the output", agent, id.into());
            ChangeItem { after: Some(at), ..ChangeItem::new(about, OUTPUT, "written by its background tasks", steps) }
        })
    };
    let mut items = Vec::new();
    for (at, removal) in change.items.iter().enumerate() {
        let Some((agent, id)) = removal.about.session().filter(|_| is_session(removal.code)) else { continue };
        items.extend(outputs.dirs_of_session(agent, id).iter().filter_map(|path| item(at, agent, id, path)));
    }
    items
}

/// Plans to remove the files from before `cutoff` that an agent created for a session but that have no message.
pub(crate) fn debris(filter: &Filter, cutoff: Option<Timestamp>, env: &Env) -> Vec<ChangeItem> {
    if filter.is_narrow() {
        // These files have neither a directory nor a time of a session.
        return Vec::new();
    }
    let settled = env.clock.now.checked_sub(WRITERS_TIME).unwrap_or_default();
    let cutoff = cutoff.map_or(settled, |cutoff| cutoff.min(settled));
    let agents = agent::all().iter().filter(|agent| filter.has_agent(agent.kind()));
    let orphans =
        agents.flat_map(|agent| agent.stores(env).into_iter().flat_map(|store| agent.orphans(&store, env).orphans));
    let is_old = |orphan: &Orphan| orphan.modified_at.is_some_and(|at| at < cutoff);
    let mut paths: Vec<PathBuf> = orphans
        .filter(|orphan| orphan.kind == OrphanKind::Debris && is_old(orphan))
        .map(|orphan| orphan.path)
        .collect();
    paths.sort();
    let held = process::held_files(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>());
    let free = paths.into_iter().filter(|path| !held.contains(path));
    let item = |path: PathBuf| {
        let stamp = stamp::take_stamp(&path).ok()?;
        let about = ItemSubject::Other(path.display().to_string().into());
        let steps = vec![Step::Trash { path: path.as_path().into(), stamp }];
        Some(ChangeItem::new(about, DEBRIS, "it has no session", steps))
    };
    free.filter_map(item).collect()
}

/// Plans to remove records of directories from before `cutoff`, left by sessions that never ended.
pub(crate) fn cwd_records(
    summaries: &mut Summaries,
    cutoff: Timestamp,
    filter: &Filter,
    pins: &Pins,
    env: &Env,
) -> Vec<ChangeItem> {
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
        summaries.find_session(agent, id).flat_map(|at| summaries.copies(at)).any(|copy| copy.liveness.is_some())
    };
    let item = |(root, record): (&Path, CwdRecord)| {
        let id = record.session_id;
        let written_at = record.written_at.filter(|at| *at < cutoff)?;
        if !filter.is_chosen(record.agent, &id) || is_used(record.agent, &id) || pins.contains(record.agent, &id) {
            return None;
        }
        let dir = reach::canonicalize(record.path.parent()?).ok()?;
        let stamp = stamp::take_stamp(&record.path).ok()?;
        dir.starts_with(reach::canonicalize(root).ok()?).then(|| {
            let steps = vec![Step::Trash { path: record.path.into(), stamp }];
            let reason = format!("written {}, and never removed", day(written_at));
            ChangeItem::new(ItemSubject::Session(record.agent, id.into()), CWD_RECORD, reason, steps)
        })
    };
    let items = records.into_iter().filter_map(item).collect();
    summaries.problems.append(&mut found.problems);
    items
}
