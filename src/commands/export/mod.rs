//! `rejoin export`

mod chosen;
mod target;

use std::cell::Cell;
use std::io::{self, Write};
use std::path::Path;

use crate::archive::Archive;
use crate::archive::unpacked::UnpackedSession;
use crate::cli::{ExportArgs, ExportFormat};
use crate::commands::messages::{self, LeftOut, MessageRange, Stream};
use crate::commands::{show, subagents};
use crate::error::{Exit, PathError, Refusal, RefusalCode};
use crate::format::{command_line, text};
use crate::session::branches::BranchFilter;
use crate::session::{Role, SessionCopy};
use crate::system::disk::{self, Access, Disk as _, SYSTEM, Saving};
use crate::system::env::Env;
use crate::view::render::archive::{ArchivedSession, show_json};
use crate::view::render::document::write_object;
use crate::view::render::export::{ExportPage, ExportedSession, HtmlPage, MarkdownPage, html_index, markdown_index};
use crate::view::render::table;
use crate::view::ui::Ui;
use chosen::Chosen;
use target::ExportTarget;

pub(crate) fn run(args: &ExportArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let chosen = chosen::chosen(args, env, ui)?;
    let target = ExportTarget::from_args(args, &chosen, env)?;
    let format = target.format(args);
    let messages = MessageRange::All(args.branches.filter());
    let exporter = Exporter { format, messages, archive: &Archive::open(env, args.archive_dir.as_deref()), env };
    let left_out = LeftOut::default();
    match &target {
        ExportTarget::Output => {
            let [one] = chosen.as_slice() else { return Err(too_many(env).into()) };
            exporter.write(ui.data(), one, &left_out)?;
            ui.flush()?;
            messages::branch_note(one.session.copy(), args.branches.filter())
                .iter()
                .for_each(|note| ui.print_note(note));
        }
        ExportTarget::File(path) => {
            let [one] = chosen.as_slice() else { return Err(no_dir(path).into()) };
            save(path, |out| exporter.write(out, one, &left_out).map(drop))?;
            ui.print_note(&format!("Exported 1 session to {}.", path.display()));
            messages::branch_note(one.session.copy(), args.branches.filter())
                .iter()
                .for_each(|note| ui.print_note(note));
        }
        ExportTarget::Dir(dir) => return directory(dir, &chosen, &exporter, args.overwrite, ui),
    }
    Ok(left_out.exit(ui))
}

/// Writes one file per session, and an index of those that could be written.
fn directory(
    dir: &Path,
    chosen: &[Chosen],
    exporter: &Exporter<'_>,
    is_forced: bool,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    let Exporter { format, env, .. } = exporter;
    let format = *format;
    let names = target::names(chosen, format, env);
    let index = format!("index.{}", format.ending());
    if !is_forced {
        // Sessions as JSON have no index.
        let index = Some(&index).filter(|_| format != ExportFormat::Json);
        names.iter().chain(index).try_for_each(|name| target::refuse_existing(&dir.join(name), env))?;
    }
    make_dir(dir).map_err(|error| PathError::new("create", dir, error))?;
    let (mut exit, mut entries) = (Exit::Ok, Vec::new());
    let mut progress = ui.progress("Exporting", chosen.len());
    let mut warnings = Vec::new();
    for (at, (one, name)) in chosen.iter().zip(names).enumerate() {
        let (left_out, message_count) = (LeftOut::default(), Cell::new(0));
        let saved =
            save(&dir.join(&name), |out| exporter.write(out, one, &left_out).map(|count| message_count.set(count)));
        match saved {
            Ok(()) => entries.push(entry(one, name, message_count.get(), env)),
            Err(error) => {
                warnings.push(format!("{} session {}: {error:#}", one.session.agent, one.session.id()));
                exit = Exit::Partial;
            }
        }
        if let Some(error) = left_out.take_error() {
            warnings.push(format!("{} session {}: {error}", one.session.agent, one.session.id()));
            exit = Exit::Partial;
        }
        progress.show_done(at + 1);
    }
    drop(progress);
    warnings.iter().for_each(|warning| ui.warn(warning));
    let index = dir.join(index);
    match format {
        ExportFormat::Html => save(&index, |mut out| Ok(html_index(&mut out, &entries)?))?,
        ExportFormat::Markdown => save(&index, |mut out| Ok(markdown_index(&mut out, &entries)?))?,
        ExportFormat::Json => {}
    }
    let count = text::count(entries.len(), "session");
    ui.print_note(&match format {
        ExportFormat::Json => format!("Exported {count} to {}.", dir.display()),
        _ => format!("Exported {count} to {}; begin with {}.", dir.display(), index.display()),
    });
    Ok(exit)
}

