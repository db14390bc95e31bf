//! Tips in errors of usage: the command that lists a missing argument, and the name nearest to an unknown one.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error, ValueEnum as _};

use crate::cli::foreign;
use crate::format::{command_line, shell};
use crate::session::AgentKind;
use crate::session::nearly::nearest;
use crate::verbs::{InPlaceOf, Verb};

/// Arguments that may be missing, the command if only one is meant, the command that lists their values, and a name for these.
const SHOWN_BY: &[(&str, Option<Verb>, &str, &str)] = &[
    ("<SESSION>", Some(Verb::Restore), "list --archived", "the sessions in the archive"),
    ("<SESSION>", None, "list", "the sessions"),
    ("<OLD_DIR>", Some(Verb::Move), "move --detect", "directories that are gone, and where they may be now"),
    ("<NEW_DIR>", Some(Verb::Move), "move --detect", "directories that are gone, and where they may be now"),
    ("<RUN", None, "undo --list", "the runs"),
];

/// Maximum values that an error lists.
const FEW_VALUES: usize = 10;

/// Values of which there are too many for an error, and the command that lists them.
const VALUES_SHOWN_BY: &[(&str, &str, &str)] =
    &[("<AGENT>", "agents", "the agents"), ("<CODE>", "doctor --list-checks", "the checks")];

/// Replaces the long list of the values of an option by the value nearest to the one typed, or the command that lists them.
fn shorten_values(error: &mut Error, nearest: Option<&str>, words: &[String]) {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return };
    let shown_by = VALUES_SHOWN_BY.iter().find(|(name, ..)| argument.ends_with(name));
    let Some((_, list, what)) = shown_by else { return };
    if matches!(error.get(ContextKind::ValidValue), Some(ContextValue::Strings(values)) if values.len() <= FEW_VALUES) {
        return;
    }
    error.remove(ContextKind::ValidValue);
    if nearest.is_none() {
        let list = command_line::in_home(&format!("rejoin {list}"), &command_line::elsewhere_of(words)).into_owned();
        let tip = StyledStr::from(format!("`{list}` lists {what}"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
}

/// Adds the command that lists a missing argument to an error, and the option that takes all of them.
pub(crate) fn add_tips(error: &mut Error, command: &Command, words: &[String]) {
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else { return };
    let meant = words.iter().fold(command, |command, word| command.find_subcommand(word).unwrap_or(command));
    let is_missing = |name: &str| missing.iter().any(|missing| missing.starts_with(name));
    let shown_by = SHOWN_BY
        .iter()
        .filter(|_| error.kind() == ErrorKind::MissingRequiredArgument)
        .find(|(name, of, ..)| is_missing(name) && of.is_none_or(|verb| verb.name() == meant.get_name()));
    let Some((_, _, list, what)) = shown_by else { return };
    let list = command_line::in_home(&format!("rejoin {list}"), &command_line::elsewhere_of(words)).into_owned();
    let shows = format!("`{list}` shows {what}");
    let takes_all = meant.get_arguments().any(|argument| argument.get_long() == Some("every"));
    let tips = [Some(shows), takes_all.then(|| "`--every` takes all of them".to_owned())];
    let tips = tips.into_iter().flatten().map(StyledStr::from).collect();
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
}

const SEARCH: &[&str] = &["search", "--pick"];
const RESUME: &[&str] = &["resume"];

/// Returns the arguments to insert, and their place, for a line without a command, so that the picker opens: with the words
/// typed, or with the options. A mistyped command is not a word to search for.
pub(crate) fn for_picker(
    error: &Error,
    command: &Command,
    words: &[String],
) -> Option<(usize, &'static [&'static str])> {
    let has_command = |words: &[String]| words.iter().any(|word| command.find_subcommand(word).is_some());
    let (at, openers) = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let at = words.iter().position(|word| Some(word.as_str()) == unknown_command(error))?;
            let is_meant = |name: &str| words[at] == name || nearest(&words[at], [name]).is_some();
            let is_command = Verb::ALL.iter().any(|verb| is_meant(verb.name()) || is_in_place_of(*verb, &words[at]));
            // A command such as `hook` has commands of its own.
            (!is_command && !has_command(&words[..at])).then_some((at, &[SEARCH][..]))?
        }
        ErrorKind::UnknownArgument if !has_command(words) => (1, &[SEARCH, RESUME][..]),
        _ => return None,
    };
    openers.iter().find(|inserted| opens_picker(command, words, at, inserted)).map(|inserted| (at, *inserted))
}

