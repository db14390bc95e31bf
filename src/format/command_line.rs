//! Builds commands that the user can type next: the current command again, or any command for the same host and home.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::format::shell;
use crate::system::env::{Elsewhere, Env};
use crate::system::fsio::FileOwner;

/// Returns the command line of this run, quoted for a shell, without the options in `left_out` and with those in
/// `with`.
pub(crate) fn again(env: &Env, left_out: &[&str], with: &[&str]) -> String {
    let with: Vec<String> = with.iter().map(|word| (*word).to_owned()).collect();
    let words = without(&env.invocation.words, left_out, &with);
    let words: Vec<_> = ["rejoin"].into_iter().chain(words.iter().map(String::as_str)).map(shell::word).collect();
    words.join(" ")
}

/// Repeats the options in `typed` in each command of a hint that begins with `command`; the words of another program stay
/// last.
pub(crate) fn repeat(hint: &str, command: &str, typed: &[String]) -> String {
    let mut parts = hint.split(command);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |repeated, part| {
        let (added, rest) = part.split_at(part.find('`').unwrap_or(part.len()));
        let options = added.split(' ').filter(|word| word.starts_with('-'));
        let names: Vec<String> = options.flat_map(|option| [option.to_owned(), format!("{option}=")]).collect();
        let not_with_print = Some("--wait").filter(|_| added.contains(" --print"));
        let left_out: Vec<&str> = names.iter().map(String::as_str).chain(not_with_print).collect();
        let words = without(typed, &left_out, &[]);
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let quoted = |words: &[String]| words.iter().map(|word| format!(" {}", shell::word(word))).collect::<String>();
        format!("{repeated}{command}{}{added}{}{rest}", quoted(&words[..end]), quoted(&words[end..]))
    })
}

/// Returns the command that moves the sessions of a directory to another one, quoted for a shell.
pub(crate) fn move_command(from: &Path, to: &Path) -> String {
    let [from, to] = [from, to].map(|dir| shell::word(&dir.to_string_lossy()).into_owned());
    format!("rejoin move {from} {to}")
}

/// Options whose value may look like an option, or like a word that is left out.
const TEXTS: &[&str] = &["--prompt", "--in"];

/// Removes the options in `left_out` from the words of a command, and adds those in `with`.
///
/// An option with a value is written with a trailing `=` in `left_out`. Words after `--` belong to another program and
/// are kept.
pub(crate) fn without(words: &[String], left_out: &[&str], with: &[String]) -> Vec<String> {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (own, passed_on) = words.split_at(end);
    let mut kept = Vec::new();
    let mut own = own.iter();
    while let Some(word) = own.next() {
        if TEXTS.iter().any(|option| word == option && !left_out.contains(&&*format!("{option}="))) {
            kept.extend([word].into_iter().chain(own.next()).cloned());
        } else if left_out.iter().any(|option| option.strip_suffix('=') == Some(word)) {
            own.next();
        } else if !left_out.contains(&word.as_str())
            && !left_out.iter().any(|option| option.ends_with('=') && word.starts_with(option))
        {
            let (rest, is_value_next) = without_letters(word, left_out);
            kept.extend(rest);
            if is_value_next {
                own.next();
            }
        }
    }
    kept.iter().chain(with).chain(passed_on).cloned().collect()
}

/// Removes options from a word with several letters, such as `-rn2`, if a short option with a value is left out.
/// Returns the remaining word, if any, and whether the next word is the value of a removed option.
fn without_letters(word: &str, left_out: &[&str]) -> (Option<String>, bool) {
    // Words such as `-new` of `tag` are not options.
    let has_values = left_out.iter().any(|option| option.len() == 3 && option.ends_with('='));
    let letters = word.strip_prefix('-').filter(|letters| has_values && !letters.starts_with('-'));
    let Some(letters) = letters.filter(|letters| !letters.is_empty()) else {
        return (Some(word.to_owned()), false);
    };
    let is_left_out = |option: &str| left_out.contains(&option);
    let (mut kept, mut is_value_next) = ("-".to_owned(), false);
    for (at, letter) in letters.char_indices() {
        let rest = &letters[at..];
        if is_left_out(&format!("-{letter}=")) {
            is_value_next = rest.chars().count() == 1;
            break;
        }
        // The rest is the value of `--agent` or `--context`.
        if matches!(letter, 'a' | 'C') {
            kept.push_str(rest);
            break;
        }
        if !is_left_out(&format!("-{letter}")) {
            kept.push(letter);
        }
    }
    (Some(kept).filter(|kept| kept != "-"), is_value_next)
}

