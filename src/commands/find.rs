//! From what a user typed to one session: shared by the verbs that take a SESSION.

use std::path::{Path, PathBuf};

use crate::agent::leo;
use crate::env::Env;
use crate::error::{Candidate, Exit, Refusal};
use crate::scan::{self, Places, Scan, Wanted};
use crate::select::{self, CopySelector, Filter, Name, Resolution, Selector, SortKey};
use crate::session::{AgentKind, Copy, Located, Pointer, Session, SessionKind};
use crate::ui::Ui;

/// What a selector led to.
#[derive(Debug)]
pub(crate) enum Target {
    /// A session, read as far as was wanted.
    Session(Box<Session>),
    /// An app whose pointer leads to no session any more.
    LostApp(Pointer),
}

/// Finds the one session that a selector means, or says why there is not one.
pub(crate) fn one(
    selector: &Selector,
    filter: &Filter,
    wanted: Wanted,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<Target> {
    match selector {
        Selector::Latest => Ok(Target::Session(Box::new(latest(filter, wanted, env, ui)?))),
        Selector::Path(path) => by_path(&env.absolute(path), filter, wanted, env, ui),
        Selector::Id { agent, text } => {
            // Leo names sessions of Claude Code.
            let agent = agent.map(|agent| if agent == AgentKind::Leo { AgentKind::Claude } else { agent });
            let places = scan::locate(env, &filter.agents);
            match select::resolve(agent, text, names(&places)) {
                Resolution::One(agent, id) => {
                    let scan = places.read_some(env, wanted, |place| place.agent() == agent && place.id == id);
                    Ok(Target::Session(Box::new(the_only(scan, &id)?)))
                }
                Resolution::Many(keys) => Err(several(text, places, &keys, env).into()),
                Resolution::None => {
                    let path = env.absolute(Path::new(text));
                    if path.exists() {
                        return by_path(&path, filter, wanted, env, ui);
                    }
                    let of = agent.map(|agent| format!("{agent} ")).unwrap_or_default();
                    let refusal = Refusal::new(
                        Exit::NotFound,
                        "not-found",
                        format!("no {of}session has an id that begins with {text}"),
                    );
                    super::warn_of_problems(ui, &Scan { problems: places.problems, ..Scan::default() });
                    Err(refusal.hint("`rejoin list --all` shows every session").into())
                }
            }
        }
    }
}

fn names(places: &Places) -> impl Iterator<Item = Name<'_>> + Clone {
    places.places.iter().map(|place| Name { agent: place.agent(), id: &place.id, is_subagent: place.is_subagent })
}

fn the_only(mut scan: Scan, id: &str) -> Result<Session, Refusal> {
    match scan.sessions.pop() {
        Some(session) => Ok(session),
        None => {
            let why = scan.problems.first().map_or_else(
                || "it is gone".to_owned(),
                |problem| format!("cannot read {}: {}", problem.path.display(), problem.reason),
            );
            Err(Refusal::new(Exit::Failure, "unreadable", format!("session {id} cannot be read: {why}")))
        }
    }
}

fn latest(filter: &Filter, wanted: Wanted, env: &Env, ui: &mut Ui) -> Result<Session, Refusal> {
    let mut scan = scan::locate(env, &filter.agents).read_all(env, Wanted::GLANCE);
    scan.add_pointers(env);
    super::warn_of_problems(ui, &scan);
    let mut sessions = scan.sessions;
    sessions.retain(|session| filter.matches(session) && session.copy().kind.is_listed());
    select::sort(&mut sessions, SortKey::Active, false);
    let Some(newest) = sessions.into_iter().next() else {
        let refusal = Refusal::new(Exit::NotFound, "not-found", "no session passes the filters");
        return Err(refusal.hint("`rejoin list` shows what there is"));
    };
    let reread = scan::locate(env, &[newest.agent]).read_some(env, wanted, |place| place.id == newest.id);
    the_only(reread, &newest.id)
}

fn by_path(path: &Path, filter: &Filter, wanted: Wanted, env: &Env, ui: &mut Ui) -> anyhow::Result<Target> {
    let app_dir = match path.file_name() {
        Some(name) if name == leo::FILE_NAME => path.parent().unwrap_or(path),
        _ => path,
    };
    if let Some(pointer) = leo::pointer_in(app_dir, env)? {
        return by_pointer(pointer, wanted, env, ui);
    }
    let Ok(path) = path.canonicalize() else {
        return Err(Refusal::new(Exit::NotFound, "not-found", format!("there is no {}", path.display())).into());
    };
    let places = scan::locate(env, &filter.agents);
    let named = places.places.iter().find(|place| holds(place, &path)).cloned();
    let Some(named) = named else {
        let refusal = Refusal::new(Exit::NotFound, "not-found", format!("no session is stored at {}", path.display()));
        let hint = if path.is_dir() {
            format!(
                "`rejoin list --dir {}` shows the sessions that were started there",
                crate::render::text::shell_word(&path.to_string_lossy())
            )
        } else {
            "a session file outside the agents' stores is found with --home".to_owned()
        };
        return Err(refusal.hint(hint).into());
    };
    let scan = places.read_some(env, wanted, |place| place.agent() == named.agent() && place.id == named.id);
    let mut session = the_only(scan, &named.id)?;
    if session.copies.len() > 1 {
        take_copy(&mut session, &CopySelector::Path(named.path), env)?;
    }
    Ok(Target::Session(Box::new(session)))
}

/// Tells whether a path is a copy, or something that belongs to it.
fn holds(place: &Located, path: &Path) -> bool {
    let Ok(root) = place.store.root.canonicalize() else { return false };
    let resolved = |inside: &Path| inside.strip_prefix(&place.store.root).map(|rest| root.join(rest)).ok();
    let is_in = |dir: &Path| resolved(dir).is_some_and(|dir| path.starts_with(dir));
    is_in(&place.path) || (!place.is_subagent && place.side_dir.as_deref().is_some_and(is_in))
}

