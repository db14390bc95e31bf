//! Copies as candidates, and the one that the user names.

use std::path::Path;

use crate::agent::command::{LaunchPlan, LaunchRequest};
use crate::error::{CandidateTexts, Refusal, RefusalCandidate, RefusalCode};
use crate::format::copies::described;
use crate::format::{shell, text};
use crate::launch::copies::check_copy;
use crate::launch::resume::{Options, Resume};
use crate::session::select::CopySelector;
use crate::session::{Located, Session, SessionCopy};
use crate::system::env::Env;
use crate::system::reach;
use crate::view::render::table;

/// Lists the copies of a session as candidates; their commands include the agent if the id alone is ambiguous.
pub(crate) fn candidates(session: &Session, names_agent: bool, env: &Env) -> Vec<RefusalCandidate> {
    let id = if names_agent { format!("{}:{}", session.agent, session.id()) } else { session.id().to_owned() };
    let several = session.copies.len() > 1;
    let candidate = |(at, copy): (usize, &SessionCopy)| RefusalCandidate {
        agent: session.agent.name().to_owned(),
        id: session.id().to_owned(),
        path: copy.place.path.to_string_lossy().into_owned(),
        dir: copy.launch_dir.as_ref().map(|dir| dir.value.to_string_lossy().into_owned()),
        title: copy.title.as_ref().or(copy.first_prompt.as_ref()).map(|title| title.value.to_string()),
        active_at: copy.active_at.as_ref().map(|at| at.value.to_string()),
        size_bytes: copy.size_bytes,
        messages: copy.prompts.zip(copy.replies).map(|(prompts, replies)| prompts + replies),
        copy: several.then(|| session.number_of(at)),
        differs: session.choice.comparisons.get(at).copied().flatten().map(|comparison| comparison.to_string()),
        row: if several { row_of_copy(copy, env) } else { row(session, env) },
        select: if several { format!("{id} --copy {}", session.number_of(at)) } else { id.clone() },
    };
    session.copies.iter().enumerate().map(candidate).collect()
}

/// Adds the exact time and the size to sessions that look the same in a list, as after a compaction that continues in a
/// new session.
pub(super) fn tell_apart(candidates: &mut [RefusalCandidate], env: &Env) {
    let shown = |one: &RefusalCandidate| (one.title.clone(), one.row.dir.clone(), one.row.active.clone());
    let all: Vec<_> = candidates.iter().map(shown).collect();
    for (at, one) in candidates.iter_mut().enumerate() {
        if all.iter().enumerate().any(|(other, shown)| other != at && *shown == all[at]) {
            let active = one.active_at.as_ref().and_then(|at| at.parse().ok()).map(|at| env.clock.local_time(at));
            let size = Some(text::size(one.size_bytes)).filter(|_| one.size_bytes > 0);
            one.row.active = active.into_iter().chain(size).collect::<Vec<_>>().join(", ");
        }
    }
}

/// Returns the fields that distinguish a session from others in a list.
pub(super) fn row(session: &Session, env: &Env) -> CandidateTexts {
    let dir = session.launch_dir().map_or_else(|| "?".to_owned(), |dir| env.tilde(dir));
    CandidateTexts { dir, active: table::active(session, env) }
}

fn row_of_copy(copy: &SessionCopy, env: &Env) -> CandidateTexts {
    let active = text::ago(copy.active_at.as_ref().map(|at| at.value), env.clock.now);
    let dir = copy.launch_dir.as_ref().map(|dir| env.tilde(&dir.value));
    CandidateTexts { dir: dir.unwrap_or_else(|| "directory unknown".to_owned()), active }
}

/// Describes a copy among the candidates, so that a user can distinguish them; `None` if it is the only one.
pub(crate) fn description(one: &RefusalCandidate) -> Option<String> {
    let described = described(one.copy?, &one.row.dir, one.messages, one.size_bytes, &one.row.active);
    Some(one.differs.iter().fold(described, |described, differs| format!("{described}; {differs}")))
}