/// Writes the sessions of one run.
struct Exporter<'a> {
    format: ExportFormat,
    messages: MessageRange,
    archive: &'a Archive,
    env: &'a Env,
}

impl Exporter<'_> {
    /// Writes one session with its sub-agents; returns the number of messages.
    fn write(&self, mut out: &mut dyn Write, one: &Chosen, left_out: &LeftOut) -> anyhow::Result<u64> {
        let unpacked = match &one.archived {
            Some(state) => Some((state, UnpackedSession::unpack(&state.manifest, self.archive, self.env)?)),
            None => None,
        };
        let in_archive = unpacked.as_ref().map(|(state, unpacked)| (*state, state.manifest.copy_in(unpacked.root())));
        let copy = in_archive.as_ref().map_or(one.session.copy(), |(_, copy)| copy);
        let messages = &self.messages;
        messages.check(copy)?;
        match (self.format, &in_archive) {
            (ExportFormat::Markdown, _) => {
                pages(&mut MarkdownPage::new(out, self.env), one, (copy, messages), left_out)
            }
            (ExportFormat::Html, _) => pages(&mut HtmlPage::new(out, self.env), one, (copy, messages), left_out),
            (ExportFormat::Json, Some((state, copy))) => {
                let (session, states, state) = (&one.session, std::slice::from_ref(*state), &state.manifest);
                let shown = ArchivedSession { archive: self.archive, session, states, state };
                show_json(&mut out, &shown, Stream(copy, messages, left_out))?;
                Ok(0)
            }
            (ExportFormat::Json, None) => {
                let mut session = one.session.clone();
                subagents::note_made(&mut session, &one.subagents);
                let details = show::details(&session, None, messages, left_out, self.env);
                write_object(&mut out, "session", details)?;
                Ok(0)
            }
        }
    }
}

fn pages(
    page: &mut dyn ExportPage,
    one: &Chosen,
    (copy, messages): (&SessionCopy, &MessageRange),
    left_out: &LeftOut,
) -> anyhow::Result<u64> {
    let mut count = 0;
    let mut write_messages = |page: &mut dyn ExportPage, copy: &SessionCopy, messages: &MessageRange| {
        messages::each_message(copy, messages, left_out, &mut |message| -> anyhow::Result<()> {
            count += u64::from(message.role != Role::Tool);
            Ok(page.message(message)?)
        })
    };
    page.begin(&one.session, &one.subagents)?;
    write_messages(page, copy, messages)?;
    for (at, subagent) in one.subagents.iter().enumerate() {
        page.subagent(at + 1, subagent)?;
        // A sub-agent that cannot be read does not stop its session's export.
        if let Err(error) = write_messages(page, subagent.copy(), &MessageRange::All(BranchFilter::Active)) {
            left_out.record_error(error.downcast()?);
        }
    }
    page.end()?;
    Ok(count)
}

fn entry(one: &Chosen, file: String, messages: u64, env: &Env) -> ExportedSession {
    let copy = one.session.copy();
    let dir = copy.launch_dir.as_ref();
    ExportedSession {
        file,
        title: table::title(&one.session),
        agent: one.session.agent.name(),
        dir: dir.map(|dir| text::unbroken(&dir.value.to_string_lossy()).into_owned()).unwrap_or_default(),
        day: target::day(&one.session, &env.clock),
        messages,
    }
}

/// Creates a directory, or accepts an existing one. The directory above it must exist.
fn make_dir(dir: &Path) -> io::Result<()> {
    let (above, name) = disk::open_parent(&SYSTEM, dir)?;
    match SYSTEM.make_dir((&above, &name), Access::Usual) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => SYSTEM.open_for_writing(dir).map(drop),
        made => made,
    }
}

/// Writes a file completely, or leaves the old one.
fn save(path: &Path, write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut saving = Saving::begin(&SYSTEM, path, Access::Usual)?;
    write(&mut saving)?;
    saving.commit_soon()?;
    Ok(())
}

fn too_many(env: &Env) -> Refusal {
    let again = command_line::again(env, &[], &["--output", "rejoin-export"]);
    let message = "several sessions need a directory";
    Refusal::new(RefusalCode::Usage, message).hint(format!("run `{again}` to write them to a directory, one file each"))
}

fn no_dir(path: &Path) -> Refusal {
    let message = format!("several sessions need a directory, and {} is not one", path.display());
    Refusal::new(RefusalCode::Usage, message).hint("name a directory with --output")
}
