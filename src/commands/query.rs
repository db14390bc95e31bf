//! Words that name sessions, as `list`, `search` and every verb that takes a SESSION understand them.

use jiff::Timestamp;

use crate::cli::ChoiceArgs;
use crate::error::{Refusal, RefusalCode};
use crate::session::matching::{MatchedTexts, Query, Unmatched};
use crate::session::when::When;
use crate::session::{Session, marks};
use crate::system::env::{Clock, Env};

/// Parses words that name sessions, with filters such as `agent:claude` and `since:7d` among them.
pub(super) fn query(text: &str, clock: &Clock) -> Query {
    Query::parse(text, time(clock))
}

/// Parses arguments as [`query`] does, adds the options for marks, titles and numbers, and refuses a filter that it does not
/// understand.
pub(super) fn sound_query(words: &[String], choice: &ChoiceArgs, clock: &Clock) -> Result<Query, Refusal> {
    let words: Vec<String> = words.iter().cloned().chain(choice.words()).collect();
    Ok(sound(Query::from_arguments(&words, time(clock)))?.with_most_messages(choice.max_messages))
}

/// Parses the filters among arguments, and returns the other arguments; refuses a filter that it does not understand.
pub(super) fn filters(words: &[String], clock: &Clock) -> Result<(Query, Vec<String>), Refusal> {
    let (query, others) = Query::split_filters(words, time(clock));
    Ok((sound(query)?, others))
}

fn sound(query: Query) -> Result<Query, Refusal> {
    let Some(Unmatched { why, near }) = &query.problem else { return Ok(query) };
    let refusal = Refusal::new(RefusalCode::Usage, why);
    Err(match near {
        Some(near) => refusal.hint(format!("use `{near}` instead")),
        None if why.contains('`') => refusal,
        None => refusal.hint("run `rejoin help filters` to see every form"),
    })
}

fn time(clock: &Clock) -> impl Fn(&str) -> Result<Timestamp, String> {
    |text| text.parse::<When>().map(|when| clock.before(when))
}

/// Returns whether a session has every word somewhere: in its title, first prompt, directory, agent, id or marks.
pub(super) fn are_in(query: &Query, session: &Session, env: &Env) -> bool {
    query.is_answered_by(&subject(session, env))
}

/// Returns the first filter of a query that no session passes.
pub(super) fn unmatched_filter(query: &Query, sessions: &[Session], env: &Env) -> Option<Unmatched> {
    let subjects: Vec<MatchedTexts> = sessions.iter().map(|session| subject(session, env)).collect();
    query.unmatched_filter(&subjects.iter().collect::<Vec<_>>())
}

/// Returns the first word of a query that no session has.
pub(super) fn unmatched_word(query: &Query, sessions: &[Session], env: &Env) -> Option<Unmatched> {
    let subjects: Vec<MatchedTexts> = sessions.iter().map(|session| subject(session, env)).collect();
    query.unmatched_word(&subjects.iter().collect::<Vec<_>>())
}

fn subject(session: &Session, env: &Env) -> MatchedTexts {
    let dir = session.launch_dir().map(|dir| env.tilde(dir)).unwrap_or_default();
    MatchedTexts::from_session(session, session.label().unwrap_or_default(), &dir, &marks::words(session))
}