/// Returns the command that carries out the plan of this run, and nothing else.
pub(crate) fn apply(env: &Env, fingerprint: &str) -> String {
    again(env, &["--dry-run", "-n", "--yes", "-y", "--exit-code"], &["--apply", fingerprint])
}

/// Adds this run's `--home` and `--host` to each rejoin command between backticks in a text.
///
/// Other text, such as a title, can contain a backtick too, so only the beginning of a command is searched for.
pub(crate) fn all_in_home<'t>(text: &'t str, elsewhere: &Elsewhere) -> Cow<'t, str> {
    const BEGIN: &str = "`rejoin ";
    let mut parts = text.split(BEGIN);
    let first = parts.next().unwrap_or_default();
    if *elsewhere == Elsewhere::default() || first == text {
        return Cow::Borrowed(text);
    }
    let command = |part: &str| part.split('`').next().map(|rest| options(rest, elsewhere)).unwrap_or_default();
    Cow::Owned(parts.fold(first.to_owned(), |text, part| text + BEGIN + &command(part) + part))
}

/// Returns the home and the host that a command names with `--home` and `--host`.
pub(crate) fn elsewhere_of(words: &[String]) -> Elsewhere {
    let host = value_of(words, "--host").map(|host| host.to_string_lossy().into_owned());
    Elsewhere { home: value_of(words, "--home").map(PathBuf::from), host }
}

/// Returns the value of an option in a command, from the same word (`--option=value`) or from the next word.
pub(crate) fn value_of<'w>(words: &'w [impl AsRef<OsStr>], option: &str) -> Option<&'w OsStr> {
    words.iter().enumerate().find_map(|(at, word)| match word.as_ref().as_bytes().strip_prefix(option.as_bytes())? {
        [] => words.get(at + 1).map(AsRef::as_ref),
        [b'=', value @ ..] => Some(OsStr::from_bytes(value)),
        _ => None,
    })
}

/// Makes a command act on the host and home of this run: adds `--host` and, unless the command names one, `--home` to a
/// rejoin command. Any other command is wrapped in ssh if a host is set.
pub(crate) fn in_home<'t>(command: &'t str, elsewhere: &Elsewhere) -> Cow<'t, str> {
    match (command.strip_prefix("rejoin "), &elsewhere.host) {
        (Some(rest), _) => Cow::Owned(format!("rejoin {}{rest}", options(rest, elsewhere))),
        (None, Some(host)) => Cow::Owned(format!("ssh -t {} {}", shell::word(host), shell::word(command))),
        (None, None) => Cow::Borrowed(command),
    }
}

/// Returns the end of a sentence about a path that another user owns: the command that makes it the user's own, and a
/// directory with all that is in it.
pub(crate) fn chown(FileOwner { of_file, user, is_dir }: FileOwner, path: &Path, is_tree: bool) -> String {
    let owner = if of_file == 0 { "root".to_owned() } else { format!("user {of_file}") };
    let (option, word) =
        (if is_tree || is_dir { "-R " } else { "" }, shell::word(&path.to_string_lossy()).into_owned());
    format!("; it belongs to {owner}: `sudo chown {option}{user} {word}` makes it yours")
}

