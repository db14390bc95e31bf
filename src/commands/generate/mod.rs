//! `rejoin generate`: man pages, schemas, columns of tables and tables of agents, made from the program's own definitions.

mod examples;
mod flags;
mod man;
mod schemas;

use std::io::Write;

use clap::{Command, CommandFactory as _, ValueEnum as _};

use crate::agent::unread::{UNREAD, Unread};
use crate::cli::{Cli, GenerateArgs, Generated};
use crate::error::{Exit, Refusal, RefusalCode};
use crate::session::AgentKind;
use crate::view::render::agents;
use crate::view::ui::Ui;

pub(crate) fn run(args: &GenerateArgs, ui: &mut Ui) -> anyhow::Result<Exit> {
    let names = names(args.what);
    match &args.name {
        None => names.iter().try_for_each(|name| writeln!(ui.data(), "{name}"))?,
        Some(name) if names.iter().any(|known| known == name) => {
            let text = match args.what {
                Generated::Man => man::page(name)?,
                Generated::Flags => flags::page().into_bytes(),
                Generated::Schema => schemas::schema(name)?.into_bytes(),
                Generated::Columns => schemas::columns(name)?.into_bytes(),
                Generated::Agents => {
                    AgentKind::from_str(name, false).map(agents::markdown).unwrap_or_default().into_bytes()
                }
                Generated::NotRead => {
                    UNREAD.iter().filter(|unread| unread.id == name).map(Unread::row).collect::<String>().into_bytes()
                }
            };
            ui.data().write_all(&text)?;
        }
        Some(name) => {
            let refusal = Refusal::new(RefusalCode::Usage, format!("cannot generate {name}"));
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
        Generated::Flags => vec!["page".to_owned()],
        Generated::Schema => schemas::names(),
        Generated::Columns => schemas::engines(),
        Generated::Agents => AgentKind::value_variants().iter().map(|kind| kind.name().to_owned()).collect(),
        Generated::NotRead => UNREAD.iter().map(|unread| unread.id.to_owned()).collect(),
    }
}

/// Lists the page of a command and those of its subcommands.
fn add_pages(command: &Command, name: &str, pages: &mut Vec<String>) {
    pages.push(name.to_owned());
    for part in command.get_subcommands().filter(|part| !part.is_hide_set()) {
        add_pages(part, &format!("{name}-{}", part.get_name()), pages);
    }
}

/// Finds the command of a page; names of commands may contain a hyphen.
fn command_of<'c>(command: &'c Command, name: &str) -> Option<&'c Command> {
    command.get_subcommands().find_map(|part| match name.strip_prefix(part.get_name())? {
        "" => Some(part),
        rest => command_of(part, rest.strip_prefix('-')?),
    })
}
