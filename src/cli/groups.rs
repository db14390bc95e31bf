//! The layout of help: commands in groups, and the global options on one line.

use clap::builder::Styles;
use clap::{Command, CommandFactory as _};

use super::{Cli, GLOBAL};

/// Every visible command, in the groups and the order in which `rejoin --help` lists them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Daily", &["list", "search", "show", "resume", "stats"]),
    ("Repair", &["doctor", "rewind", "backfill", "undo"]),
    ("Keep and clean up", &["archive", "restore", "pin", "tag", "cleanup", "delete"]),
    ("Move", &["move", "sync", "rename"]),
    ("Integrate", &["export", "save", "hook", "completions", "agents", "config", "help"]),
];

/// The global options that help names; `rejoin help options` explains all of them.
const NAMED: &str = "--home, --host, --no-config, --quiet, … (`rejoin help options`)";

/// Returns the command line with the layout of help.
///
/// The global options are hidden in it. Man pages and completions use [`Cli::command`], which shows them.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let groups = groups(&command);
    let command = command.mut_args(|arg| if arg.get_help_heading() == Some(GLOBAL) { arg.hide(true) } else { arg });
    let layout = format!("{}\n\nOptions:\n{{options}}\n\n{}{{after-help}}", groups, line());
    with_line(command).override_usage("rejoin [OPTIONS] <COMMAND>").help_template(format!("{HEAD}{layout}"))
}

/// The beginning of every help.
const HEAD: &str = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n";

/// Adds the line of global options to the help of a command and of its subcommands.
fn with_line(command: Command) -> Command {
    command.help_template(format!("{HEAD}{{all-args}}\n\n{}{{after-help}}", line())).mut_subcommands(with_line)
}

fn line() -> String {
    let header = Styles::styled().get_header().to_owned();
    format!("{header}Global options:{header:#} {NAMED}")
}

/// Formats the commands of each group with their descriptions.
fn groups(command: &Command) -> String {
    let (header, literal) = (Styles::styled().get_header().to_owned(), Styles::styled().get_literal().to_owned());
    let row = |name: &&str| {
        let part = command.find_subcommand(name)?;
        let about = part.get_about().map(ToString::to_string).unwrap_or_default();
        let aliases: Vec<&str> = part.get_visible_aliases().collect();
        let aliases = if aliases.is_empty() { String::new() } else { format!(" [alias: {}]", aliases.join(", ")) };
        Some(format!("\n  {literal}{name:12}{literal:#} {about}{aliases}"))
    };
    let group = |(title, names): &(&str, &[&str])| {
        format!("{header}{title}:{header:#}{}", names.iter().filter_map(row).collect::<String>())
    };
    GROUPS.iter().map(group).collect::<Vec<_>>().join("\n\n")
}

/// Returns the help of the global options.
pub(crate) fn global_options() -> Command {
    let options = Cli::command();
    let options = options.get_arguments().filter(|arg| arg.get_help_heading() == Some(GLOBAL));
    let options: Vec<_> = options.map(|arg| arg.clone().global(false).help_heading(None::<&str>)).collect();
    let text = "Every command takes these options:\n\n{options}\n";
    Command::new("rejoin").disable_help_flag(true).args(options).help_template(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = Cli::command();
        let visible = command.get_subcommands().filter(|part| !part.is_hide_set()).map(Command::get_name);
        let visible: BTreeSet<&str> = visible.collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(grouped.len(), visible.len(), "{grouped:?}");
        assert_eq!(grouped.into_iter().collect::<BTreeSet<_>>(), visible);
    }

    #[test]
    fn help_lists_each_command_on_one_line() {
        let help = command().render_help().to_string();
        for name in GROUPS.iter().flat_map(|(_, names)| names.iter()) {
            let lines: Vec<&str> = help.lines().filter(|line| line.starts_with(&format!("  {name} "))).collect();
            assert_eq!(lines.len(), 1, "{name}: {help}");
            assert!(lines[0].chars().count() <= 80, "{}", lines[0]);
        }
    }

    #[test]
    fn every_help_has_the_global_options_on_one_line() {
        let mut command = command();
        command.build();
        let mut left = vec![command];
        while let Some(mut command) = left.pop() {
            for help in [command.render_help().to_string(), command.render_long_help().to_string()] {
                let lines: Vec<&str> = help.lines().filter(|line| line.starts_with("Global options:")).collect();
                assert_eq!(lines.len(), 1, "{help}");
                assert!(lines[0].chars().count() <= 80 && !help.contains("--answer-timeout"), "{help}");
            }
            left.extend(command.get_subcommands().cloned());
        }
        let all = global_options().render_long_help().to_string();
        for name in NAMED.split(", ").filter(|name| name.starts_with("--")).chain(["--answer-timeout", "--color"]) {
            assert!(all.contains(&format!("{name} ")) || all.contains(&format!("{name}\n")), "{name}: {all}");
        }
    }
}
