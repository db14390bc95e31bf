//! `rejoin restore`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{find, relocate};
use crate::agent::upkeep::Retention;
use crate::agent::{self, Agent};
use crate::archive::restore::Restore;
use crate::archive::store::Holdings;
use crate::archive::sync::state::LocalLayout;
use crate::archive::unpacked::damaged;
use crate::archive::untrusted;
use crate::archive::{Archive, Manifest};
use crate::cli::RestoreArgs;
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::text::count;
use crate::format::{command_line, shell};
use crate::session::select::Filter;
use crate::session::{SessionKind, Store};
use crate::system::env::Env;
use crate::view::render::json::change::{ChangeReport, ReportExtras};
use crate::view::ui::Ui;
use changes::journal::ItemRecord;
use changes::undo::Which;

mod follow;
mod rows;

use follow::Follow;

/// Maximum number of files that a warning names.
const MAX_NAMED: usize = 5;

pub(crate) fn run(args: &RestoreArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if !args.change.dry_run {
        super::recover_first("restore", args.change.lock, env, ui)?;
    }
    let archive = Archive::open(env, args.archive_dir.as_deref());
    let filter = super::place_filter(&args.place, env)?;
    super::refuse_number(&args.session)?;
    relocate::check_map(&args.map, env)?;
    let holdings = archive.holdings();
    let found = find::archived(&args.session, &filter, (&archive, &holdings), env);
    let found = found.map_err(|refusal| match refusal.code {
        RefusalCode::NotFound if holdings.sessions.is_empty() && names_the_archive(args) => {
            super::archive::must_be_there(&archive, env).err().unwrap_or(refusal)
        }
        _ => refusal,
    });
    let states = match found {
        Err(refusal) if refusal.code == RefusalCode::NotFound && !names_the_archive(args) => {
            return from_trash(args, &filter, refusal, env, ui);
        }
        found => found?,
    };
    let manifest = find::state(states, args.state.as_ref(), &archive)?;
    if manifest.rows().is_some() {
        return rows::run(args, manifest, (&archive, &holdings), env, ui);
    }
    let agent = agent::by_kind(manifest.agent)
        .ok_or_else(|| Refusal::new(RefusalCode::NoAgent, format!("no agent reads {}", manifest.agent)))?;
    let follow = Follow::plan_move(args, manifest, env)?;
    let mut restore = Restore::new("restore", &archive, env).trusting(args.trust);
    let (roots, store) = roots(args.to_store.as_deref(), manifest, agent, env)?;
    let retention = agent.retention(&store, env);
    let is_prolonged = retention.as_ref().is_some_and(|retention| !retention.is_by_record);
    let now = (is_prolonged && !args.keep_times).then(|| time_now(env));
    check(manifest, &archive, env)?;
    untrusted::check_places(manifest, &archive, agent, &store, env)?;
    let is_left_out = roots.iter().any(Option::is_none);
    let is_missing =
        restore.add(manifest, &LocalLayout::below(roots), now, None).map_err(|taken| in_the_way(manifest, &taken))?;
    for made in made_by(manifest, &holdings) {
        let mut add = || -> anyhow::Result<bool> {
            check(made, &archive, env)?;
            untrusted::check_places(made, &archive, agent, &store, env)?;
            let (roots, _) = self::roots(args.to_store.as_deref(), made, agent, env)?;
            Ok(restore.add(made, &LocalLayout::below(roots), now, None).map_err(|taken| in_the_way(made, &taken))?)
        };
        if let Err(error) = add() {
            ui.warn(&format!("a sub-agent is left out: {error:#}"));
        }
    }
    let outcome =
        super::change::apply_with(&restore.change, &args.change, env, |patience| restore.apply(env, patience))?;
    if is_missing {
        print_notes(manifest, retention.as_ref(), now.is_some(), is_left_out, env, ui);
    } else {
        ui.print_note(&format!("{} session {} already exists with the same content.", manifest.agent, manifest.id));
    }
    let exit = super::change::exit(outcome.as_ref());
    let followed = match follow.filter(|_| is_missing && exit == Exit::Ok) {
        Some(follow) => follow.run(args, manifest, env, ui),
        None => Ok((exit, None)),
    };
    if !restore.left_out.is_empty() {
        ui.warn(&without_code(agent, &restore.left_out, env));
    }
    // Print the restore even if the move fails.
    let run = followed.as_ref().ok().and_then(|(_, run)| run.as_deref());
    let report = ChangeReport {
        followed: run,
        look: ReportExtras::from_args(&args.change),
        ..ChangeReport::new(&restore.change, outcome.as_ref())
    };
    ui.answer(args.format, env, &report.answer(env))?;
    Ok(followed?.0)
}

/// Returns whether an option has a meaning only for an archived session.
fn names_the_archive(args: &RestoreArgs) -> bool {
    let RestoreArgs { state, to_store, map, keep_times, trust, archive_dir, change, .. } = args;
    let is_plan = change.apply.is_some();
    state.is_some()
        || to_store.is_some()
        || archive_dir.is_some()
        || !map.is_empty()
        || *keep_times
        || *trust
        || is_plan
}

/// Undoes the removal of a session that is not archived.
fn from_trash(args: &RestoreArgs, filter: &Filter, refusal: Refusal, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let history = super::history(env, ui)?;
    let Some((run, record)) = find::trashed(&args.session, filter, &history)? else { return Err(refusal.into()) };
    // Items of a group are undone together.
    let groups = run.groups();
    let is_its =
        |other: &ItemRecord| groups[other.item] == groups[record.item] || find::is_of_same_session(record, other);
    super::undo::carry_out(&Which::Named(run.id.clone()), is_its, &args.change, args.format, env, ui)
}

