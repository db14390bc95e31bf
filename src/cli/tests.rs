//! The command line as a whole: one flag means one thing in every command.

use std::collections::{BTreeMap, BTreeSet};

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use super::*;

/// The flags that several commands share: long name, letter, and what its value is called.
const TABLE: &[(&str, Option<char>, Option<&str>)] = &[
    ("agent", Some('a'), Some("AGENT")),
    ("dir", None, Some("DIR")),
    ("here", None, None),
    ("in", None, Some("DIR")),
    ("since", None, Some("AGE")),
    ("older-than", None, Some("AGE")),
    ("all", None, None),
    ("every", None, None),
    ("archive-dir", None, Some("DIR")),
    ("dry-run", None, None),
    ("limit", Some('n'), Some("N")),
    ("apply", None, Some("FINGERPRINT")),
    ("yes", Some('y'), None),
    ("json", None, None),
    ("format", None, Some("FORMAT")),
    ("quiet", Some('q'), None),
    ("lock-timeout", None, Some("TIME")),
];

/// What takes sessions has these filters.
const OF_SESSIONS: &[&str] = &[
    "archive", "backfill", "cleanup", "dedupe", "delete", "doctor", "export", "list", "path", "pin", "restore",
    "rename", "resume", "search", "show", "stats", "unpin",
];

/// What changes something that is not its own, and what asks first.
const CHANGES: &[&str] = &[
    "archive",
    "backfill",
    "cleanup",
    "dedupe",
    "delete",
    "doctor",
    "hook install",
    "hook uninstall",
    "move",
    "rename",
    "restore",
    "trash purge",
    "trash restore",
    "undo",
];
const ASKS: &[&str] = &["cleanup", "dedupe", "delete", "doctor", "move", "resume", "trash purge", "undo"];

/// Returns every command that does something by itself, with its options.
fn verbs() -> BTreeMap<String, Command> {
    let mut command = Cli::command();
    command.build();
    let mut verbs = BTreeMap::new();
    for verb in command.get_subcommands() {
        match verb.get_subcommands().next() {
            None => _ = verbs.insert(verb.get_name().to_owned(), verb.clone()),
            Some(_) => verbs.extend(
                verb.get_subcommands().map(|sub| (format!("{} {}", verb.get_name(), sub.get_name()), sub.clone())),
            ),
        }
    }
    verbs
}

fn has(verb: &Command, long: &str) -> bool {
    verb.get_arguments().any(|arg| arg.get_long() == Some(long))
}

#[test]
fn the_definition_of_the_command_line_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn a_flag_of_the_table_is_the_same_in_every_command() {
    for (name, verb) in verbs() {
        for arg in verb.get_arguments() {
            let row = TABLE.iter().find(|(long, ..)| arg.get_long() == Some(long));
            if let Some((long, letter, value)) = row {
                assert_eq!(arg.get_short(), *letter, "rejoin {name} --{long}");
                let named = |arg: &Arg| arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
                let shown = named(arg).filter(|_| !matches!(arg.get_action(), ArgAction::SetTrue));
                let shown = shown.map(|shown| shown.split('|').next().unwrap_or_default().to_owned());
                assert_eq!(shown.as_deref(), *value, "rejoin {name} --{long}");
            } else if let Some(letter) = arg.get_short() {
                let taken = TABLE.iter().find(|(_, known, _)| *known == Some(letter));
                assert_eq!(taken, None, "rejoin {name} -{letter} is {:?}", arg.get_long());
            }
        }
    }
}

#[test]
fn what_a_flag_of_the_table_means_is_said_in_the_same_words() {
    let mut said: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    // `hook` has the settings of an agent, not sessions.
    for (_, verb) in verbs().into_iter().filter(|(name, _)| !name.starts_with("hook ")) {
        for long in ["agent", "dir", "here", "since", "archive-dir", "yes", "lock-timeout"] {
            let args = verb.get_arguments().filter(|arg| arg.get_long() == Some(long));
            said.entry(long).or_default().extend(args.filter_map(|arg| arg.get_help()).map(ToString::to_string));
        }
    }
    for (long, words) in said {
        // A yes says what is not asked.
        let most = if long == "yes" { 4 } else { 1 };
        assert!(!words.is_empty() && words.len() <= most, "--{long}: {words:#?}");
    }
}

#[test]
fn every_command_has_the_same_formats() {
    let mut commands = 0;
    // `export` writes documents.
    for (name, verb) in verbs().into_iter().filter(|(name, _)| name != "export") {
        let Some(format) = verb.get_arguments().find(|arg| arg.get_long() == Some("format")) else { continue };
        let values: Vec<String> = format.get_possible_values().iter().map(|one| one.get_name().to_owned()).collect();
        assert_eq!(values, ["table", "tsv", "csv", "json", "ndjson"], "rejoin {name}");
        assert!(format.get_default_values().is_empty(), "rejoin {name}");
        commands += 1;
    }
    assert!(commands > 20, "{commands}");
}

#[test]
fn every_command_has_the_flags_of_what_it_does() {
    let verbs = verbs();
    for verb in OF_SESSIONS {
        for flag in ["agent", "dir", "here"] {
            assert!(has(&verbs[*verb], flag), "rejoin {verb} --{flag}");
        }
    }
    let named = |flag: &str| -> Vec<&str> {
        verbs.iter().filter(|(_, verb)| has(verb, flag)).map(|(name, _)| name.as_str()).collect()
    };
    assert_eq!(named("dry-run"), CHANGES);
    assert_eq!(named("yes"), ASKS);
    assert_eq!(named("in"), ["backfill", "resume"]);
    assert_eq!(named("all"), ["list", "search"]);
    assert_eq!(named("every"), ["archive", "backfill", "export", "trash purge"]);
    assert_eq!(named("archive-dir"), ["archive", "cleanup", "export", "list", "restore", "search", "show"]);
    // What an agent or a program calls has an interface of its own, and a path is the whole answer.
    let says_nothing = ["completions", "generate", "help", "hook amplifier", "hook claude", "path"];
    let silent: Vec<&str> =
        verbs.iter().filter(|(_, verb)| !has(verb, "json")).map(|(name, _)| name.as_str()).collect();
    assert_eq!(silent, says_nothing);
}
