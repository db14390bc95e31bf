//! What to type where something is missing that a command needs.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

use crate::format::command_line;

/// What can be missing, the command where that matters, what shows what there is of it, and what that is.
const SHOWN_BY: &[(&str, Option<&str>, &str, &str)] = &[
    ("<SESSION>", Some("restore"), "list --archived", "the sessions in the archive"),
    ("<SESSION>", None, "list", "the sessions"),
    ("<RUN>", None, "undo --list", "the runs"),
    ("<ENTRY>", None, "trash list", "the entries"),
];

/// Adds to an error of a missing argument where to find one, and that there is an option for all of them.
pub(crate) fn add_tips(error: &mut Error, command: &Command, words: &[String]) {
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else { return };
    let meant = words.iter().fold(command, |command, word| command.find_subcommand(word).unwrap_or(command));
    let is_missing = |name: &str| missing.iter().any(|missing| missing.starts_with(name));
    let shown_by = SHOWN_BY
        .iter()
        .filter(|_| error.kind() == ErrorKind::MissingRequiredArgument)
        .find(|(name, of, ..)| is_missing(name) && of.is_none_or(|command| command == meant.get_name()));
    let Some((_, _, list, what)) = shown_by else { return };
    let list = command_line::in_home(&format!("rejoin {list}"), &command_line::elsewhere_of(words)).into_owned();
    let shows = format!("`{list}` shows {what}");
    let takes_all = meant.get_arguments().any(|argument| argument.get_long() == Some("every"));
    let tips = [Some(shows), takes_all.then(|| "`--every` takes all of them".to_owned())];
    let tips = tips.into_iter().flatten().map(StyledStr::from).collect();
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn who_names_nothing_is_told_what_there_is() {
        for (line, expected) in [
            ("archive", &["`rejoin list` shows the sessions", "`--every` takes all of them"][..]),
            ("delete", &["`rejoin list` shows the sessions"]),
            ("restore", &["`rejoin list --archived` shows the sessions in the archive"]),
            ("trash restore", &["`rejoin trash list` shows the entries"]),
            ("trash purge", &["`rejoin undo --list` shows the runs", "`--every` takes all of them"]),
            ("delete --home /a", &["`rejoin --home /a list` shows the sessions"]),
            ("search", &[]),
            ("delete --nonsense", &[]),
        ] {
            let words: Vec<String> = format!("rejoin {line}").split(' ').map(str::to_owned).collect();
            let mut command = Cli::command();
            let mut error = command.try_get_matches_from_mut(&words).expect_err("an error");
            add_tips(&mut error, &command, &words);
            let said = error.to_string();
            let tips: Vec<&str> = said.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).collect();
            let tips: Vec<&str> = tips.into_iter().filter(|tip| !tip.contains("--nonsense")).collect();
            assert_eq!(tips, expected, "{line}");
        }
    }
}
