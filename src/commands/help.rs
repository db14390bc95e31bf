//! `rejoin help`

use std::io::Write;

use clap::CommandFactory as _;

use crate::cli::{Cli, HelpArgs};
use crate::config::{KEYS, example};
use crate::error::{EXIT_CODES, Exit, Refusal};
use crate::session::marks::Mark;
use crate::view::ui::Ui;

pub(crate) fn run(args: &HelpArgs, ui: &mut Ui) -> anyhow::Result<Exit> {
    let mut command = Cli::command().bin_name("rejoin");
    command.build();
    let help = match args.topic.as_slice() {
        [topic] if topic == "exit-codes" => exit_codes(),
        [topic] if topic == "marks" => marks(),
        // `config` is a command too; its help is that of --help.
        [topic] if topic == "config" => config(),
        // A command may be divided: `help hook install`.
        words => match words.iter().try_fold(&mut command, |command, word| command.find_subcommand_mut(word)) {
            Some(command) => command.render_long_help().to_string(),
            None => {
                let topic = words.join(" ");
                let refusal = Refusal::new(Exit::Usage, "usage", format!("there is no command or topic {topic}"));
                return Err(refusal.hint("run `rejoin help` to see the commands").into());
            }
        },
    };
    write!(ui.data(), "{help}")?;
    ui.flush()?;
    Ok(Exit::Ok)
}

/// Lists the letters of the column MARKS with their words and meanings.
fn marks() -> String {
    let mut text = "The letters of the column MARKS, and the words of `rejoin list --wide`:\n\n".to_owned();
    let width = Mark::ALL.iter().map(|mark| mark.word().len()).max().unwrap_or_default();
    for mark in Mark::ALL {
        text.push_str(&format!("  {}  {:<width$}  {}\n", mark.letter(), mark.word(), mark.meaning()));
    }
    text.push_str("\n`rejoin doctor` says what to do about each.\n");
    text
}

/// Lists the keys of the config file.
fn config() -> String {
    let mut text =
        "~/.config/rejoin/config.toml, or rejoin/config.toml in XDG_CONFIG_HOME, says what holds unless an option\n\
                    says otherwise. `rejoin config` shows what holds; --no-config does without the file. Its keys:\n\n"
            .to_owned();
    let width = KEYS.iter().map(|key| key.name.len()).max().unwrap_or_default();
    for key in KEYS {
        text.push_str(&format!("  {:<width$}  {}\n", key.name, key.meaning));
        match key.default_in_words() {
            words if words.is_empty() => {}
            words => text.push_str(&format!("  {:<width$}  [default: {words}]\n", "")),
        }
    }
    text.push_str("\nA file that sets each of them:\n\n");
    for line in example().lines() {
        text.push_str(format!("  {line}").trim_end());
        text.push('\n');
    }
    text.push_str(
        "\nA rule of cleanup.keep only ever keeps more. The keys of list are for tables; what a pipe gets does not\ndepend on them.\n",
    );
    text
}

/// Lists the exit codes with their meanings.
pub(crate) fn exit_codes() -> String {
    let mut text = "The exit status of rejoin tells a script what happened:\n\n".to_owned();
    for (code, meaning) in EXIT_CODES {
        text.push_str(&format!("  {code:>3}  {meaning}\n"));
    }
    text.push_str("\nA successful `rejoin resume` becomes the agent, so its status is the agent's.\n");
    text.push_str("With --wait, an agent that a signal killed gives 128 and the signal's number.\n");
    text
}
