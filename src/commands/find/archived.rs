//! Resolves typed text to one session of the archive.

use std::path::Path;

use super::copies::candidates;
use super::text::SHORTEST_ID;
use super::trashed;
use crate::archive::store::Holdings;
use crate::archive::{Archive, ArchivedState, Manifest};
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::{command_line, shell};
use crate::scan::{self, ScanScope, deleted};
use crate::session::select::{self, Filter, Selector};
use crate::session::state_name::StateName;
use crate::session::{AgentKind, Session};
use crate::system::env::Env;

/// Number of a prompt's words that a search for it has.
const FEW_WORDS: usize = 4;

/// Adds the command that restores the session to an error for a session that is in the trash or in the default archive.
pub(super) fn with_hint(error: anyhow::Error, selector: &Selector, filter: &Filter, env: &Env) -> anyhow::Error {
    let refusal = match error.downcast::<Refusal>() {
        // A session that the filters exclude is in a store.
        Ok(refusal)
            if refusal.exit == Exit::NotFound
                && refusal.code != RefusalCode::Filtered
                && *selector != Selector::Latest =>
        {
            refusal
        }
        Ok(refusal) => return refusal.into(),
        Err(error) => return error,
    };
    if let Some(refusal) = trashed::instead(&refusal, selector, filter, env) {
        return refusal.into();
    }
    // If the session was found in the trash or in the archive, similar sessions in the stores are not suggested.
    let found = |hint: String| Refusal { candidates: Vec::new(), picker: None, ..refusal.clone() }.hint(hint).into();
    let archive = Archive::open(env, None);
    let holdings = archive.holdings();
    let newest = match archived(selector, filter, (&archive, &holdings), env) {
        Ok(states) => states.last(),
        Err(several) if several.exit == Exit::Ambiguous => {
            let hint = "several archived sessions match; run `rejoin list --archived --all` to see them";
            return found(hint.to_owned());
        }
        Err(_) => None,
    };
    let Some(Manifest { agent, id, .. }) = newest.map(|newest| &newest.manifest) else {
        return deleted(selector, filter, env).unwrap_or(refusal).into();
    };
    // A session in a store may have another title than its state in the archive.
    let own = scan::locate_id(env, &[*agent], id).read_some(env, ScanScope::GLANCE, |place| place.id == *id);
    if let (Some(session), Selector::Id { text, .. }) = (own.sessions.first(), selector) {
        let again = command_line::again(env, &[text], &[&format!("{agent}:{id}")]);
        let hint = format!("the session above had that title when it was archived; run `{again}`");
        let one = candidates(session, true, env).into_iter().take(1).collect();
        return Refusal { picker: None, ..refusal }.hint(hint).candidates(one).into();
    }
    let is_only = holdings.sessions.keys().filter(|(_, other)| other == id).count() == 1;
    let name = if is_only { id.clone() } else { format!("{agent}:{id}") };
    found(format!("it is in the archive; run `rejoin restore {}` to put it back", shell::word(&name)))
}

/// Creates the error for a session that has no file, and that a list of its agent still names, with the command that
/// shows its prompts.
fn deleted(selector: &Selector, filter: &Filter, env: &Env) -> Option<Refusal> {
    let Selector::Id { agent, text } = selector else { return None };
    if text.len() < SHORTEST_ID {
        return None;
    }
    let mut found = deleted::find_deleted(env, filter, &|_| true);
    found.retain(|one| one.id.starts_with(text.as_str()) && agent.is_none_or(|agent| agent == one.agent));
    let [one] = found.as_slice() else { return None };
    let prompt = one.prompts.iter().max_by_key(|prompt| prompt.at)?;
    let words = prompt.text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.take(FEW_WORDS).collect();
    if words.is_empty() {
        return None;
    }
    let was_in = one.dir.as_deref().map(|dir| format!("it was in {}; ", env.tilde(Path::new(dir)))).unwrap_or_default();
    let (agent, id) = (one.agent, &one.id);
    let message = format!("{agent} session {id} was deleted; a list of {agent} still has its prompts");
    let hint = format!("{was_in}run `rejoin search --agent {agent} {}` to see them", words.join(" "));
    Some(Refusal::new(RefusalCode::NotFound, message).hint(hint))
}

