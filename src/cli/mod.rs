//! Every command, option and value as clap types; no behaviour but checking values.

mod archive;
mod browse;
pub(crate) mod colors;
mod export;
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
mod values;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::ValueHint;
use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use archive::{ArchiveArgs, RestoreArgs, SyncArgs};
pub(crate) use browse::{SearchArgs, SearchOrder, ShowArgs};
pub(crate) use export::{ExportArgs, ExportFormat};
pub(crate) use groups::{command, global_options};
pub(crate) use hook::{Hook, HookArgs, HookScope, HookSettingsArgs, HookStatusArgs};
pub(crate) use list::{AgentsArgs, ListArgs, StatsArgs};
pub(crate) use options::{
    ChangeArgs, ChoiceArgs, DetailArgs, FilterArgs, Format, FormatArgs, LockArgs, PlaceArgs, RemovalArgs,
};
pub(crate) use relocate::{MoveArgs, RenameArgs};
pub(crate) use remove::{CleanupArgs, DeleteArgs, PinArgs, TagArgs};
pub(crate) use repair::{BackfillArgs, DoctorArgs, RewindArgs};
pub(crate) use resume::ResumeArgs;
pub(crate) use save::{Save, SaveArgs};
pub(crate) use tags::{TagArgument, split_from_options};
pub(crate) use tips::{add_tips, nearest, suggest_nearest};
pub(crate) use undo::UndoArgs;

/// Find, repair, clean up and resume coding-agent sessions, whichever agent wrote them
///
/// An agent files a session under the directory where it was started. rejoin finds the session
/// from anywhere, knows its directory, and starts the right agent there.
#[derive(Debug, Parser)]
#[command(
    name = "rejoin",
    version,
    styles = colors::of_help(),
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = "Topics: rejoin help sessions|filters|words|marks|options|config|exit-codes",
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
          value_parser = humantime::parse_duration)]
    pub connect_timeout: Duration,

    /// Give up on a host that is silent for TIME while its answer is waited for
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "TIME", default_value = "30m",
          value_parser = humantime::parse_duration)]
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

