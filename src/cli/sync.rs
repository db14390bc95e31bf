//! Arguments of `sync`.

use std::path::PathBuf;

use clap::builder::ValueHint;
use clap::{ArgAction, Args, ValueEnum};

use crate::cli::options::{ChangeArgs, FormatArgs, PlaceArgs};
use crate::cli::values::parse_mapping;

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

    /// Answer another machine, which runs `rejoin sync --host`
    #[arg(long, hide = true, value_name = "PART")]
    pub serve: Option<Serve>,

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

/// A part of what `sync --host` asks the other machine for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Serve {
    /// A sync, and the list of objects in the archive.
    List,
    /// The objects that standard input wants; those that it has go into the archive, and then a sync.
    Exchange,
}
