//! Words that name sessions, as `list` and every verb that takes a SESSION understand them.

use crate::error::{Exit, Refusal, RefusalCode};
use crate::session::matching::{Query, Subject};
use crate::session::when::When;
use crate::session::{Session, marks};
use crate::system::env::{Clock, Env};

/// Understands words that name sessions, with filters such as `agent:claude` and `since:7d` among them.
pub(super) fn query(text: &str, clock: &Clock) -> Query {
    let time = |text: &str| text.parse::<When>().ok().map(|when| clock.before(when));
    Query::parse(text, time)
}

/// Understands them as [`query`] does, and refuses a filter that it cannot understand.
pub(super) fn sound_query(words: &[String], clock: &Clock) -> Result<Query, Refusal> {
    let query = query(&words.join(" "), clock);
    match &query.problem {
        Some(problem) => Err(Refusal::new(Exit::Usage, RefusalCode::Usage, problem.clone())),
        None => Ok(query),
    }
}

/// Returns whether a session has every word somewhere: in its title, first prompt, directory, agent, id or marks.
pub(super) fn are_in(query: &Query, session: &Session, env: &Env) -> bool {
    let dir = session.launch_dir().map(|dir| env.tilde(dir)).unwrap_or_default();
    let title = session.label().unwrap_or_default();
    query.is_answered_by(&Subject::of(session, title, &dir, &marks::words(session)))
}
