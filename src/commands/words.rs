//! Words that name sessions, as `list`, `search` and every verb that takes a SESSION understand them.

use jiff::Timestamp;

use crate::error::{Exit, Refusal, RefusalCode};
use crate::session::matching::{Query, Subject};
use crate::session::when::When;
use crate::session::{Session, marks};
use crate::system::env::{Clock, Env};

/// Understands words that name sessions, with filters such as `agent:claude` and `since:7d` among them.
pub(super) fn query(text: &str, clock: &Clock) -> Query {
    Query::parse(text, time(clock))
}

/// Parses arguments as [`query`] does, and refuses a filter that it does not understand.
pub(super) fn sound_query(words: &[String], clock: &Clock) -> Result<Query, Refusal> {
    sound(Query::from_arguments(words, time(clock)))
}

/// Parses the filters among arguments, and returns the other arguments; refuses a filter that it does not understand.
pub(super) fn filters(words: &[String], clock: &Clock) -> Result<(Query, Vec<String>), Refusal> {
    let (query, others) = Query::split_filters(words, time(clock));
    Ok((sound(query)?, others))
}

fn sound(query: Query) -> Result<Query, Refusal> {
    match &query.problem {
        Some(problem) => Err(Refusal::new(Exit::Usage, RefusalCode::Usage, problem.clone())),
        None => Ok(query),
    }
}

fn time(clock: &Clock) -> impl Fn(&str) -> Option<Timestamp> {
    |text| text.parse::<When>().ok().map(|when| clock.before(when))
}

/// Returns whether a session has every word somewhere: in its title, first prompt, directory, agent, id or marks.
pub(super) fn are_in(query: &Query, session: &Session, env: &Env) -> bool {
    let dir = session.launch_dir().map(|dir| env.tilde(dir)).unwrap_or_default();
    let title = session.label().unwrap_or_default();
    query.is_answered_by(&Subject::of(session, title, &dir, &marks::words(session)))
}
