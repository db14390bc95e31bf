//! One file or folder per command: collect input, call the core, render.

pub(crate) mod agents;
pub(crate) mod archive;
mod archive_first;
pub(crate) mod backfill;
mod briefing;
mod change;
pub(crate) mod cleanup;
pub(crate) mod complete;
pub(crate) mod config;
pub(crate) mod delete;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod find;
pub(crate) mod help;
pub(crate) mod hook;
pub(crate) mod hosts;
pub(crate) mod list;
mod listing;
mod messages;
mod moved_here;
mod no_match;
pub(crate) mod pin;
mod query;
pub(crate) mod relocate;
mod removal;
pub(crate) mod rename;
pub(crate) mod restore;
pub(crate) mod resume;
pub(crate) mod rewind;
pub(crate) mod save;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod stats;
mod subagents;
pub(crate) mod sync;
pub(crate) mod tag;
pub(crate) mod undo;
pub(crate) mod version;
mod via_agent;

use indexmap::IndexMap;

use crate::agent;
use crate::change::apply::history;
use crate::change::labels::Labels;
use crate::change::tags::Tags;
use crate::cli::{ChoiceArgs, FilterArgs, LockArgs, PlaceArgs};
use crate::error::{PathError, Refusal, RefusalCode};
use crate::format::command_line;
use crate::scan::{self, Places, Scan, ScanScope, processes, stuck};
use crate::session::marks::Mark;
use crate::session::matching::Query;
use crate::session::recorded;
use crate::session::select::{self, Filter, Selector};
use crate::session::{AgentKind, Problem, Session};
use crate::system::env::Env;
use crate::system::fsio;
use crate::system::names;
use crate::system::reach;
use crate::view::ui::Ui;
use changes::history::History;
use changes::journal::Run;
use std::path::{Component, Path, PathBuf};

/// Converts the options of a command to a filter; directories get every name that records may use.
fn filter(args: &FilterArgs, all: bool, env: &Env) -> Result<Filter, Refusal> {
    Ok(Filter {
        since: args.since.map(|when| env.clock.before(when)),
        until: args.until.map(|when| env.clock.before(when)),
        before: args.older_than.map(|when| env.clock.before(when)),
        all,
        ..place_filter(&args.place, env)?
    })
}

/// Creates a filter without times.
fn place_filter(args: &PlaceArgs, env: &Env) -> Result<Filter, Refusal> {
    let here = if args.here { env.cwd.as_deref() } else { None };
    let chosen = if args.tag.is_empty() { None } else { Some(Tags::read(env)?.with_all(&args.tag)) };
    let tags = args.tag.clone();
    Ok(Filter { tags, chosen, ..dir_filter(&args.agents.agent, args.dir.as_deref().or(here), env) })
}

/// Limits a filter to the sessions that `list` shows with these options; reads every session if there are any.
fn choose(filter: Filter, args: &ChoiceArgs, env: &Env, ui: &mut Ui) -> Result<Filter, Refusal> {
    if !args.is_narrow() {
        return Ok(filter);
    }
    let query = query::sound_query(&[], args, &env.clock)?;
    let scope = ScanScope { counts: args.needs_counts(), sizes: false, ..ScanScope::GLANCE };
    let showing = ui.watch("Reading");
    let mut scan = scan::locate(env, &filter.agents).watched(showing.watcher()).read_all(env, scope);
    drop(showing);
    mark(&mut scan.sessions, &query, env, ui);
    let is_chosen =
        |session: &&Session| filter.is_chosen(session.agent, session.id()) && query::are_in(&query, session, env);
    let chosen = scan.sessions.iter().filter(is_chosen).map(Session::key).collect();
    Ok(Filter { chosen: Some(chosen), ..filter })
}

fn dir_filter(agents: &[AgentKind], dir: Option<&Path>, env: &Env) -> Filter {
    let dirs = dir.map(|dir| directory_names(dir, env)).unwrap_or_default();
    Filter { agents: agents.to_vec(), dirs, leads_below: Some(names::leads_below), ..Filter::default() }
}

