//! `rejoin list`

use crate::cli::{Format, ListArgs};
use crate::error::Exit;
use crate::scan;
use crate::scan::Wanted;
use crate::session::select;
use crate::session::select::ShortIds;
use crate::system::env::Env;
use crate::view::render::list as render;
use crate::view::render::list::Listing;
use crate::view::render::table;
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

    let for_terminal = args.format.get() == Format::Table && env.stdout_is_terminal;
    let short = for_terminal.then(|| ShortIds::of(&scan.sessions));
    let mut sessions = std::mem::take(&mut scan.sessions);
    sessions.retain(|session| filter.matches(session));
    let matching = sessions.len();
    sessions.retain(|session| filter.shows_kind(session));
    let hidden = matching - sessions.len();
    select::sort(&mut sessions, args.sort, args.reverse);
    let shown = args.limit.unwrap_or(sessions.len()).min(sessions.len());
    let beyond_limit = sessions.len() - shown;
    sessions.truncate(shown);
    super::mark_pins(&mut sessions, env, ui);

    let listing = Listing { sessions, hidden, beyond_limit, dangling: scan.dangling, problems: scan.problems };

    match (args.format.get(), short) {
        (Format::Table, Some(short)) => {
            let styles = ui.styles;
            table::sessions(ui.data(), env, &styles, &listing.sessions, &short)?;
            ui.flush()?;
            for note in render::notes(&listing, &filter) {
                ui.note(&note);
            }
        }
        (Format::Table, None) => table::lines(ui.data(), &listing.sessions)?,
        (Format::Json, _) => render::json(ui.data(), env, &listing)?,
        (Format::Ndjson, _) => render::ndjson(ui.data(), env, &listing)?,
    }
    ui.flush()?;
    // The process ends here; giving back each session's memory by itself would take longer than printing it.
    std::mem::forget(listing);
    Ok(Exit::Ok)
}
