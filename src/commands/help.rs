//! `rejoin help`

use std::io::Write;
use std::iter;

use crate::cli::{self, HelpArgs};
use crate::config::{KEYS, example};
use crate::error::{EXIT_CODES, Exit, Refusal, RefusalCode};
use crate::session::marks::Mark;
use crate::session::nearly::nearest;
use crate::system::env::Env;
use crate::verbs::Verb;
use crate::view::grid::{self, Column, Fit};
use crate::view::ui::Ui;

pub(crate) fn run(args: &HelpArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let mut command = cli::command().bin_name("rejoin");
    command.build();
    let help = match args.topic.as_slice() {
        [topic] if topic_text(topic).is_some() => topic_text(topic).unwrap_or_default(),
        // A command may be divided: `help hook install`.
        words => match words.iter().try_fold(&mut command, |command, word| command.find_subcommand_mut(word)) {
            Some(command) => command.render_long_help().to_string(),
            None => {
                let topic = words.join(" ");
                let refusal = Refusal::new(RefusalCode::Usage, format!("there is no command or topic {topic}"));
                let commands = command.get_subcommands().filter(|part| !part.is_hide_set());
                let commands = commands.map(|part| part.get_name().to_owned());
                let near = nearest(&topic, commands.chain(names().map(str::to_owned)));
                let instead = Verb::ALL.iter().flat_map(|verb| verb.in_place_of()).find(|known| known.word == topic);
                let near = instead.and_then(|known| known.instead.split(' ').next()).map(str::to_owned).or(near);
                return Err(refusal
                    .hint(match near {
                        Some(near) => format!("run `rejoin help {near}`"),
                        None => "run `rejoin help` to see the commands and topics".to_owned(),
                    })
                    .into());
            }
        },
    };
    ui.page(env)?;
    write!(ui.data(), "{help}")?;
    ui.flush()?;
    Ok(Exit::Ok)
}

/// Writes a topic.
type TopicWriter = fn() -> String;

/// Every topic, and its writer.
const TOPICS: &[(&str, TopicWriter)] = &[
    ("all", list_commands),
    ("sessions", sessions),
    ("filters", filters),
    ("words", words),
    ("marks", marks),
    ("options", options),
    // `config` is a command, too; `rejoin config --help` has its own help.
    ("config", config),
    ("exit-codes", exit_codes),
];

/// Names every topic.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|(name, _)| *name)
}

/// Returns the text of a topic.
fn topic_text(name: &str) -> Option<String> {
    TOPICS.iter().find(|(topic, _)| *topic == name).map(|(_, write)| write())
}

/// Writes indented lines of columns.
fn columns<T: ToString, const N: usize>(rows: impl IntoIterator<Item = [T; N]>) -> String {
    let rows: Vec<_> = rows.into_iter().collect();
    let column = |at: usize| Column::new("", Fit::Whole, rows.iter().map(|row| row[at].to_string()));
    grid::lines((0..N).map(column).collect(), usize::MAX).map(|line| format!("  {line}\n")).collect()
}

/// Lists every command.
fn list_commands() -> String {
    cli::all_commands().render_help().to_string()
}

/// Explains how a session is named.
fn sessions() -> String {
    let names = columns([
        ["31c5f2e8-…, 31c5", "its id, or the start of it"],
        ["claude:31c5", "the id, or the start of it, of one agent's session"],
        ["licence", "its title, or a part of it"],
        ["licence share", "words of its title, first prompt, directory, agent or marks; all of them match"],
        ["latest", "the newest one that passes the filters and that no script ran"],
        [".", "the newest one of this directory and those below"],
        ["3", "the third line of `rejoin list`"],
        ["~/.claude/…/ID.jsonl", "its file or directory"],
        ["build1:31c5", "a session on another host, for `resume` and `show`"],
    ]);
    format!(
        "Wherever a command takes a SESSION, any of these will do:\n\n{names}\n\
         If several match, a terminal opens the picker, and elsewhere they are listed\n\
         with exit code 6. Commands that change or remove sessions take no number, and\n\
         those that remove them not `latest`: both may mean another one at any moment.\n"
    )
}

/// Explains the filters that select the sessions of a command.
fn filters() -> String {
    let options = columns([
        ["--agent claude,codex", "sessions of these agents; `rejoin agents` names them all"],
        ["--dir DIR, --here", "sessions of a directory and those below, or of the current one"],
        ["--tag WORD", "sessions with a tag of `rejoin tag`"],
        ["--since AGE, --until AGE", "sessions active since then, or before"],
        ["--older-than AGE", "sessions not active since then"],
        ["--is MARK, --title TEXT", "with a mark, with a whole title: `list`, `cleanup` and `delete`"],
        ["--all", "sub-agents, closed and empty sessions too"],
    ]);
    let words = columns([
        ["cron mail", "both words in the title, first prompt, directory, agent, id or marks"],
        ["agent:claude, dir:shop", "of an agent, of a directory with this in its path"],
        ["since:7d, before:2026-11", "active since then, or before"],
        ["tag:shop, is:pinned, title:.", "with a tag, with a mark, with a whole title"],
        ["!mail, !is:exec", "without a word, without a mark"],
    ]);
    let ages = columns([
        ["90s, 2h, 7 days ago, 2w, 1mo", "so long before now"],
        ["yesterday, monday, last week", "the first moment of that day, or of that time"],
        ["2026-11, 2026-11-20", "the first moment of that month or day"],
        ["2026-11-20 14:00, 2026-11-20T14:00Z", "that time here, or that moment"],
    ]);
    format!(
        "Commands that take sessions have these options:\n\n{options}\n\
         `rejoin list` and the picker take words, too:\n\n{words}\n\
         An AGE is an age or a time:\n\n{ages}\n\
         The config file may set filters for `list`: `rejoin help config`.\n"
    )
}

