//! Arguments of `archive` and `restore`.

use std::path::PathBuf;

use clap::builder::ValueHint;
use clap::{ArgAction, Args};
use jiff::SignedDuration;

use crate::cli::options::{ChangeArgs, DetailArgs, FormatArgs, LockArgs, PlaceArgs};
use crate::cli::values::{parse_days, parse_mapping};
use crate::session::select::Selector;
use crate::session::state_name::StateName;
use crate::session::when::When;

/// Arguments of `archive`.
#[derive(Args, Debug)]
pub(crate) struct ArchiveArgs {
    /// The sessions: ids or the start of ids, AGENT:ID, titles, or the sessions' files or directories
    #[arg(value_name = "SESSION", required_unless_present_any = ["older_than", "expiring", "every", "verify"],
          conflicts_with_all = ["older_than", "expiring", "every", "verify"])]
    pub sessions: Vec<Selector>,

    /// Only sessions not active since AGE: 30d, 2026-11
    ///
    /// An age such as 2h or 7 days ago; a day such as monday, last week or 2026-11; or a time. A number alone is days.
    #[arg(long, value_name = "AGE", conflicts_with_all = ["every", "verify"])]
    pub older_than: Option<When>,

    /// Take, or report, sessions that their agent will delete within TIME: 7, 7d, 2w or another time; a number alone is days
    #[arg(long, value_name = "TIME", value_parser = parse_days, conflicts_with_all = ["every", "verify"])]
    pub expiring: Option<SignedDuration>,

    /// Take all of them, without naming any
    #[arg(long, conflicts_with = "verify")]
    pub every: bool,

    /// Read the whole archive and report what is damaged or missing; change nothing
    #[arg(long, conflicts_with_all = ["dry_run", "full", "agent", "dir", "here"])]
    pub verify: bool,

    /// Read every file again and compare it with the archive, even if its size and times did not change
    ///
    /// This replaces what is damaged in the archive. With --every, states that are missing from it are forgotten.
    #[arg(long)]
    pub full: bool,

    #[command(flatten)]
    pub place: PlaceArgs,

    /// Use the archive in DIR instead of the default one
    ///
    /// rejoin creates DIR if its parent directory exists.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub archive_dir: Option<PathBuf>,

    /// Print what would be done; change nothing
    #[arg(long)]
    pub dry_run: bool,

    #[command(flatten)]
    pub detail: DetailArgs,

    #[command(flatten)]
    pub lock: LockArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `restore`.
#[derive(Args, Debug)]
pub(crate) struct RestoreArgs {
    /// The session in the archive or in the trash: its id or the start of it, AGENT:ID, or its title
    #[arg(value_name = "SESSION")]
    pub session: Selector,

    /// Use archived state N instead of the newest; `rejoin show --archived SESSION` lists the states
    #[arg(long, value_name = "N")]
    pub state: Option<StateName>,

    /// Put the session into this store instead of the one it came from
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub to_store: Option<PathBuf>,

    /// Directories below OLD are below NEW here (can be repeated)
    ///
    /// A session that was archived in another home directory is mapped to the current one without this.
    #[arg(long, value_name = "OLD=NEW", action = ArgAction::Append, value_parser = parse_mapping)]
    #[arg(conflicts_with = "to_store")]
    pub map: Vec<(PathBuf, PathBuf)>,

    /// Keep the times of the files, even if the agent deletes old files by their times
    #[arg(long)]
    pub keep_times: bool,

    /// Accept a session that nothing else confirms
    ///
    /// A session of a database is taken in by its agent, which is started in the session's directory and reads the settings
    /// there. Without this, another session here must have started in it, or `--map` must name it. Files that the agent would
    /// run, such as scripts and settings of the session, are also restored only with this.
    #[arg(long)]
    pub trust: bool,

    #[command(flatten)]
    pub place: PlaceArgs,

    /// Use the archive in DIR instead of the default one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub archive_dir: Option<PathBuf>,

    #[command(flatten)]
    pub change: ChangeArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `sync`.
#[derive(Args, Debug)]
pub(crate) struct SyncArgs {
    /// Directories below OLD are below NEW here (can be repeated)
    ///
    /// A session that was archived in another home directory is mapped to the current one without this.
    #[arg(long, value_name = "OLD=NEW", action = ArgAction::Append, value_parser = parse_mapping)]
    pub map: Vec<(PathBuf, PathBuf)>,

    /// Bring back the sessions that were deleted on this machine, if another machine still has them
    #[arg(long)]
    pub restore_deleted: bool,

    #[command(flatten)]
    pub place: PlaceArgs,

    /// Use the archive in DIR instead of the default one
    ///
    /// rejoin creates DIR if its parent directory exists.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub archive_dir: Option<PathBuf>,

    #[command(flatten)]
    pub change: ChangeArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}
