//! The command line as a whole: an option has one meaning in every command. Man pages and docs/flags.md are made from it.

mod flags;
mod man;

use std::collections::BTreeMap;
use std::path::Path;

use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory as _};

use super::*;

/// Options with another meaning or value in one command, each with the reason.
const EXCEPTIONS: [(&str, &str); 6] = [
    // The age of an entry of the trash counts from its removal, not from its last activity.
    ("older-than", "undo"),
    // It names the copy that goes, not the one that is used.
    ("copy", "delete"),
    // It also takes a file, because a plan of several directories is a file.
    ("apply", "move"),
    // These have the settings of one agent, not sessions.
    ("agent", "hook install"),
    ("agent", "hook uninstall"),
    ("agent", "hook status"),
];

/// Commands that take sessions and have these filters.
const OF_SESSIONS: &[&str] = &[
    "archive", "backfill", "cleanup", "delete", "doctor", "export", "list", "pin", "restore", "rename", "resume",
    "rewind", "search", "show", "stats", "sync", "tag",
];

/// Commands that change something and print no plan: the first two write data of rejoin, `resume` starts a program, and programs
/// call the others.
const WITHOUT_A_PLAN: &[&str] = &[
    "pin",
    "resume",
    "hook amplifier",
    "hook claude",
    "save jido",
    "save leo",
    "save session-info",
    "save transcript",
];

/// Commands that ask first.
const ASKS: &[&str] = &["cleanup", "delete", "doctor", "move", "resume", "undo"];

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

fn has_option(verb: &Command, long: &str) -> bool {
    verb.get_arguments().any(|arg| arg.get_long() == Some(long))
}

#[test]
fn clap_accepts_the_command_definition() {
    Cli::command().debug_assert();
}

/// Returns the letter of an option, the name of its value, and its meaning.
fn meaning(arg: &Arg) -> (Option<char>, Option<String>, String) {
    let value = arg.get_value_names().filter(|_| arg.get_action().takes_values());
    let value = value.map(|names| names.iter().map(ToString::to_string).collect());
    (arg.get_short(), value, arg.get_help().map(ToString::to_string).unwrap_or_default())
}

#[test]
fn option_has_same_meaning_in_every_command() {
    let mut known = BTreeMap::new();
    let mut exceptions = 0;
    let verbs = verbs();
    let options = verbs.iter().flat_map(|(name, verb)| verb.get_arguments().map(move |arg| (name, arg)));
    let options: Vec<_> = options.filter_map(|(name, arg)| Some((name, arg, arg.get_long()?))).collect();
    let is_exception = |name: &str, long| EXCEPTIONS.contains(&(long, name));
    // An exception does not set the meaning that the other commands must have.
    for wants_exceptions in [false, true] {
        for (name, arg, long) in options.iter().filter(|(name, _, long)| is_exception(name, long) == wants_exceptions) {
            let first = known.entry(*long).or_insert_with(|| ((*name).clone(), meaning(arg)));
            let is_exception = wants_exceptions;
            exceptions += usize::from(is_exception);
            assert_eq!(
                first.1 == meaning(arg),
                !is_exception,
                "--{long} of {} and {name}: {:?}",
                first.0,
                meaning(arg)
            );
        }
    }
    assert_eq!(exceptions, EXCEPTIONS.len());
}