/// Returns the current time in the form of file times.
pub(super) fn time_now(env: &Env) -> (i64, i64) {
    (env.clock.now.as_second(), i64::from(env.clock.now.subsec_nanosecond()))
}

/// Refuses a session that is damaged in the archive.
fn check(manifest: &Manifest, archive: &Archive, env: &Env) -> Result<(), Refusal> {
    let damage = untrusted::damaged_chunks(manifest, archive);
    if damage.is_empty() { Ok(()) } else { Err(damaged(manifest, &damage.join("; "), archive, env)) }
}

/// Returns the newest states of a session's sub-agents, and of theirs.
fn made_by<'h>(manifest: &Manifest, holdings: &'h Holdings) -> Vec<&'h Manifest> {
    let mut found: Vec<&Manifest> = Vec::new();
    let mut parents = vec![manifest.id.as_str()];
    while let Some(parent) = parents.pop() {
        for made in holdings.each_newest().map(|newest| &newest.manifest) {
            let is_made = made.agent == manifest.agent
                && made.facts.kind == SessionKind::Subagent
                && made.facts.parent_id.as_deref() == Some(parent);
            if is_made && made.id != manifest.id && found.iter().all(|known| known.id != made.id) {
                found.push(made);
                parents.push(&made.id);
            }
        }
    }
    found
}

/// Decides the root for each store of the session; the first store is also returned as the agent sees it.
///
/// A manifest is not trusted: the target is a store of the agent, or the one that the user names.
pub(super) fn roots(
    to_store: Option<&Path>,
    manifest: &Manifest,
    agent: &dyn Agent,
    env: &Env,
) -> Result<(Vec<Option<PathBuf>>, Arc<Store>), Refusal> {
    let stores = agent.stores(env);
    if let Some(dir) = to_store {
        let root = env.absolute(dir);
        let known = stores.iter().find(|store| store.root == root).or(stores.first()).cloned();
        let store = known.map(|store| Store { root: root.clone(), ..store });
        let store = store.ok_or_else(|| Refusal::new(RefusalCode::NoStore, "the agent has no store"))?;
        let mut roots = vec![None; manifest.stores.len()];
        roots[0] = Some(root);
        return Ok((roots, Arc::new(store)));
    }
    let root_of = |recorded: &PathBuf| {
        manifest.candidates(recorded, env).find_map(|root| stores.iter().find(|store| store.root == root))
    };
    let found: Vec<Option<&Store>> = manifest.stores.iter().map(|root| root_of(&root.0)).collect();
    let Some(Some(first)) = found.first() else {
        let recorded = manifest.stores.first().map(|root| root.0.display().to_string()).unwrap_or_default();
        let message = format!("{} does not look in {recorded}, where the session was stored", manifest.agent);
        let usual = stores.iter().find(|store| store.is_default).map(|store| store.root.display().to_string());
        let usual = match usual {
            _ if agent.about().keeps_in_projects => recorded,
            Some(usual) => usual,
            None => env.home.display().to_string(),
        };
        let hint = format!("restore it with `{}`", command_line::again(env, &[], &["--to-store", &usual]));
        return Err(Refusal::new(RefusalCode::UnknownStore, message).hint(hint));
    };
    let first = Arc::new((*first).clone());
    Ok((found.into_iter().map(|store| store.map(|store| store.root.clone())).collect(), first))
}

fn in_the_way(manifest: &Manifest, taken: &[String]) -> Refusal {
    let (agent, id) = (manifest.agent, &manifest.id);
    let message = format!("{agent} session {id} was not restored, because files are in the way: {}", taken.join("; "));
    Refusal::new(RefusalCode::InTheWay, message)
        .hint(format!("see what is there with `rejoin show {}`", shell::selector(agent, id)))
}

/// Describes the files that were left out because the agent would run them, with the command that restores them.
fn without_code(agent: &dyn Agent, left_out: &[PathBuf], env: &Env) -> String {
    let named: Vec<String> = left_out.iter().take(MAX_NAMED).map(|path| path.display().to_string()).collect();
    format!(
        "{} would run {}, which anyone who can write to the archive can change, so they were left out: {}{}; if you trust them, \
         `{}`",
        agent.about().title,
        count(left_out.len(), "file"),
        named.join(", "),
        if left_out.len() > MAX_NAMED { ", …" } else { "" },
        command_line::again(env, &["--dry-run", "-n"], &["--trust"])
    )
}

/// Notes the parts of the outcome that are unexpected.
fn print_notes(
    manifest: &Manifest,
    retention: Option<&Retention>,
    is_now: bool,
    is_left_out: bool,
    env: &Env,
    ui: &mut Ui,
) {
    let agent = manifest.agent;
    if is_now {
        ui.print_note(&format!(
            "Its files get the current time, because {agent} deletes old files; --keep-times keeps the original times."
        ));
    }
    if is_left_out {
        ui.print_note("Its copies in other stores were not restored.");
    }
    let Some(retention) = retention.filter(|_| !is_now) else { return };
    let expiry = manifest.copy_modified().and_then(|at| at.checked_add(retention.period).ok());
    if expiry.is_some_and(|at| at <= env.clock.now) {
        let will = if retention.refused.is_some() { "may" } else { "will" };
        ui.warn(&format!("{agent} {will} delete it again {}.", retention.next_start()));
    }
}
