//! Arguments of the commands that find and repair problems: `doctor`, `rewind` and `backfill`.

use std::path::PathBuf;

use clap::builder::ValueHint;
use clap::{ArgAction, ArgGroup, Args};
use jiff::SignedDuration;

use crate::cli::options::{BranchArg, ChangeArgs, DetailArgs, FormatArgs, LockArgs, PlaceArgs};
use crate::cli::values::{parse_days, parse_from_one};
use crate::doctor::code::Code;
use crate::session::select::{CopySelector, Selector};

/// Arguments of `doctor`.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("changes").args(["fix", "accept"]))]
pub(crate) struct DoctorArgs {
    /// Only findings about these sessions: ids or the start of ids, AGENT:ID, titles, or the sessions' files or
    /// directories
    #[arg(value_name = "SESSION", conflicts_with = "list_checks")]
    pub sessions: Vec<Selector>,

    /// Fix what can be fixed without losing anything, and list what needs a decision; on a terminal, show the plan and
    /// ask first
    #[arg(long, conflicts_with_all = ["list_checks", "strict"])]
    pub fix: bool,

    /// Keep the findings of this check quiet, those about SESSION or else all that there are now; `rejoin undo` undoes it
    #[arg(long, value_name = "CODE", hide_possible_values = true, conflicts_with_all = ["fix", "check", "list_checks"])]
    pub accept: Option<Code>,

    /// Show the accepted findings, and no others
    #[arg(long, conflicts_with_all = ["fix", "accept", "list_checks"])]
    pub accepted: bool,

    /// Print what would be done; change nothing
    #[arg(long, requires = "changes")]
    pub dry_run: bool,

    /// Carry out the plan only if it still has this fingerprint, which --dry-run prints
    #[arg(long, value_name = "FINGERPRINT", requires = "fix", conflicts_with = "dry_run")]
    pub apply: Option<String>,

    /// Do not ask for confirmation
    #[arg(long, short, requires = "fix")]
    pub yes: bool,

    #[command(flatten)]
    pub lock: LockArgs,

    /// Run only this check (can be repeated)
    #[arg(long, value_name = "CODE", action = ArgAction::Append, hide_possible_values = true)]
    pub check: Vec<Code>,

    #[command(flatten)]
    pub place: PlaceArgs,

    /// List the checks and what they mean; check nothing
    #[arg(long, conflicts_with_all = ["check", "agent", "dir", "here", "strict", "deep", "expiring"])]
    pub list_checks: bool,

    /// End with exit code 4 on any finding, even a note
    #[arg(long)]
    pub strict: bool,

    /// Show every finding in full, not just three examples
    #[arg(long)]
    pub all_findings: bool,

    /// Read every transcript to its end, however large it is
    #[arg(long)]
    pub deep: bool,

    /// Take, or report, sessions that their agent will delete within TIME: 7, 7d, 2w or another time; a number alone is days
    ///
    /// The check is `expires-soon`; the others do not depend on it.
    #[arg(long, value_name = "TIME", value_parser = parse_days, default_value = "7d")]
    pub expiring: SignedDuration,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `rewind`.
#[derive(Args, Debug)]
pub(crate) struct RewindArgs {
    /// The session: an id or the start of one, AGENT:ID, a title, or the session's file or directory
    #[arg(value_name = "SESSION")]
    pub session: Selector,

    /// Keep the first N messages, as `rejoin show --transcript` prints them; by default, up to the last good reply
    #[arg(long, value_name = "N", value_parser = parse_from_one::<u64>)]
    pub to: Option<u64>,

    #[command(flatten)]
    pub branch: BranchArg,

    /// Keep every message, without what makes the session large
    ///
    /// Each image, each file and each result of a tool of more than 16 KiB becomes a line that says what it was, and its size.
    /// Prompts and replies stay. For Claude Code, Codex, Copilot CLI and Pi.
    #[arg(long, conflicts_with_all = ["to", "branch"])]
    pub slim: bool,

    /// Use this copy of the session: its number or its path
    ///
    /// The number is that in the list of candidates.
    #[arg(long, value_name = "N|PATH")]
    pub copy: Option<CopySelector>,

    #[command(flatten)]
    pub place: PlaceArgs,

    #[command(flatten)]
    pub change: ChangeArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `backfill`.
#[derive(Args, Debug)]
pub(crate) struct BackfillArgs {
    /// The sessions: ids or the start of ids, or the sessions' directories
    #[arg(value_name = "SESSION", required_unless_present = "every", conflicts_with = "every")]
    pub sessions: Vec<Selector>,

    /// Take all of them, without naming any
    #[arg(long)]
    pub every: bool,

    #[command(flatten)]
    pub place: PlaceArgs,

    /// Use DIR as the session's directory
    #[arg(long = "in", value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "every")]
    pub in_dir: Option<PathBuf>,

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
