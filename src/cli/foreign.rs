//! Tips for arguments that users of other programs type.

use clap::Command;

use crate::format::command_line;
use crate::verbs::Verb;

/// Options of other programs, and the option or the command of rejoin with that meaning, for commands that have it.
const OPTIONS_IN_PLACE_OF: &[(&str, &str)] = &[
    ("--all", "--every"),
    ("--all", "--any-age"),
    ("--continue", "resume latest"),
    ("--cwd", "--dir"),
    ("--force", "--yes"),
    ("--last", "resume latest"),
    ("--max", "--limit"),
    ("--path", "--dir"),
    ("--project", "--dir"),
    ("-c", "resume latest"),
    ("-f", "--yes"),
    ("-n", "--dry-run"),
    ("-r", "resume"),
    ("-v", "--version"),
];

/// Commands that take no further argument, and the tip for one.
const TAKES_NO_MORE: &[(Verb, &str)] = &[
    (Verb::Agents, "`rejoin list --agent AGENT` lists the sessions of one"),
    (Verb::Cleanup, "`rejoin delete SESSION` removes single sessions"),
    (Verb::Rename, "put a title of several words in quotes"),
];

/// Returns the tip for an argument that the command does not take but another program, or another command, would.
pub(super) fn tip(typed: &str, meant: &Command, words: &[String]) -> Option<String> {
    let verb = Verb::named(meant.get_name());
    let has = |option: &str| meant.get_arguments().any(|arg| arg.get_long() == option.strip_prefix("--"));
    let does_that = |line: &str| {
        format!("`{}` does that", command_line::in_home(&format!("rejoin {line}"), &command_line::elsewhere_of(words)))
    };
    if !typed.starts_with('-') {
        return TAKES_NO_MORE.iter().find(|(of, _)| Some(*of) == verb).map(|(_, tip)| (*tip).to_owned());
    }
    // Not the value in `--limit -1`.
    let has_limit = words.iter().any(|word| word == "--limit" || word == "-n");
    let number = typed.strip_prefix('-').filter(|number| number.parse::<u32>().is_ok());
    if let Some(number) = number.filter(|_| has("--limit") && !has_limit) {
        return Some(format!("`--limit {number}` does that"));
    }
    // Such as `rejoin --list`.
    let command = Verb::named(typed.trim_start_matches('-')).filter(|_| verb.is_none());
    let is_meant = |instead: &str| match verb {
        _ if instead.starts_with("--") => has(instead),
        None => true,
        Some(verb) => instead.split(' ').next() == Some(verb.name()),
    };
    let known = OPTIONS_IN_PLACE_OF.iter().filter(|(option, _)| *option == typed).map(|(_, instead)| *instead);
    match known.chain(command.map(Verb::name)).find(|instead| is_meant(instead))? {
        option if option.starts_with("--") => Some(format!("`{option}` does that")),
        line => Some(does_that(line)),
    }
}
