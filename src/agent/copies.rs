//! Reads, counts and collects copies of any agent, and corrects their emptiness and activity.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::registry::by_kind;
use super::{Agent, FindBelongings, ReadContext, activity, unknown_format};
use crate::error::PathError;
use crate::session::{AgentKind, Belongings, Located, SessionCopy};

/// Returns a function that finds the files of any of these copies; it reads shared directories once, in advance.
pub(crate) fn belongings_of<'p>(places: impl Iterator<Item = &'p Located>) -> FindBelongings<'static> {
    let mut roots: BTreeMap<AgentKind, BTreeSet<&Path>> = BTreeMap::new();
    for place in places {
        roots.entry(place.agent()).or_default().insert(&place.store.root);
    }
    let find = |(kind, roots): (&AgentKind, _)| Some((*kind, by_kind(*kind)?.belongings_in(roots)));
    let find: BTreeMap<AgentKind, FindBelongings<'static>> = roots.iter().filter_map(find).collect();
    Box::new(move |place| find.get(&place.agent()).map_or_else(|| Ok(Belongings::default()), |find| find(place)))
}

/// Reads a copy from the two ends of its files, and corrects its emptiness and activity, which these may not show.
///
/// # Errors
///
/// A file of the copy cannot be read.
pub(crate) fn read(agent: &dyn Agent, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
    let mut copy = agent.read(place, context)?;
    unknown_format::check_emptiness(agent, &mut copy);
    activity::check_activity(agent, &mut copy);
    Ok(copy)
}

/// Counts the messages of a copy, and corrects its emptiness.
///
/// # Errors
///
/// A file of the copy cannot be read.
pub(crate) fn count(agent: &dyn Agent, copy: &mut SessionCopy) -> Result<(), PathError> {
    agent.count(copy)?;
    unknown_format::check_emptiness(agent, copy);
    Ok(())
}
