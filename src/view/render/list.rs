//! A listing in each format, and the notes below its table.

use std::io::{self, Write};

use serde::{Serialize, Serializer};

use crate::agent::command::LaunchRequest;
use crate::format::text;
use crate::launch;
use crate::session::fields::Field;
use crate::session::select::Filter;
use crate::session::{Pointer, Problem, Session};
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::fields;
use crate::view::render::items::ItemList;
use crate::view::render::json::SessionJson;
use crate::view::render::table;
use crate::view::render::table::TableLayout;
use crate::view::ui::Styles;

/// The layout of sessions in formats other than JSON.
#[derive(Debug)]
pub(crate) enum ListLayout {
    /// For users.
    Table(TableLayout),
    /// One line per session, its fields separated by tabs.
    Lines(Vec<Field>),
    /// For spreadsheets.
    Csv {
        /// The columns.
        fields: Vec<Field>,
        /// Set to write a line with their names first.
        has_head: bool,
    },
}

impl ListLayout {
    /// Writes the sessions.
    pub(crate) fn write(
        &self,
        out: &mut impl Write,
        env: &Env,
        styles: &Styles,
        sessions: &[Session],
    ) -> io::Result<()> {
        match self {
            Self::Table(look) => table::sessions(out, env, styles, sessions, look),
            Self::Lines(fields) => fields::lines(out, sessions, fields),
            Self::Csv { fields, has_head } => fields::csv(out, sessions, fields, *has_head),
        }
    }
}

/// The answer of `list`.
pub(crate) struct Listing<'a> {
    /// The environment, in which agents' programs are searched for.
    pub env: &'a Env,
    /// The layout.
    pub layout: ListLayout,
    /// The sessions in the requested order.
    pub sessions: &'a [Session],
    /// The number of sessions in the stores, of the kinds that are shown.
    pub read: usize,
    /// Number of sessions that passed the filters but are only shown with `--all`.
    pub hidden: usize,
    /// Number of sessions that were cut off by `--limit`, or do not fit the screen.
    pub beyond_limit: usize,
    /// Pointers whose session cannot be found.
    pub dangling: Vec<Pointer>,
    /// Paths that could not be read.
    pub problems: Vec<Problem>,
    /// Set if other notes explain why there is no session.
    pub is_explained: bool,
}

/// Returns the notes on a terminal: the meanings of letters, and the sessions that the table leaves out.
pub(crate) fn notes(listing: &Listing<'_>, filter: &Filter, is_narrowed: bool) -> Vec<String> {
    let Listing { env, layout, sessions, read, hidden, beyond_limit, dangling, .. } = listing;
    let mut notes = match layout {
        ListLayout::Table(look) => table::legend(sessions, look, env),
        _ => Vec::new(),
    };
    if sessions.is_empty() && *hidden == 0 && !listing.is_explained {
        let all = if env.config.set_keys.iter().any(|set| set.key.starts_with("list.")) { " --no-config" } else { "" };
        notes.push(match layout {
            ListLayout::Table(look) if look.is_of_running => {
                "No session is in use, as far as the agents show it.".to_owned()
            }
            _ if *read == 0 => {
                let agents: Vec<&str> = filter.agents.iter().map(|agent| agent.name()).collect();
                let of = if agents.is_empty() { String::new() } else { format!(" of {}", agents.join(" or ")) };
                format!("There is no session{of} to show. `rejoin list{all}` shows all.")
            }
            _ => format!("None of {} matches. `rejoin list{all}` shows all.", text::count(*read, "session")),
        });
    }
    notes.extend(beyond(*beyond_limit, is_narrowed));
    notes.extend(more_with_all(*hidden, ""));
    // A dangling pointer has no session, so filters by directory and time do not apply to it.
    for pointer in dangling.iter().filter(|pointer| filter.shows_dangling(pointer.agent)) {
        notes.push(match pointer.session_id.as_deref() {
            Some(id) => format!("{} points to {id}, which cannot be found.", table::shown_dir(&pointer.path, env)),
            None => format!("{} points to no session.", table::shown_dir(&pointer.path, env)),
        });
    }
    notes
}

/// Returns the note about sessions that are only shown, or searched, with `--all`.
pub(super) fn more_with_all(hidden: usize, done: &str) -> Option<String> {
    match hidden {
        0 => None,
        hidden if done.is_empty() => {
            Some(format!("{hidden} more with --all (sub-agents, empty, closed by their agent)."))
        }
        hidden => Some(format!("{hidden} not {done} (sub-agents, empty, closed by their agent); --all adds them.")),
    }
}

/// Returns the note about sessions that do not fit, with the command that shows them.
pub(crate) fn beyond(beyond_limit: usize, is_narrowed: bool) -> Option<String> {
    match (beyond_limit, is_narrowed) {
        (0, _) => None,
        (more, true) => Some(format!("{more} more; --limit 0 shows all.")),
        (more, false) => {
            Some(format!("{more} more: `rejoin list --limit 0`, or `rejoin list --here` for this directory alone."))
        }
    }
}

/// The answer of `list`.
#[derive(Serialize)]
pub(crate) struct SessionListJson<'a> {
    /// The sessions in the requested order.
    pub sessions: ItemList<'a, SessionWithPlan<'a>>,
    /// Number of sessions that passed the filters, but are shown only with `--all`.
    pub hidden: usize,
    /// Number of sessions cut off by `--limit`.
    pub beyond_limit: usize,
    /// Pointers whose session cannot be found.
    pub dangling_pointers: &'a [Pointer],
    /// Files and directories that could not be read.
    pub problems: &'a [Problem],
}

/// A session that is formatted together with its resume plan.
pub(crate) struct SessionWithPlan<'a>(&'a Session, &'a Env);

impl Serialize for SessionWithPlan<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let plan = launch::plan(self.0, &LaunchRequest::default(), self.1).ok();
        SessionJson::new(self.0, plan.as_ref()).serialize(to)
    }
}

impl Answer for Listing<'_> {
    const COUNTS_ITEMS: bool = true;

    fn object(&self) -> (&'static str, impl Serialize) {
        let Self { env, sessions, hidden, beyond_limit, dangling, problems, .. } = self;
        let fields = SessionListJson {
            sessions: ItemList::from_items(sessions, |session| SessionWithPlan(session, env)),
            hidden: *hidden,
            beyond_limit: *beyond_limit,
            dangling_pointers: dangling,
            problems,
        };
        ("session-list", fields)
    }

    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        self.layout.write(out, env, styles, self.sessions)
    }
}
