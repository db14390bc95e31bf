//! Arguments of `hook`.

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::options::{FormatArgs, LockArgs};

/// Arguments of `hook`.
#[derive(Args, Debug)]
#[command(disable_help_subcommand = true)]
pub(crate) struct HookArgs {
    #[command(subcommand)]
    pub what: HookCommand,
}

/// Commands of `hook`.
#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    /// Handle an event that Claude Code sends on standard input
    ///
    /// The hook records the session's working directory, repeats it after a compaction, and deletes the record when
    /// the session ends. `rejoin hook install` makes Claude Code send the events.
    Claude,
    /// Handle an event that Amplifier sends on standard input, and save the conversation
    Amplifier,
    /// Add the hooks to Claude Code's settings.json
    Install(HookSettingsArgs),
    /// Remove from settings.json what `rejoin hook install` added
    Uninstall(HookSettingsArgs),
    /// Show which settings.json files have the hooks
    Status(HookStatusArgs),
}

/// Arguments of `hook install` and `hook uninstall`.
#[derive(Args, Clone, Debug)]
pub(crate) struct HookSettingsArgs {
    /// The agent with the settings
    #[arg(long, short, value_name = "AGENT", default_value = "claude")]
    pub agent: HookAgent,

    /// The settings.json to change
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    pub scope: HookScope,

    /// Print what would be done; change nothing
    #[arg(long)]
    pub dry_run: bool,

    #[command(flatten)]
    pub lock: LockArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `hook status`.
#[derive(Args, Clone, Debug)]
pub(crate) struct HookStatusArgs {
    /// The agent with the settings
    #[arg(long, short, value_name = "AGENT", default_value = "claude")]
    pub agent: HookAgent,

    /// The settings.json to change
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<HookScope>,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// An agent whose hooks can be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookAgent {
    /// Claude Code.
    Claude,
}

/// A settings.json of Claude Code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum HookScope {
    /// Every project of the user: settings.json in Claude Code's own directory.
    User,
    /// Everyone who works on this project: .claude/settings.json in the current directory.
    Project,
    /// This project, for this user alone: .claude/settings.local.json in the current directory.
    Local,
}
