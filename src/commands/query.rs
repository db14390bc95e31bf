//! Words that name sessions, as `list`, `search` and every verb that takes a SESSION understand them.

use clap::ValueEnum as _;
use jiff::Timestamp;

use crate::cli::{ChoiceArgs, nearest};
use crate::error::{Refusal, RefusalCode};
use crate::session::marks::Mark;
use crate::session::matching::{Query, Subject};
use crate::session::when::When;
use crate::session::{AgentKind, Session, marks};
use crate::system::env::{Clock, Env};

/// Parses words that name sessions, with filters such as `agent:claude` and `since:7d` among them.
pub(super) fn query(text: &str, clock: &Clock) -> Query {
    Query::parse(text, time(clock))
}

/// Parses arguments as [`query`] does, adds the options for marks, titles and numbers, and refuses a filter that it does not
/// understand.
pub(super) fn sound_query(words: &[String], choice: &ChoiceArgs, clock: &Clock) -> Result<Query, Refusal> {
    let words: Vec<String> = words.iter().cloned().chain(choice.words()).collect();
    Ok(sound(Query::from_arguments(&words, time(clock)), &words)?.with_most_messages(choice.max_messages))
}

/// Parses the filters among arguments, and returns the other arguments; refuses a filter that it does not understand.
pub(super) fn filters(words: &[String], clock: &Clock) -> Result<(Query, Vec<String>), Refusal> {
    let (query, others) = Query::split_filters(words, time(clock));
    Ok((sound(query, words)?, others))
}

fn sound(query: Query, words: &[String]) -> Result<Query, Refusal> {
    let Some(problem) = &query.problem else { return Ok(query) };
    let refusal = Refusal::new(RefusalCode::Usage, problem.clone());
    let near = words.iter().find_map(|word| nearest_filter(word));
    Err(near.iter().fold(refusal, |refusal, near| refusal.hint(format!("use `{near}` instead"))))
}

/// Returns the filter nearest to a mistyped one.
fn nearest_filter(word: &str) -> Option<String> {
    let (name, value) = word.split_once(':')?;
    let names: Vec<String> = match name {
        "agent" => AgentKind::value_variants().iter().map(|agent| agent.name().to_owned()).collect(),
        "is" => Mark::ALL.iter().map(|mark| marks::name(mark.word())).collect(),
        _ => return None,
    };
    nearest(value, names).filter(|near| near != value).map(|near| format!("{name}:{near}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_filter_has_a_nearest_one() {
        for (typed, expected) in [
            ("agent:cluade", Some("agent:claude")),
            ("agent:codx", Some("agent:codex")),
            ("agent:gemnii", Some("agent:gemini")),
            ("is:pined", Some("is:pinned")),
            ("is:dirgone", Some("is:dir-gone")),
            ("is:liev", Some("is:live")),
            ("agent:claude", None),
            ("agent:xyzzy", None),
            ("is:lost", None),
            ("dir:shop", None),
            ("cluade", None),
        ] {
            assert_eq!(nearest_filter(typed).as_deref(), expected, "{typed}");
        }
    }
}
