//! A listing in JSON, and what is said beside its table.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::agent::command::Request;
use crate::launch;
use crate::session::select::{Filter, ShortIds};
use crate::session::{Pointer, Problem, Session};
use crate::system::env::Env;
use crate::view::render::answer::{Answer, List};
use crate::view::render::json::SessionJson;
use crate::view::render::table;
use crate::view::ui::Styles;

/// What `list` answers.
pub(crate) struct Listing<'a> {
    /// Where the agents are looked for.
    pub env: &'a Env,
    /// Short ids for a table; `None` for a pipe.
    pub short: Option<ShortIds>,
    /// The sessions in the order that was asked for.
    pub sessions: Vec<Session>,
    /// How many passed the filters but are not shown without `--all`.
    pub hidden: usize,
    /// How many were cut off by `--limit`.
    pub beyond_limit: usize,
    /// Pointers whose session cannot be found.
    pub dangling: Vec<Pointer>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// Says on a terminal what the table leaves out.
pub(crate) fn notes(listing: &Listing<'_>, filter: &Filter) -> Vec<String> {
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
        notes.push(match pointer.session_id.as_deref() {
            Some(id) => format!("{} points to {id}, which cannot be found.", pointer.path.display()),
            None => format!("{} points to no session.", pointer.path.display()),
        });
    }
    notes
}

/// The answer of `list`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionList", deny_unknown_fields)]
pub(crate) struct SessionListJson<'a> {
    /// The sessions in the order that was asked for.
    #[schemars(with = "Vec<SessionJson<'a>>")]
    pub sessions: List<'a, Planned<'a>>,
    /// How many sessions passed the filters but are not shown without `--all`.
    pub hidden: usize,
    /// How many sessions were cut off by `--limit`.
    pub beyond_limit: usize,
    /// Pointers whose session cannot be found.
    pub dangling_pointers: &'a [Pointer],
    /// What could not be read.
    pub problems: &'a [Problem],
}

/// A session that is put in words together with its resume plan.
pub(crate) struct Planned<'a>(&'a Session, &'a Env);

impl Serialize for Planned<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let plan = launch::plan(self.0, &Request::default(), self.1).ok();
        SessionJson::new(self.0, plan.as_ref()).serialize(to)
    }
}

impl Answer for Listing<'_> {
    const COUNTS_ITEMS: bool = true;

    fn object(&self) -> (&'static str, impl Serialize) {
        let Self { env, sessions, hidden, beyond_limit, dangling, problems, .. } = self;
        let fields = SessionListJson {
            sessions: List::of(sessions, |session| Planned(session, env)),
            hidden: *hidden,
            beyond_limit: *beyond_limit,
            dangling_pointers: dangling,
            problems,
        };
        ("session-list", fields)
    }

    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        table::listing(out, env, styles, &self.sessions, self.short.as_ref())
    }
}