/// Commands of the program.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List sessions, newest activity first
    ///
    /// On a terminal, this prints a table of the sessions that fit the screen; `rejoin help marks` explains its letters.
    /// In a pipe, it prints one line per session, without a header and with nothing shortened. Tabs separate the
    /// fields: agent, id, title, directory, last activity, bytes, problems, and with --counts prompts and replies.
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Show which agents have sessions here, and where rejoin looked
    ///
    /// In a pipe, this prints one line per store. Tabs separate the fields: agent, store, sessions, other sessions
    /// (sub-agents, archived and empty ones), bytes, last activity, version of the agent.
    Agents(AgentsArgs),
    /// Show everything that is known about a session
    Show(ShowArgs),
    /// Find sessions by what was said in them
    ///
    /// This reads every message of every session and prints the best match first; `--sort active` prints the newest session
    /// first. Words are found in any form and in any case. In a pipe, it prints one line per message. Tabs separate the
    /// fields: agent, id, role, time, the match and the text around it.
    Search(SearchArgs),
    /// Count sessions, messages, bytes, active days, tokens and costs
    ///
    /// They are counted by agent, project, model and week. This reads every transcript to its end. Sub-agents count with their
    /// session. Tokens and costs are those that an agent records; if it records none, there are none. In a pipe, this prints
    /// one line per row. Tabs separate the fields: key, value, sessions, prompts, replies, bytes, active days, tokens read,
    /// read from a cache, and written, and the cost in US dollars.
    Stats(StatsArgs),
    /// Write sessions as Markdown, as pages of HTML or as JSON
    ///
    /// Calls of tools are folded, sub-agents follow their session. A page of HTML needs nothing else: it loads nothing
    /// and runs nothing, and what was said is text in it. Without --output, one session goes to standard output.
    Export(ExportArgs),
    /// Resume a session with its agent, in the session's directory
    ///
    /// The agent replaces this program, so the exit status is the agent's. Without SESSION, a
    /// terminal shows a picker: type to find a session, press Enter to resume it and ? to see every key.
    Resume(ResumeArgs),
    /// Write or repair the session-info.json of Amplifier sessions
    ///
    /// This changes only sessions whose session-info.json is missing or unusable. It looks for evidence of the
    /// working directory. A directory counts only if its encoded name is the name of the session's project.
    Backfill(BackfillArgs),
    /// Save a session or its directory, for programs that keep sessions
    ///
    /// The files are in the agent's own format, so the agent and the other commands can read them. Each file is
    /// written whole or not at all. A failure ends with exit code 1, or with 0 under --best-effort.
    Save(SaveArgs),
    /// Install hooks in agents, and handle the events that they send
    ///
    /// An agent runs `hook claude` or `hook amplifier` itself and sends an event on standard input. These two never
    /// make the agent fail: they report an error in one line on standard error and end with exit code 0.
    Hook(HookArgs),
    /// Copy sessions to an archive, where no agent deletes them
    ///
    /// An archived session includes everything that belongs to it. The archive is compressed and stores each content
    /// once: archiving a session again adds only what is new. The sessions stay where they are.
    Archive(ArchiveArgs),
    /// Put an archived session back where its agent finds it
    ///
    /// This checks everything first, and never overwrites a file. `rejoin undo` reverses it. The removal of a session that is not
    /// archived is undone, if the trash still has it.
    Restore(RestoreArgs),
    /// Continue sessions on another machine, through a shared archive
    ///
    /// This archives the sessions that changed here, and brings those here that another machine continued. A session
    /// that is here is replaced only if the other state begins with the whole session; if both were continued, both are
    /// kept, and the answer names them. A session in use stays as it is. `rejoin undo` reverses it.
    Sync(SyncArgs),
    /// Let sessions follow a directory that was moved or renamed
    ///
    /// This changes the agents' files about the sessions of OLD_DIR and its subdirectories, so that each agent finds
    /// them from NEW_DIR. It does not move the directory itself. It never overwrites a session, and leaves a session
    /// that is in use where it is. `rejoin undo` reverses it. docs/moving.md says what changes for each agent.
    Move(MoveArgs),
    /// Give a session another title, for its agent too
    ///
    /// Works for Claude Code and Kimi CLI. For a session of another agent it is refused, and the answer names the agent's own
    /// command if there is one. A session that is in use keeps its title. `rejoin undo` reverses it.
    Rename(RenameArgs),
    /// Make a new session up to the last good reply of one that is stuck
    ///
    /// The new session has the messages before the point that you choose, in the same directory; the old one stays as it is. For
    /// Claude Code, which can then resume the new session. `rejoin doctor` reports sessions that are stuck.
    Rewind(RewindArgs),
    /// Remove old sessions, by age, number or size; safe in cron
    ///
    /// Sessions and everything that belongs to them go to the trash, and `rejoin undo` brings them back. A session stays if it
    /// is in use, changed within the last hour, pinned, unreadable, or the parent of a session that stays. docs/cleanup.md describes the policy.
    /// If another rejoin is changing something, this run does nothing and succeeds; the next run does the work.
    Cleanup(CleanupArgs),
    /// Remove sessions and everything that belongs to them
    ///
    /// They and their sub-agents go to the trash, and `rejoin undo` brings them back. With --copy, only one copy of a session goes:
    /// use this when copies differ and only you can say which one counts.
    Delete(DeleteArgs),
    /// Protect sessions from `cleanup` and `delete`
    Pin(PinArgs),
    /// Give sessions words by which every command finds them
    ///
    /// `list tag:relay`, `search cron tag:relay` and `cleanup --tag scratch` then take the sessions with that tag.
    Tag(TagArgs),
    /// Undo what a run of rejoin changed
    ///
    /// Every file and directory comes back with its contents, mode and times. A file that has changed since is left
    /// alone and reported. Without RUN, this undoes the newest run that can be undone. What a run removed is in the trash until
    /// `cleanup` or --purge deletes it.
    Undo(UndoArgs),
    /// Find problems in sessions and stores, and fix them
    ///
    /// Each problem has its evidence and the command that fixes it. This changes nothing without --fix or --accept. The exit
    /// status is 4 if there is an error or a warning, or with --strict any finding.
    Doctor(DoctorArgs),
    /// Show the settings of the config file, and the defaults
    ///
    /// The file is ~/.config/rejoin/config.toml, or rejoin/config.toml in XDG_CONFIG_HOME. `rejoin help config` names its
    /// keys. rejoin never writes it.
    Config(FormatArgs),
    /// Print the completion script of a shell
    ///
    /// It completes commands, options and their values, and the ids of your sessions with their titles.
    #[command(after_help = INSTALL_COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Print help for a command or a topic
    Help(HelpArgs),
}

/// The way to install the script in each shell.
const INSTALL_COMPLETIONS: &str = "\
Install it:
  bash        rejoin completions bash > ~/.local/share/bash-completion/completions/rejoin
  zsh         add to ~/.zshrc, after compinit:  source <(rejoin completions zsh)
  fish        rejoin completions fish > ~/.config/fish/completions/rejoin.fish
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
    /// GNU bash 3.2 or later, with bash-completion.
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
    /// A command, or a topic: `sessions`, `filters`, `words`, `marks`, `options`, `config` or `exit-codes`
    #[arg(value_name = "TOPIC")]
    pub topic: Vec<String>,
}

#[cfg(test)]
mod tests;