/// Finds the copy that the user names by its number or its path.
pub(crate) fn copy_at(session: &Session, requested: &CopySelector, env: &Env) -> Result<usize, Refusal> {
    let at = match requested {
        CopySelector::Number(number) => number.checked_sub(1).filter(|at| *at < session.copies.len()),
        CopySelector::Path(path) => {
            let path = env.absolute(path);
            let path = reach::canonicalize(&path).unwrap_or(path);
            session.copies.iter().position(|copy| holds(&copy.place, &path))
        }
    };
    at.ok_or_else(|| {
        let count = match session.copies.len() {
            1 => "1 copy".to_owned(),
            copies => format!("{copies} copies"),
        };
        let message = format!("session {} has no copy {requested}; it has {count}", session.id());
        Refusal::new(RefusalCode::NotFound, message).candidates(candidates(session, false, env))
    })
}

/// Moves the copy that the user names, by its number or its path, to the front.
pub(crate) fn take_copy(session: &mut Session, requested: &CopySelector, env: &Env) -> Result<(), Refusal> {
    let at = copy_at(session, requested, env)?;
    session.put_first(at);
    session.launch_dir_exists = session.launch_dir().and_then(reach::is_dir);
    session.assess();
    Ok(())
}

/// Returns whether a path is a copy, or inside its belongings.
pub(super) fn holds(place: &Located, path: &Path) -> bool {
    let Ok(root) = reach::canonicalize(&place.store.root) else { return false };
    let resolved = |inside: &Path| inside.strip_prefix(&place.store.root).map(|rest| root.join(rest)).ok();
    let is_in = |dir: &Path| resolved(dir).is_some_and(|dir| path.starts_with(dir));
    is_in(&place.path) || (!place.is_subagent && place.side_dir.as_deref().is_some_and(is_in))
}

/// Returns a session with a copy chosen by the user or by evidence.
pub(crate) fn with_a_chosen_copy(
    mut session: Session,
    requested: Option<&CopySelector>,
    env: &Env,
) -> Result<Session, Refusal> {
    if let Some(selection) = requested {
        take_copy(&mut session, selection, env)?;
    }
    if session.choice.is_decided {
        return Ok(session);
    }
    let Session { agent, copies, choice, .. } = &session;
    let id = session.id();
    let message = format!("{agent} session {id} has {} copies, and {}", copies.len(), choice.why);
    let refusal = Refusal::new(RefusalCode::AmbiguousCopy, message);
    let name = shell::selector(agent, id);
    // The agent may open another copy than the named one.
    let opened = (0..copies.len()).find(|at| opens(&session, *at)).map(|at| at + 1);
    let look = format!("look at one with `rejoin show {name} --copy 1`");
    let way = match opened {
        Some(number) => format!(
            "{look}, resume one with `rejoin resume {name} --copy {number}`, or move one to the trash with `rejoin delete \
             {name} --copy 1`"
        ),
        None => format!(
            "{look}, move one to the trash with `rejoin delete {name} --copy 1`, then resume the other with `rejoin resume \
             {name}`"
        ),
    };
    let refusal = refusal.hint(format!("{way}; the other numbers mean the other copies"));
    Err(refusal.candidates(candidates(&session, false, env)))
}

/// Returns whether the agent, started in the directory of a copy, opens that copy and not another one.
fn opens(session: &Session, at: usize) -> bool {
    let mut session = session.clone();
    session.put_first(at);
    session.launch_dir().is_none_or(|dir| check_copy(&session, dir).is_ok())
}

/// Runs every check of `resume` at a terminal; returns the plan, or the refusal with its remedy.
pub(crate) fn ready(session: &Session, request: &LaunchRequest, env: &Env) -> Result<LaunchPlan, Refusal> {
    // The limit on recent resumes is not a property of the session.
    let options = Options { no_limit: true, has_terminal: true, ..Options::default() };
    let session = with_a_chosen_copy(session.clone(), None, env)?;
    let mut resume = Resume::of_session(session, &options, request, env)?;
    match resume.check(&options, env).into_iter().next() {
        Some(refusal) => Err(resume.explain(refusal, env)),
        None => Ok(resume.plan),
    }
}
