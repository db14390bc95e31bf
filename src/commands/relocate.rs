//! `rejoin move`

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::change;
use crate::change::apply::run::run_locked;
use crate::change::apply::state_dir;
use crate::change::relocation::map_file::{self, Proposal};
use crate::change::relocation::{self, MoveOptions, PlannedMove};
use crate::cli::MoveArgs;
use crate::commands::{find, no_match};
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::{shell, text};
use crate::launch::log;
use crate::scan::moved::{self, Checkouts, DirRecords, Followers};
use crate::scan::{ScanScope, processes};
use crate::session::mapping::Mapping;
use crate::session::recorded;
use crate::session::select::Filter;
use crate::session::{AgentKind, Session};
use crate::system::env::Env;
use crate::system::fsio;
use crate::system::reach;
use crate::view::render::json::change::{ChangeReport, ReportExtras};
use crate::view::render::relocate::{MoveMap, MoveReport, moving, staying};
use crate::view::ui::Ui;

/// Maximum size of a file with one line per directory.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// The parts read of each session: its place, and its launch directory.
const WANTED: ScanScope = ScanScope { sizes: false, ..ScanScope::GLANCE };

pub(crate) fn run(args: &MoveArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if args.detect {
        return detect(args, env, ui);
    }
    // A user who reviewed a plan has agreed to it.
    let is_agreed = args.yes || args.dry_run || args.apply.is_some();
    if !args.dry_run {
        super::recover_first("move", args.lock, env, ui)?;
    }
    let mapping = mapping(args, env)?;
    let planned = plan(args, &mapping, env, ui)?;
    if planned.change.items.is_empty() && planned.left.is_empty() {
        return Err(no_sessions(args, &mapping, env));
    }
    change::check_fingerprint(&planned.change, &args.change(), env)?;
    let (sessions, overview) = (planned.sessions(), moving(&planned.change, env));
    if !is_agreed && sessions > 0 {
        let about: Vec<String> = overview.iter().cloned().chain(staying(&planned.left)).collect();
        super::confirm_or_refuse(&about, &question(sessions, &mapping), env, ui)?;
    }
    let mut outcome = None;
    if !args.dry_run && !planned.change.items.is_empty() {
        let state_dir = state_dir::open(env, "move", args.lock.lock_timeout)?;
        let mut progress = ui.progress("Moving", planned.change.items.len());
        outcome = Some(run_locked(&state_dir, &planned.change, env, &mut |done| progress.show_done(done))?);
    }
    let look = ReportExtras { overview: &overview, ..ReportExtras::from_args(&args.change()) };
    let report = ChangeReport { look, ..ChangeReport::new(&planned.change, outcome.as_ref()) };
    let report = MoveReport { report, mapping: &mapping, left: &planned.left };
    ui.answer(args.format, env, &report.answer(env))?;
    for (_, to) in mapping.pairs() {
        if reach::is_dir(to) == Some(false) {
            ui.print_note(&format!("{} does not exist yet; the sessions can be resumed once it does.", env.tilde(to)));
        }
    }
    Ok(if planned.left.is_empty() { change::exit(outcome.as_ref()) } else { Exit::Partial })
}

/// Collects the pairs of old and new directories, with every name that sessions may record.
fn mapping(args: &MoveArgs, env: &Env) -> anyhow::Result<Mapping> {
    let of_file = args.file().map_or(Ok(Vec::new()), |file| read(&env.absolute(file)))?;
    let named = args.from.iter().zip(&args.to);
    for (from, to) in named.clone() {
        if without_end(&env.absolute(from)) == without_end(&env.absolute(to)) {
            let message = format!("OLD_DIR and NEW_DIR are the same: {}", from.display());
            let hint = "name the old directory, then the new one";
            return Err(Refusal::new(RefusalCode::Usage, message).hint(hint).into());
        }
    }
    let pairs: Vec<(&PathBuf, &PathBuf)> =
        named.chain(args.map.iter().chain(&of_file).map(|(from, to)| (from, to))).collect();
    check_pairs(&pairs, env)?;
    Ok(mapping_of(&mut pairs.into_iter(), env))
}