/// Returns the names of a directory: as typed, as the caller's shell names it, if it exists with its links resolved, as the
/// config file maps it, and as Windows names it if it is in WSL.
fn directory_names(dir: &Path, env: &Env) -> Vec<PathBuf> {
    let typed = env.absolute(dir);
    let (shell, resolved) = (env.through_link(&typed), names::on_disk(&typed));
    let mut names: Vec<PathBuf> = [typed].into_iter().chain(shell).chain(resolved).collect();
    let plain = || names.iter().filter(|name| !name.components().any(|part| part == Component::ParentDir));
    let mapped = env.config.list.map.iter().flat_map(|(there, here)| {
        let here = env.absolute(here);
        let below = plain().find_map(|name| Some(there.join(name.strip_prefix(&here).ok()?).components().collect()));
        below.or_else(|| plain().any(|name| here.starts_with(name)).then(|| there.clone()))
    });
    let mapped: Vec<PathBuf> = mapped.collect();
    names.extend(mapped);
    if let Some(own) = env.wsl_distribution() {
        let is_own = |distribution: &str| distribution.eq_ignore_ascii_case(own);
        let here =
            names.iter().filter_map(|name| recorded::in_wsl(name).filter(|(distribution, _)| is_own(distribution)));
        let here: Vec<PathBuf> = here.map(|(_, dir)| dir).collect();
        let there: Vec<PathBuf> = names.iter().filter_map(|name| recorded::from_windows(own, name)).collect();
        names.extend(here.into_iter().chain(there));
    }
    names
}

/// Finds the sessions of agents and reads them with `read` while progress is shown; warns of paths that could not be read.
fn read(agents: &[AgentKind], env: &Env, ui: &mut Ui, read: impl FnOnce(Places) -> Scan) -> Scan {
    let showing = ui.watch("Reading");
    let scan = read(scan::locate(env, agents).watched(showing.watcher()));
    drop(showing);
    warn_of_problems(ui, env, &scan.problems);
    scan
}

/// Reads the earlier runs, and warns of unreadable journals.
fn history(env: &Env, ui: &mut Ui) -> Result<History, PathError> {
    let history = history::read(env)?;
    warn_of_problems(ui, env, &history.problems);
    Ok(history)
}

/// Number of paths with the same reason in one store that are listed; more are counted.
const MOST_LISTED: usize = 3;

/// Warns of paths that could not be read: one line each, or one per reason and store if there are many.
fn warn_of_problems(ui: &mut Ui, env: &Env, problems: &[Problem]) {
    let roots = if problems.len() > MOST_LISTED { agent::roots(env, &[]) } else { Vec::new() };
    let mut kinds = IndexMap::<_, Vec<&Path>>::new();
    for Problem { path, reason } in problems {
        let root = roots.iter().filter(|root| path.starts_with(root)).max_by_key(|root| root.as_os_str().len());
        let owner = fsio::other_owner(path, reason);
        kinds.entry((root.map(PathBuf::as_path), reason, owner)).or_default().push(path);
    }
    for ((root, reason, owner), paths) in kinds {
        match root.filter(|_| paths.len() > MOST_LISTED) {
            Some(root) => {
                let list =
                    command_line::in_home("rejoin doctor --check unreadable --all-findings", &env.invocation.elsewhere);
                let help = owner.map(|owner| command_line::chown(owner, root, true)).unwrap_or_default();
                let count = paths.len();
                ui.warn(&format!(
                    "cannot read {count} files below {}: {reason}{help}; `{list}` lists them",
                    root.display()
                ));
            }
            None => {
                for path in paths {
                    let help = owner.map(|owner| command_line::chown(owner, path, false)).unwrap_or_default();
                    ui.warn(&format!("cannot read {}: {reason}{help}", path.display()));
                }
            }
        }
    }
}

