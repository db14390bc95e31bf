//! Arguments of the commands that remove and protect sessions: `cleanup`, `delete`, `pin` and `tag`.

use std::path::PathBuf;

use clap::builder::ValueHint;
use clap::{ArgAction, Args};

use crate::cli::options::{ChangeArgs, ChoiceArgs, FormatArgs, LockArgs, PlaceArgs, RemovalArgs};
use crate::cli::tags::TagArgument;
use crate::cli::values::{parse_id, parse_number, parse_size};
use crate::session::select::{CopySelector, Selector};
use crate::session::when::When;

/// Arguments of `cleanup`.
#[derive(Args, Clone, Debug)]
pub(crate) struct CleanupArgs {
    /// Only sessions not active since AGE: 30d, 2026-11
    ///
    /// An age such as 2h or 7 days ago; a day such as monday, last week or 2026-11; or a time. A number alone is days.
    ///
    /// The default is 30d unless --max-total or --any-age is given.
    #[arg(long, value_name = "AGE", conflicts_with = "any_age")]
    pub older_than: Option<When>,

    /// Keep the last N sessions of each project, however old they are
    #[arg(long, value_name = "N", value_parser = parse_number::<usize>)]
    pub keep_last: Option<usize>,

    /// Remove the oldest sessions until the rest takes at most SIZE: a number of bytes, or a size such as 500M or 10G
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "any_age")]
    pub max_total: Option<u64>,

    /// Remove only sessions without a prompt or reply; with --any-age, of any age
    #[arg(long)]
    pub empty: bool,

    /// Remove sessions of any age
    #[arg(long)]
    pub any_age: bool,

    /// Remove sessions in an unknown format too; rejoin cannot see what was said in them
    #[arg(long, conflicts_with = "empty")]
    pub unknown_format: bool,

    #[command(flatten)]
    pub place: PlaceArgs,

    #[command(flatten)]
    pub choice: ChoiceArgs,

    /// Keep this session: its id, the start of it, AGENT:ID, or its title (can be repeated)
    #[arg(long, value_name = "SESSION", action = ArgAction::Append, value_parser = parse_id)]
    pub exclude: Vec<Selector>,

    /// Remove them even if an agent would lose every session, more than half of all sessions would go, or the clock
    /// may be wrong
    #[arg(long)]
    pub allow_all: bool,

    /// Archive each session before removing it; a session that cannot be archived stays
    #[arg(long)]
    pub archive: bool,

    /// Use the archive in DIR instead of the default one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "archive")]
    pub archive_dir: Option<PathBuf>,

    /// Purge from the trash what was removed before AGE; the default is 14d
    #[arg(long, value_name = "AGE")]
    pub trash_keep: Option<When>,

    #[command(flatten)]
    pub removal: RemovalArgs,

    /// With --dry-run: end with exit code 4 if there is something to do
    #[arg(long, requires = "dry_run")]
    pub exit_code: bool,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `delete`.
#[derive(Args, Debug)]
pub(crate) struct DeleteArgs {
    /// The sessions: ids or the start of ids, AGENT:ID, titles, or the sessions' files or directories
    #[arg(value_name = "SESSION", required = true)]
    pub sessions: Vec<Selector>,

    /// Remove only this copy of the session, and keep the others: its number in `rejoin show SESSION`, or its path
    ///
    /// It asks only if no other copy has everything that this one has, and names what would go. Repeat it for several copies.
    #[arg(long, value_name = "N|PATH", action = ArgAction::Append, conflicts_with_all = ["permanent", "via_agent"])]
    pub copy: Vec<CopySelector>,

    #[command(flatten)]
    pub place: PlaceArgs,

    #[command(flatten)]
    pub choice: ChoiceArgs,

    #[command(flatten)]
    pub removal: RemovalArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `pin`.
#[derive(Args, Debug)]
pub(crate) struct PinArgs {
    /// The sessions: ids or the start of ids, AGENT:ID, titles, or the sessions' files or directories
    #[arg(value_name = "SESSION", required_unless_present = "list")]
    pub sessions: Vec<Selector>,

    #[command(flatten)]
    pub place: PlaceArgs,

    /// List what there is; change nothing
    #[arg(long, conflicts_with = "sessions")]
    pub list: bool,

    /// Let `cleanup` and `delete` remove the sessions again; pinned sessions that are gone count, too
    #[arg(long, conflicts_with = "list")]
    pub remove: bool,

    #[command(flatten)]
    pub lock: LockArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `tag`.
#[derive(Args, Debug)]
pub(crate) struct TagArgs {
    /// Sessions, as ids, AGENT:ID or titles, and tags: +WORD adds a tag, -WORD removes it
    #[arg(value_name = "SESSION|+WORD|-WORD", required_unless_present = "list")]
    pub arguments: Vec<TagArgument>,

    #[command(flatten)]
    pub place: PlaceArgs,

    /// List what there is; change nothing
    #[arg(long, conflicts_with = "arguments")]
    pub list: bool,

    #[command(flatten)]
    pub change: ChangeArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}
