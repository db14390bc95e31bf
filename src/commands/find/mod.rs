//! Resolves typed text to one session; shared by the commands that take a SESSION.

mod archived;
mod backend;
mod copies;
mod path;
mod pick;
mod text;
mod trashed;

use std::path::Path;

pub(crate) use archived::{archived, state};
pub(crate) use backend::{SessionBackend, options_with};
pub(crate) use copies::ready;
pub(crate) use copies::{candidates, copy_at, description, take_copy, with_a_chosen_copy};
pub(crate) use pick::{PickAnswer, another_dir, can_pick, needs_a_picker, picked, why_nobody_picks};
pub(crate) use pick::{with_a_copy, words_to_pick};
pub(crate) use text::is_whole_id;
pub(crate) use trashed::{is_of_same_session, items as items_of_run, trashed};

use crate::agent::Depth;
use crate::change::rewinds::Rewinds;
use crate::commands::listing;
use crate::commands::{moved_here, no_match};
use crate::error::{CandidateTexts, Exit, Refusal, RefusalCode};
use crate::format::command_line;
use crate::scan::{self, Places, ScanScope};
use crate::session::select::{Filter, Selector, SortKey};
use crate::session::{AgentKind, Located, Pointer, Problem, Session, SessionKind};
use crate::system::env::Env;
use crate::system::{fsio, reach};

use crate::view::ui::Ui;

/// Maximum number of rewinds in a row that `latest` follows.
const MOST_REWINDS: usize = 16;

/// The result of resolving a selector.
#[derive(Debug)]
pub(crate) enum SelectorTarget {
    /// A session, read to the requested depth.
    Session(Box<Session>),
    /// An app whose pointer names a session that no longer exists.
    LostApp(Pointer),
}

impl SelectorTarget {
    /// Returns the session; refuses a lost app.
    pub(crate) fn session(self) -> Result<Session, Refusal> {
        match self {
            Self::Session(session) => Ok(*session),
            Self::LostApp(pointer) => {
                let message = format!("cannot find the session that {} points to", pointer.path.display());
                Err(Refusal::new(RefusalCode::NotFound, message))
            }
        }
    }
}

/// Finds sessions among those that pass the filters.
pub(crate) struct Finder<'a> {
    filter: &'a Filter,
    /// The parts of a session that are read.
    scope: ScanScope,
    env: &'a Env,
    ui: &'a mut Ui,
}

impl<'a> Finder<'a> {
    pub(crate) fn new(filter: &'a Filter, requested: ScanScope, env: &'a Env, ui: &'a mut Ui) -> Self {
        Self { filter, scope: requested, env, ui }
    }

    /// Finds all sessions that are named for a change.
    pub(crate) fn find_all(&mut self, verb: &'static str, selectors: &[Selector]) -> anyhow::Result<Vec<Session>> {
        let mut named = Vec::with_capacity(selectors.len());
        for selector in selectors {
            super::refuse_number(selector)?;
            named.push(self.find_one(verb, selector)?.session()?);
        }
        Ok(named)
    }

    /// Finds the one session that a selector matches, or lets the user pick among several. `verb` is the action of
    /// enter in the picker.
    pub(crate) fn find_one(&mut self, verb: &'static str, selector: &Selector) -> anyhow::Result<SelectorTarget> {
        let found = self.unambiguous(selector);
        self.or_picked(found, verb)
    }

    /// Finds the one session that a selector matches. The error for a session in the trash or in the archive has the
    /// command that restores it.
    pub(crate) fn unambiguous(&mut self, selector: &Selector) -> anyhow::Result<SelectorTarget> {
        // If no session worked in the directory of the filters, the error names the nearest ones.
        let found = self.named(selector).map_err(|error| no_match::instead(error, self.filter, self.env));
        found.map_err(|error| archived::with_hint(error, selector, self.filter, self.env))
    }

