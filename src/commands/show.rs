//! `rejoin show`

use std::io::Write;

use serde::{Serialize, Serializer};

use crate::agent;
use crate::agent::command::LaunchRequest;
use crate::change::rewinds::Rewinds;
use crate::cli::{Format, ShowArgs};
use crate::commands::messages::{self, LeftOut, MessageRange, Stream};
use crate::commands::{find, subagents};
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::command_line::in_home;
use crate::format::{shown, text};
use crate::launch;
use crate::scan::{self, LONG_TO_COUNT, ScanScope, processes, stuck};
use crate::session::Session;
use crate::session::branches::Branch;
use crate::session::fields::Field;
use crate::session::select::Filter;
use crate::session::stuck::Stuck;
use crate::system::env::Env;
use crate::view::render::document::{write_line, write_object};
use crate::view::render::json::{SessionDetailsJson, SessionJson};
use crate::view::render::rows::RowWriter;
use crate::view::render::show;
use crate::view::ui::Ui;

pub(crate) fn run(args: &ShowArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let filter = super::filter(&args.filter, true, env)?;
    if args.path {
        return print_path(args, &filter, env, ui);
    }
    if args.archived {
        return super::archive::show_session(args, &filter, env, ui);
    }
    super::warn_of_interrupted(env, ui);
    let wants = MessageRange::from_args(args);
    let wants_all_only = matches!(wants, MessageRange::All(_)) && args.format.is_table();
    let max_counted = if args.counts { u64::MAX } else { LONG_TO_COUNT };
    let scope = ScanScope { counts: !wants_all_only, usage: true, max_counted, ..ScanScope::THOROUGH };
    let selector = super::selector(&args.session)?;
    let mut finder = find::Finder::new(&filter, scope, env, ui);
    let found = finder.unambiguous(&selector);
    let found = match finder.or_picked(found, "show") {
        Err(error)
            if args.copy.is_none()
                && is_not_found(&error)
                && !(has_candidates(&error) && args.archive_dir.is_none()) =>
        {
            // The session may be only in the archive; if it is not there either, the error about the stores is
            // reported.
            return match super::archive::show_session(args, &filter, env, ui) {
                Err(in_archive) if is_not_found(&in_archive) => Err(error),
                shown => shown,
            };
        }
        found => found?,
    };
    let mut session = found.session()?;
    if let Some(copy) = &args.copy {
        find::take_copy(&mut session, copy, env)?;
    }
    agent::mark_writers(&mut [&mut session.copies[0]]);
    session.assess();
    if !wants_all_only {
        let made = subagents::made_by(&session, env);
        subagents::note_made(&mut session, &made);
    }
    if !wants_all_only {
        note_outputs(&mut session, env, ui);
        if let Some(agent) = agent::by_kind(session.agent).filter(|_| session.copy().transcript_bytes <= max_counted) {
            // A file that cannot be read has unknown usage; the session reports the file.
            let _ = agent::read_usage(agent, &mut session.copies[0]);
        }
    }
    if let Some(stuck) = Some(&session).filter(|_| !wants_all_only).and_then(|session| stuck::of(session.copy())) {
        session.is_stuck = true;
        session.copies[0].notes.push(note_of(&stuck, env));
    }
    super::labels(env, ui).mark(std::slice::from_mut(&mut session));
    let rewinds = Rewinds::read(env);
    let exists = |id: &&str| !scan::locate_id(env, &[session.agent], id).places.is_empty();
    session.rewound_as = rewinds.made_from(&session).filter(exists).map(Into::into);
    processes::note_processes(std::slice::from_mut(&mut session));
    let left_out = LeftOut::default();
    wants.check(session.copy())?;
    let branches = if args.lists_branches { Some(messages::branches(session.copy())?) } else { None };
    if let Some(branches) = branches.as_deref().filter(|_| !args.format.for_text().is_json()) {
        return list_branches(branches, args.format.for_text(), env, ui);
    }
    let of_branches = branches.as_deref();
    match args.format.for_text() {
        Format::Table => write_text(&session, &wants, wants_all_only, &left_out, env, ui)?,
        Format::Json => write_object(ui.data(), "session", details(&session, of_branches, &wants, &left_out, env))?,
        Format::Ndjson => write_ndjson(&session, of_branches, &wants, &left_out, env, ui.data())?,
        format => {
            let mut rows = RowWriter::new(ui.data(), format);
            write_ndjson(&session, None, &wants, &left_out, env, &mut rows)?;
            rows.finish()?;
        }
    }
    ui.flush()?;
    if wants_all_only && env.terminal.stdout {
        messages::branch_note(session.copy(), args.branches.filter()).iter().for_each(|note| ui.print_note(note));
    }
    Ok(left_out.exit(ui))
}

