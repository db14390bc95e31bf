//! Finds later runs that changed the data of an item. Undoing the item alone would make a second copy of the data, or
//! bring back an old one.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::path::Path;

use crate::history::History;
use crate::journal::{ItemRecord, ItemState, Run, StepRecord};
use crate::state_dir::order;

/// The changes of later runs that are not undone, each with the newest run that made it.
pub(super) struct Later<'h> {
    /// The entries that later runs changed.
    entries: BTreeMap<&'h Path, &'h Run>,
    /// The data that later runs moved or restored to another path, by program and id.
    put: HashMap<(&'h str, &'h str), &'h Run>,
}

impl<'h> Later<'h> {
    /// Collects the changes after a run.
    pub(super) fn than(run: &Run, history: &'h History) -> Self {
        let mut found = Self { entries: BTreeMap::new(), put: HashMap::new() };
        for later in history.runs.iter().filter(|later| order(&later.id) > order(&run.id)) {
            let stays = |state: &ItemState| matches!(state, ItemState::Begun | ItemState::Done | ItemState::Stuck(_));
            for (record, _) in later.items.iter().filter(|(_, state)| stays(state)) {
                for step in record.steps.iter().filter(|step| !matches!(step, StepRecord::MakeDir { .. })) {
                    let from = if let StepRecord::Move { from, .. } = step { Some(from.as_path()) } else { None };
                    from.into_iter().chain([step.path()]).for_each(|path| {
                        found.entries.entry(path).or_insert(later);
                    });
                    if let (StepRecord::Put { .. }, Some(agent), Some(id)) = (step, &record.agent, &record.id) {
                        found.put.entry((agent, id)).or_insert(later);
                    }
                }
            }
        }
        found
    }

    /// Returns the reason to leave an item alone, if a later run changed its data.
    pub(super) fn why(&self, record: &ItemRecord) -> Option<String> {
        let later = record.steps.iter().find_map(|step| match step {
            // A removed entry is restored even if its directory has changed, unless a later run restored it.
            StepRecord::Trash { .. } => self.put.get(&(record.agent.as_deref()?, record.id.as_deref()?)),
            // Other items may use a directory that this item made.
            StepRecord::MakeDir { .. } => None,
            StepRecord::Write { path, .. } | StepRecord::Put { path, .. } | StepRecord::Move { path, .. } => {
                let around = path.ancestors().find_map(|above| self.entries.get(above));
                // The entries below a path follow it.
                let mut next = self.entries.range::<Path, _>((Bound::Included(&**path), Bound::Unbounded));
                around.or_else(|| next.next().filter(|(next, _)| next.starts_with(path)).map(|(_, run)| run))
            }
        })?;
        let Run { id, verb, .. } = later;
        Some(if later.is_purged {
            format!("the later run {id} ({verb}) changed it, and what that removed was deleted permanently")
        } else {
            format!("the later run {id} ({verb}) changed it; undo that first with `rejoin undo {id}`")
        })
    }
}