/// Refuses pairs with two new directories for one old one.
pub(super) fn check_pairs(pairs: &[(&PathBuf, &PathBuf)], env: &Env) -> Result<(), Refusal> {
    let mut known: BTreeMap<PathBuf, &(&PathBuf, &PathBuf)> = BTreeMap::new();
    for pair in pairs {
        let (from, to) = pair;
        let key = recorded::one_spelling(&env.resolve(from)).into_owned();
        let (other_from, other) = known.entry(key).or_insert(pair);
        if env.resolve(other) != env.resolve(to) {
            let [one, two] =
                [(other_from, other), (from, to)].map(|(from, to)| format!("{} to {}", from.display(), to.display()));
            let message = format!("the same directory is mapped twice: {one}, and {two}");
            return Err(Refusal::new(RefusalCode::Usage, message).hint("keep one of the two"));
        }
    }
    Ok(())
}

/// Like [`check_pairs`], for the values of `--map`.
pub(super) fn check_map(map: &[(PathBuf, PathBuf)], env: &Env) -> Result<(), Refusal> {
    check_pairs(&map.iter().map(|(from, to)| (from, to)).collect::<Vec<_>>(), env)
}

/// Maps directories as typed, and with their links resolved, as agents record them.
pub(super) fn mapping_of<'a>(pairs: &mut dyn Iterator<Item = (&'a PathBuf, &'a PathBuf)>, env: &Env) -> Mapping {
    let both = pairs.flat_map(|(from, to)| {
        let new = env.resolve(to);
        [(without_end(&env.absolute(from)), new.clone()), (env.resolve(from), new)]
    });
    Mapping::new(both.collect())
}

/// Reads the file of old and new directories that the user reviewed.
fn read(file: &Path) -> anyhow::Result<Vec<(PathBuf, PathBuf)>> {
    let refuse = |why: String| {
        let message = format!("{}: {why}", file.display());
        Refusal::new(RefusalCode::Usage, message).hint("make the file with `rejoin move --detect`")
    };
    let bytes = fsio::read_bounded(file, MAX_FILE)?;
    let text = String::from_utf8(bytes).map_err(|_| refuse("it is not UTF-8".to_owned()))?;
    let pairs = map_file::parse(&text).map_err(refuse)?;
    if pairs.is_empty() {
        return Err(refuse("it names no directories".to_owned()).into());
    }
    Ok(pairs)
}

