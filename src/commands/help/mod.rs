//! `rejoin help`

pub(super) mod topics;

use std::io::Write;

use crate::cli::{self, HelpArgs};
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::wrap::in_columns;
use crate::system::env::Env;
use crate::view::ui::Ui;

/// A narrower screen breaks the lines of a topic itself.
const NARROWEST: usize = 40;

pub(crate) fn run(args: &HelpArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let mut command = cli::command().bin_name("rejoin");
    command.build();
    let help = match args.topic.as_slice() {
        [topic] if topics::of(topic).is_some() => {
            let text = topics::of(topic).unwrap_or_default();
            let width = env.terminal.screen_width();
            width.map_or(text.clone(), |width| in_columns(&text, usize::from(width).max(NARROWEST)))
        }
        // A command may be divided: `help hook install`.
        words => match words.iter().try_fold(&mut command, |command, word| command.find_subcommand_mut(word)) {
            Some(command) => command.render_long_help().to_string(),
            None => {
                let topic = words.join(" ");
                let refusal = Refusal::new(RefusalCode::Usage, format!("there is no command or topic {topic}"));
                let commands = command.get_subcommands().filter(|part| !part.is_hide_set());
                let commands = commands.map(|part| part.get_name().to_owned());
                let near = cli::nearest(&topic, commands.chain(topics::names().map(str::to_owned)));
                return Err(refusal
                    .hint(match near {
                        Some(near) => format!("run `rejoin help {near}`"),
                        None => "run `rejoin help` to see the commands and topics".to_owned(),
                    })
                    .into());
            }
        },
    };
    ui.page(env);
    write!(ui.data(), "{help}")?;
    ui.flush()?;
    Ok(Exit::Ok)
}
