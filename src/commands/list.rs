//! `rejoin list`

use std::path::PathBuf;

use crate::agent;
use crate::cli::{ListArgs, ListForm};
use crate::error::Exit;
use crate::scan::moved::checkouts_with;
use crate::scan::relocated::Relocated;
use crate::scan::{self, Wanted};
use crate::session::fields::Field;
use crate::session::select::{self, Filter, ShortIds};
use crate::session::{Kin, Session};
use crate::system::env::Env;
use crate::view::render::list as render;
use crate::view::render::list::{Layout, Listing};
use crate::view::render::table::Look;
use crate::view::ui::Ui;

/// Lines of a screen that are kept for the head of a table, the notes below it and the next prompt.
const AROUND_TABLE: usize = 6;
/// A table on a screen that is hardly one still has so many lines.
const FEWEST: usize = 5;

pub(crate) fn run(args: &ListArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let mut filter = super::filter(&args.filter, args.all, env);
    if args.archived {
        return super::archive::list(args, &filter, env, ui);
    }
    filter.kin = kin(&filter.dirs, env);
    let wanted = Wanted { counts: args.counts(), ..Wanted::GLANCE };
    let showing = ui.watch("Reading");
    let watcher = showing.watcher();
    let mut scan = scan::locate(env, &filter.agents).watched(watcher.clone()).read_all(env, wanted);
    scan.add_those_in_dirs(env, &filter, wanted, &watcher);
    scan.add_pointers(env);
    drop(showing);
    super::warn_of_problems(ui, &scan.problems);

    let layout = layout(args, &scan.sessions, env);
    let mut sessions = std::mem::take(&mut scan.sessions);
    let read = sessions.len();
    super::mark_pins(&mut sessions, env, ui);
    let Narrowed { hidden, beyond_limit } = narrow(&mut sessions, args, &filter, env);

    let looked_in = if read == 0 { agent::roots(env, &filter.agents) } else { Vec::new() };
    let (dangling, problems) = (scan.dangling, scan.problems);
    let listing = Listing { env, layout, sessions, read, looked_in, hidden, beyond_limit, dangling, problems };
    ui.answer(args.format.json_or_table(), env, &listing)?;
    if says_more(args, env) {
        render::notes(&listing, &filter, args.is_narrowed()).iter().for_each(|note| ui.note(note));
    }
    // The process ends here; giving back each session's memory by itself would take longer than printing it.
    std::mem::forget(listing);
    Ok(Exit::Ok)
}

/// Finds the directories that hold the same work as these: where they were before, and their git worktrees.
fn kin(dirs: &[PathBuf], env: &Env) -> Vec<(PathBuf, Kin)> {
    // What cannot be read is a problem that the scan tells of.
    let moves = if dirs.is_empty() { Relocated::default() } else { Relocated::read(env).unwrap_or_default() };
    let earlier = dirs.iter().flat_map(|dir| moves.earlier(dir)).map(|dir| (dir, Kin::Earlier));
    let worktrees = dirs.iter().flat_map(|dir| checkouts_with(dir)).map(|dir| (dir, Kin::Worktree));
    earlier.chain(worktrees).filter(|(dir, _)| !dirs.contains(dir)).collect()
}

/// Returns whether a person reads the table where it is written, so that notes stand below it.
pub(super) fn says_more(args: &ListArgs, env: &Env) -> bool {
    env.stdout_is_terminal && args.format.form(env.stdout_is_terminal) == ListForm::Table
}

/// Decides how the sessions are laid out; ids are shortened among all that there are.
pub(super) fn layout(args: &ListArgs, all: &[Session], env: &Env) -> Layout {
    let fields = || {
        let counts = Field::COUNTS.into_iter().filter(|_| args.counts());
        let usual = || Field::OF_LINES.into_iter().chain(counts).collect();
        if args.fields.is_empty() { usual() } else { args.fields.clone() }
    };
    match args.format.form(env.stdout_is_terminal) {
        ListForm::Table => Layout::Table(Look {
            short: ShortIds::of(all),
            fields: Some(args.fields.clone()).filter(|fields| !fields.is_empty()),
            is_wide: args.wide,
            has_groups: args.group.is_some(),
        }),
        ListForm::Csv => Layout::Csv(fields()),
        _ => Layout::Lines(fields()),
    }
}

/// How many sessions are left out, and why.
pub(super) struct Narrowed {
    /// Not shown without `--all`.
    pub(super) hidden: usize,
    /// Beyond the limit, or beyond the screen.
    pub(super) beyond_limit: usize,
}

/// Leaves what was asked for, in its order.
pub(super) fn narrow(sessions: &mut Vec<Session>, args: &ListArgs, filter: &Filter, env: &Env) -> Narrowed {
    sessions.retain(|session| filter.matches(session));
    sessions.iter_mut().for_each(|session| session.kin = filter.kin_of(session));
    let matching = sessions.len();
    sessions.retain(|session| filter.shows_kind(session));
    let hidden = matching - sessions.len();
    select::sort(sessions, args.sort, args.reverse);
    if args.group.is_some() {
        select::put_projects_together(sessions);
    }
    let shown = match args.limit {
        Some(0) => sessions.len(),
        Some(limit) => limit,
        None if says_more(args, env) => screenful(sessions, args.group.is_some(), env),
        None => sessions.len(),
    };
    let beyond_limit = sessions.len().saturating_sub(shown);
    sessions.truncate(shown);
    Narrowed { hidden, beyond_limit }
}

/// Returns how many of the sessions fit the screen.
fn screenful(sessions: &[Session], has_groups: bool, env: &Env) -> usize {
    let Some(height) = env.height else { return sessions.len() };
    let room = usize::from(height).saturating_sub(AROUND_TABLE).max(FEWEST);
    let begins_group =
        |at: usize| has_groups && (at == 0 || sessions[at].launch_dir() != sessions[at - 1].launch_dir());
    let lines = (0..sessions.len()).scan(0, |used, at| {
        *used += 1 + usize::from(begins_group(at));
        Some(*used)
    });
    lines.take_while(|used| *used <= room).count()
}