/// Proposes new places of missing directories.
fn detect(args: &MoveArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let scan = super::read(&[], env, ui, |places| places.read_all(env, WANTED));
    let known = scan.sessions.iter().filter(|session| session.launch_dir_exists == Some(true));
    let checkouts = Checkouts::find_near(
        &mut known.flat_map(|session| session.copy().directories()).filter(|dir| reach::is_dir(dir) == Some(true)),
        &env.home,
    )
    .with_caller(env);
    // If the log is unreadable, the other evidence remains.
    let remotes = log::remotes(&log::file(env)).unwrap_or_default();
    let mut gone: BTreeMap<Cow<'_, Path>, (&Path, Vec<&Session>)> = BTreeMap::new();
    let is_meant = |agent: AgentKind| args.agents.agent.is_empty() || args.agents.agent.contains(&agent);
    let meant = || scan.sessions.iter().filter(|session| is_meant(session.agent));
    for session in meant().filter(|session| session.launch_dir_exists == Some(false)) {
        if let Some(dir) = session.launch_dir().filter(|_| moved::is_launched(session)) {
            gone.entry(recorded::one_spelling(dir)).or_insert_with(|| (dir, Vec::new())).1.push(session);
        }
    }
    let followers = Followers::among(meant());
    let mut proposals: Vec<Proposal> = Vec::new();
    for (dir, sessions) in gone.into_values() {
        // A directory that moves with a directory above it needs no separate line.
        let is_inside = |above: &Proposal| {
            let there = above.to.as_ref().and_then(|to| Some(to.join(dir.strip_prefix(&above.from).ok()?)));
            there.is_some_and(|there| reach::is_dir(&there) == Some(true))
        };
        if proposals.iter().any(is_inside) {
            continue;
        }
        let had = DirRecords::collect(remotes.get(dir).cloned(), sessions.iter().copied());
        let found = checkouts.instead_of(dir, &had);
        let to = moved::best(&found, dir);
        let candidates = found.iter().filter(|instead| to.as_ref().is_none_or(|to| *to == instead.dir));
        let why: Vec<String> = candidates
            .map(|instead| {
                if to.is_some() {
                    instead.why.words().to_owned()
                } else {
                    format!("{}: {}", env.tilde(&instead.dir), instead.why.words())
                }
            })
            .collect();
        let sessions = followers.count(dir);
        proposals.push(Proposal { from: dir.to_owned(), to, sessions, why: why.join("; ") });
    }
    for (from, linked) in moved::linked_dirs(&scan.sessions) {
        let agents: BTreeSet<AgentKind> = linked.sessions.iter().map(|at| scan.sessions[*at].agent).collect();
        if agents.into_iter().any(is_meant) {
            let why = "a link in the old place leads there, but agents do not find the sessions through it".to_owned();
            proposals.push(Proposal { from, to: Some(linked.target), sessions: linked.sessions.len(), why });
        }
    }
    ui.answer(args.format, env, &MoveMap { directories: proposals })?;
    Ok(Exit::Ok)
}

/// Removes a slash from the end of a path.
fn without_end(path: &Path) -> PathBuf {
    path.components().collect()
}

fn plan(args: &MoveArgs, mapping: &Mapping, env: &Env, ui: &mut Ui) -> anyhow::Result<PlannedMove> {
    let filter = Filter::of_agents(&args.agents.agent);
    let named = find::Finder::new(&filter, ScanScope::GLANCE, env, ui).find_all("move", &args.session)?;
    let mut scan = super::read(&args.agents.agent, env, ui, |places| places.read_all(env, WANTED));
    processes::verify_for_change(&mut scan.sessions);
    // With `--agent`, keep the records of other agents, too.
    let chosen = if named.is_empty() { &scan.sessions } else { &named };
    let only: BTreeSet<(AgentKind, String)> = chosen.iter().map(Session::key).collect();
    let is_all = named.is_empty() && args.agents.agent.is_empty();
    let wish = MoveOptions { mapping, only: (!is_all).then_some(&only), all_references: args.all_references };
    relocation::plan(&scan.sessions, wish, env)
}

fn question(sessions: usize, mapping: &Mapping) -> String {
    let what = text::count(sessions, "session");
    match mapping.pairs() {
        [(from, to), ..] if mapping.pairs().iter().all(|(_, other)| other == to) => {
            format!("Move {what} from {} to {}?", from.display(), to.display())
        }
        _ => format!("Move {what}?"),
    }
}

fn no_sessions(args: &MoveArgs, mapping: &Mapping, env: &Env) -> anyhow::Error {
    let dirs: BTreeSet<String> = mapping.pairs().iter().map(|(from, _)| from.display().to_string()).collect();
    let dirs: Vec<String> = dirs.into_iter().collect();
    let near = match mapping.pairs() {
        // Without `--agent` and `--session`, the command would move more than was requested.
        [(from, to)] if args.session.is_empty() && args.agents.agent.is_empty() => {
            let to = shell::word(&to.to_string_lossy()).into_owned();
            no_match::commands_near(from, env, |near| format!("rejoin move {} {to}", shell::word(near)))
        }
        _ => Vec::new(),
    };
    let hint = if near.is_empty() {
        "see the directories of all sessions with `rejoin list --all`".to_owned()
    } else {
        format!("the closest directories are:\n      {}", near.join("\n      "))
    };
    Refusal::new(RefusalCode::NotFound, format!("no session was started in {} or below", dirs.join(" or in ")))
        .hint(hint)
        .into()
}
