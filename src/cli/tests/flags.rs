//! The page of all options, for docs/flags.md.

use std::collections::BTreeMap;

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use crate::cli::Cli;

/// The text above the table.
const HEAD: &str = "\
# Options

An option has one meaning in every command, and a meaning has one option. `.ci/generate` makes this page from their definitions.

| option | meaning | commands |
| --- | --- | --- |
";

/// The text above the second table.
const OF_ONE: &str = "
| command | options |
| --- | --- |
";

/// The commands of a global option.
const EVERY: &str = "every command";

/// Returns the page.
pub(super) fn page() -> String {
    let mut command = Cli::command();
    command.build();
    let mut rows: BTreeMap<(String, String, String), Vec<String>> = BTreeMap::new();
    for part in command.get_subcommands().filter(|part| !part.is_hide_set()) {
        let ends = part.get_subcommands().map(|end| (format!("{} {}", part.get_name(), end.get_name()), end));
        let ends: Vec<(String, &Command)> = ends.collect();
        let ends = if ends.is_empty() { vec![(part.get_name().to_owned(), part)] } else { ends };
        for (name, end) in ends {
            for arg in end.get_arguments().filter(|arg| arg.get_help_heading().is_none() && !arg.is_hide_set()) {
                if let Some(row) = row(arg) {
                    rows.entry(row).or_default().push(format!("`{name}`"));
                }
            }
        }
    }
    for arg in command.get_arguments().filter(|arg| arg.get_help_heading().is_some()) {
        rows.extend(row(arg).map(|row| (row, vec![EVERY.to_owned()])));
    }
    let (single, shared): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|(_, commands)| commands.len() == 1 && commands[0] != EVERY);
    let lines = shared.into_iter().map(|((_, option, meaning), commands)| {
        format!("| {} | {} | {} |\n", cell(&option), cell(&meaning), commands.join(", "))
    });
    let mut of_one: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for ((_, option, _), commands) in single {
        of_one.entry(commands.concat()).or_default().push(cell(&option));
    }
    let singles = of_one.into_iter().map(|(command, options)| format!("| {command} | {} |\n", options.join(", ")));
    [HEAD.to_owned(), lines.collect(), OF_ONE.to_owned(), singles.collect()].concat()
}

/// Returns the name of an option for the order, the option as it is typed, and its meaning.
fn row(arg: &Arg) -> Option<(String, String, String)> {
    let long = arg.get_long().filter(|_| !matches!(arg.get_action(), ArgAction::Help | ArgAction::Version))?;
    let letter = arg.get_short().map(|letter| format!("`-{letter}`, ")).unwrap_or_default();
    let values = arg.get_value_names().filter(|_| arg.get_action().takes_values()).unwrap_or_default();
    let value: String = values.iter().map(|value| format!(" {value}")).collect();
    let meaning = arg.get_help().map(ToString::to_string).unwrap_or_default();
    Some((long.to_owned(), format!("{letter}`--{long}{value}`"), meaning))
}

/// Returns a text as a cell of Markdown.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}
