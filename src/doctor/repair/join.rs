//! Joins the parts of a conversation at records whose parents are missing.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use crate::agent;
use crate::format::edit::Edit;
use crate::format::jsonl::each_line_at;
use crate::format::skim::single_members;
use crate::session::SessionCopy;

/// Returns the edits that make the record before each break the parent of the record after it.
pub(super) fn edits(copy: &SessionCopy, path: &Path) -> Result<Vec<Edit>, String> {
    let about = agent::about(copy.place.agent());
    let name = about.parent_at.ok_or("its agent does not follow parents")?;
    let branches = agent::by_kind(copy.place.agent()).map(|agent| agent.branches(copy));
    let branches = branches.ok_or("no agent knows it")?.map_err(|error| error.to_string())?;
    let breaks: HashMap<usize, usize> = branches.breaks().iter().map(|at| (at.line, at.before)).collect();
    let requested: BTreeSet<usize> = breaks.iter().flat_map(|(line, before)| [*line, *before]).collect();
    let (mut ids, mut edits) = (HashMap::new(), Vec::new());
    each_line_at(path, &requested, &mut |at, line| {
        let bytes = line.bytes;
        let [parent] = single_members(bytes, [name]).unwrap_or_default();
        let before = breaks.get(&at).and_then(|before| ids.get(before));
        if let Some((id, value)) = before.zip(parent.bytes().filter(|_| parent.is_text()))
            && let Some(offset) = parent.offset_in(bytes)
        {
            let inserted = serde_json::to_vec(id).unwrap_or_default();
            edits.push(line.edit(Edit { at: offset as u64, removed: value.len() as u64, inserted }));
        }
        ids.extend((about.link)(bytes).and_then(|link| link.id).map(|id| (at, id.into_owned())));
    })
    .map_err(|error| error.to_string())?;
    if edits.is_empty() || edits.len() != breaks.len() {
        return Err(
            "a record where the chain is broken is not on a separate line, or its chain is whole now".to_owned()
        );
    }
    Ok(edits)
}