    fn named(&mut self, selector: &Selector) -> anyhow::Result<SelectorTarget> {
        let (filter, env) = (self.filter, self.env);
        match selector {
            Selector::Latest => Ok(SelectorTarget::Session(Box::new(self.latest()?))),
            Selector::Path(path) if path == Path::new(".") => self.here(),
            Selector::Path(path) => {
                let found = match self.by_path(&env.absolute(path)) {
                    // Titles and tags have slashes, too.
                    Err(error) if is_not_found(&error) && may_be_words(path) => {
                        let words = self.by_text(None, &path.to_string_lossy());
                        let is_gone = reach::exists(&env.absolute(path)) == Some(false);
                        return words.map_err(|other| match other.downcast::<Refusal>() {
                            // The words may be in a message.
                            Ok(words) if words.exit == Exit::NotFound && is_gone => {
                                Refusal { message: error.to_string(), ..words }.into()
                            }
                            Ok(words) if words.exit == Exit::NotFound => error,
                            Ok(words) => words.into(),
                            Err(other) => other,
                        });
                    }
                    Err(error) if is_not_found(&error) => self.by_dir_of_id(&env.absolute(path)).ok_or(error)?,
                    found => found?,
                };
                match &found {
                    SelectorTarget::Session(session) if filter.is_narrow() && !filter.matches(session) => {
                        Err(passes_not(session, env).into())
                    }
                    _ => Ok(found),
                }
            }
            Selector::Id { agent, text } => self.by_text(agent.map(AgentKind::session_owner), text),
        }
    }

    /// Returns the session at a place of the listing that `list` shows with the same filters.
    fn by_number(&mut self, number: usize) -> Result<Option<Session>, Refusal> {
        let listed = self.listed(number, |_| true);
        listed.get(number - 1).map(|session| again(session, self.scope, self.env)).transpose()
    }

    /// Reads the beginning of the listing that `list` shows with these filters, up to `count` sessions that `is_meant`
    /// accepts; the whole listing if it has fewer.
    fn listed(&mut self, count: usize, is_meant: impl Fn(&Session) -> bool) -> Vec<Session> {
        let (filter, env) = (self.filter, self.env);
        let shown = Filter { all: false, ..filter.clone() };

        let scope = ScanScope { sizes: false, ..ScanScope::GLANCE };
        let places = scan::locate(env, &filter.agents);
        let passes = |session: &Session| shown.matches(session) && shown.shows_kind(session) && is_meant(session);
        let first = places.first(env, &shown, scope, count, passes);
        let mut scan = first.unwrap_or_else(|| places.read_with_dirs(env, filter, scope));
        crate::commands::warn_of_problems(self.ui, self.env, &scan.problems);
        listing::put_in_order(&mut scan.sessions, &shown, SortKey::Active);
        scan.sessions
    }

    /// Returns the newest session of a user, or else the newest that a script ran. `codex resume --last`
    /// (0.171.0) and `claude --continue` at a terminal (by its documentation) also leave out what a script ran.
    fn latest(&mut self) -> Result<Session, Refusal> {
        // A session that came with a directory may have been written by others, and is never chosen by default.
        let is_own = |session: &Session| !session.copy().is_planted();
        let is_of_user = |session: &Session| is_own(session) && session.copy().kind != SessionKind::Exec;
        let sessions = self.listed(1, is_of_user);
        let newest = sessions.iter().find(|session| is_of_user(session));
        let newest = newest.or_else(|| sessions.iter().find(|session| is_own(session)));
        let newest = newest.ok_or_else(nothing_passes)?;
        match self.rewound(newest) {
            Some(rewound) => Ok(rewound),
            None => again(newest, self.scope, self.env),
        }
    }

    /// Returns the session that `rewind` made from another one after its last activity; the user continues that one.
    fn rewound(&self, origin: &Session) -> Option<Session> {
        let rewinds = Rewinds::read(self.env);
        let read = |id: &str| {
            let places = scan::locate_id(self.env, &[origin.agent], id);
            let made = the_only(places, (origin.agent, id), self.scope, self.env).ok();
            made.filter(|made| self.filter.matches(made))
        };
        let mut rewound = read(rewinds.made_from(origin)?)?;
        // The files of links may form a circle.
        for _ in 0..MOST_REWINDS {
            let Some(next) = rewinds.made_from(&rewound).and_then(&read) else { break };
            rewound = next;
        }
        Some(rewound)
    }

