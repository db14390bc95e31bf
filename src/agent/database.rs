//! What the agents that keep their sessions in a database have in common: every row that a listing needs is read in a
//! few passes over the file, not by opening it for each session.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{collections::BTreeMap, ops::ControlFlow};

use jiff::{SignedDuration, Timestamp};
use rayon::iter::ParallelIterator as _;
use rayon::slice::ParallelSlice as _;

use super::{Found, ReadContext, StoreNotes};
use crate::error::PathError;
use crate::format::sqlite;
use crate::format::sqlite::{Db, Query, QueryError, Row};
use crate::format::turn::Turn;
use crate::session::evidence;
use crate::session::{AgentKind, Copy, Evidence, Fact, Health, Liveness, Located, Message, SessionKind, Store};
use crate::system::env::Env;

/// What takes more than this many bytes in one field is an image or worse, and is left in the database.
pub(super) const MAX_BYTES: u32 = 8 * 1024 * 1024;
/// So many messages are in memory at a time.
const PAGE: u32 = 100;
/// So many sessions are read through one connection at least, because opening one has its price.
const SMALLEST_SHARE: usize = 256;
const MAX_ID: usize = 256;
/// None of these agents keeps a lock for a session, so one that was written to this lately may be in use.
const MAYBE_LIVE: SignedDuration = SignedDuration::from_secs(120);

/// How one kind of database is understood.
pub(super) trait Schema: Sync {
    /// Looks at the shape of a database and makes the queries; the error says what is missing.
    fn queries<'db>(&self, db: &'db Db) -> Result<Queries<'db>, QueryError>;

    /// Notes in a copy what its row says.
    fn fill(&self, row: &Row<'_>, copy: &mut Copy);

    /// Puts a row about messages together with those before it.
    fn add(&self, row: &Row<'_>, turns: &mut Vec<Turn>);
}

/// The queries of one kind of database.
pub(super) struct Queries<'db> {
    /// Id of each session and of its parent.
    pub(super) ids: Query<'db>,
    /// The row of the session `?1`.
    pub(super) session: Query<'db>,
    /// The messages of the session `?1` after the place `?2`, `?3`, at most `?4` of them, in order.
    pub(super) turns: Query<'db>,
    /// How many bytes the messages of the session `?1` take, one number a row.
    pub(super) size: Query<'db>,
    /// What is to be said about the version of the database.
    pub(super) warning: Option<String>,
}

/// Returns the stores of an agent that keeps its data where the desktop's standard says: its own directory below
/// `$XDG_DATA_HOME`, and below the usual place.
pub(super) fn stores(kind: AgentKind, name: &str, env: &Env) -> Vec<Store> {
    let usual = env.home.join(".local/share");
    let chosen =
        env.agent_variable("XDG_DATA_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute() && *dir != usual);
    let usual =
        Store { is_default: chosen.is_none(), unset: vec!["XDG_DATA_HOME"], ..Store::usual(kind, usual.join(name)) };
    chosen.map(|dir| Store::usual(kind, dir.join(name))).into_iter().chain([usual]).collect()
}

/// Tells whether an id may be handed to a program: none that could be an option or a path.
pub(super) fn is_session_id(id: &str) -> bool {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '$' | ':');
    !id.is_empty() && id.len() <= MAX_ID && !id.starts_with(['-', '.']) && id.chars().all(is_fine)
}

