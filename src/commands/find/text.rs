//! Resolves typed text to a session of the stores: an id, a place in the list, a title, a path, or words.

use std::cmp::Reverse;
use std::path::Path;

use foldhash::HashSet;

use super::{Finder, SelectorTarget, again, candidates, copies, passes_not, the_only};
use crate::agent::{self, Depth};
use crate::commands::no_match::{nearest, of_nearest_agent};
use crate::commands::query;
use crate::error::{Refusal, RefusalCode};
use crate::format::{command_line, shell};
use crate::scan::named_logs::{self, NamedLog};
use crate::scan::{self, Places, Scan, ScanScope};
use crate::session::matching::Query;
use crate::session::select::{self, Filter, NameCandidate, NameMatch};
use crate::session::{AgentKind, Located, Session, Store};
use crate::system::env::Env;
use crate::system::reach;

/// Maximum candidates to list; more would not help.
const MAX_CANDIDATES: usize = 12;
/// Minimum length of the beginning of an id among several words.
pub(super) const SHORTEST_ID: usize = 4;
/// Minimum length of the beginning of an id that is compared with the names of logs.
const SHORTEST_OF_LOG: usize = 8;
/// Length of a UUID without its hyphens; a shorter text may be the beginning of an id.
const SHORTEST_FULL_ID: usize = 32;

impl Finder<'_> {
    /// Tries in this order: exact id, line number of the list, prefix of an id, exact title, path, part of a title,
    /// words.
    pub(super) fn by_text(&mut self, agent: Option<AgentKind>, text: &str) -> anyhow::Result<SelectorTarget> {
        self.named_by(agent, text).map_err(|error| match error.downcast::<Refusal>() {
            Ok(refusal) if refusal.code == RefusalCode::Ambiguous => in_picker(agent, text, refusal).into(),
            Ok(refusal) => refusal.into(),
            Err(error) => error,
        })
    }

    fn named_by(&mut self, agent: Option<AgentKind>, text: &str) -> anyhow::Result<SelectorTarget> {
        let Self { filter, scope: requested, env, .. } = *self;
        let full = self.by_full_id(agent, text);
        if let Some(session) = full.filter(|session| !filter.is_narrow() || filter.matches(session)) {
            return Ok(found(session));
        }
        let places = scan::locate(env, &filter.agents);
        // Only sessions that were read can be checked against the filters.
        let ids = if filter.is_narrow() { Vec::new() } else { by_id(agent, text, &places) };
        let is_exact = places.places.iter().any(|place| place.id == text);
        if agent.is_none()
            && !is_exact
            && let Some(number) = select::list_number(text)
            && let Some(session) = self.by_number(number)?
        {
            return Ok(found(session));
        }
        match ids.as_slice() {
            [] => {}
            [(agent, id)] => return Ok(found(the_only(places, (*agent, id), requested, env)?)),
            several => {
                let shown = &several[..several.len().min(MAX_CANDIDATES)];
                let is_shown = |place: &Located| shown.iter().any(|(of, id)| (place.agent(), &place.id) == (*of, id));
                let shown = places.read_some(env, ScanScope::GLANCE, is_shown).sessions;
                return Err(several_ids(text, &shown.iter().collect::<Vec<_>>(), several.len(), env).into());
            }
        }
        let mut scan = places.read_with_dirs(env, filter, ScanScope::GLANCE);
        scan.sessions.retain(|session| agent.is_none_or(|agent| agent == session.agent));
        let left_out = take_left_out(&mut scan, filter);
        let among = |sessions: &[Session]| {
            select::named(
                text,
                sessions.iter().enumerate().map(|(at, session)| NameCandidate::from_session(at, session)),
            )
        };
        // Sessions outside the stores have an id only after they are read.
        let (named, outside) = (among(&scan.sessions), among(&left_out));
        // Only an id outside of the filters is reported; a title outside of them is ignored.
        let outside = outside.filter(|found| found.by.is_of_id()).map(|found| found.keys).unwrap_or_default();
        if let [only] = outside.as_slice()
            && named.as_ref().is_none_or(|named| !named.by.is_of_id())
        {
            return Err(passes_not(&left_out[*only], env).into());
        }
        let by = named.as_ref().map(|named| named.by);
        let mut sessions = named.map(|named| named.keys).unwrap_or_default();
        if by.is_none_or(|by| by == NameMatch::PartOfTitle) {
            // A part of a title is weaker than an existing path, which is the only id for some agents.
            let path = env.absolute(Path::new(text));
            if (agent.is_none() || text.starts_with('/')) && reach::exists(&path) == Some(true) {
                return self.by_path(&path);
            }
        }
        if sessions.is_empty() {
            sessions.extend(in_text(text, &scan.sessions));
        }
        if let [only] = sessions.as_slice() {
            return Ok(found(again(&scan.sessions[*only], requested, env)?));
        }
        if by.is_some_and(NameMatch::is_of_id) {
            let several: Vec<&Session> = sessions.iter().map(|at| &scan.sessions[*at]).collect();
            return Err(several_ids(text, &several, several.len(), env).into());
        }
        let query = query::query(text, &env.clock);
        crate::commands::mark(&mut scan.sessions, &query, env, self.ui);
        let with_words = if has_options(text) { Vec::new() } else { by_words(&query, &scan.sessions, env) };
        match if with_words.is_empty() { sessions } else { with_words }.as_slice() {
            [only] => Ok(found(again(&scan.sessions[*only], requested, env)?)),
            [] => {
                crate::commands::warn_of_problems(self.ui, env, &scan.problems);
                Err(none(agent, text, &query, &scan.sessions, env).into())
            }
            many => {
                let shown = many.iter().take(MAX_CANDIDATES);
                let shown = shown.flat_map(|at| candidates(&scan.sessions[*at], false, env).into_iter().take(1));
                let mut shown: Vec<_> = shown.collect();
                copies::tell_apart(&mut shown, env);
                let message = format!("{} sessions match {text:?}", many.len());
                let hint = with_more("use the id of one of them, or type more words", many.len());
                Err(Refusal::new(RefusalCode::Ambiguous, message).candidates(shown).hint(hint).into())
            }
        }
    }

    /// Reads the session with a full id directly, if that is unambiguous.
    ///
    /// Try a full id before listing every store: listing dominates the time of a resume, and scripts pass full ids.
    fn by_full_id(&self, agent: Option<AgentKind>, text: &str) -> Option<Session> {
        let Self { filter, scope: requested, env, .. } = *self;
        // Except for a thorough read, which uses neighbouring sessions, the session's own evidence is enough.
        if text.len() < SHORTEST_FULL_ID || requested.depth == Depth::Thorough {
            return None;
        }
        let places = scan::locate_id(env, &filter.agents, text);
        let ids = by_id(agent, text, &places);
        let [(agent, id)] = ids.as_slice() else { return None };
        the_only(places, (*agent, id), requested, env).ok().filter(|session| session.launch_dir().is_some())
    }
}

