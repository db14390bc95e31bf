//! `rejoin generate`: man pages, completion scripts, schemas, columns of tables and tables of agents, made from the program's own definitions.

mod examples;
mod man;

use std::io::Write;

use clap::{Command, CommandFactory as _, ValueEnum as _};
use schemars::{Schema, schema_for};
use strum::VariantArray as _;

use crate::cli::{Cli, GenerateArgs, Generated};
use crate::commands::complete::{SHELLS, registration};
use crate::error::{Exit, Refusal};
use crate::session::{AgentKind, Message};
use crate::view::render::answer::document_schema;
use crate::view::render::columns::Engine;
use crate::view::render::{
    agents, archive, cleanup, config, hook, hosts, json, list, pins, relocate, save, search, stats, stores, trash, undo,
};
use crate::view::ui::Ui;

pub(crate) fn run(args: &GenerateArgs, ui: &mut Ui) -> anyhow::Result<Exit> {
    let names = names(args.what);
    match &args.name {
        None => names.iter().try_for_each(|name| writeln!(ui.data(), "{name}"))?,
        Some(name) if names.iter().any(|known| known == name) => {
            let text = match args.what {
                Generated::Man => man::page(name)?,
                Generated::Completions => completions(name)?,
                Generated::Schema => schema(name)?.into_bytes(),
                Generated::Columns => columns(name)?.into_bytes(),
                Generated::Agents => {
                    AgentKind::from_str(name, false).map(agents::markdown).unwrap_or_default().into_bytes()
                }
            };
            ui.data().write_all(&text)?;
        }
        Some(name) => {
            let refusal = Refusal::new(Exit::Usage, "usage", format!("cannot generate {name}"));
            return Err(refusal.hint(format!("choose one of: {}", names.join(", "))).into());
        }
    }
    ui.flush()?;
    Ok(Exit::Ok)
}

fn names(what: Generated) -> Vec<String> {
    match what {
        Generated::Man => {
            let mut pages = Vec::new();
            add_pages(&Cli::command(), "rejoin", &mut pages);
            pages
        }
        Generated::Completions => ["bash", "elvish", "fish", "powershell", "zsh"].map(str::to_owned).to_vec(),
        Generated::Schema => schemas().map(|(name, ..)| name.to_owned()).to_vec(),
        Generated::Columns => Engine::VARIANTS.iter().map(|engine| engine.name().to_owned()).collect(),
        Generated::Agents => AgentKind::value_variants().iter().map(|kind| kind.name().to_owned()).collect(),
    }
}

/// Lists the page of a command and those of what it is divided into.
fn add_pages(command: &Command, name: &str, pages: &mut Vec<String>) {
    pages.push(name.to_owned());
    for part in command.get_subcommands().filter(|part| !part.is_hide_set()) {
        add_pages(part, &format!("{name}-{}", part.get_name()), pages);
    }
}

/// Finds the command that a page is about; names of commands may hold a hyphen themselves.
fn command_of<'c>(command: &'c Command, name: &str) -> Option<&'c Command> {
    command.get_subcommands().find_map(|part| match name.strip_prefix(part.get_name())? {
        "" => Some(part),
        rest => command_of(part, rest.strip_prefix('-')?),
    })
}

fn completions(shell: &str) -> std::io::Result<Vec<u8>> {
    SHELLS.completer(shell).map_or_else(|| Ok(Vec::new()), registration)
}

fn schema(name: &str) -> anyhow::Result<String> {
    let schema = schemas().into_iter().find(|(known, ..)| *known == name);
    let schema = schema.map(|(_, kind, fields)| document_schema(kind, fields));
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

/// Returns what holds the sessions of many machines in an engine.
fn columns(name: &str) -> anyhow::Result<String> {
    let schema = serde_json::to_value(schema_for!(list::SessionListJson<'_>))?;
    let engine = Engine::VARIANTS.iter().find(|engine| engine.name() == name);
    let comment = "-- Made by `.ci/generate` from the JSON schema of `rejoin list --json`.\n";
    Ok(engine.map(|engine| format!("{comment}{}", engine.sessions(&schema))).unwrap_or_default())
}

/// Returns each answer's name, its kinds and the fields that are its own.
fn schemas() -> [(&'static str, &'static str, Schema); 30] {
    type Messages = Option<Vec<Message>>;
    [
        ("session-list", "`session-list`.", schema_for!(list::SessionListJson<'_>)),
        ("agent-list", "`agent-list`.", schema_for!(stores::AgentListJson<'_>)),
        ("stats", "`stats`.", schema_for!(stats::StatsJson<'_>)),
        ("session", "`session`.", schema_for!(json::SessionDetailsJson<'_, Messages>)),
        ("search", "`search`.", schema_for!(search::SearchJson<'_>)),
        ("resume-plan", "`resume-plan`.", schema_for!(json::ResumePlanJson<'_>)),
        ("last-launch", "`last-launch`.", schema_for!(json::LastLaunchJson<'_>)),
        ("backfill", "`backfill-plan` for a dry run, else `backfill-outcome`.", schema_for!(json::BackfillJson<'_>)),
        ("undo", "`undo-plan` for a dry run, else `undo-outcome`.", schema_for!(undo::UndoJson<'_>)),
        ("run-list", "`run-list`.", schema_for!(undo::RunListJson<'_>)),
        ("trash-list", "`trash-list`.", schema_for!(trash::TrashListJson<'_>)),
        ("purge", "`purge-plan` for a dry run, else `purge-outcome`.", schema_for!(trash::PurgeJson<'_, &[String]>)),
        ("doctor", "`doctor-report`.", schema_for!(json::doctor::DoctorJson<'_>)),
        ("doctor-checks", "`doctor-checks`.", schema_for!(json::doctor::ChecksJson)),
        (
            "doctor-fix",
            "`doctor-fix-plan` for a dry run, else `doctor-fix-outcome`.",
            schema_for!(json::change::FixJson<'_>),
        ),
        ("move", "`move-plan` for a dry run, else `move-outcome`.", schema_for!(relocate::MoveJson<'_>)),
        ("move-map", "`move-map`.", schema_for!(relocate::MoveMapJson<'_>)),
        ("change", "`change-plan` for a dry run, else `change-outcome`.", schema_for!(json::change::ChangeJson<'_>)),
        ("archive", "`archive-plan` for a dry run, else `archive-outcome`.", schema_for!(archive::ArchiveJson<'_>)),
        ("archive-list", "`archive-list`.", schema_for!(archive::ArchiveListJson<'_>)),
        ("archive-verify", "`archive-verify`.", schema_for!(archive::VerifyJson<'_>)),
        ("archived-session", "`archived-session`.", schema_for!(archive::ArchivedSessionJson<'_, Messages>)),
        ("cleanup", "`cleanup-plan` for a dry run, else `cleanup-outcome`.", schema_for!(cleanup::CleanupJson<'_>)),
        ("config", "`config`.", schema_for!(config::ConfigJson<'_>)),
        ("pins", "`pin-outcome`, or `pin-list` for `--list`.", schema_for!(pins::Pins<'_>)),
        ("save-outcome", "`save-outcome`.", schema_for!(save::SaveJson<'_>)),
        ("hook-change", "`hook-plan` with `--dry-run`, else `hook-outcome`.", schema_for!(hook::HookChangeJson<'_>)),
        ("hook-status", "`hook-status`.", schema_for!(hook::HookStatusJson)),
        ("host-answers", "`host-answers`.", schema_for!(hosts::HostAnswersJson<'_>)),
        ("error", "`error`.", schema_for!(json::ErrorJson<'_>)),
    ]
}