/// Warns once about each mount that does not answer.
pub(crate) fn warn_of_silent_mounts(ui: &mut Ui) {
    for mount in reach::unreported() {
        let point = mount.point.display();
        let unknown = match mount.sessions {
            0 => "what is there was left out".to_owned(),
            1 => "whether the directory of 1 session is still there is not known".to_owned(),
            count => format!("whether the directories of {count} sessions are still there is not known"),
        };
        ui.warn(&format!("{point} does not answer; {unknown}"));
    }
}

/// Reads pins and tags, and warns of files that cannot be read.
fn labels<'e>(env: &'e Env, ui: &mut Ui) -> Labels<'e> {
    let (labels, problems) = Labels::read(env);
    problems.iter().for_each(|problem| ui.warn(&problem.to_string()));
    labels
}

/// Sets the marks that need more than the sessions' records: the user's labels, and those that only a query needs.
fn mark(sessions: &mut [Session], query: &Query, env: &Env, ui: &mut Ui) {
    labels(env, ui).mark(sessions);
    if query.asks_for(Mark::Live) || query.asks_for(Mark::MaybeLive) {
        processes::verify(sessions);
    }
    if query.asks_for(Mark::Stuck) {
        stuck::note(sessions);
    }
}

/// Recovers interrupted runs, so that the plan is made from a consistent state.
fn recover_first(verb: &str, lock: LockArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<()> {
    let recovered = crate::change::apply::undo::recover_first(env, verb, lock.lock_timeout)?;
    note_recovered(ui, &recovered);
    Ok(())
}

/// Warns about runs that did not finish, whose sessions may be missing.
fn warn_of_interrupted(env: &Env, ui: &mut Ui) {
    for Run { id, verb, .. } in history::interrupted(env) {
        ui.warn(&format!(
            "run {id} ({verb}) was interrupted, so its sessions may be missing or out of place; `rejoin undo {id}` \
             undoes what it did"
        ));
    }
}

/// Warns about interrupted runs that were recovered.
fn note_recovered(ui: &mut Ui, recovered: &[String]) {
    for line in recovered {
        ui.warn(line);
    }
}

/// Explains a change, and asks for confirmation if it is large or cannot be undone. Refuses without a terminal to ask
/// on.
fn confirm_or_refuse(about: &[String], question: &str, env: &Env, ui: &mut Ui) -> anyhow::Result<()> {
    if !env.terminal.can_ask() {
        return Err(Refusal::new(RefusalCode::NeedsYes, "this needs confirmation, but there is no terminal to ask on")
            .hint(format!("run `{}` to confirm", command_line::again(env, &[], &["--yes"])))
            .into());
    }
    if ui.confirm(about, question)? {
        return Ok(());
    }
    Err(Refusal::new(RefusalCode::Declined, "nothing was changed").into())
}

/// Parses the words that name one session.
fn selector(words: &[String]) -> Result<Selector, Refusal> {
    words.join(" ").parse().map_err(|why: String| Refusal::new(RefusalCode::Usage, why))
}

/// Adds a hint to the error if `--dir` excluded the named session: the option that starts, or records, in a directory.
fn or_in(error: anyhow::Error, place: &PlaceArgs, env: &Env) -> anyhow::Error {
    let Some(dir) = &place.dir else { return error };
    match error.downcast::<Refusal>() {
        Ok(refusal) if refusal.code == RefusalCode::Filtered => {
            let again = command_line::again(env, &["--dir="], &["--in", &dir.to_string_lossy()]);
            refusal.hint(format!("--dir chooses among sessions; to use that directory instead, run `{again}`")).into()
        }
        Ok(refusal) => refusal.into(),
        Err(error) => error,
    }
}

/// Refuses a line number of a list, which may mean another session by the time of the change.
fn refuse_number(selector: &Selector) -> Result<(), Refusal> {
    match selector {
        Selector::Id { text, .. } if select::list_number(text).is_some() => {
            let message = format!("{text} is a number in the list, and the list may change at any moment");
            Err(Refusal::new(RefusalCode::Usage, message).hint("see the ids with `rejoin list`, and use its id"))
        }
        _ => Ok(()),
    }
}