/// Follows Leo's cascade: the stored id wherever Claude Code keeps it, else the app's own newest session.
fn by_pointer(pointer: Pointer, wanted: Wanted, env: &Env, ui: &mut Ui) -> anyhow::Result<Target> {
    let places = scan::locate(env, &[AgentKind::Claude]);
    match &pointer.session_id {
        Some(id) if places.places.iter().any(|place| place.id == *id) => {
            ui.note(&format!("{} points to claude session {id}.", pointer.path.display()));
            let scan = places.read_some(env, wanted, |place| place.id == *id);
            let mut session = the_only(scan, id)?;
            session.pointers.push(pointer);
            return Ok(Target::Session(Box::new(session)));
        }
        Some(id) => {
            ui.note(&format!("{} points to {id}, which is in no project of Claude Code.", pointer.path.display()))
        }
        None => ui.note(&format!("{} names no session.", pointer.path.display())),
    }
    let app_dirs: Vec<PathBuf> = super::directory_names(&pointer.dir, env);
    // Leo computes the project with Amplifier's rule, Claude Code with its own.
    let leos: Vec<String> = app_dirs.iter().map(|dir| dir.to_string_lossy().replace('/', "-")).collect();
    let is_of_app = |place: &Located| {
        let Some(project) = place.project.as_deref() else { return false };
        !place.is_subagent
            && (leos.iter().any(|slug| slug == project)
                || app_dirs
                    .iter()
                    .any(|dir| dir.to_str().is_some_and(|dir| crate::format::claude::is_slug_of(project, dir))))
    };
    let mut sessions = places.read_some(env, wanted, is_of_app).sessions;
    sessions.retain(|session| {
        session.copy().transcript_bytes >= leo::MEANINGFUL_BYTES
            && !matches!(session.copy().kind, SessionKind::Empty | SessionKind::Subagent)
    });
    select::sort(&mut sessions, SortKey::Active, false);
    match sessions.into_iter().next() {
        Some(session) => {
            ui.note(&format!("Taking the newest session of {} instead: {}.", pointer.dir.display(), session.id));
            Ok(Target::Session(Box::new(session)))
        }
        None => {
            ui.note(&format!(
                "{} has no session of {} bytes or more either.",
                pointer.dir.display(),
                leo::MEANINGFUL_BYTES
            ));
            Ok(Target::LostApp(pointer))
        }
    }
}

fn several(text: &str, places: Places, keys: &[(AgentKind, String)], env: &Env) -> Refusal {
    const MOST: usize = 20;
    let shown = &keys[..keys.len().min(MOST)];
    let is_shown = |place: &Located| shown.iter().any(|(agent, id)| place.agent() == *agent && place.id == *id);
    let scan = places.read_some(env, Wanted::GLANCE, is_shown);
    let by_agent = keys.windows(2).all(|pair| pair[0].1 == pair[1].1);
    let what = if by_agent { "is the id of sessions of several agents" } else { "is the beginning of several ids" };
    let more = keys.len() - shown.len();
    let message = format!("{text} {what} ({})", keys.len());
    let hint = match more {
        0 if by_agent => "name the agent: AGENT:ID".to_owned(),
        0 => "type more of the id".to_owned(),
        _ => format!("type more of the id; {more} more are not shown"),
    };
    let candidates = scan.sessions.iter().flat_map(|session| candidates(session, by_agent)).collect();
    Refusal::new(Exit::Ambiguous, "ambiguous", message).hint(hint).candidates(candidates)
}

/// Lists the copies of a session as candidates; what to type names the agent where the id alone does not.
pub(crate) fn candidates(session: &Session, names_agent: bool) -> Vec<Candidate> {
    let id = if names_agent { format!("{}:{}", session.agent, session.id) } else { session.id.clone() };
    let several = session.copies.len() > 1;
    let candidate = |(at, copy): (usize, &Copy)| Candidate {
        agent: session.agent.name().to_owned(),
        id: session.id.clone(),
        path: copy.place.path.to_string_lossy().into_owned(),
        dir: copy.launch_dir.as_ref().map(|dir| dir.value.to_string_lossy().into_owned()),
        title: copy.title.as_ref().or(copy.first_prompt.as_ref()).map(|title| title.value.clone()),
        active_at: copy.active_at.as_ref().map(|at| at.value.to_string()),
        size_bytes: copy.size_bytes,
        messages: copy.prompts.zip(copy.replies).map(|(prompts, replies)| prompts + replies),
        copy: several.then_some(at + 1),
        differs: session.choice.comparisons.get(at).copied().flatten().map(|comparison| comparison.to_string()),
        select: if several { format!("{id} --copy {}", at + 1) } else { id.clone() },
    };
    session.copies.iter().enumerate().map(candidate).collect()
}

/// Puts the copy first that a person names by its number or its path.
pub(crate) fn take_copy(session: &mut Session, wanted: &CopySelector, env: &Env) -> Result<(), Refusal> {
    let at = match wanted {
        CopySelector::Number(number) => number.checked_sub(1).filter(|at| *at < session.copies.len()),
        CopySelector::Path(path) => {
            let path = env.absolute(path);
            let path = path.canonicalize().unwrap_or(path);
            session.copies.iter().position(|copy| holds(&copy.place, &path))
        }
    };
    let Some(at) = at else {
        let count = session.copies.len();
        let message = format!("session {} has no copy {wanted}; it has {count}", session.id);
        return Err(Refusal::new(Exit::NotFound, "not-found", message).candidates(candidates(session, false)));
    };
    session.put_first(at);
    Ok(())
}
