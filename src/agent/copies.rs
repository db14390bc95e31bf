//! Reads, counts and collects copies of any agent, and corrects their emptiness and activity.

use super::registry::by_kind;
use super::{Agent, Listings, ReadContext, Unable, activity, unknown_format};
use crate::error::PathError;
use crate::session::{Belongings, Located, SessionCopy};

/// A function that finds the files of a copy, like [`Housekeeping::find_belongings`](super::Housekeeping::find_belongings).
pub(crate) type FindBelongings = Box<dyn Fn(&Located) -> Result<Belongings, Unable> + Sync>;

/// Returns a function that finds the files of many copies; it lists each shared directory once.
pub(crate) fn belongings_of_many() -> FindBelongings {
    let listings = Listings::cached();
    Box::new(move |place| {
        by_kind(place.agent())
            .map_or_else(|| Ok(Belongings::default()), |agent| agent.find_belongings(place, &listings))
    })
}

/// Reads a copy from the two ends of its files, and corrects its emptiness and activity, which the ends may not show.
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
