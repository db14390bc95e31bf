//! Commands for what a person types next: this very one once more, and all of them in the home that is looked at.

use std::borrow::Cow;
use std::path::Path;

use crate::format::shell;
use crate::system::env::Env;

/// Returns the command of this run for a shell, without some options, and with others.
///
/// An option to be left out with its value is named with a `=` at its end. What follows `--` is another program's.
pub(crate) fn again(env: &Env, without: &[&str], with: &[&str]) -> String {
    let end = env.words.iter().position(|word| word == "--").unwrap_or(env.words.len());
    let (own, passed_on) = env.words.split_at(end);
    let mut is_value = false;
    let own = own.iter().map(String::as_str).filter(|word| {
        let has_value = |option: &&&str| option.strip_suffix('=') == Some(word);
        let is_left_out = std::mem::take(&mut is_value)
            || without.contains(word)
            || without.iter().any(|option| option.ends_with('=') && word.starts_with(option));
        is_value = without.iter().any(|option| has_value(&option));
        !is_left_out && !is_value
    });
    let words = own.chain(with.iter().copied()).chain(passed_on.iter().map(String::as_str));
    let words: Vec<_> = ["rejoin"].into_iter().chain(words).map(shell::word).collect();
    words.join(" ")
}

/// Returns the command that does what a plan of this run says, and nothing else.
pub(crate) fn apply(env: &Env, fingerprint: &str) -> String {
    again(env, &["--dry-run", "-n", "--yes", "-y", "--exit-code"], &["--apply", fingerprint])
}

/// Gives the commands of this program in a text, which stand between backticks, the home directory that this run looks at
/// in place of the usual one.
pub(crate) fn all_in_home<'t>(text: &'t str, home: Option<&Path>) -> Cow<'t, str> {
    if home.is_none() || !text.contains("`rejoin ") {
        return Cow::Borrowed(text);
    }
    let parts = text.split('`').enumerate();
    let parts: Vec<_> =
        parts.map(|(at, part)| if at % 2 == 1 { in_home(part, home) } else { Cow::Borrowed(part) }).collect();
    Cow::Owned(parts.join("`"))
}

/// Gives a command the home directory, if it is one of this program and does not name one.
pub(crate) fn in_home<'t>(command: &'t str, home: Option<&Path>) -> Cow<'t, str> {
    match (home, command.strip_prefix("rejoin ")) {
        (Some(home), Some(rest)) if !command.contains(" --home") => {
            Cow::Owned(format!("rejoin --home {} {rest}", shell::word(&home.to_string_lossy())))
        }
        _ => Cow::Borrowed(command),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::env::tests::fixed;

    #[test]
    fn options_are_taken_out_and_added_before_what_is_passed_on() {
        let mut env = fixed();
        env.words = ["cleanup", "-n", "--dir", "/a b", "--", "-n"].map(str::to_owned).to_vec();
        assert_eq!(apply(&env, "abc"), "rejoin cleanup --dir '/a b' --apply abc -- -n");
        assert_eq!(again(&env, &[], &["--yes"]), "rejoin cleanup -n --dir '/a b' --yes -- -n");
        assert_eq!(again(&env, &["--dir="], &[]), "rejoin cleanup -n -- -n");
        env.words = ["delete", "a", "--apply=7"].map(str::to_owned).to_vec();
        assert_eq!(again(&env, &["--apply="], &["--dry-run"]), "rejoin delete a --dry-run");
    }

    #[test]
    fn commands_are_for_the_home_that_was_looked_at() {
        let text = "run `rejoin list --all`, or `git branch` and `rejoin show x --home /b`; rejoin knows";
        assert_eq!(all_in_home(text, None), text);
        let there =
            "run `rejoin --home '/a b' list --all`, or `git branch` and `rejoin show x --home /b`; rejoin knows";
        assert_eq!(all_in_home(text, Some(Path::new("/a b"))), there);
        assert_eq!(in_home("mkdir -p /x", Some(Path::new("/a"))), "mkdir -p /x");
    }
}
