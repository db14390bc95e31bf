//! A listing in JSON, and what is said beside its table.

use std::io::{self, Write};

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use serde_json::value::to_raw_value;

use crate::agent::command::Request;
use crate::launch;
use crate::session::select::Filter;
use crate::session::{Pointer, Problem, Session};
use crate::system::env::Env;
use crate::view::render::json;
use crate::view::render::json::{
    FORMAT_VERSION, HeaderJson, ListSummaryJson, PointerJson, ProblemJson, SessionJson, SessionListJson,
};

/// What `list` answers.
#[derive(Debug)]
pub(crate) struct Listing {
    /// The sessions in the order that was asked for.
    pub sessions: Vec<Session>,
    /// How many passed the filters but are not shown without `--all`.
    pub hidden: usize,
    /// How many were cut off by `--limit`.
    pub beyond_limit: usize,
    /// Pointers whose session is found nowhere.
    pub dangling: Vec<Pointer>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// Says on a terminal what the table leaves out.
pub(crate) fn notes(listing: &Listing, filter: &Filter) -> Vec<String> {
    let Listing { sessions, hidden, beyond_limit, dangling, .. } = listing;
    let mut notes = Vec::new();
    if sessions.is_empty() {
        notes.push("No sessions found.".to_owned());
    }
    if *beyond_limit > 0 {
        notes.push(format!("{beyond_limit} more beyond --limit."));
    }
    match hidden {
        0 => {}
        1 => notes.push("1 sub-agent or empty session not shown; --all shows it.".to_owned()),
        _ => notes.push(format!("{hidden} sub-agents and empty sessions not shown; --all shows them.")),
    }
    // A pointer to nowhere has no directory or time of a session to be filtered by.
    for pointer in dangling.iter().filter(|pointer| filter.shows_dangling(pointer.agent)) {
        let id = pointer.session_id.as_deref().unwrap_or("no session");
        notes.push(format!("{} points to {id}, which is found nowhere.", pointer.path.display()));
    }
    notes
}

/// Writes one object.
pub(crate) fn json(out: &mut impl Write, env: &Env, listing: &Listing) -> io::Result<()> {
    let in_json = |session: &Session| {
        let plan = launch::plan(session, &Request::default(), env).ok();
        to_raw_value(&SessionJson::new(session, plan.as_ref()))
    };
    let list = SessionListJson {
        format_version: FORMAT_VERSION,
        kind: "session-list",
        sessions: listing.sessions.par_iter().map(in_json).collect::<Result<_, _>>()?,
        hidden: listing.hidden,
        beyond_limit: listing.beyond_limit,
        dangling_pointers: dangling(listing),
        problems: problems(listing),
    };
    serde_json::to_writer(&mut *out, &list)?;
    writeln!(out)
}

/// Writes a header, a line a session, and a summary.
pub(crate) fn ndjson(out: &mut impl Write, env: &Env, listing: &Listing) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &HeaderJson { format_version: FORMAT_VERSION, kind: "session-list" })?;
    writeln!(out)?;
    for session in &listing.sessions {
        let plan = launch::plan(session, &Request::default(), env).ok();
        serde_json::to_writer(&mut *out, &SessionJson::new(session, plan.as_ref()))?;
        writeln!(out)?;
    }
    let summary = ListSummaryJson {
        kind: "summary",
        sessions: listing.sessions.len(),
        hidden: listing.hidden,
        beyond_limit: listing.beyond_limit,
        dangling_pointers: dangling(listing),
        problems: problems(listing),
    };
    serde_json::to_writer(&mut *out, &summary)?;
    writeln!(out)
}

fn dangling(listing: &Listing) -> Vec<PointerJson<'_>> {
    listing.dangling.iter().map(json::pointer).collect()
}

fn problems(listing: &Listing) -> Vec<ProblemJson<'_>> {
    listing.problems.iter().map(ProblemJson::from).collect()
}