/// Returns the sessions whose id is the text or starts with it.
fn by_id(agent: Option<AgentKind>, text: &str, places: &Places) -> Vec<(AgentKind, String)> {
    let own = places.places.iter().filter(|place| agent.is_none_or(|agent| agent == place.agent()));
    let named =
        select::named(text, own.map(|place| NameCandidate::from_place((place.agent(), place.id.as_str()), place)));
    let keys = named.map(|named| named.keys).unwrap_or_default();
    keys.into_iter().map(|(agent, id)| (agent, id.to_owned())).collect()
}

/// Returns whether a text has an option, as a pasted command does. An option must not turn the other words into another
/// session.
fn has_options(text: &str) -> bool {
    text.split_whitespace().any(|word| word.starts_with('-'))
}

/// Finds the only session whose whole id is in a pasted text, such as the address of a conversation or the name of a file.
/// A path means its own copy alone, also if that is gone.
fn in_text(text: &str, sessions: &[Session]) -> Option<usize> {
    /// Shorter ids may be words.
    const SHORTEST: usize = 16;
    if text.contains('/') && !text.contains("://") {
        return None;
    }
    let is_of_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let is_in = |id: &str| {
        let bounds = text.match_indices(id).map(|(at, _)| (&text[..at], &text[at + id.len()..]));
        id.len() >= SHORTEST && { bounds }
            .any(|(before, after)| !is_of_word(before.chars().last()) && !is_of_word(after.chars().next()))
    };
    let mut found = (0..sessions.len()).filter(|at| is_in(sessions[*at].id()));
    found.next().filter(|_| found.next().is_none())
}

fn found(session: Session) -> SelectorTarget {
    SelectorTarget::Session(Box::new(session))
}

/// Returns whether a text may be a full id, instead of a prefix or a title.
pub(crate) fn is_whole_id(text: &str) -> bool {
    text.len() >= SHORTEST_FULL_ID && may_be_id(text)
}

/// Returns whether a text may be an id or a prefix of one: it has a digit, and only characters that ids have.
fn may_be_id(text: &str) -> bool {
    let is_of_ids = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    text.chars().all(is_of_ids) && text.contains(|c: char| c.is_ascii_digit())
}

/// Lets the user choose in the picker, which has the typed text as its first search text and searches messages, too.
fn in_picker(agent: Option<AgentKind>, text: &str, refusal: Refusal) -> Refusal {
    let of_agent = agent.map(|agent| format!("agent:{agent} ")).unwrap_or_default();
    Refusal { picker: Some(of_agent + text), ..refusal }
}

/// Finds the sessions that have every word of a query somewhere, the newest first.
fn by_words(query: &Query, sessions: &[Session], env: &Env) -> Vec<usize> {
    if query.only_excludes() {
        return Vec::new();
    }
    let is_meant = |at: &usize| sessions[*at].copy().kind.is_listed() && query::are_in(query, &sessions[*at], env);
    let mut found: Vec<usize> = (0..sessions.len()).filter(is_meant).collect();
    found.sort_by_key(|at| Reverse(sessions[*at].recency()));
    found
}

