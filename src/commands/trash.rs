//! `rejoin trash`

use crate::change::apply::state_dir;
use crate::cli::{FormatArgs, TrashArgs, TrashCommand, TrashPurgeArgs, TrashRestoreArgs};
use crate::error::{Candidate, Exit, Refusal, RefusalCode};
use crate::system::env::Env;
use crate::view::render::confirm;
use crate::view::render::trash as render;
use crate::view::ui::Ui;
use changes::trash::{self, Entry, Purge};
use changes::undo::Which;

pub(crate) fn run(args: &TrashArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    match &args.command {
        TrashCommand::List(format) => list(*format, env, ui),
        TrashCommand::Restore(args) => restore(args, env, ui),
        TrashCommand::Purge(args) => purge(args, env, ui),
    }
}

fn list(format: FormatArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let history = super::history(env, ui)?;
    let entries: Vec<Entry<'_>> = trash::entries(&history).collect();
    if entries.is_empty() && format.is_table() {
        ui.note("The trash is empty.");
    }
    ui.answer(format, env, entries.as_slice())?;
    Ok(Exit::Ok)
}

fn restore(args: &TrashRestoreArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let history = super::history(env, ui)?;
    let entries: Vec<Entry<'_>> = trash::entries(&history).collect();
    let entry = find(&args.entry, &entries)?;
    let which = Which::Named(entry.run.id.clone());
    super::undo::carry_out(&which, |record| record.item == entry.item, (args.dry_run, args.lock, args.format), env, ui)
}

/// Finds the entry of a name: RUN/NUMBER, the beginning of a session's id, or a part of its title.
fn find<'a>(name: &str, entries: &'a [Entry<'a>]) -> Result<&'a Entry<'a>, Refusal> {
    if let Some(entry) = entries.iter().find(|entry| render::name(entry) == name) {
        return Ok(entry);
    }
    let id = |entry: &Entry<'_>| entry.run.items[entry.item].0.id.clone().unwrap_or_default();
    let exact: Vec<_> = entries.iter().filter(|entry| id(entry) == name).collect();
    let begins: Vec<_> = entries.iter().filter(|entry| !name.is_empty() && id(entry).starts_with(name)).collect();
    let wanted = name.to_lowercase();
    let has_title = |entry: &&Entry<'_>| {
        let title = entry.run.items[entry.item].0.title.as_deref().unwrap_or_default();
        !name.is_empty() && title.to_lowercase().contains(&wanted)
    };
    let titled = entries.iter().filter(has_title).collect();
    match [exact, begins, titled].into_iter().find(|found| !found.is_empty()).unwrap_or_default().as_slice() {
        [only] => Ok(only),
        [] => Err(Refusal::new(RefusalCode::NotFound, format!("the trash has no entry {name}"))
            .hint("run `rejoin trash list` to see the entries")),
        several => {
            let candidates = several.iter().map(|entry| candidate(entry)).collect();
            let first = several[0].run.undo_of(several[0].item);
            Err(Refusal::new(RefusalCode::Ambiguous, format!("{name} matches several entries in the trash"))
                .hint(format!("restore one of them, such as with `{first}`"))
                .candidates(candidates))
        }
    }
}

fn candidate(entry: &Entry<'_>) -> Candidate {
    let (record, _) = &entry.run.items[entry.item];
    Candidate {
        select: render::name(entry),
        agent: record.agent.clone().unwrap_or_default(),
        id: record.id.clone().unwrap_or_default(),
        size_bytes: entry.size_bytes,
        path: record.steps.first().map(|step| step.path().display().to_string()).unwrap_or_default(),
        title: Some(record.named()),
        active_at: Some(entry.run.at.to_string()),
        ..Candidate::default()
    }
}

fn purge(args: &TrashPurgeArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let which = match args.older_than {
        Some(when) => Purge::Before(env.clock.before(when)),
        None if args.every => Purge::All,
        None => Purge::Runs(args.runs.clone()),
    };
    let history = super::history(env, ui)?;
    if let Purge::Runs(names) = &which
        && let Some(unknown) = names.iter().find(|name| !history.has(name))
    {
        return Err(Refusal::new(RefusalCode::NoSuchRun, format!("there is no run {unknown}"))
            .hint("run `rejoin undo --list` to see the runs")
            .into());
    }
    let doomed: Vec<_> = history.runs.iter().filter(|run| which.means(run)).collect();
    if args.dry_run {
        let purged = trash::preview(&history, &which);
        ui.answer(args.format, env, &purged)?;
        return Ok(if purged.failed.is_empty() { Exit::Ok } else { Exit::Partial });
    }
    if !doomed.is_empty() && !args.yes {
        let about: Vec<String> = doomed.iter().flat_map(|run| confirm::undo(run, env)).collect();
        let runs = crate::format::text::count(doomed.len(), "run");
        super::confirm_or_refuse(&about, &format!("Delete for good what {runs} removed?"), env, ui)?;
    }
    let purged = trash::purge(&state_dir::open(env, "trash purge", args.lock.lock_timeout)?, env.clock.now, &which)?;
    ui.answer(args.format, env, &purged)?;
    Ok(if purged.failed.is_empty() { Exit::Ok } else { Exit::Partial })
}
