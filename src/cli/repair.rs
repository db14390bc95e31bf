//! Arguments of the commands that find and repair problems: `doctor`, `dedupe` and `backfill`.

use std::path::PathBuf;

use clap::builder::ValueHint;
use clap::{ArgAction, Args};

use crate::cli::options::{ChangeArgs, FormatArgs, LockArgs, PlaceArgs};
use crate::doctor::code::Code;
use crate::session::select::{CopySelector, Selector};

/// Arguments of `doctor`.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Only findings about these sessions: ids or the start of ids, AGENT:ID, titles, or the sessions' files or
    /// directories
    #[arg(value_name = "SESSION", conflicts_with = "list_checks")]
    pub sessions: Vec<Selector>,

    /// Fix what can be fixed without losing anything, and list what needs a decision; on a terminal, show the plan and
    /// ask first
    #[arg(long, conflicts_with_all = ["list_checks", "strict"])]
    pub fix: bool,

    /// With --fix: print the plan and its fingerprint; change nothing
    #[arg(long, requires = "fix")]
    pub dry_run: bool,

    /// With --fix: carry out the plan only if it still has this fingerprint
    #[arg(long, value_name = "FINGERPRINT", requires = "fix", conflicts_with = "dry_run")]
    pub apply: Option<String>,

    /// With --fix: do not ask for confirmation
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
    #[arg(long, conflicts_with_all = ["check", "agent", "dir", "here", "strict", "deep", "expires_within"])]
    pub list_checks: bool,

    /// End with exit code 4 on any finding, even one of severity info
    #[arg(long)]
    pub strict: bool,

    /// Show every finding in full, not just three examples
    #[arg(long)]
    pub all_findings: bool,

    /// Read every transcript to its end, however large it is
    #[arg(long)]
    pub deep: bool,

    /// Report sessions that their agent will delete within DAYS days
    #[arg(long, value_name = "DAYS", default_value_t = 7)]
    pub expires_within: u16,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `dedupe`.
#[derive(Args, Debug)]
pub(crate) struct DedupeArgs {
    /// Which session: its id or the start of it, AGENT:ID, its title, or one of its files or directories
    #[arg(value_name = "SESSION")]
    pub session: Selector,

    /// The copy to keep: its number as shown by `rejoin show SESSION`, or its path; on a terminal, you can choose one
    #[arg(long, value_name = "N|PATH")]
    pub keep: Option<CopySelector>,

    /// Do not ask for confirmation; required without a terminal
    ///
    /// Nothing is asked if the kept copy has everything that the others have.
    #[arg(long, short)]
    pub yes: bool,

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
    /// Which sessions: ids or the start of ids, or the sessions' directories
    #[arg(value_name = "SESSION", required_unless_present = "every", conflicts_with = "every")]
    pub sessions: Vec<Selector>,

    /// Check every Amplifier session
    #[arg(long)]
    pub every: bool,

    #[command(flatten)]
    pub place: PlaceArgs,

    /// Record DIR, whatever the evidence says; for one session
    #[arg(long = "in", value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "every")]
    pub in_dir: Option<PathBuf>,

    /// Print what would be written; write nothing
    #[arg(long)]
    pub dry_run: bool,

    #[command(flatten)]
    pub lock: LockArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}
