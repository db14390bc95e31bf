//! Tips for arguments that users of other programs type.

use clap::Command;

use crate::format::{command_line, shell};
use crate::session::select::{in_command, takes_id};
use crate::session::when::When;
use crate::verbs::Verb;

/// Options of other programs, and the option or the command of rejoin with that meaning, for commands that have it.
const OPTIONS_IN_PLACE_OF: &[(&str, &str)] = &[
    ("--after", "--since"),
    ("--all", "--every"),
    ("--all", "--any-age"),
    ("--continue", "resume latest"),
    ("--cwd", "--dir"),
    ("--force", "--yes"),
    ("--last", "resume latest"),
    ("--max", "--limit"),
    ("--oneline", "--format tsv"),
    ("--output", "--format"),
    ("--path", "--dir"),
    ("--project", "--dir"),
    ("-A", "--context"),
    ("-B", "--context"),
    ("-F", "--exact"),
    ("-S", "--sort"),
    ("-c", "resume latest"),
    ("-f", "--yes"),
    ("-f", "--format"),
    ("-l", "--wide"),
    ("-n", "--dry-run"),
    ("-o", "--format"),
    ("-r", "resume"),
    ("-t", "--sort"),
    ("-v", "--wide"),
    ("-v", "--version"),
];

/// Returns whether a command takes texts that may look like options.
pub(super) fn takes_texts(meant: &Command) -> bool {
    Verb::named(meant.get_name()).is_some_and(|verb| [Verb::Rename, Verb::Resume, Verb::Search].contains(&verb))
}

/// Returns the session in a line that begins with an id in place of a command, or has the command of an agent. `typed` is
/// the first word that rejoin does not know.
fn session_in(typed: &str, words: &[String]) -> Option<String> {
    /// A shorter word may be a mistyped command.
    const SHORTEST: usize = 8;
    let is_id = |word: &str| word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let line = words.get(1..)?;
    // Options such as `--home DIR` may precede.
    let has_command = line.iter().take_while(|word| *word != typed).any(|word| Verb::named(word).is_some());
    let foreign = &line[usize::from(line.first().is_some_and(|word| Verb::named(word).is_some()))..];
    // A line with a command may have an option of rejoin that takes an id.
    if let Some((agent, id)) = in_command(&foreign.join(" ")).filter(|_| !has_command || takes_id(typed)) {
        return Some(agent.map_or_else(|| id.to_owned(), |agent| format!("{agent}:{id}")));
    }
    let has_digits = typed.len() >= SHORTEST && is_id(typed) && typed.contains(|c: char| c.is_ascii_digit());
    (has_digits && !has_command && !typed.starts_with('-')).then(|| typed.to_owned())
}

/// Commands that take no further argument, and the tip for one.
const TAKES_NO_MORE: &[(Verb, &str)] = &[
    (Verb::Agents, "`rejoin list --agent AGENT` lists the sessions of one"),
    (Verb::Cleanup, "`rejoin delete SESSION` removes single sessions"),
    (Verb::Rename, "put a title of several words in quotes"),
];

/// Returns the tip for an argument that the command does not take but another program, or another command, would.
pub(super) fn tip(typed: &str, meant: &Command, words: &[String]) -> Option<String> {
    let verb = Verb::named(meant.get_name());
    let has = |option: &str| {
        let name = option.split(' ').next().and_then(|option| option.strip_prefix("--"));
        meant.get_arguments().any(|arg| arg.get_long() == name)
    };
    let does_that = |line: &str| {
        format!("`{}` does that", command_line::in_home(&format!("rejoin {line}"), &command_line::elsewhere_of(words)))
    };
    if let Some(name) = session_in(typed, words) {
        let verb = verb.filter(|_| meant.get_positionals().any(|argument| argument.get_id() == "session"));
        return Some(does_that(&format!("{} {name}", verb.unwrap_or(Verb::Resume).name())));
    }
    if !typed.starts_with('-') {
        return TAKES_NO_MORE.iter().find(|(of, _)| Some(*of) == verb).map(|(_, tip)| (*tip).to_owned());
    }
    // clap names one letter of a word.
    let letters = words.iter().filter_map(|word| word.strip_prefix('-')).filter(|word| word.len() > 1);
    let word =
        letters.into_iter().find(|word| !word.starts_with('-') && word.contains(&typed[1..])).unwrap_or_default();
    if word.ends_with(char::is_alphabetic)
        && word.starts_with(|c: char| c.is_ascii_digit())
        && word.parse::<When>().is_ok()
    {
        return Some(format!("an age has no sign: `{word}`"));
    }
    if verb == Some(Verb::Search) && !typed.starts_with("--") && word.chars().count() > 2 {
        return Some(format!("`{}` leaves out what has the word", shell::word(&format!("!{word}"))));
    }
    if verb == Some(Verb::Search) && ["-v", "--not"].contains(&typed) {
        return Some("`!WORD` leaves out what has the word".to_owned());
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
