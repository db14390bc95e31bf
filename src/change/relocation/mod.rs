//! Plans to move sessions whose directory has moved, so that their agents find each from the new directory.
//!
//! Each agent lists the edits that it needs; this module makes a change of them. Only sessions whose own directory has
//! moved are included, so another project that shares their place in the store stays.

pub(crate) mod map_file;
mod records;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::relocation::{Act, DirMove, Moved, Relocation, StoreMove};
use crate::agent::{self, Agent, Unable};
use crate::change::acts::TakenPaths;
use crate::change::hindrance::left_alone;
use crate::change::plan::change::{Change, ChangeItem, ItemSubject, PlannedCopy, Step, Unplanned, short_title};
use crate::format::shell;
use crate::scan::relocated::Relocated;
use crate::session::evidence::FROM_PROJECT;
use crate::session::mapping::Mapping;
use crate::session::{AgentKind, Session, SessionCopy, SessionKind, Store};
use crate::system::env::Env;
use crate::system::parallel;

/// Code of the item of a session that moves.
pub(crate) const MOVED: &str = "moved-directory";

/// The longest name of a file or directory in bytes, on Linux and macOS (`NAME_MAX`).
const LONGEST_NAME: usize = 255;

/// Options of a move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MoveOptions<'a> {
    /// The moved directories.
    pub mapping: &'a Mapping,
    /// The selected sessions, by agent and full id; `None` selects all.
    pub only: Option<&'a BTreeSet<(AgentKind, String)>>,
    /// Set if references to a directory outside of sessions are changed, too.
    pub all_references: bool,
}

impl MoveOptions<'_> {
    /// Returns whether a session is among the selected ones.
    fn is_meant(&self, agent: AgentKind, id: &str) -> bool {
        self.only.is_none_or(|only| only.contains(&(agent, id.to_owned())))
    }
}

/// A planned move.
#[derive(Debug, Default)]
pub(crate) struct PlannedMove {
    /// The planned change.
    pub change: Change,
    /// Sessions that are not moved, each with the reason.
    pub left: Vec<Unplanned>,
}

impl PlannedMove {
    /// Returns the number of sessions that move.
    pub(crate) fn sessions(&self) -> usize {
        self.change.items.iter().filter(|item| item.code == MOVED).count()
    }
}

/// A copy that moves.
struct MovingCopy<'s> {
    copy: &'s SessionCopy,
    from: &'s Path,
    to: PathBuf,
}

/// A session that moves with all its copies.
struct MovingSession<'s> {
    session: &'s Session,
    copies: Vec<MovingCopy<'s>>,
}

/// Plans to move the sessions whose directory has moved; the caller must pass all sessions of their agents.
pub(crate) fn plan(sessions: &[Session], wish: MoveOptions<'_>, env: &Env) -> anyhow::Result<PlannedMove> {
    let mut planned = PlannedMove { change: Change::new("move", Vec::new()), left: Vec::new() };
    let mut relocated = Relocated::read(env)
        .map_err(|problem| anyhow::anyhow!("cannot read {}: {}", problem.path.display(), problem.reason))?;
    let mut moving: BTreeMap<AgentKind, Vec<MovingSession<'_>>> = BTreeMap::new();
    for session in sessions {
        match moving_session(session, wish) {
            Ok(None) => {}
            Ok(Some(moving_session)) => moving.entry(session.agent).or_default().push(moving_session),
            Err(reason) => planned.left.push(Unplanned { about: name(session), reason }),
        }
    }
    let mut parts = Vec::new();
    for (kind, moving) in moving {
        let Some(agent) = agent::by_kind(kind) else { continue };
        parts.push(AgentMove::for_agent(agent, &moving, sessions, wish, env));
    }
    // Write the record first: items that depend on it are useless without it.
    for part in &mut parts {
        planned.left.append(&mut part.left);
        for (session, copies) in &part.kept {
            for MovingCopy { from, to, .. } in copies {
                relocated.add_session(session.agent, session.id(), from, to);
            }
        }
    }
    for part in &mut parts {
        let of_all = part.once.as_ref().and_then(too_long);
        for item in part.items.extract_if(.., |item| of_all.is_some() || too_long(item).is_some()) {
            let reason = too_long(&item).or_else(|| of_all.clone()).unwrap_or_default();
            planned.left.push(Unplanned { about: item.about.to_string(), reason });
        }
        if part.items.is_empty() {
            part.once = None;
        }
    }
    let references = records::plan_references(&parts, wish, env);
    if parts.iter().all(|part| part.items.is_empty()) && references.is_empty() {
        return Ok(planned);
    }
    for (from, to) in wish.mapping.pairs() {
        relocated.add_dir(from, to, env.clock.now);
    }
    let items = &mut planned.change.items;
    items.push(records::own(&relocated, env)?);
    for part in parts {
        let base = items.len();
        items.extend(part.once);
        // rejoin's record is written before the new project, and the project before the sessions; all are undone
        // together.
        let once = (items.len() > base).then_some(base);
        once.into_iter().for_each(|once| items[once].needs = Some(0));
        items.extend(part.items.into_iter().map(|item| ChangeItem { needs: once.or(Some(0)), ..item }));
    }
    items.extend(references);
    Ok(planned)
}

