//! Arguments of the commands that change how sessions are found: `move` and `rename`.

use std::path::{Path, PathBuf};

use clap::builder::ValueHint;
use clap::{ArgAction, Args};

use crate::cli::options::{AgentArgs, ChangeArgs, DetailArgs, FormatArgs, LockArgs, PlaceArgs};
use crate::cli::values::{parse_mapping, parse_title};
use crate::session::select::Selector;

/// Arguments of `move`.
#[derive(Args, Debug)]
pub(crate) struct MoveArgs {
    /// The old path of the directory
    #[arg(value_name = "OLD_DIR", value_hint = ValueHint::DirPath, requires = "to")]
    #[arg(required_unless_present_any = ["map", "detect", "apply"])]
    pub from: Option<PathBuf>,

    /// The new path
    #[arg(value_name = "NEW_DIR", value_hint = ValueHint::DirPath)]
    pub to: Option<PathBuf>,

    /// Directories below OLD are below NEW here (can be repeated)
    ///
    /// For sessions that come from a container or another machine, such as --map /workspace=/home/ana/workspace.
    #[arg(long, value_name = "OLD=NEW", action = ArgAction::Append, value_parser = parse_mapping)]
    #[arg(conflicts_with = "from")]
    pub map: Vec<(PathBuf, PathBuf)>,

    /// Propose where directories that are gone may be now, for you to review; change nothing
    ///
    /// Save the plan, edit it, and carry it out with --apply FILE.
    #[arg(long, conflicts_with_all = ["from", "map", "session", "all_references", "yes", "dry_run", "apply"])]
    pub detect: bool,

    /// Only this session (can be repeated): its id or the start of it, AGENT:ID, its title, or its file or directory
    #[arg(long, value_name = "SESSION", action = ArgAction::Append)]
    pub session: Vec<Selector>,

    #[command(flatten)]
    pub agents: AgentArgs,

    /// Also change what Claude Code keeps of directories: trust and costs in .claude.json, and history.jsonl
    #[arg(long)]
    pub all_references: bool,

    /// Do not ask for confirmation
    ///
    /// Without a terminal, nothing is moved without this.
    #[arg(long, short)]
    pub yes: bool,

    /// Print what would be done; change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Carry out the plan only if it still has this fingerprint, which --dry-run prints
    ///
    /// Without directories, carry out what FILE says.
    #[arg(long, value_name = "FINGERPRINT|FILE", conflicts_with = "dry_run", value_hint = ValueHint::FilePath)]
    pub apply: Option<String>,

    #[command(flatten)]
    pub detail: DetailArgs,

    #[command(flatten)]
    pub lock: LockArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

impl MoveArgs {
    /// Returns the file that says from where to where.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.apply.as_deref().filter(|_| self.from.is_none() && self.map.is_empty()).map(Path::new)
    }

    /// Returns how the change is made.
    pub(crate) fn change(&self) -> ChangeArgs {
        let apply = self.apply.clone().filter(|_| self.file().is_none());
        ChangeArgs { dry_run: self.dry_run, apply, detail: self.detail, lock: self.lock }
    }
}

/// Arguments of `rename`.
#[derive(Args, Debug)]
pub(crate) struct RenameArgs {
    /// The session: an id or the start of one, AGENT:ID, a title, or a session's file or directory
    #[arg(value_name = "SESSION")]
    pub session: Selector,

    /// Its new title
    #[arg(value_name = "TITLE", value_parser = parse_title)]
    pub title: String,

    #[command(flatten)]
    pub place: PlaceArgs,

    #[command(flatten)]
    pub change: ChangeArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}
