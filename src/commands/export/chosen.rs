//! Selects the sessions to export: named ones, or those that pass the filters, each with its sub-agents.

use std::collections::{HashMap, HashSet};

use crate::archive::{Archive, ArchivedState};
use crate::cli::{ExportArgs, ExportFormat};
use crate::commands::{self, find};
use crate::error::{Refusal, RefusalCode};
use crate::scan::{self, ScanScope};
use crate::session::select::{self, Filter, SortKey};
use crate::session::{AgentKind, Session, SessionKind};
use crate::system::env::Env;
use crate::view::ui::Ui;

/// A session to export.
#[derive(Debug)]
pub(super) struct Chosen {
    pub session: Session,
    /// Its sub-agents, the oldest first.
    pub subagents: Vec<Session>,
    /// The state of the session in the archive, if it is read from there.
    pub archived: Option<ArchivedState>,
}

pub(super) fn chosen(args: &ExportArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Vec<Chosen>> {
    let filter = commands::filter(&args.filter, true, env)?;
    let chosen = if args.archived { of_archive(args, &filter, env)? } else { of_stores(args, &filter, env, ui)? };
    if chosen.is_empty() {
        let refusal = Refusal::new(RefusalCode::NotFound, "no session passes these filters");
        if args.archived {
            let archive = Archive::open(env, args.archive_dir.as_deref());
            let option = Archive::option(archive.root(), env);
            return Err(refusal
                .hint(format!("run `rejoin list --archived --all{option}` to see every session"))
                .into());
        }
        let error = refusal.hint("run `rejoin list --all` to see every session").into();
        return Err(commands::no_match::instead(error, &filter, env));
    }
    for session in chosen.iter().map(|one| &one.session).filter(|session| !session.choice.is_decided) {
        let (copies, why) = (session.copies.len(), &session.choice.why);
        let (agent, id, path) = (session.agent, session.id(), session.copy().place.path.display());
        ui.warn(&format!("{agent} session {id} has {copies} copies, and {why}; the one at {path} is exported"));
    }
    Ok(chosen)
}

fn of_stores(args: &ExportArgs, filter: &Filter, env: &Env, ui: &mut Ui) -> anyhow::Result<Vec<Chosen>> {
    // JSON has the counts that `show` has.
    let is_json = args.asked_format() == Some(ExportFormat::Json);
    let scope = if is_json { ScanScope::THOROUGH } else { ScanScope::RESUME };
    let named = find::Finder::new(filter, scope, env, ui).find_all("export", &args.sessions)?;
    // JSON only names the sub-agents, so only these are searched for.
    if is_json && !named.is_empty() {
        let made = named.iter().flat_map(|session| commands::subagents::made_by(session, env)).collect();
        return Ok(with_subagents(named, made));
    }
    let agents: Vec<AgentKind> = match named.as_slice() {
        [] => filter.agents.clone(),
        named => named.iter().map(|session| session.agent).collect(),
    };
    let showing = ui.watch("Reading");
    let watcher = showing.watcher();
    let mut scan = scan::locate(env, &agents).watched(watcher.clone()).read_all(env, scope);
    if args.sessions.is_empty() {
        scan.add_those_in_dirs(env, filter, scope, &watcher);
        scan.drop_idle(filter);
        scan.add_pointers(env);
    }
    drop(showing);
    commands::warn_of_problems(ui, env, &scan.problems);
    let is_subagent = |session: &Session| session.copy().kind == SessionKind::Subagent;
    let (subagents, mut others): (Vec<_>, Vec<_>) = scan.sessions.into_iter().partition(is_subagent);
    if args.sessions.is_empty() {
        others.retain(|session| !session.copy().is_empty() && filter.matches(session));
        select::sort(&mut others, SortKey::Active, false);
    } else {
        others = named;
    }
    Ok(with_subagents(others, subagents))
}

/// Attaches its sub-agents to each session, and their own.
fn with_subagents(sessions: Vec<Session>, subagents: Vec<Session>) -> Vec<Chosen> {
    let mut of_parent: HashMap<(AgentKind, String), Vec<Session>> = HashMap::new();
    for session in subagents {
        if let Some(parent) = session.copy().parent_id.clone() {
            of_parent.entry((session.agent, parent)).or_default().push(session);
        }
    }
    let mut known = HashSet::new();
    let mut chosen = Vec::new();
    for session in sessions {
        if !known.insert(session.key()) {
            continue;
        }
        let mut below = of_parent.get(&session.key()).cloned().unwrap_or_default();
        let mut at = 0;
        // A session that names itself as its parent is added once.
        let mut seen: HashSet<String> = below.iter().map(|session| session.id().to_owned()).collect();
        while let Some(session) = below.get(at) {
            let made = of_parent.get(&session.key()).into_iter().flatten();
            let new: Vec<Session> = made.filter(|session| seen.insert(session.id().to_owned())).cloned().collect();
            below.extend(new);
            at += 1;
        }
        below.sort_by_key(|session| session.copy().created_at.as_ref().map(|at| at.value));
        chosen.push(Chosen { session, subagents: below, archived: None });
    }
    chosen
}

fn of_archive(args: &ExportArgs, filter: &Filter, env: &Env) -> Result<Vec<Chosen>, Refusal> {
    let archive = Archive::open(env, args.archive_dir.as_deref());
    let holdings = archive.holdings();
    let newest: Vec<&ArchivedState> = match args.sessions.as_slice() {
        [] => holdings.each_newest().filter(|snapshot| filter.matches(&snapshot.manifest.session())).collect(),
        selectors => {
            let one = |selector| Ok::<_, Refusal>(find::archived(selector, filter, (&archive, &holdings), env)?.last());
            let found = selectors.iter().map(one).collect::<Result<Vec<_>, _>>()?;
            found.into_iter().flatten().collect()
        }
    };
    let one = |snapshot: &ArchivedState| Chosen {
        session: snapshot.manifest.session(),
        subagents: Vec::new(),
        archived: Some(snapshot.clone()),
    };
    Ok(newest.into_iter().map(one).collect())
}
