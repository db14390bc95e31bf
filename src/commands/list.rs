//! `rejoin list`

use std::path::PathBuf;

use crate::cli::ListArgs;
use crate::commands::listing::{self, cut, layout, put_in_order, says_more, screenful, shows_marks, shows_processes};
use crate::commands::{moved_here, no_match, query};
use crate::error::Exit;
use crate::scan::git::checkouts_with;
use crate::scan::relocated::Relocated;
use crate::scan::{Scan, ScanScope, processes, stuck, usage};
use crate::session::fields::Field;
use crate::session::marks::Mark;
use crate::session::select::{ShortIds, SortKey};
use crate::session::{Kin, Problem, Session};
use crate::system::env::{Env, Terminal};
use crate::view::render::list as render;
use crate::view::render::list::Listing;
use crate::view::ui::Ui;

/// Maximum rows of a table for which the ends of transcripts and open files are read, unless the user asks for the marks.
const MOST_LOOKED_AT: usize = 256;

pub(crate) fn run(typed: &ListArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let (args, from_config) = &super::config::list(typed, env);
    let query = query::sound_query(&args.words, &args.choice, &env.clock)?;
    let mut filter = super::filter(&args.filter, args.all || query.asks_for_hidden(), env)?;
    if args.archived {
        return super::archive::list(args, &filter, &query, env, ui);
    }
    super::warn_of_interrupted(env, ui);
    filter.kin = kin(&filter.dirs, env);
    // JSON names the copy that `resume` would use.
    let is_json = args.format.for_list(env.terminal.stdout).is_json();
    let scope = ScanScope { counts: args.counts(), usage: args.usage(), compare: is_json, ..ScanScope::GLANCE };
    let is_meant = |session: &Session| !args.has_words() || query::are_in(&query, session, env);
    let passes = |session: &Session| filter.matches(session) && filter.shows_kind(session);
    let count = count_of_first(args, &env.terminal);
    let scan = super::read(&filter.agents, env, ui, |places| {
        let first = count.and_then(|count| places.first(env, &filter, scope, count, passes));
        first.unwrap_or_else(|| places.read_with_dirs(env, &filter, scope))
    });

    let layout = layout(args, || ShortIds::from_sessions(&scan.sessions), &env.terminal);
    let Scan { mut sessions, mut dangling, mut problems } = scan;
    let read = sessions.iter().filter(|session| filter.shows_kind(session)).count();
    let moved_here = match filter.dirs.first() {
        Some(dir) if says_more(args, &env.terminal) => moved_here::notes(dir, &sessions, env),
        _ => Vec::new(),
    };
    sessions.retain(|session| filter.matches(session));
    super::mark(&mut sessions, &query, env, ui);
    if args.running {
        processes::verify(&mut sessions);
        sessions.retain(|session| session.copy_in_use().is_some());
    }
    sessions.retain(is_meant);
    let mut unread = if args.order().needs_usage() { note_usage(&mut sessions, ui) } else { Vec::new() };
    let hidden = put_in_order(&mut sessions, &filter, args.order());
    let beyond_limit = cut(&mut sessions, args);
    if args.usage() && !args.order().needs_usage() {
        unread = note_usage(&mut sessions, ui);
    }
    // The user did not request the usage alone, and unreadable messages were already reported.
    unread.retain(|_| !args.counts);
    super::warn_of_problems(ui, env, &unread);
    problems.extend(unread);
    for session in &mut sessions {
        session.kin = filter.kin_of(session);
    }
    // The number of rows is only known with the notes; a screen shows at most its lines.
    let is_on_screen = says_more(args, &env.terminal);
    let rows = env.terminal.height.filter(|_| args.limit.is_none() && is_on_screen);
    let rows = rows.map_or(sessions.len(), usize::from).min(sessions.len());
    // A table of few rows shows the marks of `--running` and of stuck sessions, too.
    if rows <= MOST_LOOKED_AT && is_on_screen && !args.running {
        processes::verify(&mut sessions[..rows]);
    }
    let looks_at_ends = rows <= MOST_LOOKED_AT || args.fields.contains(&Field::Marks);
    if looks_at_ends && shows_marks(args, &env.terminal) && !query.asks_for(Mark::Stuck) {
        stuck::note(&mut sessions[..rows]);
    }
    if shows_processes(args, &env.terminal) {
        processes::note_processes(&mut sessions);
    }

    // A pointer without a session has neither a text to match nor a process.
    dangling.retain(|_| !args.has_words() && !args.running);
    let mut listing = Listing {
        env,
        layout,
        sessions: &sessions,
        read,
        hidden,
        beyond_limit,
        dangling,
        problems,
        is_explained: false,
    };
    let mut show = |count: usize| {
        (listing.sessions, listing.beyond_limit) = (&sessions[..count], beyond_limit + sessions.len() - count);
        let notes = render::notes(&listing, &filter, typed.is_narrowed());
        ui.height_of(&notes) + ui.height_of(&moved_here) + ui.height_of(from_config.as_slice())
    };
    let shown = screenful(&sessions, args, &env.terminal, &mut show);
    show(shown);
    ui.answer(listing::document(args), env, &listing)?;
    let says_more = says_more(args, &env.terminal);
    // Running sessions change at any moment; the other conditions are explained.
    let is_unexplained = listing.sessions.is_empty() && !args.running && (listing.hidden == 0 || says_more);
    let is_explained = is_unexplained
        && (args.filter.place.dir.is_some() || says_more)
        && no_match::note_of_list(&filter, &query, env, ui);
    if says_more {
        listing.is_explained = is_explained;
        render::notes(&listing, &filter, typed.is_narrowed()).iter().for_each(|note| ui.print_note(note));
    }
    moved_here.iter().for_each(|note| ui.print_note(note));
    from_config.iter().for_each(|note| ui.print_note(note));
    // The process ends here; freeing each session's memory would take longer than printing it.
    std::mem::forget(listing);
    std::mem::forget(sessions);
    Ok(Exit::Ok)
}

/// Notes the tokens and the costs of sessions; returns the files that could not be read.
fn note_usage(sessions: &mut [Session], ui: &mut Ui) -> Vec<Problem> {
    let showing = ui.watch("Reading");
    usage::note(sessions, &showing.watcher())
}

/// Returns the limit if only the most recently active sessions are shown and nothing is reported about the rest.
fn count_of_first(args: &ListArgs, terminal: &Terminal) -> Option<usize> {
    let is_plain =
        !args.has_words() && args.order() == SortKey::Active && !args.reverse && args.group.is_none() && !args.running;
    let is_bare = args.format.for_list(terminal.stdout).is_rows();
    args.limit.filter(|_| is_plain && is_bare)
}

/// Finds the directories that are equivalent to these: their earlier paths, and their git worktrees.
fn kin(dirs: &[PathBuf], env: &Env) -> Vec<(PathBuf, Kin)> {
    // The scan reports an unreadable file.
    let moves = if dirs.is_empty() { Relocated::default() } else { Relocated::read(env).unwrap_or_default() };
    let earlier = dirs.iter().flat_map(|dir| moves.earlier(dir)).map(|dir| (dir, Kin::Earlier));
    let worktrees = dirs.iter().flat_map(|dir| checkouts_with(dir)).map(|dir| (dir, Kin::Worktree));
    earlier.chain(worktrees).filter(|(dir, _)| !dirs.contains(dir)).collect()
}
