//! `rejoin archive`, and the archive in `list` and `show`.

use std::collections::HashSet;
use std::io::Write as _;

use crate::archive::machine::MachineNotes;
use crate::archive::unpacked::UnpackedSession;
use crate::archive::verify;
use crate::archive::write::ArchiveOptions;
use crate::archive::{Archive, write as apply};
use crate::cli::{ArchiveArgs, FilterArgs, Format, ListArgs, ShowArgs};
use crate::commands::listing;
use crate::commands::messages::{self, LeftOut, MessageRange, Stream};
use crate::commands::subagents::inner;
use crate::commands::{find, no_match, query};
use crate::error::{Exit, Refusal, RefusalCode};
use crate::scan::expiry::Retentions;
use crate::scan::{self, Places, ScanScope};
use crate::session::matching::Query;
use crate::session::select::{Filter, ShortIds};
use crate::session::{AgentKind, Problem, Session, SessionKind};
use crate::system::env::Env;
use crate::system::reach;
use crate::view::render::archive as render;
use crate::view::render::archive::{ArchivedList, ArchivedSession};
use crate::view::render::rows::RowWriter;
use crate::view::render::show;
use crate::view::ui::Ui;

pub(crate) fn run(args: &ArchiveArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let archive = Archive::open(env, args.archive_dir.as_deref());
    if args.verify {
        return verify(args, &archive, env, ui);
    }
    if !args.dry_run {
        super::recover_first("archive", args.lock, env, ui)?;
    }
    let (sessions, unread) = chosen(args, env, ui)?;
    let options = ArchiveOptions {
        is_dry_run: args.dry_run,
        is_full: args.full,
        // A command that repairs one session may run while a part of the archive is still being transferred.
        forgets_missing: args.full && args.every,
        patience: args.lock.lock_timeout,
    };
    let mut progress = ui.progress("Archiving", sessions.len());
    let mut report = apply::archive(&sessions, &archive, options, None, env, &mut |done| progress.show_done(done))?;
    (report.unread, report.is_whole) = (unread, args.detail.all_items);
    drop(progress);
    for warning in &report.warnings {
        ui.warn(warning);
    }
    ui.answer(args.format, env, &render::answer(&report, env))?;
    Ok(if report.is_whole() { Exit::Ok } else { Exit::Partial })
}

