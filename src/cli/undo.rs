//! Arguments of `undo` and `trash`.

use clap::{Args, Subcommand};

use crate::cli::options::{FormatArgs, LockArgs};
use crate::session::when::When;

/// Arguments of `undo`.
#[derive(Args, Debug)]
pub(crate) struct UndoArgs {
    /// The run, as shown by --list
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// List them; change nothing
    #[arg(long, conflicts_with = "run")]
    pub list: bool,

    /// Do not ask for confirmation
    ///
    /// Without RUN, the newest run is undone.
    #[arg(long, short)]
    pub yes: bool,

    /// Print what would be done; change nothing
    #[arg(long, conflicts_with = "list")]
    pub dry_run: bool,

    #[command(flatten)]
    pub lock: LockArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `trash`.
#[derive(Args, Debug)]
pub(crate) struct TrashArgs {
    #[command(subcommand)]
    pub command: TrashCommand,
}

/// Commands of `trash`.
#[derive(Debug, Subcommand)]
pub(crate) enum TrashCommand {
    /// List what is in the trash, newest first
    List(FormatArgs),
    /// Put one entry back where it was
    Restore(TrashRestoreArgs),
    /// Delete entries permanently
    ///
    /// A purge cannot be undone.
    Purge(TrashPurgeArgs),
}

/// Arguments of `trash restore`.
#[derive(Args, Debug)]
pub(crate) struct TrashRestoreArgs {
    /// The entry: RUN/NUMBER as shown by `rejoin trash list`, or a session's id or the start of it
    #[arg(value_name = "ENTRY")]
    pub entry: String,

    /// Print what would be done; change nothing
    #[arg(long)]
    pub dry_run: bool,

    #[command(flatten)]
    pub lock: LockArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `trash purge`.
#[derive(Args, Debug)]
pub(crate) struct TrashPurgeArgs {
    /// Purge what these runs removed
    #[arg(value_name = "RUN", required_unless_present_any = ["older_than", "every"])]
    pub runs: Vec<String>,

    /// Only entries that were removed before AGE: 14d, last month, 2026-11 or another time
    #[arg(long, value_name = "AGE", conflicts_with_all = ["runs", "every"])]
    pub older_than: Option<When>,

    /// Take all of them, without naming any
    #[arg(long, conflicts_with = "runs")]
    pub every: bool,

    /// Do not ask for confirmation
    ///
    /// Without a terminal, nothing is purged without this.
    #[arg(long, short)]
    pub yes: bool,

    /// Print what would be done; change nothing
    #[arg(long)]
    pub dry_run: bool,

    #[command(flatten)]
    pub lock: LockArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}
