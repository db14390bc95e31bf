//! Errors of usage for scripts: whether one is wanted as JSON, and its parts.

use clap::Error;

use crate::error::{Refusal, RefusalCode};

/// Returns whether a command that could not be parsed asks for JSON.
///
/// Words after `--`, and the prompt for an agent, are not options.
pub(crate) fn asks_for_json(words: &[String]) -> bool {
    let mut own = words.iter().map(String::as_str).take_while(|word| *word != "--");
    while let Some(word) = own.next() {
        match word {
            "--prompt" => _ = own.next(),
            "--json" | "--format=json" | "--format=ndjson" => return true,
            "--format" if own.next().is_some_and(|format| ["json", "ndjson"].contains(&format)) => return true,
            _ => {}
        }
    }
    false
}

/// Converts an error of usage: the first paragraph is the message, and the tips are the hint.
pub(crate) fn refusal(error: &Error) -> Refusal {
    let text = error.to_string();
    let lines = || text.lines().map(str::trim);
    let message: Vec<&str> = lines().take_while(|line| !line.is_empty()).collect();
    let message = message.join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message).to_owned();
    let tips: Vec<&str> = lines().filter_map(|line| line.strip_prefix("tip: ")).collect();
    let refusal = Refusal::new(RefusalCode::Usage, message);
    if tips.is_empty() { refusal } else { refusal.hint(tips.join("; ")) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn parser_detects_json_option_in_invalid_command_line() {
        for line in ["list --since nope --json", "list --format json -n x", "list --format=ndjson -n x"] {
            assert!(asks_for_json(&words(line)), "{line}");
        }
        for line in
            ["list --since nope", "resume a --nope -- --json", "resume a --nope --prompt --json", "list --format csv"]
        {
            assert!(!asks_for_json(&words(line)), "{line}");
        }
    }

    #[test]
    fn usage_error_has_message_and_hint() {
        let refused = |line: &str| refusal(&Cli::command().try_get_matches_from(words(line)).expect_err("an error"));
        let missing = refused("rejoin delete");
        assert_eq!(missing.message, "the following required arguments were not provided: <SESSION>...");
        let unknown = refused("rejoin list --agnet claude");
        assert_eq!(unknown.message, "unexpected argument '--agnet' found");
        assert_eq!(unknown.hint.as_deref(), Some("a similar argument exists: '--agent'"));
    }
}
