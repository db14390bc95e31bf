//! `rejoin restore`

use std::path::PathBuf;
use std::sync::Arc;

use super::find;
use crate::agent::upkeep::{Retention, RetentionStart};
use crate::agent::{self, Agent};
use crate::apply::restore::{self, Restore};
use crate::archive::{Archive, Manifest, Snapshot};
use crate::cli::{FilterArgs, RestoreArgs};
use crate::env::Env;
use crate::error::{Exit, Refusal};
use crate::session::Store;
use crate::ui::Ui;

pub(crate) fn run(args: &RestoreArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if !args.change.dry_run {
        super::mend_first("restore", args.change.lock, env, ui)?;
    }
    let archive = Archive::of(env, args.from.as_deref());
    let filter = super::filter(&FilterArgs { agent: args.agent.clone(), ..FilterArgs::default() }, None, true, env);
    super::refuse_number(&args.session)?;
    let holdings = archive.holdings();
    let manifest = state(find::archived(&args.session, &filter, &holdings)?, args.state)?;
    let agent = agent::by_kind(manifest.agent)
        .ok_or_else(|| Refusal::new(Exit::Refused, "no-agent", format!("no agent reads {}", manifest.agent)))?;
    let damage = restore::check(manifest, &archive);
    if !damage.is_empty() {
        let (agent, id) = (manifest.agent, &manifest.id);
        let message = format!("{agent} session {id} is damaged in the archive: {}", damage.join("; "));
        return Err(Refusal::new(Exit::Failure, "archive-damaged", message)
            .hint("`rejoin archive --verify` names every damage")
            .into());
    }
    let (roots, store) = roots(args, manifest, agent, env)?;
    let retention = agent.retention(&store, env);
    let is_swept = retention.as_ref().is_some_and(|retention| retention.counts_from == RetentionStart::FileTime);
    let now = (is_swept && !args.keep_times).then(|| (env.now.as_second(), i64::from(env.now.subsec_nanosecond())));
    let restore = restore::plan(manifest, &archive, &roots, now, env).map_err(|taken| in_the_way(manifest, &taken))?;
    let outcome = super::change::apply_with(&restore.change, &args.change, |patience| restore.apply(env, patience))?;
    say(&restore, retention.as_ref(), now.is_some(), &store, env, ui);
    super::change::print(&restore.change, outcome.as_ref(), args.format, env, ui)?;
    Ok(super::change::exit(outcome.as_ref()))
}

/// Takes the newest state, or the one that was asked for.
fn state(states: &[Snapshot], wanted: Option<u64>) -> Result<&Manifest, Refusal> {
    let manifests = || states.iter().map(|snapshot| &snapshot.manifest);
    let found = match wanted {
        Some(number) => manifests().rfind(|manifest| manifest.number == number),
        None => manifests().next_back(),
    };
    found.ok_or_else(|| {
        let known: Vec<String> = manifests().map(|manifest| manifest.number.to_string()).collect();
        let message = format!("that state is not in the archive; there are: {}", known.join(", "));
        Refusal::new(Exit::NotFound, "no-such-state", message)
    })
}

/// Decides below which root each store of the session goes; the first store's is also returned as the agent sees it.
///
/// What an archive says is not trusted: it goes where the agent itself looks, or where a person says.
fn roots(
    args: &RestoreArgs,
    manifest: &Manifest,
    agent: &dyn Agent,
    env: &Env,
) -> Result<(Vec<Option<PathBuf>>, Arc<Store>), Refusal> {
    let stores = agent.stores(env);
    if let Some(dir) = &args.to_store {
        let root = env.absolute(dir);
        let known = stores.iter().find(|store| store.root == root).or(stores.first()).cloned();
        let store = known.map(|store| Store { root: root.clone(), ..store });
        let store = store.ok_or_else(|| Refusal::new(Exit::Refused, "no-store", "the agent has no store"))?;
        let mut roots = vec![None; manifest.stores.len()];
        roots[0] = Some(root);
        return Ok((roots, Arc::new(store)));
    }
    let root_of = |recorded: &PathBuf| {
        // Another machine or container has another home.
        let below_home = recorded.strip_prefix(&manifest.home.0).ok().map(|path| env.home.join(path));
        let candidates = below_home.into_iter().chain([recorded.clone()]);
        candidates.into_iter().find_map(|root| stores.iter().find(|store| store.root == root))
    };
    let found: Vec<Option<&Store>> = manifest.stores.iter().map(|root| root_of(&root.0)).collect();
    let Some(Some(first)) = found.first() else {
        let recorded = manifest.stores.first().map(|root| root.0.display().to_string()).unwrap_or_default();
        let message = format!("{} does not look in {recorded}, where the session was", manifest.agent);
        let usual = stores.iter().find(|store| store.is_usual).map(|store| store.root.display().to_string());
        let hint = format!("name a store: --to-store {}", usual.unwrap_or_else(|| "DIR".to_owned()));
        return Err(Refusal::new(Exit::Refused, "unknown-store", message).hint(hint));
    };
    let first = Arc::new((*first).clone());
    Ok((found.into_iter().map(|store| store.map(|store| store.root.clone())).collect(), first))
}

fn in_the_way(manifest: &Manifest, taken: &[String]) -> Refusal {
    let (agent, id) = (manifest.agent, &manifest.id);
    let message = format!("{agent} session {id} is not put back over what is there: {}", taken.join("; "));
    Refusal::new(Exit::Refused, "in-the-way", message).hint("--to-store DIR puts it elsewhere")
}

/// Says what is not as a person would expect.
fn say(restore: &Restore<'_>, retention: Option<&Retention>, is_now: bool, store: &Store, env: &Env, ui: &mut Ui) {
    let manifest = restore.manifest();
    if restore.change.items.is_empty() {
        ui.note(&format!("{} session {} is there already, with the same content.", manifest.agent, manifest.id));
        return;
    }
    if is_now {
        ui.note(&format!(
            "Its files get the time of now, because {} deletes by it; --keep-times keeps theirs.",
            manifest.agent
        ));
    }
    let left_out = manifest.stores.len() > 1
        && restore.change.items.iter().all(|item| {
            let paths = || item.steps.iter().map(crate::plan::change::Step::path);
            paths().all(|path| path.starts_with(&store.root))
        });
    if left_out {
        ui.note("Its copies in other stores are left out.");
    }
    let Some(retention) = retention.filter(|_| !is_now) else { return };
    let newest = match retention.counts_from {
        RetentionStart::FileTime => manifest.copy_modified(),
        RetentionStart::Activity => manifest.facts.active_at,
    };
    let expiry = newest.and_then(|at| at.checked_add(retention.period).ok());
    if expiry.is_some_and(|at| at <= env.now) {
        ui.warn(&format!("{} will delete it again when it is next started.", manifest.agent));
    }
}
