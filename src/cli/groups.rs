//! The layout of help: commands in groups, examples, and the global options on one line.

use clap::builder::Styles;
use clap::{Command, CommandFactory as _};

use super::{Cli, GLOBAL, examples};
use crate::verbs::{Example, Verb, VerbGroup, VerbRank};

/// The global options that help names; `rejoin help options` explains all of them.
const NAMED: &str = "--home, --host, --no-config, --quiet, … (`rejoin help options`)";

/// Maximum examples of a help; the man page has all.
const MOST_EXAMPLES: usize = 2;

/// Returns the command line with the layout of help.
///
/// The global options are hidden in it. Man pages and completions use [`Cli::command`], which shows them.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let groups = groups(&command, |rank| rank == VerbRank::Main);
    let command = command.mut_args(|arg| if arg.get_help_heading() == Some(GLOBAL) { arg.hide(true) } else { arg });
    let (header, line) = (Styles::styled().get_header().to_owned(), line());
    let more = format!("{header}Also:{header:#} {} (help all)", more().join(", "));
    let layout = format!("{groups}\n\n{more}\n\nOptions:\n{{options}}\n\n{line}{{after-help}}");
    let usage = "rejoin [OPTIONS] <COMMAND>\n       rejoin [WORDS]...    (opens the picker)";
    with_line(command, "rejoin").override_usage(usage).help_template(format!("{HEAD}{layout}"))
}

/// Returns the help that lists every command.
pub(crate) fn all_commands() -> Command {
    let command = Cli::command();
    let groups = groups(&command, |rank| rank != VerbRank::Last);
    let text = format!("Every command, which `rejoin help COMMAND` explains:\n\n{groups}\n");
    Command::new("rejoin").disable_help_flag(true).help_template(text)
}

/// Names the commands that help leaves out.
fn more() -> Vec<&'static str> {
    Verb::ALL.iter().filter(|verb| verb.rank() == VerbRank::More).map(|verb| verb.name()).collect()
}

/// The beginning of every help.
const HEAD: &str = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n";

/// Adds the line of global options to the help of a command and of its subcommands, and examples to the long one.
///
/// `page` is the name of the man page.
fn with_line(command: Command, page: &str) -> Command {
    let end = command.get_after_help().map(|help| format!("{}\n\n", help.ansi())).unwrap_or_default();
    let command = match long_end(page) {
        long if long.is_empty() => command,
        long => command.after_long_help(end + &long),
    };
    let command = command.help_template(format!("{HEAD}{{all-args}}\n\n{}{{after-help}}", line()));
    command.mut_subcommands(|part| {
        let page = format!("{page}-{}", part.get_name());
        with_line(part, &page)
    })
}

/// Returns the end of a long help: examples and related commands. The help of the program has none, because it is a summary.
fn long_end(page: &str) -> String {
    let header = Styles::styled().get_header().to_owned();
    let Some(name) = page.strip_prefix("rejoin-") else { return String::new() };
    let examples = examples::examples_of_page(page).iter().take(MOST_EXAMPLES);
    let examples = examples.map(|Example { line, meaning }| format!("\n  # {meaning}\n  {line}")).collect::<String>();
    let related = Verb::named(name).map(Verb::related).unwrap_or_default();
    let related: Vec<String> = related.iter().map(|verb| format!("`rejoin help {}`", verb.name())).collect();
    let examples = format!("{header}Examples:{header:#}{examples}");
    match related.join(", ") {
        related if related.is_empty() => examples,
        related => format!("{examples}\n\n{header}See also:{header:#} {related}"),
    }
}

fn line() -> String {
    let header = Styles::styled().get_header().to_owned();
    format!("{header}Global options:{header:#} {NAMED}")
}

/// Formats the commands of each group that a list names, with their descriptions.
fn groups(command: &Command, is_named: impl Fn(VerbRank) -> bool) -> String {
    let (header, literal) = (Styles::styled().get_header().to_owned(), Styles::styled().get_literal().to_owned());
    let row = |verb: &Verb| {
        let part = command.find_subcommand(verb.name())?;
        let about = part.get_about().map(ToString::to_string).unwrap_or_default();
        let aliases: Vec<&str> = part.get_visible_aliases().collect();
        let aliases = if aliases.is_empty() { String::new() } else { format!(" [alias: {}]", aliases.join(", ")) };
        Some(format!("\n  {literal}{:12}{literal:#} {about}{aliases}", verb.name()))
    };
    let rows = |group: VerbGroup| -> String {
        Verb::ALL.iter().filter(|verb| verb.group() == group && is_named(verb.rank())).filter_map(row).collect()
    };
    let groups = VerbGroup::ALL.map(|group| format!("{header}{}:{header:#}{}", group.title(), rows(group)));
    groups.join("\n\n")
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
    fn registry_has_every_command() {
        let command = Cli::command();
        let visible: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).collect();
        assert_eq!(Verb::ALL.iter().map(|verb| verb.name()).collect::<BTreeSet<_>>(), visible);
    }

    /// Returns the commands that a help lists, each on one line of a narrow screen.
    fn listed(help: &str) -> Vec<&str> {
        let is_row = |line: &&str| line.starts_with("  ") && !line.starts_with("   ") && !line.starts_with("  -");
        let rows: Vec<&str> = help.lines().filter(is_row).collect();
        assert!(rows.iter().all(|row| row.chars().count() <= 80), "{help}");
        rows.into_iter().filter_map(|row| row.split_whitespace().next()).collect()
    }

    #[test]
    fn help_lists_usual_commands_and_names_others() {
        let help = command().render_help().to_string();
        let usual: Vec<&str> = VerbGroup::ALL
            .iter()
            .flat_map(|group| Verb::ALL.iter().filter(|verb| verb.group() == *group))
            .filter(|verb| verb.rank() == VerbRank::Main)
            .map(|verb| verb.name())
            .collect();
        assert_eq!(listed(&help), usual);
        let also = format!("Also: {} (help all)", more().join(", "));
        assert!(help.contains(&also), "{help}");
        let all = all_commands().render_help().to_string();
        assert_eq!(listed(&all).into_iter().collect::<BTreeSet<_>>(), usual.into_iter().chain(more()).collect());
    }

    #[test]
    fn every_long_help_has_example_of_its_command() {
        let mut command = command();
        command.build();
        let mut left: Vec<Command> = command.get_subcommands().cloned().collect();
        while let Some(mut part) = left.pop() {
            let (help, words) =
                (part.render_long_help().to_string(), part.get_bin_name().unwrap_or_default().to_owned());
            let examples = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{words}: {help}")).1;
            assert!(
                examples.contains(&format!("{words} ")) || examples.contains(&format!("{words}\n")),
                "{words}: {help}"
            );
            assert!(!part.render_help().to_string().contains("Examples:"), "{words}");
            left.extend(part.get_subcommands().cloned());
        }
    }

    #[test]
    fn short_help_fits_a_screen() {
        let mut command = command().term_width(80);
        command.build();
        for verb in [Verb::List, Verb::Search, Verb::Resume] {
            let help = command.find_subcommand_mut(verb.name()).expect("a command").render_help().to_string();
            assert!(help.lines().count() <= 40, "{}: {} lines\n{help}", verb.name(), help.lines().count());
        }
    }

    #[test]
    fn every_help_has_global_options_on_one_line() {
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
