//! The part of `sync --host` that runs on the other machine.

use std::io::{BufRead as _, Write as _};

use crate::archive::sync::exchange::{line, objects, receive};
use crate::archive::sync::machines;
use crate::archive::{Archive, write};
use crate::cli::{Serve, SyncArgs};
use crate::error::Exit;
use crate::system::env::Env;
use crate::view::ui::Ui;

/// The beginning of a line that names an object which the other machine wants.
pub(in crate::commands) const WANT: &str = "want ";

pub(super) fn run(part: Serve, args: &SyncArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let archive = Archive::of(env, args.archive_dir.as_deref());
    match part {
        Serve::List => {
            super::sync(args, env, ui, |_, _| Ok(()))?;
            for object in listed(&archive) {
                writeln!(ui.data(), "{object}")?;
            }
            ui.flush()?;
            Ok(Exit::Ok)
        }
        Serve::Exchange => {
            exchange(&archive, args, env, ui)?;
            super::sync(args, env, ui, |answer, ui| {
                ui.note(&answer.sentence(env));
                Ok(())
            })
        }
    }
}

/// Lists the objects of an archive.
pub(in crate::commands) fn listed(archive: &Archive) -> Vec<String> {
    objects(archive, &archive.holdings(), &archive.machines().0)
}

fn exchange(archive: &Archive, args: &SyncArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<()> {
    let own = machines::own_name(env).map_err(anyhow::Error::msg)?.unwrap_or_default();
    let mut wanted = Vec::new();
    {
        let _lock = write::lock(archive, env, args.change.lock.lock_timeout)?;
        for text in ui.input().lines() {
            let text = text?;
            match text.strip_prefix(WANT) {
                Some(object) => wanted.push(object.to_owned()),
                None => drop(receive(archive, &own, &text).map_err(anyhow::Error::msg)?),
            }
        }
    }
    for object in wanted {
        if let Some(text) = line(archive, &object)? {
            writeln!(ui.data(), "{text}")?;
        }
    }
    Ok(ui.flush()?)
}