    /// Returns the session of the current directory itself, or else the newest session that worked there, or in the
    /// directory of the filters.
    fn here(&mut self) -> anyhow::Result<SelectorTarget> {
        let Self { filter, scope: requested, env, .. } = *self;
        let dir = env.cwd.clone().unwrap_or_else(|| Path::new(".").to_owned());
        let found = self.by_path(&dir);
        match found {
            Err(error) if is_not_found(&error) => {
                let place = crate::commands::dir_filter(&filter.agents, Some(&dir), env);
                let dirs = if filter.dirs.is_empty() { place.dirs } else { filter.dirs.clone() };
                let filter = Filter { dirs, leads_below: place.leads_below, ..filter.clone() };
                let newest = Finder::new(&filter, requested, env, self.ui).latest();
                // A script that finds a session needs no suggestion of another one.
                if newest.is_err() || env.terminal.stdout {
                    let scan = scan::locate(env, &[]).read_all(env, ScanScope { sizes: false, ..ScanScope::GLANCE });
                    moved_here::notes(&dir, &scan.sessions, env).iter().for_each(|note| self.ui.print_note(note));
                }
                let session = newest.map_err(|refusal| no_match::instead(refusal.into(), &filter, env))?;
                Ok(SelectorTarget::Session(Box::new(session)))
            }
            found => found,
        }
    }
}

/// Returns whether an error says that no session was found.
pub(crate) fn is_not_found(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refusal>().is_some_and(|refusal| refusal.exit == Exit::NotFound)
}

/// Returns whether a text with a slash may be a title or a filter, because it does not begin like a path.
fn may_be_words(path: &Path) -> bool {
    !path.as_os_str().as_encoded_bytes().starts_with(b"~")
        && path.is_relative()
        && !path.starts_with(".")
        && !path.starts_with("..")
}

/// Reads a listed session again, to the requested depth.
pub(crate) fn again(session: &Session, scope: ScanScope, env: &Env) -> Result<Session, Refusal> {
    let read = |mut places: Places| {
        // The copy may be outside the stores.
        let is_known =
            |place: &Located| places.places.iter().any(|known| known.id == place.id && known.path == place.path);
        let own = session.copies.iter().map(|copy| &copy.place).filter(|place| !is_known(place));
        let own: Vec<Located> = own.cloned().collect();
        places.places.extend(own);
        the_only(places, (session.agent, session.id()), scope, env)
    };
    // As for a full id: except for a thorough read, the session's own evidence is enough, and its name finds every
    // copy.
    if scope.depth != Depth::Thorough
        && session.copy().kind != SessionKind::Subagent
        && let Ok(found) = read(scan::locate_id(env, &[session.agent], session.id()))
        && found.launch_dir().is_some()
    {
        return Ok(found);
    }
    read(scan::locate(env, &[session.agent]))
}

/// Refuses a named session that does not pass the filters.
fn passes_not(session: &Session, env: &Env) -> Refusal {
    let CandidateTexts { dir, active } = copies::row(session, env);
    let name = format!("{}:{}", session.agent, session.id());
    let refusal = Refusal::new(RefusalCode::Filtered, format!("{name} does not pass the filters"));
    refusal.hint(format!("it belongs to {dir} and was last active {active}; run it without the filters to use it"))
}

/// Reads the session with this full id.
fn the_only(places: Places, (agent, id): (AgentKind, &str), scope: ScanScope, env: &Env) -> Result<Session, Refusal> {
    let is_its = |place: &Located| place.agent() == agent && place.id == id;
    let own: Vec<Located> = places.places.iter().filter(|place| is_its(place)).cloned().collect();
    let mut scan = places.read_some(env, scope, is_its);
    scan.add_pointers(env);
    scan.sessions.pop().ok_or_else(|| {
        // Problems of other stores do not explain the error for this session.
        let below = |dir: &Path| scan.problems.iter().find(|problem| problem.path.starts_with(dir));
        let its = own.iter().find_map(|place| below(&place.path).or_else(|| below(&place.store.root)));
        let why = its.map_or_else(
            || "it is gone".to_owned(),
            |Problem { path, reason }| {
                let owner = fsio::other_owner(path, reason);
                let help = owner.map(|owner| command_line::chown(owner, path, false)).unwrap_or_default();
                format!("cannot read {}: {reason}{help}", path.display())
            },
        );
        Refusal::new(RefusalCode::Unreadable, format!("cannot read session {id}: {why}"))
    })
}

fn nothing_passes() -> Refusal {
    let refusal = Refusal::new(RefusalCode::NotFound, "no session passes the filters");
    refusal.hint("run `rejoin list` to see the sessions")
}
