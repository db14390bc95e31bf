//! The arguments of `tag`: sessions, `+WORD` and `-WORD`.

use std::ffi::OsString;
use std::str::FromStr;

use clap::{Command, CommandFactory as _};

use crate::cli::Cli;
use crate::session::select::Selector;
use crate::session::tag::Tag;
use crate::verbs::Verb;

/// The hyphen of `-WORD` for clap, which takes any other one for the beginning of an option.
const MINUS: char = '\u{2212}';

/// A session, or what is done to its tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TagArgument {
    Session(Selector),
    Add(Tag),
    Remove(Tag),
}

impl FromStr for TagArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text.strip_prefix('+'), text.strip_prefix(['-', MINUS])) {
            (Some(word), _) => word.parse().map(Self::Add),
            (None, Some(word)) => word.parse().map(Self::Remove),
            (None, None) => text.parse().map(Self::Session),
        }
    }
}

/// Replaces the hyphen of each `-WORD` of `rejoin tag`. The short options of `tag`, such as `-h`, stay.
pub(crate) fn split_from_options(args: &mut [OsString]) {
    let name = Verb::Tag.name();
    if !args.iter().any(|arg| arg == name) {
        return;
    }
    let mut command = Cli::command();
    command.build();
    let Some((at, tag)) = verb_at(&command, args).zip(command.find_subcommand(name)) else { return };
    if args[at] != name {
        return;
    }
    for arg in args.iter_mut().skip(at + 1).take_while(|arg| *arg != "--") {
        let Some(word) = arg.to_str().and_then(|text| text.strip_prefix('-')) else { continue };
        let is_option = word.starts_with('-')
            || tag.get_arguments().any(|known| known.get_short().is_some_and(|letter| word == letter.to_string()));
        if !is_option && word.parse::<Tag>().is_ok() {
            *arg = format!("{MINUS}{word}").into();
        }
    }
}

/// Returns the place of the command among the arguments, behind the global options.
fn verb_at(command: &Command, args: &[OsString]) -> Option<usize> {
    let takes_value = |text: &str| {
        let is_it = |known: &clap::Arg| known.get_long().is_some_and(|long| text.strip_prefix("--") == Some(long));
        command.get_arguments().any(|known| is_it(known) && known.get_action().takes_values())
    };
    let mut at = 1;
    while let Some(arg) = args.get(at) {
        match arg.to_str() {
            Some(text) if text.starts_with('-') => at += if takes_value(text) { 2 } else { 1 },
            _ => return Some(at),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> String {
        let mut args: Vec<OsString> = line.split(' ').map(Into::into).collect();
        split_from_options(&mut args);
        args.iter().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn hyphen_before_a_word_removes_a_tag() {
        for (line, expected) in [
            ("rejoin tag a -old +new", "rejoin tag a \u{2212}old +new"),
            ("rejoin --home /tag tag a -agent -q", "rejoin --home /tag tag a \u{2212}agent -q"),
            ("rejoin --home tag list -x", "rejoin --home tag list -x"),
            ("rejoin search tag -x", "rejoin search tag -x"),
            ("rejoin tag a --json -a=claude", "rejoin tag a --json -a=claude"),
            ("rejoin tag -- -old", "rejoin tag -- -old"),
        ] {
            assert_eq!(split(line), expected);
        }
        assert_eq!("\u{2212}Old".parse(), Ok(TagArgument::Remove("old".parse().expect("a tag"))));
        assert_eq!("-old".parse(), Ok(TagArgument::Remove("old".parse().expect("a tag"))));
    }
}