/// Reports whether the line with these arguments opens the picker: it has no session that only the user may resume.
fn opens_picker(command: &Command, words: &[String], at: usize, inserted: &[&str]) -> bool {
    let (before, after) = words.split_at(at);
    let line =
        before.iter().map(String::as_str).chain(inserted.iter().copied()).chain(after.iter().map(String::as_str));
    let matches = command.clone().try_get_matches_from(line);
    let verb = matches.as_ref().ok().and_then(|matches| matches.subcommand());
    verb.is_some_and(|(name, args)| name != "resume" || !args.contains_id("session"))
}

fn unknown_command(error: &Error) -> Option<&str> {
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => Some(word),
        _ => None,
    }
}

fn is_in_place_of(verb: Verb, word: &str) -> bool {
    verb.in_place_of().iter().any(|known| known.word == word)
}

/// Puts the nearest command, option or value in place of those that clap finds similar.
pub(crate) fn suggest_nearest(error: &mut Error, command: &Command, words: &[String]) {
    let meant = words.iter().fold(command, |command, word| command.find_subcommand(word).unwrap_or(command));
    let longs = || meant.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(|arg| arg.get_long());
    let is_long = |word: &&str| word.len() > 1 && longs().any(|long| long == *word);
    let hyphened =
        words.iter().filter_map(|word| word.strip_prefix('-')).map(|word| word.split('=').next().unwrap_or(word));
    if let Some(long) = hyphened.clone().find(is_long) {
        let tip = StyledStr::from(format!("the option '--{long}' has two hyphens"));
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedValue);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
        return;
    }
    let (typed, suggested) = match error.kind() {
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        ErrorKind::InvalidValue => (ContextKind::InvalidValue, ContextKind::SuggestedValue),
        _ => return,
    };
    let Some(ContextValue::String(typed)) = error.get(typed) else { return };
    let typed = typed.clone();
    if suggested == ContextKind::SuggestedArg {
        // clap's usage has only the option that it finds similar.
        error.insert(ContextKind::Usage, ContextValue::StyledStr(meant.clone().render_usage()));
        if !typed.starts_with("--") || !foreign::takes_texts(meant) {
            // clap proposes `-- -l`.
            error.remove(ContextKind::Suggested);
        }
    }
    let typed = typed.as_str();
    if [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand].contains(&suggested)
        && let Some(tip) = foreign::tip(typed, meant, words)
    {
        error.remove(suggested);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return;
    }
    let known = || Verb::ALL.iter().flat_map(|verb| verb.in_place_of()).find(|known| known.word == typed);
    let list = || Some(format!("list {}", AgentKind::from_str(typed, false).ok()?));
    let instead = || known().map(|InPlaceOf { instead, .. }| (*instead).to_owned()).or_else(list);
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(instead) = instead()
    {
        let line = format!("rejoin {instead}");
        let line = command_line::in_home(&line, &command_line::elsewhere_of(words));
        let tip = StyledStr::from(format!("`{line}` does that"));
        error.remove(suggested);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
        return;
    }
    if let Some((at, &["search", ..])) = for_picker(error, command, words) {
        let quoted: Vec<_> = words[at..].iter().map(|word| shell::word(word)).collect();
        let line = format!("rejoin search {} --pick", quoted.join(" "));
        let line = command_line::in_home(&line, &command_line::elsewhere_of(words));
        let tip = StyledStr::from(format!("`{line}` looks for it in every session"));
        error.remove(suggested);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
        return;
    }
    let names: Vec<String> = match suggested {
        ContextKind::SuggestedSubcommand => {
            let visible = meant.get_subcommands().filter(|command| !command.is_hide_set());
            visible.map(|command| command.get_name().to_owned()).collect()
        }
        ContextKind::SuggestedArg => longs().map(|long| format!("--{long}")).collect(),
        _ => match error.get(ContextKind::ValidValue) {
            Some(ContextValue::Strings(values)) => values.clone(),
            _ => return,
        },
    };
    let nearest = nearest(typed, names);
    error.remove(suggested);
    // clap prints an empty list of suggestions as an empty line.
    if matches!(error.get(ContextKind::Suggested), Some(ContextValue::StyledStrs(tips)) if tips.is_empty()) {
        error.remove(ContextKind::Suggested);
    }
    match (suggested, nearest) {
        (ContextKind::SuggestedValue, near) => {
            shorten_values(error, near.as_deref(), words);
            near.and_then(|name| error.insert(suggested, ContextValue::String(name)));
        }
        (_, None) => {}
        (ContextKind::SuggestedSubcommand, Some(name)) => {
            error.insert(suggested, ContextValue::Strings(vec![name]));
        }
        (_, Some(name)) => drop(error.insert(suggested, ContextValue::String(name))),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    /// Returns the error of a line, with the command and the words that were parsed.
    fn error_of(line: &str) -> (Error, Command, Vec<String>) {
        let words: Vec<String> = format!("rejoin {line}").split(' ').map(str::to_owned).collect();
        let mut command = Cli::command();
        let error = command.try_get_matches_from_mut(&words).expect_err("an error");
        (error, command, words)
    }

    fn tips_in(message: &str) -> Vec<&str> {
        message.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).collect()
    }

    #[test]
    fn missing_argument_suggests_list_command() {
        for (line, expected) in [
            ("archive", &["`rejoin list` shows the sessions", "`--every` takes all of them"][..]),
            ("delete", &["`rejoin list` shows the sessions"]),
            ("restore", &["`rejoin list --archived` shows the sessions in the archive"]),
            ("undo --purge", &["`rejoin undo --list` shows the runs", "`--every` takes all of them"]),
            ("delete --home /a", &["`rejoin --home /a list` shows the sessions"]),
            ("move /a", &["`rejoin move --detect` shows directories that are gone, and where they may be now"]),
            ("search", &[]),
            ("delete --nonsense", &[]),
        ] {
            let (mut error, command, words) = error_of(line);
            add_tips(&mut error, &command, &words);
            let message = error.to_string();
            let tips: Vec<&str> = tips_in(&message).into_iter().filter(|tip| !tip.contains("--nonsense")).collect();
            assert_eq!(tips, expected, "{line}");
        }
    }

    #[test]
    fn unknown_agent_suggests_nearest_or_list_command() {
        for (line, expected) in [
            ("resume 9f4d --with codx", "a similar value exists: 'codex'"),
            ("list --agent zzz", "`rejoin agents` lists the agents"),
            ("--home /a resume 9f4d --with zzz", "`rejoin --home /a agents` lists the agents"),
            ("doctor --check zzz", "`rejoin doctor --list-checks` lists the checks"),
        ] {
            let (mut error, command, words) = error_of(line);
            suggest_nearest(&mut error, &command, &words);
            let message = error.to_string();
            assert_eq!(tips_in(&message), [expected], "{message}");
            assert!(!message.contains("possible values"), "{message}");
        }
    }

    #[test]
    fn argument_of_other_program_suggests_ours() {
        for (line, expected) in [
            ("--list", "`rejoin list` does that"),
            ("--home /a --resume 31c5", "`rejoin --home /a resume 31c5` does that"),
            ("-c", "`rejoin resume latest` does that"),
            ("-v", "`--version` does that"),
            ("resume --last", "`rejoin resume latest` does that"),
            ("list -5", "`--limit 5` does that"),
            ("list --since -3d", "an age has no sign: `3d`"),
            ("list --limit -1", ""),
            ("list -la", "`--wide` does that"),
            ("list -q -g", ""),
            ("list --output json", "`--format` does that"),
            ("list --oneline", "`--format tsv` does that"),
            ("list -f json", "`--format` does that"),
            ("search relay -A 3", "`--context` does that"),
            ("search relay -F", "`--exact` does that"),
            ("search relay -v cron", "`!WORD` leaves out what has the word"),
            ("search relay --not cron", "`!WORD` leaves out what has the word"),
            ("search relay -cron", "`'!cron'` leaves out what has the word"),
            ("move /a /b --session 31c5f2e8 --bogus", ""),
            ("resume 31c5 --model m", "to pass '--model' as a value, use '-- --model'"),
            ("cleanup -n", "`--dry-run` does that"),
            ("cleanup --all", "`--any-age` does that"),
            ("archive --all", "`--every` does that"),
            ("delete 31c5 --force", "`--yes` does that"),
            ("cleanup 31c5", "`rejoin delete SESSION` removes single sessions"),
            ("rename 31c5 Cron mails", "put a title of several words in quotes"),
            ("hook install --agent codex", ""),
        ] {
            let (mut error, command, words) = error_of(line);
            suggest_nearest(&mut error, &command, &words);
            let message = error.to_string();
            assert_eq!(tips_in(&message).join("|"), expected, "{message}");
        }
    }

    #[test]
    fn unknown_option_shows_the_plain_usage() {
        for (line, usage) in [
            ("list --on friday", "Usage: rejoin list [OPTIONS] [WORD]..."),
            ("search relay --not cron", "Usage: rejoin search [OPTIONS] <TEXT>..."),
        ] {
            let (mut error, command, words) = error_of(line);
            suggest_nearest(&mut error, &command, &words);
            assert!(error.to_string().contains(usage), "{error}");
        }
    }

    #[test]
    fn words_without_command_open_picker() {
        for (line, expected) in [
            ("relay", Some((1, SEARCH))),
            ("--here", Some((1, RESUME))),
            ("--agent claude", Some((1, RESUME))),
            ("--agent claude relay", Some((1, SEARCH))),
            ("--json relay", None),
            ("--agent nobody", None),
        ] {
            let (error, command, words) = error_of(line);
            assert_eq!(for_picker(&error, &command, &words), expected, "{line}");
        }
    }

    #[test]
    fn suggested_commands_for_foreign_names_exist() {
        for InPlaceOf { word: name, instead } in Verb::ALL.iter().flat_map(|verb| verb.in_place_of()) {
            let (mut error, command, words) = error_of(&format!("--home /a {name} x"));
            suggest_nearest(&mut error, &command, &words);
            assert!(error.to_string().contains(&format!("tip: `rejoin --home /a {instead}` does that")), "{error}");
            let line = format!("rejoin {instead}").replace(" N", " 1");
            Cli::command().try_get_matches_from_mut(line.split(' ')).expect("a command");
        }
    }

    #[test]
    fn error_suggests_nearest_name() {
        let suggested = |line: &str| {
            let (mut error, command, words) = error_of(line);
            suggest_nearest(&mut error, &command, &words);
            let message = error.to_string();
            let tip = message.lines().find(|line| line.contains(" exists: '") || line.contains("two hyphens"));
            tip.and_then(|tip| tip.split('\'').nth(1)).unwrap_or_default().to_owned()
        };
        for (typed, name) in [
            ("resum", "resume"),
            ("resmue", "resume"),
            ("reusme", "resume"),
            ("resumee", "resume"),
            ("rsume", "resume"),
            ("serach", "search"),
            ("seach", "search"),
            ("searhc", "search"),
            ("sarch", "search"),
            ("lst", "list"),
            ("lits", "list"),
            ("liste", "list"),
            ("lisst", "list"),
            ("shwo", "show"),
            ("sho", "show"),
            ("hsow", "show"),
            ("docter", "doctor"),
            ("dcotor", "doctor"),
            ("doctr", "doctor"),
            ("claenup", "cleanup"),
            ("cleanpu", "cleanup"),
            ("clenup", "cleanup"),
            ("clean", "cleanup"),
            ("delte", "delete"),
            ("deleet", "delete"),
            ("dlete", "delete"),
            ("mvoe", "move"),
            ("moev", "move"),
            ("exprot", "export"),
            ("exort", "export"),
            ("archve", "archive"),
            ("arhcive", "archive"),
            ("restroe", "restore"),
            ("resotre", "restore"),
            ("udno", "undo"),
            ("unod", "undo"),
            ("statts", "stats"),
            ("sttas", "stats"),
            ("renmae", "rename"),
            ("rneame", "rename"),
            ("bakcfill", "backfill"),
            ("hok", "hook"),
            ("agnets", "agents"),
            ("confgi", "config"),
            ("list --fromat json", "--format"),
            ("list --limti 3", "--limit"),
            ("list --sicne 3d", "--since"),
            ("list --agnet x", "--agent"),
            ("search x --ezact", "--exact"),
            ("cleanup --older-then 3d", "--older-than"),
            ("list --agent cluade", "claude"),
            ("list --agent codx", "codex"),
            ("list --agent gemnii", "gemini"),
            ("list --agent opncode", "opencode"),
            ("list --agent hemres", "hermes"),
            ("list --format jsno", "json"),
            ("search x --sort actvie_at", "active_at"),
            ("list --agent qwne", "qwen"),
            ("list --agent claud,codex", "claude"),
            ("list --quite", "--quiet"),
            ("show x --hom /x", "--home"),
            ("ls --al", "--all"),
            ("--versoin", "--version"),
            ("doctor --expirng 7", "--expiring"),
            ("cleanup --olderthan 3d", "--older-than"),
            ("list -agent claude", "--agent"),
            ("list -limit=3", "--limit"),
            ("list -json", "--json"),
            ("save jdio", "jido"),
            ("hook instal", "install"),
            ("save trascript", "transcript"),
            ("completions zhs", "zsh"),
            ("doctor --check mising-directory", "missing-directory"),
            ("list --fields titel", "title"),
            ("stats --by projcet", "project"),
            ("export x --format hmtl", "html"),
            ("xyzzy", ""),
            ("list --xyzzy", ""),
        ] {
            assert_eq!(suggested(typed), name, "{typed}");
        }
        assert!(Cli::command().try_get_matches_from(["rejoin", "list", "--agent", "Claude"]).is_ok());
    }
}