/// Returns a reason if the item has a path with a name that is longer than file systems allow.
fn too_long(item: &ChangeItem) -> Option<String> {
    let paths = item.steps.iter().map(Step::path);
    let mut names = paths.flat_map(Path::components).map(|part| part.as_os_str());
    let name = names.find(|name| name.len() > LONGEST_NAME)?;
    Some(format!("the name {} is longer than {LONGEST_NAME} bytes, which no file system takes", name.display()))
}

/// Returns a session's name for display.
fn name(session: &Session) -> String {
    format!("{} {}", session.agent, session.id())
}

/// Returns a session that moves; `None` if it stays. Fails with the reason if its directory has moved but the session
/// cannot.
fn moving_session<'s>(session: &'s Session, wish: MoveOptions<'_>) -> Result<Option<MovingSession<'s>>, String> {
    // A session inside its parent's directory moves with the parent.
    if !wish.is_meant(session.agent, session.id()) || session.copies.iter().any(|copy| copy.place.parent_id.is_some()) {
        return Ok(None);
    }
    let going = |copy: &'s SessionCopy| -> Option<MovingCopy<'s>> {
        let from = &*copy.launch_dir.as_ref()?.value;
        let Some(to) = wish.mapping.new_location(from) else { return only_own_record(copy, from, wish.mapping) };
        Some(MovingCopy { copy, from, to })
    };
    let copies: Vec<MovingCopy<'_>> = session.copies.iter().filter_map(going).collect();
    if let Some(to) = copies.iter().map(|copy| &copy.to).find(|to| to.iter().any(|name| name.len() > LONGEST_NAME)) {
        return Err(format!(
            "there can be no directory {}: a name in it is longer than {LONGEST_NAME} bytes",
            to.display()
        ));
    }
    let selector = || shell::selector(session.agent, session.id());
    let Some(first) = copies.first() else { return Ok(None) };
    if first.copy.launch_dir.as_ref().is_some_and(|dir| dir.source == FROM_PROJECT) {
        let why = "it does not record a directory itself";
        return match first.copy.kind {
            SessionKind::Empty => Ok(None),
            _ if agent::about(session.agent).needs_session_info => {
                Err(format!("{why}; record one with `rejoin backfill {}` first", selector()))
            }
            _ => Err(why.to_owned()),
        };
    }
    let stays = session.copies.iter().find(|copy| copies.iter().all(|going| going.copy.place.path != copy.place.path));
    if let Some(copy) = stays {
        let dir = copy.launch_dir.as_ref().map_or_else(|| "unknown".to_owned(), |dir| dir.value.display().to_string());
        let path = copy.place.path.display();
        return Err(format!(
            "it has another copy, {path}, whose directory is {dir}; remove one of them first, such as copy 2 with \
             `rejoin delete {} --copy 2`",
            selector()
        ));
    }
    match session.copies.iter().find_map(left_alone) {
        Some(why) => Err(why),
        None => Ok(Some(MovingSession { session, copies })),
    }
}

/// Returns the move of a copy that is in the new directory already, but whose agent would change to the old one.
fn only_own_record<'s>(copy: &'s SessionCopy, launch: &Path, mapping: &Mapping) -> Option<MovingCopy<'s>> {
    let is_new = mapping.pairs().iter().any(|(_, to)| launch.starts_with(to));
    let own = agent::by_kind(copy.place.agent()).filter(|_| is_new)?.changes_to(copy)?;
    let from = copy.evidence.iter().map(|evidence| &*evidence.dir).find(|dir| *dir == &*own)?;
    mapping.new_location(from).filter(|to| to == launch).map(|to| MovingCopy { copy, from, to })
}

/// The part of a move for one agent.
struct AgentMove<'s> {
    /// The item to carry out before the agent's first session moves.
    once: Option<ChangeItem>,
    /// An item for each session.
    items: Vec<ChangeItem>,
    /// The sessions whose new directory rejoin records.
    kept: Vec<(&'s Session, Vec<MovingCopy<'s>>)>,
    left: Vec<Unplanned>,
    /// The new directories of the sessions, and their stores.
    dirs: BTreeSet<PathBuf>,
    stores: BTreeMap<PathBuf, Arc<Store>>,
    agent: &'static dyn Agent,
}

