//! Reads and collects copies of any agent, and corrects their emptiness and activity.

use std::ops::ControlFlow;

use super::registry::by_kind;
use super::{Agent, Listings, Observers, ReadContext, Unable, activity, unknown_format};
use crate::error::PathError;
use crate::session::branches::BranchFilter;
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
    copy.kept_by = copy.kept_by.take().or_else(|| context.notes.kept_by(&copy.place.id));
    unknown_format::check_emptiness(agent, &mut copy);
    activity::check_activity(agent, &mut copy);
    Ok(copy)
}

/// Counts the messages of a copy for observers, and corrects its emptiness.
///
/// # Errors
///
/// A file of the copy cannot be read.
pub(crate) fn observe(agent: &dyn Agent, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
    agent.observe(copy, observers)?;
    unknown_format::check_emptiness(agent, copy);
    Ok(())
}

/// Reads a copy for observers of days, and its usage.
///
/// # Errors
///
/// A file of the copy cannot be read.
pub(crate) fn measure(agent: &dyn Agent, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
    agent.observe(copy, observers)?;
    if let Some(days) = observers.days.as_mut().filter(|_| !observers.has_days) {
        agent.messages_on(copy, BranchFilter::All, &mut |message| {
            message.at.into_iter().for_each(|at| days.add(at));
            ControlFlow::Continue(())
        })?;
    }
    read_usage(agent, copy)
}

/// Reads the tokens and the cost of a copy, unless they are known.
///
/// # Errors
///
/// A file of the copy cannot be read.
pub(crate) fn read_usage(agent: &dyn Agent, copy: &mut SessionCopy) -> Result<(), PathError> {
    if copy.usage.is_none() && agent.about().usage.is_some() {
        agent.observe(copy, &mut Observers { usage: true, ..Observers::default() })?;
    }
    if copy.usage.is_none() {
        copy.usage = Some(agent.recorded_usage(copy)?);
    }
    Ok(())
}
