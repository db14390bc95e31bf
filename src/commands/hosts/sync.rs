//! `sync --host`: the archives of two machines exchange objects, before and after a sync on both.

use std::collections::BTreeSet;
use std::path::Path;

use crate::archive::sync::exchange::{MOST_LINE, line, receive};
use crate::archive::sync::machines;
use crate::archive::{Archive, write};
use crate::change::apply::private_dir::PrivateDir;
use crate::cli::SyncArgs;
use crate::commands::hosts::Asking;
use crate::commands::sync::{WANT, listed, sync};
use crate::error::{Exit, Refusal, RefusalCode};
use crate::fleet;
use crate::fleet::command::Manner;
use crate::system::disk::{Access, Disk as _, For, Handle, System};
use crate::system::fsio;
use crate::view::ui::Ui;

pub(super) fn run(args: &SyncArgs, asking: &Asking<'_>, ui: &mut Ui) -> anyhow::Result<Exit> {
    let env = asking.env;
    let of_one = args.place.dir.is_some() || !args.place.tag.is_empty() || !args.map.is_empty();
    if of_one || args.change.dry_run || args.change.apply.is_some() {
        let message = "sync --host takes no directories, tags or plans, which are those of one machine";
        return Err(Refusal::new(RefusalCode::Usage, message)
            .hint("choose with --agent, and put directories into sync.map of the config file on each machine")
            .into());
    }
    sync(args, env, ui, |_, _| Ok(()))?;
    let archive = Archive::of(env, args.archive_dir.as_deref());
    let ours = listed(&archive);
    let mut theirs: Vec<String> = Vec::new();
    ask(args, asking, "list", None, ui, |line| {
        theirs.push(line);
        Ok(())
    })?;
    let upload = PrivateDir::make(env)?;
    let path = upload.path().join("upload");
    write_upload(&path, &archive, &ours, &theirs, upload.open())?;
    let own = machines::own_name(env).map_err(anyhow::Error::msg)?.unwrap_or_default();
    {
        let _lock = write::lock(&archive, env, args.change.lock.lock_timeout)?;
        ask(args, asking, "exchange", Some(&path), ui, |line| receive(&archive, &own, &line).map(drop))?;
    }
    sync(args, env, ui, |answer, ui| Ok(ui.answer(args.format, env, answer)?))
}

/// Writes the input of the other machine: the objects wanted from it, and those that it lacks.
fn write_upload(
    path: &Path,
    archive: &Archive,
    ours: &[String],
    theirs: &[String],
    (disk, dir): (&System, &Handle),
) -> anyhow::Result<()> {
    let file = disk.open((dir, path.file_name().unwrap_or_default()), For::New(Access::Private))?;
    let add = |text: String| disk.add(&file, format!("{text}\n").as_bytes());
    let (known, wanted): (BTreeSet<&String>, BTreeSet<&String>) = (theirs.iter().collect(), ours.iter().collect());
    for object in theirs.iter().filter(|object| !wanted.contains(object)) {
        add(format!("{WANT}{object}"))?;
    }
    for object in ours.iter().filter(|object| !known.contains(object)) {
        if let Some(text) = line(archive, object)? {
            add(text)?;
        }
    }
    Ok(())
}

/// Asks the other machine for a part of the sync, and takes each line of its answer.
fn ask(
    args: &SyncArgs,
    asking: &Asking<'_>,
    part: &str,
    input: Option<&Path>,
    ui: &mut Ui,
    mut take: impl FnMut(String) -> Result<(), String>,
) -> anyhow::Result<()> {
    let host = asking.host();
    let agents = args.place.agents.agent.iter().flat_map(|agent| ["--agent".to_owned(), agent.name().to_owned()]);
    let words: Vec<String> = ["sync", "--serve", part].map(str::to_owned).into_iter().chain(agents).collect();
    // A question would be a part of the answer.
    let manner = Manner { is_asked: false, columns: None, has_colors: false, ..asking.manner };
    let input = input.map(|path| fsio::open_regular(path).map(|(file, _)| file)).transpose()?;
    let mut answering = fleet::ask_with(&asking.hosts, &words, input.as_ref(), manner, asking.env)?;
    let Some(mut answering) = answering.pop() else { return Ok(()) };
    let fail = |why: String| {
        Refusal::new(RefusalCode::HostFailed, format!("{}: {why}", host.name))
            .hint("what was exchanged before is in both archives; run the same command again")
    };
    while let Some(text) = answering.line(MOST_LINE) {
        take(text).map_err(fail)?;
    }
    let ended = answering.end();
    ui.relay(&host.name, &ended.said);
    let is_answered =
        ended.status.is_some_and(|status| [Exit::Ok, Exit::Partial].iter().any(|exit| exit.code() == status));
    match ended.fault {
        Some(why) => Err(fail(why).into()),
        None if !is_answered => Err(fail("its sync failed".to_owned()).into()),
        None => Ok(()),
    }
}