/// Reads the wanted sessions, each with its sub-agents. Returns also the paths that could not be read, if the sessions
/// were not named: any of these paths may have a wanted session.
fn chosen(args: &ArchiveArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<(Vec<Session>, Vec<Problem>)> {
    let named = FilterArgs { place: args.place.clone(), older_than: args.older_than, ..FilterArgs::default() };
    let filter = super::filter(&named, true, env)?;
    if args.sessions.is_empty() {
        let read = |places: Places| places.read_with_dirs(env, &filter, ScanScope::GLANCE);
        let mut scan = super::read(&filter.agents, env, ui, read);
        let inner = inner(&scan.sessions);
        let mut retentions = Retentions::new(env);
        let until = args.expiring.map(|time| env.clock.later(time));
        scan.sessions.retain_mut(|session| {
            !inner.contains(&session.key())
                && !session.copy().is_empty()
                && filter.matches(session)
                && until.is_none_or(|until| retentions.expiry(&mut session.copies[0]).is_some_and(|at| at <= until))
        });
        if scan.sessions.is_empty() {
            no_match::note_of_filters(&filter, env, ui);
        }
        return Ok((scan.sessions, scan.problems));
    }
    let mut sessions = find::Finder::new(&filter, ScanScope::RESUME, env, ui).find_all("archive", &args.sessions)?;
    let agents: Vec<AgentKind> = sessions.iter().map(|session| session.agent).collect();
    let showing = ui.watch("Reading");
    let others = scan::locate(env, &agents).watched(showing.watcher()).read_all(env, ScanScope::GLANCE).sessions;
    drop(showing);
    let inner = inner(&others);
    let mut known: HashSet<(AgentKind, String)> = HashSet::new();
    sessions.retain(|session| known.insert(session.key()));
    // The agent finds sub-agents by the name of their parent.
    let mut rest: Vec<Session> =
        others.into_iter().filter(|session| session.copy().kind == SessionKind::Subagent).collect();
    rest.retain(|session| !inner.contains(&session.key()));
    while let Some(at) = rest.iter().position(|session| {
        let parent = session.copy().parent_id.clone();
        parent.is_some_and(|parent| known.contains(&(session.agent, parent)))
    }) {
        let session = rest.swap_remove(at);
        if known.insert(session.key()) {
            sessions.push(session);
        }
    }
    Ok((sessions, Vec::new()))
}

fn verify(args: &ArchiveArgs, archive: &Archive, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    must_be_there(archive, env)?;
    let notes = MachineNotes::read(archive.root(), env).map_err(anyhow::Error::msg)?;
    let verdict = verify::verify(archive, &notes);
    ui.answer(args.format, env, &verdict)?;
    Ok(if verdict.faults.is_empty() { Exit::Ok } else { Exit::Findings })
}

/// Refuses an archive directory that is missing: an unmounted volume must not be taken for an empty one.
pub(super) fn must_be_there(archive: &Archive, env: &Env) -> Result<(), Refusal> {
    let root = archive.root();
    if reach::is_dir(root) == Some(true) || (*root == *Archive::default_dir(env) && reach::answers(root)) {
        return Ok(());
    }
    if let Err(error) = reach::refuse_silent(root) {
        let message = format!("cannot read the archive in {}: {error}", root.display());
        return Err(Refusal { exit: Exit::Failure, ..Refusal::new(RefusalCode::NoArchive, message) });
    }
    let refusal = Refusal::new(RefusalCode::NoArchive, format!("there is no archive in {}", root.display()));
    Err(match root.parent().filter(|parent| reach::is_dir(parent) == Some(false)) {
        Some(parent) => refusal.hint(format!("{} does not exist; mount the disk that it is on", parent.display())),
        None => refusal,
    })
}

/// Lists the archived sessions, with the filters and orders of `list`.
pub(super) fn list(args: &ListArgs, filter: &Filter, query: &Query, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let archive = Archive::open(env, args.archive_dir.as_deref());
    must_be_there(&archive, env)?;
    let holdings = archive.holdings();
    super::warn_of_problems(ui, env, &holdings.problems);
    let mut sessions = holdings.newest_sessions();
    let layout = listing::layout(args, || ShortIds::from_sessions(&sessions), &env.terminal);
    super::labels(env, ui).mark_archived(&mut sessions);
    sessions.retain(|session| !args.has_words() || query::are_in(query, session, env));
    let hidden = listing::put_in_order(&mut sessions, filter, args.order());
    let beyond_limit = listing::cut(&mut sessions, args);
    let states = sessions.iter().filter_map(|session| {
        let states = holdings.sessions.get(&session.key())?;
        Some((states.as_slice(), &states.last()?.manifest))
    });
    let states = states.collect();
    let problems = &holdings.problems;
    let mut listing =
        ArchivedList { archive: &archive, sessions: &sessions, states, layout, hidden, beyond_limit, problems };
    let mut show = |count: usize| {
        (listing.sessions, listing.beyond_limit) = (&sessions[..count], beyond_limit + sessions.len() - count);
        ui.height_of(&render::list_notes(&listing, env))
    };
    let shown = listing::screenful(&sessions, args, &env.terminal, &mut show);
    show(shown);
    listing.states.truncate(shown);
    ui.answer(listing::document(args), env, &listing)?;
    if listing::says_more(args, &env.terminal) {
        render::list_notes(&listing, env).iter().for_each(|note| ui.print_note(note));
    }
    Ok(Exit::Ok)
}

/// Shows an archived session from its manifest, and its messages from a temporary copy.
pub(super) fn show_session(args: &ShowArgs, filter: &Filter, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let archive = Archive::open(env, args.archive_dir.as_deref());
    let holdings = archive.holdings();
    let states = find::archived(&super::selector(&args.session)?, filter, (&archive, &holdings), env)?;
    let state = find::state(states, args.state.as_ref(), &archive)?;
    let session = state.session();
    let shown = ArchivedSession { archive: &archive, session: &session, states, state };
    let styles = ui.styles;
    let wants = MessageRange::from_args(args);
    let format = args.format.for_text();
    if format == Format::Table {
        ui.page(env)?;
    }
    if let MessageRange::None = wants {
        match format {
            Format::Table => render::show_text(ui.data(), env, &styles, &shown)?,
            Format::Json => render::show_json(ui.data(), &shown, ())?,
            Format::Ndjson => render::show_ndjson(ui.data(), &shown)?,
            Format::Tsv | Format::Csv => {
                let mut rows = RowWriter::new(ui.data(), format);
                render::show_ndjson(&mut rows, &shown)?;
                rows.finish()?;
            }
        }
        ui.flush()?;
        return Ok(Exit::Ok);
    }
    let unpacked = UnpackedSession::unpack(state, &archive, env)?;
    let copy = state.copy_in(unpacked.root());
    wants.check(&copy)?;
    let left_out = LeftOut::default();
    match format {
        Format::Table => {
            if matches!(wants, MessageRange::Last(..)) {
                render::show_text(ui.data(), env, &styles, &shown)?;
                writeln!(ui.data())?;
            }
            messages::each_message(&copy, &wants, &left_out, &mut |message| -> anyhow::Result<()> {
                Ok(show::message(ui.data(), env, &styles, message)?)
            })?;
        }
        Format::Json => render::show_json(ui.data(), &shown, Stream(&copy, &wants, &left_out))?,
        Format::Ndjson => {
            render::show_head(ui.data(), &shown)?;
            messages::write_ndjson(&copy, &wants, &left_out, ui.data())?;
        }
        Format::Tsv | Format::Csv => {
            let mut rows = RowWriter::new(ui.data(), format);
            render::show_head(&mut rows, &shown)?;
            messages::write_ndjson(&copy, &wants, &left_out, &mut rows)?;
            rows.finish()?;
        }
    }
    ui.flush()?;
    Ok(left_out.exit(ui))
}
