//! The contents of the archive.

use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;

use crate::archive::{Archive, ArchivedState, Manifest};
use crate::format::path_json::PathJson;
use crate::session::{Problem, Session};
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::items::ItemList;
use crate::view::render::json::facts::{FactsJson, Of};
use crate::view::render::list::{ListLayout, beyond, more_with_all};
use crate::view::render::table;
use crate::view::ui::Styles;

/// The answer of `list --archived`.
pub(crate) struct ArchivedList<'a> {
    /// The archive.
    pub archive: &'a Archive,
    /// The newest state of each session, in the requested order.
    pub sessions: &'a [Session],
    /// All states of each session, the oldest first, and the newest of them.
    pub states: Vec<(&'a [ArchivedState], &'a Manifest)>,
    /// Its layout.
    pub layout: ListLayout,
    /// Number of sessions that passed the filters but are only shown with `--all`.
    pub hidden: usize,
    /// Number of sessions cut off by `--limit`.
    pub beyond_limit: usize,
    /// Paths that could not be read.
    pub problems: &'a [Problem],
}

/// The answer of `list --archived`.
#[derive(Serialize)]
pub(crate) struct ArchiveListJson<'a> {
    /// The archive's directory.
    pub archive: PathJson<'a>,
    /// The sessions in the requested order.
    pub sessions: ItemList<'a, ArchivedJson<'a>>,
    /// Number of sessions that passed the filters, but are shown only with `--all`.
    pub hidden: usize,
    /// Number of sessions cut off by `--limit`.
    pub beyond_limit: usize,
    /// Files and directories that could not be read.
    pub problems: &'a [Problem],
}

/// An archived session, as it was when its newest state was archived.
#[derive(Serialize)]
pub(crate) struct ArchivedJson<'a> {
    #[serde(flatten)]
    pub facts: FactsJson<'a>,
    /// Paths of the copies, the chosen one first.
    pub paths: Vec<String>,
    /// Every state of it that is in the archive, the oldest first.
    pub states: Vec<StateJson<'a>>,
}

/// One state of an archived session.
#[derive(Debug, Serialize)]
pub(crate) struct StateJson<'a> {
    /// Its number, for `restore --state`.
    pub state: u64,
    /// The name of the machine that archived it, for `restore --state N@MACHINE`.
    pub machine: &'a str,
    /// The time of archiving.
    pub archived_at: Timestamp,
    /// The host name of that machine.
    pub hostname: &'a str,
    /// The version of rejoin that archived it.
    pub rejoin_version: &'a str,
    /// The use of the session when it was archived: `live`, `maybe` or `idle`.
    pub liveness: &'a str,
    /// Number of files.
    pub files: usize,
    /// Their size in bytes.
    pub size_bytes: u64,
    /// Its manifest.
    pub manifest: PathJson<'a>,
}

pub(super) fn archived<'a>(session: &'a Session, states: &'a [ArchivedState], state: &'a Manifest) -> ArchivedJson<'a> {
    let states = states.iter().map(state_json).collect();
    ArchivedJson { facts: FactsJson(session, Of::Archived), paths: paths(state), states }
}

/// Returns the paths of the copies, the chosen one first.
pub(super) fn paths(manifest: &Manifest) -> Vec<String> {
    let path = |at: &crate::archive::manifest::CopyAt| manifest.stores[at.store].0.join(&at.path);
    manifest.copies.iter().map(|at| path(at).to_string_lossy().into_owned()).collect()
}

fn state_json(snapshot: &ArchivedState) -> StateJson<'_> {
    let ArchivedState { path, manifest } = snapshot;
    StateJson {
        state: manifest.number,
        machine: &manifest.machine,
        archived_at: manifest.archived_at,
        hostname: &manifest.hostname,
        rejoin_version: &manifest.rejoin_version,
        liveness: &manifest.facts.liveness,
        files: manifest.files().count(),
        size_bytes: manifest.size_bytes(),
        manifest: PathJson::from(path.as_path()),
    }
}

/// Returns the note on an archive without a session that passes the filters.
pub(crate) fn none_found(archive: &Archive, env: &Env) -> String {
    format!("No archived sessions found in {}.", env.tilde(archive.root()))
}

/// Returns the notes on a terminal about sessions that the table leaves out.
pub(crate) fn list_notes(list: &ArchivedList<'_>, env: &Env) -> Vec<String> {
    let mut notes = match &list.layout {
        ListLayout::Table(look) => table::legend(list.sessions, look, env),
        _ => Vec::new(),
    };
    if list.sessions.is_empty() {
        notes.push(none_found(list.archive, env));
    }
    notes.extend(beyond(list.beyond_limit, true));
    notes.extend(more_with_all(list.hidden, ""));
    notes
}

impl Answer for ArchivedList<'_> {
    const COUNTS_ITEMS: bool = true;

    fn object(&self) -> (&'static str, impl Serialize) {
        let fields = ArchiveListJson {
            archive: PathJson::from(self.archive.root()),
            sessions: ItemList::counted(self.sessions.len(), |at| {
                let (states, newest) = self.states[at];
                archived(&self.sessions[at], states, newest)
            }),
            hidden: self.hidden,
            beyond_limit: self.beyond_limit,
            problems: self.problems,
        };
        ("archive-list", fields)
    }

    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        self.layout.write(out, env, styles, self.sessions)
    }
}