/// Returns the options, each followed by a blank, that make a rejoin command act on the host and home of this run.
fn options(rest: &str, elsewhere: &Elsewhere) -> String {
    let names_home = rest.starts_with("--home") || rest.contains(" --home");
    let host = elsewhere.host.as_ref().map(|host| format!("--host {} ", shell::word(host)));
    let home = elsewhere.home.as_ref().filter(|_| !names_home).map(|home| home.to_string_lossy());
    host.into_iter().chain(home.map(|home| format!("--home {} ", shell::word(&home)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::env::tests::fixed;

    #[test]
    fn again_adds_options_before_arguments_of_other_programs() {
        let mut env = fixed();
        env.invocation.words = ["cleanup", "-n", "--dir", "/a b", "--", "-n"].map(str::to_owned).to_vec();
        assert_eq!(apply(&env, "abc"), "rejoin cleanup --dir '/a b' --apply abc -- -n");
        assert_eq!(again(&env, &[], &["--yes"]), "rejoin cleanup -n --dir '/a b' --yes -- -n");
        assert_eq!(again(&env, &["--dir="], &[]), "rejoin cleanup -n -- -n");
        env.invocation.words = ["tag", "31c5", "-new", "-yard", "--dry-run"].map(str::to_owned).to_vec();
        assert_eq!(apply(&env, "abc"), "rejoin tag 31c5 -new -yard --apply abc");
        env.invocation.words = ["resume", "--prompt", "--json", "a"].map(str::to_owned).to_vec();
        assert_eq!(again(&env, &["--json"], &[]), "rejoin resume --prompt --json a");
        env.invocation.words = ["delete", "a", "--apply=7"].map(str::to_owned).to_vec();
        assert_eq!(again(&env, &["--apply="], &["--dry-run"]), "rejoin delete a --dry-run");
    }

    #[test]
    fn removal_handles_every_form_of_short_option() {
        for (line, expected) in [
            ("list -n 2 x", "list x"),
            ("list -n2 x", "list x"),
            ("list -n=2 x", "list x"),
            ("list -rn 2 x", "list -r x"),
            ("list -wrn2 x", "list -r x"),
            ("list -w x", "list x"),
            ("list -wa nanocoder", "list -a nanocoder"),
            ("list -anw -q - ä", "list -anw -q - ä"),
            ("list --newest -- -n 2", "list --newest -- -n 2"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(without(&words, &["-n=", "-w"], &[]).join(" "), expected, "{line}");
        }
    }

    #[test]
    fn repeated_options_do_not_repeat_what_the_hint_adds() {
        for (hint, typed, expected) in [
            ("or `go x --trust`; `go y`", "--prompt hi --wait", "or `go x --prompt hi --wait --trust`; `go y`"),
            ("`go x --in .`", "--in=/a --force", "`go x --force --in .`"),
            ("`go x --in .`", "--in --trust --force -- --in b", "`go x --force --in . -- --in b`"),
            ("`go x`, `go x --trust`", "--trust", "`go x --trust`, `go x --trust`"),
        ] {
            let typed: Vec<String> = typed.split(' ').map(str::to_owned).collect();
            assert_eq!(repeat(hint, "go x", &typed), expected);
        }
    }

    #[test]
    fn commands_name_home_and_host_of_command_line() {
        for (line, expected) in [
            ("delete", "rejoin list"),
            ("delete --homes /a", "rejoin list"),
            ("delete --home", "rejoin list"),
            ("--home=/a delete", "rejoin --home /a list"),
            ("delete --home $x", "rejoin --home '$x' list"),
            ("delete --host=mac", "rejoin --host mac list"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(in_home("rejoin list", &elsewhere_of(&words)), expected, "{line}");
        }
    }

    #[test]
    fn commands_name_the_home_of_this_run() {
        let text = "run `rejoin list --all`, or `git branch` and `rejoin show x --home /b`; rejoin knows";
        assert_eq!(all_in_home(text, &Elsewhere::default()), text);
        let there =
            "run `rejoin --home '/a b' list --all`, or `git branch` and `rejoin show x --home /b`; rejoin knows";
        let named = Elsewhere { home: Some("/a b".into()), host: None };
        assert_eq!(all_in_home(text, &named), there);
        assert_eq!(in_home("mkdir -p /x", &named), "mkdir -p /x");
    }

    #[test]
    fn backtick_in_title_does_not_hide_command() {
        let named = Elsewhere { home: Some("/b".into()), host: None };
        assert_eq!(
            all_in_home("stuck at a`b; `rejoin undo 7` helps", &named),
            "stuck at a`b; `rejoin --home /b undo 7` helps"
        );
    }

    #[test]
    fn commands_for_other_host_run_over_ssh() {
        let there = Elsewhere { home: None, host: Some("box".into()) };
        assert_eq!(in_home("rejoin undo 7", &there), "rejoin --host box undo 7");
        assert_eq!(in_home("mkdir -p '/a b'", &there), "ssh -t box \"mkdir -p '/a b'\"");
        assert_eq!(
            all_in_home("see `git branch` and `rejoin undo`", &there),
            "see `git branch` and `rejoin --host box undo`"
        );
        let named = Elsewhere { home: Some("/a b".into()), ..there };
        assert_eq!(in_home("rejoin undo 7", &named), "rejoin --host box --home '/a b' undo 7");
    }
}