/// Finds the sessions in a database, or the one that is asked for; one that is missing holds none.
pub(super) fn locate(store: &Arc<Store>, path: &Path, schema: &dyn Schema, only: Option<&str>, found: &mut Found) {
    let read = sqlite::read(path, |db| {
        let mut queries = schema.queries(db)?;
        let mut rows = Vec::new();
        match only {
            Some(id) => queries.session.rows(&[id], |row| rows.extend(row.text(0).map(|id| (id, row.filled(1)))))?,
            None => queries.ids.rows(&[], |row| rows.extend(row.text(0).map(|id| (id, row.filled(1)))))?,
        }
        Ok((rows, queries.warning))
    });
    match read {
        Ok((rows, warning)) => {
            found.places.reserve(rows.len());
            for (id, parent_id) in rows {
                if is_session_id(&id) {
                    let is_subagent = parent_id.is_some();
                    found.places.push(Located { parent_id, is_subagent, ..Located::new(store, id, path) });
                } else {
                    found.problem(path, "it holds a session whose id no agent makes");
                }
            }
            if let Some(warning) = warning {
                found.problem(path, warning);
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => found.problem(path, error.reason()),
    }
}

/// Reads the wanted sessions of a store, and with `counts` all their messages.
pub(super) fn notes(places: &[&Located], counts: bool, schema: &'static dyn Schema, env: &Env) -> StoreNotes {
    let mut notes = StoreNotes::default();
    let mut by_file: BTreeMap<&Path, Vec<&Located>> = BTreeMap::new();
    places.iter().for_each(|place| by_file.entry(&place.path).or_default().push(place));
    for (path, places) in by_file {
        let share = places.len().div_ceil(rayon::current_num_threads()).max(SMALLEST_SHARE);
        let read: Result<Vec<Vec<Copy>>, PathError> = places
            .par_chunks(share)
            .map(|places| sqlite::read(path, |db| copies(schema, &mut schema.queries(db)?, places, counts)))
            .collect();
        match read {
            Ok(copies) => {
                let mut copies: Vec<Copy> = copies.into_iter().flatten().collect();
                copies.iter_mut().for_each(|copy| judge_liveness(copy, env.now));
                copies.sort_unstable_by(|a, b| a.place.id.cmp(&b.place.id));
                notes.copies.insert(path.to_owned(), copies);
            }
            Err(error) => notes.problem(path, error.reason()),
        }
    }
    notes
}

fn copies(
    schema: &dyn Schema,
    queries: &mut Queries<'_>,
    places: &[&Located],
    counts: bool,
) -> Result<Vec<Copy>, QueryError> {
    let mut copies = Vec::with_capacity(places.len());
    for place in places {
        let mut copy = Copy::new((*place).clone());
        let mut is_there = false;
        queries.session.rows(&[&place.id], |row| {
            is_there = true;
            schema.fill(row, &mut copy);
        })?;
        if !is_there {
            continue;
        }
        let is_silent = look_for_the_prompt(schema, queries, &mut copy)?;
        if counts {
            tally(queries, schema, &place.id)?.note_in(&mut copy);
        } else if is_silent {
            be_empty(&mut copy);
        }
        evidence::decide(&mut copy, |_| true);
        copies.push(copy);
    }
    Ok(copies)
}

/// Finds the first prompt among the first messages; returns whether there are no messages at all.
fn look_for_the_prompt(schema: &dyn Schema, queries: &mut Queries<'_>, copy: &mut Copy) -> Result<bool, QueryError> {
    let mut after = None;
    // The prompt is nearly always the very first message.
    for limit in [1, 7, 32] {
        let Some(turns) = page(schema, queries, &copy.place.id, after.as_ref(), limit)? else {
            return Ok(after.is_none());
        };
        if let Some(prompt) = turns.iter().find_map(Turn::prompt) {
            copy.first_prompt = Some(Fact::new(prompt.to_owned(), "database"));
            break;
        }
        after = turns.into_iter().next_back().map(|turn| turn.place);
    }
    Ok(false)
}

/// Returns the messages after a place; `None` when there are no more.
fn page(
    schema: &dyn Schema,
    queries: &mut Queries<'_>,
    id: &str,
    after: Option<&(i64, String)>,
    limit: u32,
) -> Result<Option<Vec<Turn>>, QueryError> {
    let mut turns = Vec::new();
    let number = after.map_or(i64::MIN, |after| after.0).to_string();
    let key = after.map_or("", |after| after.1.as_str());
    queries.turns.rows(&[id, &number, key, &limit.to_string()], |row| schema.add(row, &mut turns))?;
    Ok(Some(turns).filter(|turns| !turns.is_empty()))
}

/// Returns what the notes hold of a copy.
pub(super) fn read(place: &Located, context: &ReadContext<'_>) -> Result<Copy, PathError> {
    let copies = context.notes.copies.get(&*place.path).map_or(&[][..], Vec::as_slice);
    let at = copies.binary_search_by(|copy| copy.place.id.cmp(&place.id));
    at.map(|at| copies[at].clone()).map_err(|_| {
        let why = std::io::Error::other("a session that it held could not be read");
        PathError::new("read", &place.path, why)
    })
}

/// Shows every message of a session, some at a time.
pub(super) fn messages(
    schema: &dyn Schema,
    place: &Located,
    see: &mut dyn FnMut(Message) -> ControlFlow<()>,
) -> Result<(), PathError> {
    let mut after = None;
    loop {
        let read =
            sqlite::read(&place.path, |db| page(schema, &mut schema.queries(db)?, &place.id, after.as_ref(), PAGE));
        let Some(turns) = read? else { return Ok(()) };
        for turn in turns {
            after = Some(turn.place);
            if turn.messages.into_iter().try_for_each(&mut *see).is_break() {
                return Ok(());
            }
        }
    }
}

/// Counts prompts and replies, unless that was done when the session was read.
pub(super) fn count(schema: &dyn Schema, copy: &mut Copy) -> Result<(), PathError> {
    if copy.prompts.is_some() {
        return Ok(());
    }
    let counted = sqlite::read(&copy.place.path, |db| {
        let mut queries = schema.queries(db)?;
        tally(&mut queries, schema, &copy.place.id)
    });
    counted?.note_in(copy);
    Ok(())
}

fn tally(queries: &mut Queries<'_>, schema: &dyn Schema, id: &str) -> Result<Tally, QueryError> {
    let mut tally = Tally::default();
    let mut after = None;
    while let Some(turns) = page(schema, queries, id, after.as_ref(), PAGE)? {
        turns.iter().for_each(|turn| tally.add(turn));
        after = turns.into_iter().next_back().map(|turn| turn.place);
    }
    queries.size.rows(&[id], |row| tally.bytes += row.int(0).and_then(|bytes| bytes.try_into().ok()).unwrap_or(0))?;
    Ok(tally)
}

/// Prompts and replies, counted.
#[derive(Default)]
pub(super) struct Tally {
    prompts: u64,
    replies: u64,
    bytes: u64,
    model: Option<String>,
}

impl Tally {
    pub(super) fn add(&mut self, turn: &Turn) {
        self.prompts += u64::from(turn.prompt().is_some());
        self.replies += u64::from(turn.is_reply());
        if turn.is_reply() && turn.model.is_some() {
            self.model.clone_from(&turn.model);
        }
    }

    pub(super) fn note_in(self, copy: &mut Copy) {
        (copy.prompts, copy.replies) = (Some(self.prompts), Some(self.replies));
        copy.size_bytes = copy.size_bytes.max(self.bytes);
        copy.transcript_bytes = copy.transcript_bytes.max(self.bytes);
        if copy.model.is_none() {
            copy.model = self.model.map(|model| Fact::new(model, "message"));
        }
        if self.prompts + self.replies == 0 {
            be_empty(copy);
        }
    }
}

/// Says whether a session may be in use, by when it was last written to.
pub(super) fn judge_liveness(copy: &mut Copy, now: Timestamp) {
    let Some(age) = copy.active_at.as_ref().map(|at| now.duration_since(at.value)) else { return };
    if !age.is_negative() && age < MAYBE_LIVE {
        let why = format!("it was written to {} s ago, and {} keeps no lock", age.as_secs(), copy.place.agent());
        copy.liveness = Liveness::Maybe { why };
    }
}

/// Says that nothing was said in a session.
pub(super) fn be_empty(copy: &mut Copy) {
    copy.health.insert(Health::EmptySession);
    if copy.kind.is_listed() {
        copy.kind = SessionKind::Empty;
    }
}

/// Notes the directory that a session records; one that is not absolute says nothing.
pub(super) fn set_dir(copy: &mut Copy, dir: Option<String>, detail: &str) {
    let Some(dir) = dir.map(PathBuf::from).filter(|dir| dir.is_absolute()) else { return };
    copy.start_dir = Some(Fact::new(dir.clone(), "session"));
    copy.last_dir = copy.start_dir.clone();
    copy.evidence.push(Evidence { dir, source: "session", detail: detail.to_owned(), counts: true });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_could_be_an_option_or_a_path_is_none() {
        for id in ["ses_e0000112effeZXa8PMr09rOEPn", "20260820_1", "9d000000-0000-4000-8000-0000000000a1", "m$$call_1"]
        {
            assert!(is_session_id(id), "{id}");
        }
        for id in ["", "-x", "--help", "..", "a/b", "a b", "a\nb", "é", &"a".repeat(257)] {
            assert!(!is_session_id(id), "{id:?}");
        }
    }
}
