//! Every command, option and value as clap types; no behaviour but checking values.

mod archive;
mod browse;
pub(crate) mod colors;
mod examples;
mod export;
mod foreign;
mod groups;
mod hook;
mod list;
mod options;
mod relocate;
mod remove;
mod repair;
mod resume;
mod save;
mod tags;
mod tips;
mod undo;
mod usage;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::ValueHint;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::verbs::{Verb, verbs};

pub(crate) use archive::{ArchiveArgs, RestoreArgs, SyncArgs};
pub(crate) use browse::{SearchArgs, SearchOrder, ShowArgs};
pub(crate) use export::{ExportArgs, ExportFormat};
pub(crate) use groups::{all_commands, command, global_options};
pub(crate) use hook::{HookArgs, HookCommand, HookScope, HookSettingsArgs, HookStatusArgs};
pub(crate) use list::{AgentsArgs, ListArgs, StatsArgs};
pub(crate) use options::{
    ChangeArgs, ChoiceArgs, DetailArgs, FilterArgs, Format, FormatArgs, LockArgs, PlaceArgs, RemovalArgs,
};
pub(crate) use relocate::{MoveArgs, RenameArgs};
pub(crate) use remove::{CleanupArgs, DeleteArgs, PinArgs, TagArgs};
pub(crate) use repair::{BackfillArgs, DoctorArgs, RewindArgs};
pub(crate) use resume::ResumeArgs;
pub(crate) use save::{SaveArgs, SaveCommand};
pub(crate) use tags::{TagArgument, split_from_options};
pub(crate) use tips::{add_tips, for_picker, suggest_nearest};
pub(crate) use undo::UndoArgs;
pub(crate) use usage::{asks_for_json, refusal};

/// Find, repair, clean up and resume coding-agent sessions, whichever agent wrote them
///
/// An agent files a session under the directory where it was started. rejoin finds the session
/// from anywhere, knows its directory, and starts the right agent there.
///
/// On a terminal, `rejoin` alone opens the picker, and `rejoin WORDS` opens it with these words
/// searched for; `?` there shows its keys.
#[derive(Debug, Parser)]
#[command(
    name = "rejoin",
    version,
    styles = colors::of_help(),
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = "Topics: rejoin help all|sessions|filters|words|marks|options|config|exit-codes",
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub global: Global,

    #[command(subcommand)]
    pub command: Command,
}

/// Heading of the options of every command, which help shows after the command's own options.
const GLOBAL: &str = "Global options";

/// Options of every command.
#[derive(Args, Clone, Debug)]
pub(crate) struct Global {
    /// Use DIR as the home directory, and ignore the agents' own variables
    ///
    /// For containers, mounted volumes, backups and tests.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub home: Option<PathBuf>,

    /// Do it on HOST through ssh: an alias, user@host or a group of the config file (can be repeated)
    ///
    /// `all` is every host of the config file, `.` this machine. `list`, `search`, `show` and `resume` take several hosts.
    #[arg(long = "host", visible_alias = "hosts", global = true, help_heading = GLOBAL, value_name = "HOST",
          value_delimiter = ',')]
    pub hosts: Vec<String>,

    /// Give up on a host that takes longer than TIME to connect
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "TIME", default_value = "10s",
          value_parser = values::parse_time)]
    pub connect_timeout: Duration,

    /// Give up on a host that is silent for TIME while its answer is waited for
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "TIME", default_value = "30min",
          value_parser = values::parse_time)]
    pub answer_timeout: Duration,

    /// Ignore the config file
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub no_config: bool,

    /// Print no notes and no warnings, and of a change that was made only one line and what failed
    #[arg(long, short, global = true, help_heading = GLOBAL)]
    pub quiet: bool,

    /// When to use colours
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "WHEN", default_value = "auto")]
    pub color: ColorWhen,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

macro_rules! commands {
    ($($(#[$($meta:tt)*])* $name:ident($args:ident) $module:ident $rest:tt)*) => {
        /// Commands of the program.
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $($(#[$($meta)*])* $name($args),)*
        }

        impl Command {
            /// Returns the entry of the registry.
            pub(crate) fn verb(&self) -> Verb {
                match self {
                    $(Self::$name(_) => Verb::$name,)*
                }
            }
        }
    };
}
verbs!(commands);

/// The way to install the script in each shell.
const INSTALL_COMPLETIONS: &str = "\
Install it:
  bash        add to ~/.bashrc:  eval \"$(rejoin completions bash)\"
  zsh         add to ~/.zshrc, after compinit:  source <(rejoin completions zsh)
  fish        add to ~/.config/fish/config.fish:  rejoin completions fish | source
  powershell  add to $PROFILE:  rejoin completions powershell | Out-String | Invoke-Expression";

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell that will read the script
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// A shell that has a completion script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Shell {
    /// GNU bash 3.2 or later.
    Bash,
    /// Fish.
    Fish,
    /// PowerShell on Linux and macOS.
    Powershell,
    /// Zsh, after compinit.
    Zsh,
}

/// Arguments of `help`.
#[derive(Args, Debug)]
pub(crate) struct HelpArgs {
    /// A command, or a topic: `all`, `sessions`, `filters`, `words`, `marks`, `options`, `config` or `exit-codes`
    #[arg(value_name = "TOPIC")]
    pub topic: Vec<String>,
}

#[cfg(test)]
mod tests;