/// Explains the terms of all commands and pages.
fn words() -> String {
    let words = columns([
        ["agent", "a program that writes sessions, such as Claude Code or Codex"],
        ["session", "one conversation that its agent can resume, identified by agent and id"],
        ["sub-agent", "a session that another session started for a part of its work"],
        ["copy", "one place where a session is stored; a session has one or more"],
        ["store", "one root directory of one agent's sessions"],
        ["project", "a directory in a store that holds the sessions of one working directory"],
        ["launch directory", "the directory in which `resume` starts the agent"],
        ["evidence", "a source that points to a launch directory, and whether it counts"],
        ["pointer", "a file outside the stores that names a session, such as Leo's"],
        ["live", "in use by a process"],
        ["mark", "something unusual about a session: `rejoin help marks`"],
        ["problem", "a mark for something that is wrong; `health` in JSON"],
        ["finding", "a problem that `doctor` reports, with evidence and remedies"],
        ["plan", "a change before it is made, as --dry-run prints it"],
        ["item", "a part of a plan or a run, mostly one session"],
        ["run", "one change that was carried out; `undo` reverses it"],
        ["trash", "where a run keeps what it removed, until a purge"],
        ["archive", "a place for sessions where no agent deletes them"],
        ["state", "one version of a session in the archive"],
        ["pinned", "protected from `cleanup` and `delete`"],
        ["host", "a machine that `--host` queries through ssh; `.` is this machine"],
    ]);
    let times = columns([
        ["20 hours ago", "its age; after a week, the day"],
        ["20h", "the same in a narrow table"],
        ["2026-11-20 14:00:03", "a moment in your time zone"],
        ["2026-11-20", "a day"],
        ["2026-11-20T14:00:03Z", "a moment in UTC, for scripts: in JSON and in a pipe"],
    ]);
    format!(
        "Words that help, messages and pages use, each for one thing:\n\n{words}\n\
         A time is shown as:\n\n{times}\n"
    )
}

/// Explains the options that every command takes.
fn options() -> String {
    cli::global_options().render_long_help().to_string()
}

/// Lists the letters of the column MARKS with their words and meanings.
fn marks() -> String {
    let mut text =
        "The letters of the column MARKS, and the words that tables of 100 columns have in their place:\n\n".to_owned();
    let row = |mark: &Mark| [mark.letter().to_string(), mark.word().to_owned(), mark.meaning().to_owned()];
    text.push_str(&columns(Mark::ALL.iter().map(row)));
    text.push_str("\n`rejoin doctor` names the remedies.\n");
    text
}

/// Lists the keys of the config file.
fn config() -> String {
    let mut text = "~/.config/rejoin/config.toml, or rejoin/config.toml in XDG_CONFIG_HOME, sets\n\
         defaults for options. `rejoin config` shows the value of each key and its\n\
         source; --no-config ignores the file. Its keys:\n\n"
        .to_owned();
    text.push_str(&columns(KEYS.iter().flat_map(|key| {
        let default = Some(key.default_in_words()).filter(|words| !words.is_empty());
        let default = default.map(|words| [String::new(), format!("[default: {words}]")]);
        iter::once([key.name.to_owned(), key.meaning.to_owned()]).chain(default)
    })));
    text.push_str("\nA file that sets each of them:\n\n");
    for line in example().lines() {
        text.push_str(format!("  {line}").trim_end());
        text.push('\n');
    }
    text.push_str(
        "\nA rule of cleanup.keep never removes anything. The keys of list apply to tables, not to the output in a pipe.\n",
    );
    text
}

/// Lists the exit codes with their meanings.
fn exit_codes() -> String {
    let mut text = "The exit codes of rejoin:\n\n".to_owned();
    for (code, meaning) in EXIT_CODES {
        text.push_str(&format!("  {code:>3}  {meaning}\n"));
    }
    text.push_str("\nA successful `rejoin resume` becomes the agent, so its status is the agent's.\n");
    text.push_str("With --wait, an agent that a signal killed gives 128 and the signal's number.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_topic() {
        let mut command = cli::command();
        let line = command.render_help().to_string();
        let line = line.lines().last().unwrap_or_default().to_owned();
        let topics = line.strip_prefix("Topics: rejoin help ").expect("a line of topics");
        assert_eq!(topics.split('|').collect::<Vec<_>>(), names().collect::<Vec<_>>());
        let help = command.find_subcommand_mut("help").expect("help").render_help().to_string();
        assert!(names().all(|topic| help.contains(&format!("`{topic}`"))), "{help}");
    }
}
