//! Man pages with the conventional sections in their usual order, including those that clap_mangen does not support.

use std::io::{self, Write};

use clap::{Arg, ArgAction, Command, CommandFactory as _};
use clap_mangen::Man;

use crate::cli::{Cli, examples};
use crate::error::EXIT_CODES;
use crate::verbs::{Example, Verb};

/// The files that rejoin reads or keeps itself.
const FILES: &[(&str, &str)] = &[
    ("~/.config/rejoin/config.toml", "what you want by default; only you write it (see rejoin\\-config(1))"),
    ("~/.local/state/rejoin", "journals of runs, the trash, pins, launches, and the lock"),
    ("~/.local/share/rejoin/archive", "the archive, unless the config file or \\-\\-archive\\-dir says otherwise"),
];

/// The variables that rejoin reads, except those of the agents.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("HOME", "the home directory whose sessions are looked at, unless \\-\\-home names another one"),
    ("PATH", "where the agents' programs are looked for"),
    ("PAGER", "the program that shows what is longer than the screen; none if it is cat or empty"),
    ("NO_COLOR, TERM", "no colours if the first is set or the second is dumb; \\-\\-color overrides both"),
    (
        "XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_DATA_HOME",
        "where the files below are, in place of ~/.config, ~/.local/state and ~/.local/share",
    ),
    ("CLICOLOR_FORCE", "colours in a pipe, too"),
    (
        "REJOIN_COLUMNS, REJOIN_HOST, REJOIN_ASKED",
        "the width of the screen that an answer ends at, what this host is called there, and that questions can be answered; \
         \\-\\-host sets them",
    ),
    ("REJOIN_NOW", "the time that counts as now, for tests"),
];

/// Lists the page of a command and those of its subcommands.
pub(super) fn add_pages(command: &Command, name: &str, pages: &mut Vec<String>) {
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

/// Returns the page of a command.
pub(super) fn page(name: &str) -> String {
    let mut page = Vec::new();
    write(name, &mut page).expect("a page");
    String::from_utf8(page).expect("text")
}

fn write(name: &str, out: &mut Vec<u8>) -> io::Result<()> {
    let mut command = Cli::command();
    command.build();
    let page = match name.strip_prefix("rejoin-").and_then(|name| command_of(&command, name)) {
        Some(part) => {
            let words = part.get_bin_name().unwrap_or(name).to_owned();
            part.clone().name(name.to_owned()).display_name(name).bin_name(words)
        }
        None => command.clone(),
    };
    let man = Man::new(page.clone().version(env!("CARGO_PKG_VERSION")));
    man.render_title(out)?;
    man.render_name_section(out)?;
    synopsis(out, &page)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if page.has_subcommands() {
        man.render_subcommands_section(out)?;
    }
    entries(out, "EXIT STATUS", EXIT_CODES.iter().map(|(code, meaning)| (code.to_string(), escaped(meaning))))?;
    let named = |list: &[(&str, &str)]| -> Vec<_> {
        list.iter().map(|(name, meaning)| (escaped(name), (*meaning).to_owned())).collect()
    };
    entries(out, "ENVIRONMENT", named(ENVIRONMENT))?;
    entries(out, "FILES", named(FILES))?;
    writeln!(out, ".SH EXAMPLES")?;
    for Example { line, meaning } in examples::examples_of_page(name) {
        writeln!(out, ".PP\n{}:\n.PP\n.nf\n.RS 4\n{}\n.RE\n.fi", escaped(meaning), escaped(line))?;
    }
    writeln!(out, ".SH \"SEE ALSO\"\n{}", see_also(name, &command).join(",\n"))?;
    man.render_version_section(out)?;
    Ok(())
}

/// Writes the synopsis: the required arguments, the command's own options with their values, then the global ones.
fn synopsis(out: &mut Vec<u8>, page: &Command) -> io::Result<()> {
    writeln!(out, ".SH SYNOPSIS\n.B {}", escaped(page.get_bin_name().unwrap_or("rejoin")))?;
    let shown = || page.get_arguments().filter(|arg| !arg.is_hide_set());
    let is_own = |arg: &&Arg| arg.get_help_heading().is_none() && !is_help(arg);
    for arg in shown().filter(|arg| !arg.is_positional()).filter(is_own) {
        writeln!(out, "{}", bracketed(arg, &option(arg)))?;
    }
    if shown().any(|arg| arg.get_help_heading().is_some()) {
        writeln!(out, "[\\fIGLOBAL OPTIONS\\fR]")?;
    }
    for arg in page.get_positionals() {
        let more = if arg.get_num_args().is_some_and(|range| range.max_values() > 1) { "…" } else { "" };
        let repeats = if matches!(arg.get_action(), ArgAction::Append) { "…" } else { more };
        writeln!(out, "{}", bracketed(arg, &format!("{}{repeats}", value(arg))))?;
    }
    if page.has_subcommands() {
        writeln!(out, "\\fICOMMAND\\fR")?;
    }
    Ok(())
}

fn is_help(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Help | ArgAction::HelpLong | ArgAction::HelpShort | ArgAction::Version)
}

fn bracketed(arg: &Arg, shown: &str) -> String {
    if arg.is_required_set() { shown.to_owned() } else { format!("[{shown}]") }
}

fn option(arg: &Arg) -> String {
    let short = arg.get_short().map(|letter| format!("\\fB\\-{letter}\\fR"));
    let long = arg.get_long().map(|long| format!("\\fB\\-\\-{}\\fR", escaped(long)));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let repeats = if matches!(arg.get_action(), ArgAction::Append) { "…" } else { "" };
    if arg.get_action().takes_values() {
        format!("{} {}{repeats}", names.join("|"), value(arg))
    } else {
        names.join("|")
    }
}

fn value(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default().iter().map(|name| format!("\\fI{}\\fR", escaped(name)));
    names.collect::<Vec<_>>().join(" ")
}

/// Writes a section of entries with their meanings.
fn entries(out: &mut Vec<u8>, title: &str, entries: impl IntoIterator<Item = (String, String)>) -> io::Result<()> {
    writeln!(out, ".SH \"{title}\"")?;
    entries.into_iter().try_for_each(|(name, meaning)| writeln!(out, ".TP\n{name}\n{meaning}"))
}

/// Names related pages.
fn see_also(page: &str, command: &Command) -> Vec<String> {
    let own = page.strip_prefix("rejoin-").unwrap_or_default();
    let verb = own.split('-').next().unwrap_or_default();
    let mut names: Vec<&str> = Vec::new();
    if verb.is_empty() {
        names.extend(command.get_subcommands().filter(|part| !part.is_hide_set()).map(Command::get_name));
    } else {
        names.push(verb);
        names.extend(Verb::named(verb).into_iter().flat_map(Verb::related).map(|verb| verb.name()));
    }
    let mut pages: Vec<String> = if verb.is_empty() { Vec::new() } else { vec!["rejoin".to_owned()] };
    for name in names.into_iter().filter(|name| *name != own) {
        let name = format!("rejoin-{name}");
        if !pages.contains(&name) {
            pages.push(name);
        }
    }
    pages.iter().map(|name| format!("\\fB{}\\fR(1)", escaped(name))).collect()
}

/// Escapes a text for roff.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
