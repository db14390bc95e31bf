//! `rejoin stats`

use std::collections::HashMap;

use jiff::tz::TimeZone;

use crate::agent::{self, Observers};
use crate::cli::StatsArgs;
use crate::commands::no_match;
use crate::error::{Exit, PathError};
use crate::format::text;
use crate::scan::{self, ScanScope};
use crate::session::select::ShortIds;
use crate::session::stats::{self, Days, Measured, StatsKey};
use crate::session::{CLOCK_SKEW, Session, SessionKind};
use crate::system::env::{Clock, Env};
use crate::system::parallel;
use crate::view::render::stats::{Stats, StatsRow};
use crate::view::render::table;
use crate::view::ui::Ui;

pub(crate) fn run(args: &StatsArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let filter = super::filter(&args.filter, true, env)?;
    let showing = ui.watch("Reading");
    let watcher = showing.watcher();
    let places = scan::locate(env, &filter.agents).watched(watcher.clone());
    let mut scan = places.read_with_dirs(env, &filter, ScanScope::GLANCE);
    scan.sessions.retain(|session| !session.copy().is_empty() && filter.matches(session));
    let archived = scan.sessions.iter().filter(|session| session.copy().kind == SessionKind::Archived).count();
    watcher.begin(scan.sessions.len());
    let outputs = agent::Outputs::read(env);
    let read = |session: &mut Session| {
        let mut read = measured(session, &env.clock);
        read.0.output_bytes = outputs.size_bytes(session.agent, session.id());
        watcher.done(1);
        read
    };
    let read = parallel::map(&mut scan.sessions, read);
    drop(showing);
    scan.problems.extend(outputs.problems);
    super::warn_of_problems(ui, env, &scan.problems);
    let (mut sessions, mut exit) = (Vec::with_capacity(read.len()), Exit::Ok);
    for (measured, failed) in read {
        sessions.push(measured);
        if let Some(error) = failed {
            ui.warn(&error.to_string());
            exit = Exit::Partial;
        }
    }
    let keys = if args.by.is_empty() { &StatsKey::USUAL } else { args.by.as_slice() };
    let is_by_session = keys.contains(&StatsKey::Session);
    let named = scan.sessions.iter().filter(|_| is_by_session);
    let short = ShortIds::from_sessions(scan.sessions.get(..).filter(|_| is_by_session).unwrap_or_default());
    let label = |session: &Session| (short.get(session).to_owned(), table::title(session));
    let labels: HashMap<String, (String, String)> = named.map(|session| (name(session), label(session))).collect();
    let rows = keys.iter().flat_map(|by| {
        let tallies = stats::tallies(&sessions, *by).into_iter();
        tallies.map(|(key, tally)| {
            let label = key.as_ref().and_then(|key| labels.get(key)).cloned();
            StatsRow { by: *by, key, tally, label }
        })
    });
    let answer = Stats { rows: rows.collect(), total: stats::total(&sessions), is_whole: !args.by.is_empty() };
    ui.answer(args.format, env, &answer)?;
    if archived > 0 && env.terminal.stdout && args.format.is_table() {
        let (sessions, them) = (text::count(archived, "session"), if archived == 1 { "it" } else { "them" });
        ui.print_note(&format!("{sessions} closed by an agent included; `rejoin list --all` shows {them}."));
    }
    if sessions.is_empty() {
        no_match::note_of_filters(&filter, env, ui);
    }
    Ok(exit)
}

fn name(session: &Session) -> String {
    format!("{}:{}", session.agent, session.id())
}

/// Reads a session to its end; unreadable parts are not counted.
fn measured(session: &mut Session, clock: &Clock) -> (Measured, Option<PathError>) {
    let (kind, mut failed) = (session.copy().kind, None);
    let mut observers = Observers::counts(true);
    observers.days = Some(Days::new(TimeZone::clone(&clock.zone), clock.later(CLOCK_SKEW)));
    if let Some(agent) = agent::by_kind(session.agent) {
        let copy = &mut session.copies[0];
        failed = agent::measure(agent, copy, &mut observers).err();
    }
    let copy = session.copy();
    let usage = copy.usage.filter(|_| failed.is_none()).unwrap_or_default();
    let dir = copy.launch_dir.as_ref();
    // If no message has a time, the time of the last activity is used for all.
    if let Some(days) = observers.days.as_mut().filter(|days| days.dates.is_empty()) {
        copy.active_at.iter().for_each(|at| days.add(at.value));
    }
    let parent = copy.parent_id.as_ref().map(|id| format!("{}:{id}", session.agent));
    let measured = Measured {
        name: name(session),
        parent,
        is_subagent: kind == SessionKind::Subagent,
        agent: session.agent.name(),
        project: dir.map(|dir| dir.value.to_string_lossy().into_owned()),
        model: copy.model.as_ref().map(|model| model.value.to_string()),
        prompts: copy.prompts.unwrap_or(0),
        replies: copy.replies.unwrap_or(0),
        size_bytes: copy.size().unwrap_or(0),
        output_bytes: 0,
        days: observers.days.map(|days| days.dates).unwrap_or_default(),
        usage,
    };
    (measured, failed)
}
