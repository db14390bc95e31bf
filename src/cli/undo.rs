//! Arguments of `undo`.

use clap::{ArgGroup, Args};

use crate::cli::options::{DetailArgs, FormatArgs, LockArgs};
use crate::session::select::Selector;
use crate::session::when::When;

/// Arguments of `undo`.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("purged").args(["run", "older_than", "every"]))]
pub(crate) struct UndoArgs {
    /// The run, as shown by --list
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Restore only this session: its id or the start of it, AGENT:ID, or words of its title; or only this path
    #[arg(value_name = "SESSION")]
    pub session: Option<Selector>,

    /// List what there is; change nothing
    #[arg(long, conflicts_with = "run")]
    pub list: bool,

    /// Delete permanently what a run removed; it cannot be undone then
    #[arg(long, requires = "purged", conflicts_with_all = ["list", "session"])]
    pub purge: bool,

    /// Only entries that were removed before AGE: 14d, last month, 2026-11 or another time
    #[arg(long, value_name = "AGE", requires = "purge")]
    pub older_than: Option<When>,

    /// Take all of them, without naming any
    #[arg(long, requires = "purge")]
    pub every: bool,

    /// Do not ask for confirmation
    ///
    /// Without RUN, the newest run is undone. Without a terminal, --purge deletes nothing without this.
    #[arg(long, short)]
    pub yes: bool,

    /// Print what would be done; change nothing
    #[arg(long, conflicts_with = "list")]
    pub dry_run: bool,

    #[command(flatten)]
    pub detail: DetailArgs,

    #[command(flatten)]
    pub lock: LockArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}
