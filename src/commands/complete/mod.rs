//! `rejoin completions`, and the answers to its scripts: candidates for a command line, found when it is typed.

mod bash;
mod candidates;
mod shells;

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::PathBuf;

use clap::CommandFactory as _;
use clap_complete::engine::ArgValueCompleter;
use clap_complete::env::{Fish, Powershell, Shells, Zsh};
use clap_complete::{CompleteEnv, CompletionCandidate};

use crate::cli::{Cli, CompletionsArgs};
use crate::commands::config;
use crate::error::Exit;
use crate::format::command_line::value_of;
use crate::system::env::Env;
use crate::verbs::Verb;
use crate::view::ui::Ui;
use shells::WithoutOptions;

/// The supported shells.
const SHELLS: Shells<'static> =
    Shells(&[&bash::Bash, &WithoutOptions(Fish), &WithoutOptions(Powershell), &WithoutOptions(Zsh)]);

/// Answers a shell that asks for completions; `None` if no shell asks.
pub(crate) fn answer(args: &[OsString]) -> Option<Exit> {
    let line = CommandLine::from_args(args);
    let factory = move || command(&line);
    match CompleteEnv::with_factory(factory).shells(SHELLS).try_complete(args.iter().cloned(), None) {
        Ok(is_answered) => is_answered.then_some(Exit::Ok),
        Err(error) => {
            // A shell that is gone needs no error.
            let _ = error.print();
            Some(Exit::Usage)
        }
    }
}

/// Prints the completion script of a shell.
pub(crate) fn run(args: &CompletionsArgs, _: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    if let Some(completer) = SHELLS.completer(args.shell.into()) {
        completer.write_registration("COMPLETE", "rejoin", "rejoin", "rejoin", &mut script)?;
    }
    writeln!(ui.data(), "{}", String::from_utf8_lossy(&script).trim())?;
    ui.flush()?;
    Ok(Exit::Ok)
}

/// The facts about the rest of the line that determine the candidates.
#[derive(Clone, Debug)]
struct CommandLine {
    home: Option<PathBuf>,
    is_archived: bool,
    removes: bool,
}

impl CommandLine {
    fn from_args(args: &[OsString]) -> Self {
        let home = value_of(args, "--home").map(PathBuf::from);
        let has = |option| args.iter().any(|arg| arg == option);
        Self { home, is_archived: has("--archived"), removes: has("--remove") }
    }

    /// Creates a completer from a function that finds candidates in the home of the line.
    fn completer(
        &self,
        find: impl Fn(&Env, &str) -> Vec<CompletionCandidate> + Send + Sync + 'static,
    ) -> ArgValueCompleter {
        let home = self.home.clone();
        ArgValueCompleter::new(move |typed: &OsStr| {
            let (Ok(mut env), Some(typed)) = (Env::read(home.as_deref()), typed.to_str()) else { return Vec::new() };
            env.config = config::read(&env).unwrap_or_default();
            let is_offered = |candidate: &CompletionCandidate| {
                candidate.get_value().to_str().is_some_and(|value| value.starts_with(typed) && is_a_word(value))
            };
            find(&env, typed).into_iter().filter(is_offered).collect()
        })
    }
}

/// Returns whether a shell takes a value for one word, quoted or not, that runs and expands nothing. Values from data,
/// such as the name of a session's directory, may be anything; unsafe ones are not offered.
pub(crate) fn is_a_word(value: &str) -> bool {
    !value.starts_with(['-', '=', '@', '%']) && value.chars().all(is_plain)
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@' | '%' | '+' | '=' | ',')
}

/// Returns the command line with candidates for each argument that names something.
fn command(line: &CommandLine) -> clap::Command {
    let with = |verb: Option<Verb>, arg: clap::Arg| {
        let names = arg.get_value_names().unwrap_or_default();
        let names_a = |name: &str| names.iter().any(|known| known == name);
        let is_archived = line.is_archived || verb == Some(Verb::Restore);
        let completer = match verb {
            _ if names_a("SESSION|+WORD|-WORD") => line.completer(candidates::sessions_and_tags),
            _ if names_a("WORD") && arg.get_long() == Some("tag") => line.completer(|env, _| candidates::tags(env, "")),
            Some(Verb::Pin) if names_a("SESSION") && line.removes => line.completer(candidates::pinned),
            Some(Verb::Undo) if names_a("SESSION") => line.completer(candidates::in_trash),
            _ if names_a("SESSION") && is_archived => line.completer(candidates::archived),
            _ if names_a("SESSION") => line.completer(candidates::sessions),
            _ if names_a("AGE") => line.completer(candidates::ages),
            _ if names_a("MARK") => line.completer(|_, _| candidates::marks()),
            _ if names_a("RUN") => line.completer(candidates::undoable),
            _ if names_a("HOST") => line.completer(candidates::hosts),
            _ if names_a("TOPIC") => line.completer(|_, _| candidates::topics()),
            _ => return arg,
        };
        arg.add(completer)
    };
    let command = Cli::command().mut_args(|arg| with(None, arg));
    command.mut_subcommands(|verb| {
        let name = Verb::named(verb.get_name());
        verb.mut_args(|arg| with(name, arg)).mut_subcommands(|part| part.mut_args(|arg| with(name, arg)))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn completion_omits_values_with_shell_code() {
        for value in [
            "evil$(touch PWN)",
            "a`b`",
            "a'b",
            "a\"b",
            "a\\b",
            "a b",
            "a\tb",
            "a\nb",
            "!x",
            "~",
            "~/a",
            "a*",
            "a?",
            "[a]",
            "{a,b}",
            "a;b",
            "a&b",
            "a|b",
            "a<b",
            "a>b",
            "#a",
            "-rf",
            "=ls",
            "$HOME",
            "a\u{7}",
            "a\u{202e}b",
            "a\u{200b}b",
            "(a)",
            "a^b",
            "@a",
            "%1",
        ] {
            assert!(!is_a_word(value), "{value:?}");
        }
        for value in
            ["5a1e0c74-9d2b", "claude:31c5", "2026-02-01-quiet-blue-fox", "20261125-160000/0", "my%20tag@shop", "日本"]
        {
            assert!(is_a_word(value), "{value:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2 * ProptestConfig::default().cases))]

        #[test]
        fn completed_value_is_one_shell_word(value in ".{1,12}") {
            if is_a_word(&value) {
                let word = crate::format::shell::word(&value);
                prop_assert!(word == value || word == format!("'{value}'"), "{}", word);
                prop_assert!(!value.contains(|c: char| c.is_ascii_punctuation() && !is_plain(c)));
            }
        }
    }
}