impl<'s> AgentMove<'s> {
    fn for_agent(
        agent: &'static dyn Agent,
        moving: &[MovingSession<'s>],
        sessions: &[Session],
        wish: MoveOptions<'_>,
        env: &Env,
    ) -> Self {
        let mut part = Self {
            once: None,
            items: Vec::new(),
            kept: Vec::new(),
            left: Vec::new(),
            dirs: BTreeSet::new(),
            stores: BTreeMap::new(),
            agent,
        };
        let moves = dir_moves(agent.kind(), moving, sessions);
        for going in moving.iter().flat_map(|moving_session| &moving_session.copies) {
            let store = &going.copy.place.store;
            part.stores.entry(store.root.clone()).or_insert_with(|| Arc::clone(store));
        }
        let stores = part.stores.clone();
        let relocations: BTreeMap<&Path, Result<Relocation<'_>, Unable>> = stores
            .iter()
            .map(|(root, store)| {
                (
                    root.as_path(),
                    agent.relocation(&StoreMove { store, moves: &moves[root], mapping: wish.mapping, env }),
                )
            })
            .collect();
        let moved = |moving_session: &MovingSession<'s>| -> Result<(Vec<Step>, TakenPaths, bool), Unable> {
            let (mut steps, mut places, mut is_kept) = (Vec::new(), TakenPaths::default(), false);
            for MovingCopy { copy, to, .. } in &moving_session.copies {
                let relocation = relocations[copy.place.store.root.as_path()].as_ref().map_err(Clone::clone)?;
                let Moved { acts, is_kept: keeps } = (relocation.each)(copy, to)?;
                is_kept |= keeps;
                steps.extend(places.steps(acts)?);
            }
            Ok((steps, places, is_kept))
        };
        let made = parallel::map(moving, moved);
        let mut all = TakenPaths::default();
        let once: Vec<Act> =
            relocations.into_values().filter_map(Result::ok).flat_map(|relocation| relocation.once).collect();
        let once = all.steps(once).map_err(Unable::from);
        for (moving_session, made) in moving.iter().zip(made) {
            let session = moving_session.session;
            let made = made.and_then(|made| once.as_ref().map(|_| made).map_err(Clone::clone));
            let made = made.and_then(|(steps, places, is_kept)| {
                all.add(places)?;
                Ok((steps, is_kept))
            });
            match made {
                Ok((steps, is_kept)) => part.add(moving_session, steps, is_kept),
                Err(unable) => part.left.push(Unplanned { about: name(session), reason: unable.why }),
            }
        }
        let mut steps: Vec<Step> = all.missing_dirs().map(|path| Step::MakeDir { path }).collect();
        steps.extend(once.unwrap_or_default());
        if !steps.is_empty() && !part.items.is_empty() {
            let about = ItemSubject::Other(format!("the projects of {}", agent.kind()).into());
            part.once = Some(ChangeItem::new(about, "new-project", "sessions go there", steps));
        }
        part
    }

    fn add(&mut self, moving_session: &MovingSession<'s>, steps: Vec<Step>, is_kept: bool) {
        let session = moving_session.session;
        let first = &moving_session.copies[0];
        let agent_managed = if is_kept && steps.is_empty() { ", which rejoin remembers" } else { "" };
        let reason = format!("{} is now {}{agent_managed}", first.from.display(), first.to.display());
        // If no file of the agent is changed, a process that uses the session does not matter.
        let touched = if steps.is_empty() { &[] } else { moving_session.copies.as_slice() };
        let seen = touched.iter().map(|going| PlannedCopy::from_copy(going.copy)).collect();
        let title = session.label().map(short_title);
        let item = ChangeItem { seen, title, ..ChangeItem::new(session.into(), MOVED, reason, steps) };
        self.dirs.extend(moving_session.copies.iter().map(|going| going.to.clone()));
        if is_kept {
            let copies = moving_session.copies.iter();
            let copies = copies.map(|going| MovingCopy { copy: going.copy, from: going.from, to: going.to.clone() });
            self.kept.push((session, copies.collect()));
        }
        self.items.push(item);
    }
}

/// Returns the moved directories of each store's sessions.
fn dir_moves(kind: AgentKind, moving: &[MovingSession<'_>], sessions: &[Session]) -> BTreeMap<PathBuf, Vec<DirMove>> {
    type InStore<T> = BTreeMap<PathBuf, BTreeMap<(PathBuf, PathBuf), T>>;
    let mut projects: InStore<BTreeSet<Arc<str>>> = BTreeMap::new();
    let mut going: BTreeMap<(&Path, Option<&str>, &Path), usize> = BTreeMap::new();
    for MovingCopy { copy, from, to } in moving.iter().flat_map(|moving_session| &moving_session.copies) {
        let root = &copy.place.store.root;
        let way = projects.entry(root.clone()).or_default().entry(((*from).to_owned(), to.clone())).or_default();
        way.extend(copy.place.project.clone());
        *going.entry((root, copy.place.project.as_deref(), from)).or_default() += 1;
    }
    let mut there: BTreeMap<(&Path, Option<&str>), usize> = BTreeMap::new();
    let copies = sessions.iter().filter(|session| session.agent == kind).flat_map(|session| &session.copies);
    for copy in copies.filter(|copy| copy.place.parent_id.is_none()) {
        *there.entry((&copy.place.store.root, copy.place.project.as_deref())).or_default() += 1;
    }
    let way = |root: &Path, ((from, to), projects): ((PathBuf, PathBuf), BTreeSet<Arc<str>>)| {
        let is_all = |project: &Arc<str>| {
            going.get(&(root, Some(&**project), from.as_path())) == there.get(&(root, Some(&**project)))
        };
        let is_whole = projects.iter().all(is_all);
        DirMove { from, to, projects, is_whole }
    };
    projects.into_iter().map(|(root, of)| (root.clone(), of.into_iter().map(|it| way(&root, it)).collect())).collect()
}
