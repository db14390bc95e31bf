//! This very command once more, for what a person types next.

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
}
