//! `rejoin pin`

use crate::change::apply::pins::update;
use crate::change::outcome::ItemResult;
use crate::change::pins::Pins;
use crate::cli::{ChoiceArgs, FilterArgs, FormatArgs, ListArgs, PinArgs, PlaceArgs};
use crate::commands::find;
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::shell;
use crate::scan::{self, ScanScope};
use crate::session::fields::Field;
use crate::session::select::{self, Filter, NameCandidate, Selector};
use crate::session::{AgentKind, Located, Session};
use crate::system::env::Env;
use crate::view::render::labels as render;
use crate::view::render::labels::{Labelled, REMOVE};
use crate::view::ui::Ui;

pub(crate) fn run(args: &PinArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if args.remove {
        return remove(args, env, ui);
    }
    if args.list {
        let pins = Pins::read(env)?;
        return list(&pins.sessions().collect::<Vec<_>>(), &PINNED, &args.place, args.format, env, ui);
    }
    let filter = super::place_filter(&args.place, env)?;
    let named = find::Finder::new(&filter, ScanScope::GLANCE, env, ui).find_all("pin", &args.sessions)?;
    let named: Vec<_> = named.into_iter().map(|session| session.key()).collect();
    let changed = update(env, "pin", args.lock.lock_timeout, |pins| {
        named.iter().map(|(agent, id)| pins.add(*agent, id, env.clock.now)).collect::<Vec<_>>()
    })?;
    print("pin", &named, &changed, args.format, env, ui)
}

/// The sessions that have a label of the user, as `pin --list` and `tag --list` show them.
pub(super) struct Label {
    /// The name of the mark: pinned or tagged.
    pub mark: &'static str,
    /// The fields of the list; empty for the usual ones.
    pub fields: &'static [Field],
    /// The option that removes the mark from a deleted session, if there is one.
    pub forget: Option<&'static str>,
}

const PINNED: Label = Label { mark: "pinned", fields: &[], forget: Some(REMOVE) };

/// Lists the sessions with a label, as `list` does, and names those that are gone.
pub(super) fn list(
    named: &[(AgentKind, &str)],
    label: &Label,
    place: &PlaceArgs,
    format: FormatArgs,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    let filter = super::place_filter(place, env)?;
    let own: Vec<_> = named.iter().copied().filter(|(agent, _)| filter.has_agent(*agent)).collect();
    let there = if own.is_empty() { Vec::new() } else { read(&own, &filter.agents, env) };
    let is_any = if filter.is_narrow() { there.iter().any(|session| filter.matches(session)) } else { !own.is_empty() };
    if !is_any && format.is_table() {
        ui.print_note(&format!("Nothing is {}.", label.mark));
        return Ok(Exit::Ok);
    }
    // A deleted session has no directory and passes only without a directory filter.
    if !filter.is_narrow() {
        let is_there = |key: &(AgentKind, &str)| there.iter().any(|session| (session.agent, session.id()) == *key);
        for (agent, id) in own.iter().filter(|key| !is_there(key)) {
            let selector = shell::selector(agent, id);
            let forget = label.forget.map(|verb| format!("; `rejoin {verb} {selector}` forgets it"));
            ui.print_note(&format!("{agent}:{id} is {}, but gone{}.", label.mark, forget.unwrap_or_default()));
        }
    }
    let listed = ListArgs {
        filter: FilterArgs { place: place.clone(), ..FilterArgs::default() },
        choice: ChoiceArgs { is: vec![label.mark.to_owned()], ..ChoiceArgs::default() },
        all: true,
        limit: Some(0),
        fields: label.fields.to_vec(),
        format,
        ..ListArgs::default()
    };
    super::list::run(&listed, env, ui)
}

/// Removes the pins of sessions, which may be gone.
fn remove(args: &PinArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let (pins, filter) = (Pins::read(env)?, super::place_filter(&args.place, env)?);
    let names = passing(pins.sessions(), &filter, env);
    let named = args.sessions.iter().map(|selector| pinned(selector, &names, env)).collect::<Result<Vec<_>, _>>()?;
    let changed = update(env, REMOVE, args.lock.lock_timeout, |pins| {
        named.iter().map(|(agent, id)| pins.remove(*agent, id)).collect::<Vec<_>>()
    })?;
    print(REMOVE, &named, &changed, args.format, env, ui)
}

/// Returns the sessions that pass the filters; a deleted session has no directory.
fn passing<'p>(
    sessions: impl Iterator<Item = (AgentKind, &'p str)>,
    filter: &Filter,
    env: &Env,
) -> Vec<(AgentKind, &'p str)> {
    let mut names: Vec<_> = sessions.filter(|(agent, _)| filter.has_agent(*agent)).collect();
    if filter.is_narrow() {
        let mut sessions = read(&names, &filter.agents, env);
        sessions.retain(|session| filter.matches(session));
        names.retain(|name| sessions.iter().any(|session| (session.agent, session.id()) == *name));
    }
    names
}

/// Reads the sessions with these names; those that are gone are left out.
fn read(names: &[(AgentKind, &str)], agents: &[AgentKind], env: &Env) -> Vec<Session> {
    let is_named = |place: &Located| names.contains(&(place.agent(), &place.id));
    scan::locate(env, agents).read_some(env, ScanScope::GLANCE, is_named).sessions
}

/// Finds a pinned session, which may be gone, by the beginning of its id, or else by its title.
fn pinned(selector: &Selector, names: &[(AgentKind, &str)], env: &Env) -> Result<(AgentKind, String), Refusal> {
    let Selector::Id { agent, text } = selector else { return Err(nothing_pinned("that")) };
    let sessions = read(names, &[], env);
    let own = names.iter().filter(|(of, _)| agent.is_none_or(|agent| agent == *of));
    let candidates = own.map(|key| {
        let session = sessions.iter().find(|session| (session.agent, session.id()) == *key);
        let title = session.and_then(|session| NameCandidate::from_session((), session).title);
        NameCandidate { key: *key, id: key.1, title, is_subagent: false }
    });
    let keys = select::named(text, candidates).map(|found| found.keys).unwrap_or_default();
    match keys.as_slice() {
        [] => Err(nothing_pinned(text)),
        [(agent, id)] => Ok((*agent, (*id).to_owned())),
        keys => {
            let keys: Vec<String> = keys.iter().map(|(agent, id)| format!("{agent}:{id}")).collect();
            let message = format!("{text} matches several pinned sessions: {}", keys.join(", "));
            Err(Refusal::new(RefusalCode::Ambiguous, message).hint("type more of the id, or use AGENT:ID"))
        }
    }
}

fn nothing_pinned(text: &str) -> Refusal {
    let message = format!("no pinned session has an id that starts with {text}, or a title that contains it");
    Refusal::new(RefusalCode::NotPinned, message).hint("run `rejoin pin --list` to see the pinned sessions")
}

fn print(
    verb: &'static str,
    named: &[(AgentKind, String)],
    changed: &[bool],
    format: FormatArgs,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    let result = |is_changed: bool| if is_changed { ItemResult::Done } else { ItemResult::Unchanged };
    let sessions = named.iter().zip(changed);
    let sessions = sessions.map(|((agent, id), changed)| labelled(*agent, id, result(*changed)));
    ui.answer(format, env, &render::answer(verb, &sessions.collect::<Vec<_>>()))?;
    Ok(Exit::Ok)
}

fn labelled(agent: AgentKind, id: &str, result: ItemResult) -> Labelled<'_> {
    Labelled { agent, id, result }
}