/// Finds the states of the one archived session that matches a selector, the oldest first.
pub(crate) fn archived<'h>(
    selector: &Selector,
    filter: &Filter,
    (archive, holdings): (&Archive, &'h Holdings),
    env: &Env,
) -> Result<&'h [ArchivedState], Refusal> {
    let mut sessions = holdings.newest_sessions();
    sessions.retain(|session| filter.matches(session));
    let found = match selector {
        Selector::Latest => {
            sessions.retain(|session| session.copy().kind.is_listed());
            sessions.iter().max_by_key(|session| session.recency()).map(|session| session.key())
        }
        Selector::Path(path) => {
            let path = env.absolute(path);
            let is_at = |session: &&Session| session.copies.iter().any(|copy| path.starts_with(&copy.place.path));
            sessions.iter().find(is_at).map(|session| session.key())
        }
        Selector::Id { agent, text } => by_text(*agent, text, &sessions, env)?,
    };
    let snapshots = found.and_then(|key| holdings.sessions.get(&key));
    snapshots.map(Vec::as_slice).ok_or_else(|| {
        let message = match selector {
            Selector::Id { text, .. } => {
                format!("no archived session has an id that starts with {text}, or has that title")
            }
            Selector::Path(path) => format!("no archived session was stored at {}", path.display()),
            Selector::Latest => "no session is archived".to_owned(),
        };
        let option = Archive::option(archive.root(), env);
        Refusal::new(RefusalCode::NotFound, message)
            .hint(format!("run `rejoin list --archived --all{option}` to see every archived session"))
    })
}

/// Returns the newest state, or the requested one. If this machine has none that matches, and other machines have
/// several, the state is ambiguous.
pub(crate) fn state<'h>(
    states: &'h [ArchivedState],
    requested: Option<&StateName>,
    archive: &Archive,
) -> Result<&'h Manifest, Refusal> {
    let manifests = || states.iter().map(|snapshot| &snapshot.manifest);
    let newest = || manifests().next_back().map(|newest| StateName { number: newest.number, machine: None });
    let names = |manifests: &mut dyn Iterator<Item = &Manifest>| {
        manifests.map(|manifest| archive.state_name(manifest).to_string()).collect::<Vec<_>>().join(", ")
    };
    let found: Vec<&Manifest> = match requested.cloned().or_else(newest) {
        Some(StateName { number, machine }) => manifests()
            .filter(|manifest| {
                manifest.number == number && machine.as_ref().is_none_or(|name| *name == manifest.machine)
            })
            .collect(),
        None => Vec::new(),
    };
    match found.as_slice() {
        [one] => Ok(one),
        [] => {
            let message = format!("the archive does not have that state; it has: {}", names(&mut manifests()));
            Err(Refusal::new(RefusalCode::NoSuchState, message))
        }
        [.., last] if archive.is_own(last) => Ok(last),
        several => {
            let message = format!("several machines have such a state: {}", names(&mut several.iter().copied()));
            Err(Refusal::new(RefusalCode::NoSuchState, message).hint("choose one with --state N@MACHINE"))
        }
    }
}

fn by_text(
    agent: Option<AgentKind>,
    text: &str,
    sessions: &[Session],
    env: &Env,
) -> Result<Option<(AgentKind, String)>, Refusal> {
    let own = sessions.iter().enumerate().filter(|(_, session)| agent.is_none_or(|agent| agent == session.agent));
    let found = select::named(text, own.map(|(at, session)| select::NameCandidate::from_session(at, session)));
    match found.map(|found| found.keys).unwrap_or_default().as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(sessions[*only].key())),
        many => {
            let several = many.iter().flat_map(|at| candidates(&sessions[*at], true, env).into_iter().take(1));
            let message = format!("{text} matches {} archived sessions", many.len());
            let refusal = Refusal::new(RefusalCode::Ambiguous, message);
            Err(refusal.hint("type more of it, or use AGENT:ID").candidates(several.collect()))
        }
    }
}