/// Removes the sessions that do not pass the filters, and returns them.
fn take_left_out(scan: &mut Scan, filter: &Filter) -> Vec<Session> {
    if !filter.is_narrow() {
        return Vec::new();
    }
    scan.sessions.extract_if(.., |session| !filter.matches(session)).collect()
}

/// Creates the error for a text that matches no id, title or other text of a session.
fn none(agent: Option<AgentKind>, text: &str, query: &Query, sessions: &[Session], env: &Env) -> Refusal {
    let of = agent.map(|agent| format!("{agent} ")).unwrap_or_default();
    let message = format!("no {of}session has an id that starts with {text}, or a title that contains it");
    let refusal = Refusal::new(RefusalCode::NotFound, message);
    if let Some(NamedLog { id, path, .. }) = renamed_log(agent, text, env) {
        let message = format!("cannot read session {id}: its transcript has another name or place, {}", path.display());
        let hint = "run `rejoin doctor --check unread-file` to see how to bring it back";
        return Refusal::new(RefusalCode::Unreadable, message).hint(hint);
    }
    if let Some(name) = of_nearest_agent(text) {
        let again = command_line::again(env, &[text], &[&name]);
        return refusal.hint(format!("if you mean the agent, run `{again}`"));
    }
    let begins_id = |word: &str| word.len() >= SHORTEST_ID && sessions.iter().any(|one| one.id().starts_with(word));
    let words = || text.split_whitespace();
    if words().nth(1).is_some() && words().all(|word| word == "latest" || begins_id(word)) {
        return refusal.hint("name one session at a time");
    }
    let near = nearest(text, sessions);
    if !near.is_empty() {
        let candidates = near.iter().flat_map(|session| candidates(session, false, env).into_iter().take(1));
        let hint = "these are the closest: use the id of the one that you mean, or run `rejoin list --all` to see all";
        return refusal.candidates(candidates.collect()).hint(hint);
    }
    if let Some(unmatched) = query::unmatched_filter(query, sessions, env) {
        let refusal = Refusal::new(RefusalCode::NotFound, unmatched.why);
        let hint = unmatched.near.map_or_else(
            || "run `rejoin list --all` to see every session".to_owned(),
            |near| format!("use `{near}` instead"),
        );
        return refusal.hint(hint);
    }
    if may_be_id(text) {
        return refusal.hint("run `rejoin list --all` to see every session");
    }
    if has_options(text) {
        return refusal.hint("use the id alone, without the options of a command; `rejoin list` shows the ids");
    }
    let of = agent.map(|agent| format!("--agent {agent} ")).unwrap_or_default();
    let words: Vec<_> = words().map(shell::word).collect();
    let search = format!("rejoin search {of}{} --pick", words.join(" "));
    let hint = format!("run `{search}` to find it in the messages, or `rejoin list --all` to see every session");
    in_picker(agent, text, refusal.hint(hint))
}

/// Finds a log that another program renamed or moved, and whose session has an id that starts with a text.
fn renamed_log(agent: Option<AgentKind>, text: &str, env: &Env) -> Option<NamedLog> {
    if text.len() < SHORTEST_OF_LOG || !text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
        return None;
    }
    let agents = agent::all().iter().filter(|one| agent.is_none_or(|agent| agent == one.kind()));
    let stores: Vec<Store> = agents.flat_map(|agent| agent.stores(env)).collect();
    // Filters may exclude a session.
    let known: HashSet<_> =
        scan::locate(env, &[]).places.iter().map(|place| place.path.as_os_str().to_owned()).collect();
    named_logs::find(&stores, &known).into_iter().find(|log| log.id.starts_with(text))
}

/// Creates the error for the start of the ids of several sessions, or for an id of several agents.
fn several_ids(text: &str, shown: &[&Session], count: usize, env: &Env) -> Refusal {
    let by_agent = shown.windows(2).all(|pair| pair[0].id() == pair[1].id());
    let message = if by_agent {
        format!("{count} agents have a session with the id {text}")
    } else {
        format!("{count} session ids start with {text}")
    };
    let hint = if by_agent { "name the agent: AGENT:ID".to_owned() } else { with_more("type more of the id", count) };
    let shown = shown.iter().take(MAX_CANDIDATES);
    let candidates = shown.flat_map(|session| candidates(session, by_agent, env));
    Refusal::new(RefusalCode::Ambiguous, message).hint(hint).candidates(candidates.collect())
}

/// Adds the number of candidates that are not shown to a hint.
fn with_more(hint: &str, count: usize) -> String {
    match count.saturating_sub(MAX_CANDIDATES) {
        0 => hint.to_owned(),
        more => format!("{hint}; {more} more are not shown"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn possible_id_has_digit_and_no_space() {
        for (text, expected) in
            [("31c5", true), ("ses_4f0a", true), ("relay", false), ("flush the 2 queues", false), ("deadbeef", false)]
        {
            assert_eq!(may_be_id(text), expected, "{text}");
        }
    }
}
