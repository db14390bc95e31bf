//! `rejoin list`

use crate::cli::ListArgs;
use crate::error::Exit;
use crate::scan::{self, Wanted};
use crate::session::Session;
use crate::session::select::{self, Filter, ShortIds};
use crate::system::env::Env;
use crate::view::render::list as render;
use crate::view::render::list::Listing;
use crate::view::ui::Ui;

pub(crate) fn run(args: &ListArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let filter = super::filter(&args.filter, args.dir.as_deref(), args.all, env);
    if args.archived {
        return super::archive::list(args, &filter, env, ui);
    }
    let wanted = Wanted { counts: args.counts, ..Wanted::GLANCE };
    let showing = ui.watch("Reading");
    let watcher = showing.watcher();
    let mut scan = scan::locate(env, &filter.agents).watched(watcher.clone()).read_all(env, wanted);
    scan.add_those_in_dirs(env, &filter, wanted, &watcher);
    scan.add_pointers(env);
    drop(showing);
    super::warn_of_problems(ui, &scan.problems);

    let for_terminal = args.format.is_table() && env.stdout_is_terminal;
    let short = for_terminal.then(|| ShortIds::of(&scan.sessions));
    let mut sessions = std::mem::take(&mut scan.sessions);
    let (hidden, beyond_limit) = narrow(&mut sessions, args, &filter);
    super::mark_pins(&mut sessions, env, ui);

    let listing =
        Listing { env, short, sessions, hidden, beyond_limit, dangling: scan.dangling, problems: scan.problems };
    ui.answer(args.format, env, &listing)?;
    if for_terminal {
        render::notes(&listing, &filter).iter().for_each(|note| ui.note(note));
    }
    // The process ends here; giving back each session's memory by itself would take longer than printing it.
    std::mem::forget(listing);
    Ok(Exit::Ok)
}

/// Leaves what was asked for, in its order; returns how many are not shown without `--all`, and how many are beyond
/// the limit.
pub(super) fn narrow(sessions: &mut Vec<Session>, args: &ListArgs, filter: &Filter) -> (usize, usize) {
    sessions.retain(|session| filter.matches(session));
    let matching = sessions.len();
    sessions.retain(|session| filter.shows_kind(session));
    let hidden = matching - sessions.len();
    select::sort(sessions, args.sort, args.reverse);
    let shown = args.limit.unwrap_or(sessions.len()).min(sessions.len());
    let beyond_limit = sessions.len() - shown;
    sessions.truncate(shown);
    (hidden, beyond_limit)
}
