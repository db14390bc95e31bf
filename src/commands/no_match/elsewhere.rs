//! Mentions sessions that match in the archive or in the trash, if none matches in the stores.

use std::collections::HashSet;

use crate::archive::Archive;
use crate::change::apply::history;
use crate::change::apply::in_use::agent_of;
use crate::commands::query::are_in;
use crate::format::{command_line, text};
use crate::scan;
use crate::session::matching::Query;
use crate::session::select::Filter;
use crate::session::terms::fold::folded;
use crate::session::{AgentKind, Session};
use crate::system::env::Env;

/// Returns notes on the sessions that pass the filters and have the words.
pub(super) fn notes(filter: &Filter, query: &Query, stored: &[Session], env: &Env) -> Vec<String> {
    let is_meant = |session: &&Session| filter.matches(session) && are_in(query, session, env);
    let keys = stored.iter().map(Session::key).collect();
    let archived = archived(|| keys, env).iter().filter(is_meant).count();
    let verb = if archived == 1 { "matches" } else { "match" };
    let archived = note_of_archive(archived, |count| {
        format!("{count} {verb}: `{}`.", command_line::again(env, &[], &["--archived"]))
    });
    archived.into_iter().chain(in_trash(filter, query, env)).collect()
}

/// Returns notes for a search of messages: only a search of the archive can say whether it has a match.
pub(super) fn notes_of_search(filter: &Filter, query: &Query, env: &Env) -> Vec<String> {
    let keys = || scan::locate(env, &[]).places.iter().map(|place| (place.agent(), place.id.clone())).collect();
    let archived = archived(keys, env).iter().filter(|session| filter.matches(session)).count();
    let verb = if archived == 1 { "is not" } else { "are not" };
    let archived = note_of_archive(archived, |count| {
        format!("{count} {verb} in a store; `{}` searches the archive.", command_line::again(env, &[], &["--archived"]))
    });
    archived.into_iter().chain(in_trash(filter, query, env)).collect()
}

fn note_of_archive(count: usize, note: impl FnOnce(String) -> String) -> Option<String> {
    (count > 0).then(|| note(text::count(count, "archived session")))
}

/// Returns the sessions of the archive that no store has; `stored` returns those of the stores.
fn archived(stored: impl FnOnce() -> HashSet<(AgentKind, String)>, env: &Env) -> Vec<Session> {
    let mut sessions = Archive::open(env, None).holdings().newest_sessions();
    if !sessions.is_empty() {
        let known = stored();
        sessions.retain(|session| !known.contains(&session.key()));
    }
    sessions
}

/// Mentions the sessions in the trash whose titles have all words; the trash records no other text.
fn in_trash(filter: &Filter, query: &Query, env: &Env) -> Option<String> {
    let words: Vec<String> = query.words().map(folded).collect();
    if words.is_empty() || filter.is_narrow() {
        return None;
    }
    // `undo` and `doctor` report an unreadable journal.
    let history = history::read(env).ok()?;
    let mut titles = history::in_trash(&history);
    titles.retain(|(_, record)| {
        let title = folded(record.title.as_deref().unwrap_or_default());
        let is_of_agent = agent_of(record).is_some_and(|agent| filter.has_agent(agent));
        is_of_agent && record.is_whole_session() && words.iter().all(|word| title.contains(word.as_str()))
    });
    let list = command_line::in_home("rejoin undo --list", &env.invocation.elsewhere);
    match titles.as_slice() {
        [] => None,
        [(run, _)] => {
            let undo =
                command_line::in_home(&format!("rejoin undo {}", run.id), &env.invocation.elsewhere).into_owned();
            Some(format!("1 session in the trash has that title; `{undo} --dry-run` shows it."))
        }
        several => Some(format!(
            "{} in the trash have that title; `{list}` lists the runs.",
            text::count(several.len(), "session")
        )),
    }
}