/// Prints the path of the copy that a resume would use, or that the user names.
fn print_path(args: &ShowArgs, filter: &Filter, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let selector = super::selector(&args.session)?;
    let session = find::Finder::new(filter, ScanScope::RESUME, env, ui).find_one("print path", &selector)?.session()?;
    let session = find::with_a_copy(session, args.copy.as_ref(), "show --path", env, ui)?;
    let path = &session.copy().place.path;
    // Scripts read this line as the path, so print the exact path or nothing.
    let line = path.to_str().filter(|path| shown::is_harmless(path)).ok_or_else(|| {
        let message =
            format!("the path has characters that no line can hold: {}", text::field(&path.to_string_lossy()));
        Refusal::new(RefusalCode::PathNotText, message)
    })?;
    writeln!(ui.data(), "{line}")?;
    ui.flush()?;
    Ok(Exit::Ok)
}

/// Returns the note on a stuck conversation.
fn note_of(stuck: &Stuck, env: &Env) -> String {
    let doctor = in_home("rejoin doctor --check stuck-session", &env.invocation.elsewhere);
    format!("{}; `{doctor}` names the way out", stuck.in_words())
}

/// Notes the output of a session's background tasks, which is not a part of its size.
fn note_outputs(session: &mut Session, env: &Env, ui: &mut Ui) {
    let outputs = agent::Outputs::read(env);
    super::warn_of_problems(ui, env, &outputs.problems);
    for dir in outputs.dirs_of_session(session.agent, &session.copies[0].place.id) {
        let size = text::size(agent::tree_size(dir));
        session.copies[0].notes.push(format!("its background tasks left {size} of output in {}", dir.display()));
    }
}

fn is_not_found(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refusal>().is_some_and(|refusal| refusal.exit == Exit::NotFound)
}

/// Returns whether an error names sessions of the stores.
fn has_candidates(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refusal>().is_some_and(|refusal| !refusal.candidates.is_empty())
}

fn write_text(
    session: &Session,
    wants: &MessageRange,
    messages_only: bool,
    left_out: &LeftOut,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let styles = ui.styles;
    ui.page(env)?;
    if !messages_only {
        let ready = find::ready(session, &LaunchRequest::default(), env);
        show::session(ui.data(), env, &styles, session, &ready)?;
        if !matches!(wants, MessageRange::None) {
            writeln!(ui.data())?;
        }
    }
    messages::each_message(session.copy(), wants, left_out, &mut |message| {
        Ok(show::message(ui.data(), env, &styles, message)?)
    })
}

fn list_branches(branches: &[Branch], format: Format, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let styles = ui.styles;
    if format == Format::Table {
        ui.page(env)?;
        show::branches(ui.data(), env, &styles, branches)?;
    } else {
        let mut rows = RowWriter::new(ui.data(), format);
        branches.iter().try_for_each(|branch| write_line(&mut rows, branch))?;
        rows.finish()?;
    }
    ui.flush()?;
    Ok(Exit::Ok)
}

fn write_ndjson(
    session: &Session,
    branches: Option<&[Branch]>,
    wants: &MessageRange,
    left_out: &LeftOut,
    env: &Env,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    // The header is the answer without its messages, which follow line by line.
    write_object(out, "session", details(session, branches, &MessageRange::None, left_out, env))?;
    messages::write_ndjson(session.copy(), wants, left_out, out)
}

/// The answer as one object whose messages are streamed, so that a long transcript is never in memory.
pub(super) fn details<'a>(
    session: &'a Session,
    branches: Option<&'a [Branch]>,
    wants: &'a MessageRange,
    left_out: &'a LeftOut,
    env: &'a Env,
) -> impl Serialize + 'a {
    struct ShowDetails<'a>(&'a Session, Option<&'a [Branch]>, &'a MessageRange, &'a LeftOut, &'a Env);
    impl Serialize for ShowDetails<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let Self(session, branches, wants, left_out, env) = self;
            let plan = launch::plan(session, &LaunchRequest::default(), env).ok();
            let sources = Field::OF_JSON.into_iter().flatten().filter_map(|field| {
                let source = field.fact(session)?.source;
                (!source.is_empty()).then_some((field.name(), source))
            });
            let answer = SessionDetailsJson {
                session: SessionJson::new(session, plan.as_ref()),
                sources: sources.collect(),
                evidence: &session.copy().evidence,
                notes: &session.copy().notes,
                branches: *branches,
                messages: Stream(session.copy(), wants, left_out),
            };
            answer.serialize(serializer)
        }
    }
    ShowDetails(session, branches, wants, left_out, env)
}
