//! `rejoin list`

use std::io::{self, Write};

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use serde_json::value::to_raw_value;

use crate::cli::{Format, ListArgs};
use crate::env::Env;
use crate::error::Exit;
use crate::launch::{self, Request};
use crate::render::json::{
    self, FORMAT_VERSION, HeaderJson, ListSummaryJson, PointerJson, ProblemJson, SessionJson, SessionListJson,
};
use crate::render::table;
use crate::scan::{self, Scan, Wanted};
use crate::select::{self, Filter, ShortIds};
use crate::session::Session;
use crate::ui::Ui;

pub(crate) fn run(args: &ListArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let filter = super::filter(&args.filter, args.dir.as_deref(), args.all, env);
    let wanted = Wanted { counts: args.counts, ..Wanted::GLANCE };
    let mut scan = scan::locate(env, &filter.agents).read_all(env, wanted);
    scan.add_pointers(env);
    super::warn_of_problems(ui, &scan);

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

    match (args.format.get(), short) {
        (Format::Table, Some(short)) => {
            let styles = ui.styles;
            table::sessions(ui.data(), env, &styles, &sessions, &short)?;
            ui.flush()?;
            for note in notes(&sessions, hidden, beyond_limit, &scan, &filter) {
                ui.note(&note);
            }
        }
        (Format::Table, None) => table::lines(ui.data(), &sessions)?,
        (Format::Json, _) => write_json(ui.data(), env, &sessions, hidden, beyond_limit, &scan)?,
        (Format::Ndjson, _) => write_ndjson(ui.data(), env, &sessions, hidden, beyond_limit, &scan)?,
    }
    ui.flush()?;
    // The process ends here; giving back each session's memory by itself would take longer than printing it.
    std::mem::forget((sessions, scan));
    Ok(Exit::Ok)
}

/// Says on a terminal what the table leaves out.
fn notes(sessions: &[Session], hidden: usize, beyond_limit: usize, scan: &Scan, filter: &Filter) -> Vec<String> {
    let mut notes = Vec::new();
    if sessions.is_empty() {
        notes.push("No sessions found.".to_owned());
    }
    if beyond_limit > 0 {
        notes.push(format!("{beyond_limit} more beyond --limit."));
    }
    match hidden {
        0 => {}
        1 => notes.push("1 sub-agent or empty session not shown; --all shows it.".to_owned()),
        _ => notes.push(format!("{hidden} sub-agents and empty sessions not shown; --all shows them.")),
    }
    // A pointer to nowhere has no directory or time of a session to be filtered by.
    let dangling = if filter.is_narrow() { &[] } else { scan.dangling.as_slice() };
    for pointer in dangling {
        let id = pointer.session_id.as_deref().unwrap_or("no session");
        notes.push(format!("{} points to {id}, which is found nowhere.", pointer.path.display()));
    }
    notes
}

fn write_json(
    out: &mut impl Write,
    env: &Env,
    sessions: &[Session],
    hidden: usize,
    beyond_limit: usize,
    scan: &Scan,
) -> io::Result<()> {
    let in_json = |session: &Session| {
        let plan = launch::plan(session, &Request::default(), env).ok();
        to_raw_value(&SessionJson::new(session, plan.as_ref()))
    };
    let list = SessionListJson {
        format_version: FORMAT_VERSION,
        kind: "session-list",
        sessions: sessions.par_iter().map(in_json).collect::<Result<_, _>>()?,
        hidden,
        beyond_limit,
        dangling_pointers: dangling(scan),
        problems: problems(scan),
    };
    serde_json::to_writer(&mut *out, &list)?;
    writeln!(out)
}

fn write_ndjson(
    out: &mut impl Write,
    env: &Env,
    sessions: &[Session],
    hidden: usize,
    beyond_limit: usize,
    scan: &Scan,
) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &HeaderJson { format_version: FORMAT_VERSION, kind: "session-list" })?;
    writeln!(out)?;
    for session in sessions {
        let plan = launch::plan(session, &Request::default(), env).ok();
        serde_json::to_writer(&mut *out, &SessionJson::new(session, plan.as_ref()))?;
        writeln!(out)?;
    }
    let summary = ListSummaryJson {
        kind: "summary",
        sessions: sessions.len(),
        hidden,
        beyond_limit,
        dangling_pointers: dangling(scan),
        problems: problems(scan),
    };
    serde_json::to_writer(&mut *out, &summary)?;
    writeln!(out)
}

fn dangling(scan: &Scan) -> Vec<PointerJson<'_>> {
    scan.dangling.iter().map(json::pointer).collect()
}

fn problems(scan: &Scan) -> Vec<ProblemJson<'_>> {
    scan.problems.iter().map(ProblemJson::from).collect()
}