#[test]
fn each_meaning_and_letter_has_one_option() {
    let (mut meanings, mut letters) = (BTreeMap::new(), BTreeMap::new());
    for (name, verb) in verbs() {
        for arg in verb.get_arguments() {
            let Some(long) = arg.get_long() else { continue };
            let (letter, _, meaning) = meaning(arg);
            assert_eq!(meanings.entry(meaning).or_insert_with(|| long.to_owned()), long, "rejoin {name}");
            let Some(letter) = letter else { continue };
            assert_eq!(letters.entry(letter).or_insert_with(|| long.to_owned()), long, "rejoin {name} -{letter}");
        }
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
    assert!(commands > 15, "{commands}");
}

#[test]
fn every_command_has_the_flags_of_its_kind() {
    let verbs = verbs();
    for verb in OF_SESSIONS {
        for flag in ["agent", "dir", "here", "tag"] {
            assert!(has_option(&verbs[*verb], flag), "rejoin {verb} --{flag}");
        }
    }
    let named = |flag: &str| -> Vec<&str> {
        verbs.iter().filter(|(_, verb)| has_option(verb, flag)).map(|(name, _)| name.as_str()).collect()
    };
    let changes = |name: &&str| name.split(' ').next().and_then(Verb::named).is_some_and(Verb::may_change);
    let changing = verbs.keys().map(String::as_str).filter(changes);
    let plan: Vec<&str> = changing.filter(|name| !WITHOUT_A_PLAN.contains(name) && *name != "hook status").collect();
    assert_eq!(named("dry-run"), plan);
    assert_eq!(named("yes"), ASKS);
    assert_eq!(named("in"), ["backfill", "resume"]);
    assert_eq!(named("all"), ["list", "search"]);
    assert_eq!(named("every"), ["archive", "backfill", "export", "undo"]);
    assert_eq!(named("archive-dir"), ["archive", "cleanup", "export", "list", "restore", "search", "show", "sync"]);
    // Commands for agents and programs have their own interface.
    let says_nothing = ["completions", "help", "hook amplifier", "hook claude"];
    let silent: Vec<&str> =
        verbs.iter().filter(|(_, verb)| !has_option(verb, "json")).map(|(name, _)| name.as_str()).collect();
    assert_eq!(silent, says_nothing);
}

/// Words of the errors of libraries, which name neither the value nor what to type.
const OF_LIBRARIES: &[&str] = &[
    "invalid digit",
    "cannot parse",
    "expected",
    "supported units",
    "fit in target",
    "is not in",
    "unit needed",
    "unit is too",
    "ParseIntError",
    "out of range",
    "overflow",
];

#[test]
fn invalid_value_errors_use_our_wording() {
    let mut refused = 0;
    for (name, verb) in verbs() {
        for arg in verb.get_arguments().filter(|arg| arg.get_action().takes_values()) {
            let Some(long) = arg.get_long() else { continue };
            for value in ["three", "7x", "-7", "x y", "3.5", "0", "99999999999999999999999", "1 2", "7 d 3", "ten days"]
            {
                let line = ["rejoin"].into_iter().chain(name.split(' ')).map(str::to_owned);
                let error = Cli::command().try_get_matches_from(line.chain([format!("--{long}={value}")]));
                let Some(error) = error.err().filter(|error| error.kind() == ErrorKind::ValueValidation) else {
                    continue;
                };
                refused += 1;
                let text = error.to_string();
                let why = text.lines().next().unwrap_or_default();
                assert!(why.contains(&format!("'{value}'")) && why.contains("': "), "{name} --{long}: {why}");
                assert!(OF_LIBRARIES.iter().all(|words| !why.contains(words)), "{name} --{long}: {why}");
            }
        }
    }
    assert!(refused > 300, "{refused}");
}

/// Compares a file with its generated text; `SNAPSHOTS=overwrite` writes it.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "`.ci/generate` asks with a variable")]
fn assert_fresh(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("SNAPSHOTS").is_some_and(|wish| wish == "overwrite") {
        std::fs::write(&path, text).expect("a file that is written");
    }
    assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), Some(text), "{file} is stale: run .ci/generate");
}

#[test]
fn man_pages_are_fresh() {
    let mut pages = Vec::new();
    man::add_pages(&Cli::command(), "rejoin", &mut pages);
    for page in &pages {
        assert_fresh(&format!("man/{page}.1"), &man::page(page));
    }
    let files = walkdir::WalkDir::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("man")).min_depth(1);
    for file in files.into_iter().map(|file| file.expect("a page").file_name().display().to_string()) {
        let is_known = file.strip_suffix(".1").is_some_and(|name| pages.iter().any(|page| page == name));
        assert!(is_known, "man/{file} is the page of no command: remove it");
    }
}

#[test]
fn page_of_options_is_fresh() {
    assert_fresh("docs/flags.md", &flags::page());
}

#[test]
fn doctor_and_list_report_deletions_of_same_days() {
    let doctor = Cli::command();
    let doctor = doctor.find_subcommand("doctor").expect("doctor");
    let expiring = doctor.get_arguments().find(|arg| arg.get_id() == "expiring").expect("--expiring");
    let days = expiring.get_default_values()[0].to_str().and_then(|days| days.strip_suffix('d')?.parse::<i64>().ok());
    assert_eq!(days.map(|days| days * 24), Some(crate::session::SOON.as_hours()));
}
