//! Arguments of the commands that look into sessions: `search` and `show`.

use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, ValueHint};
use clap::{ArgAction, Args, ValueEnum};

use crate::cli::options::{BranchArgs, FilterArgs, FormatArgs};
use crate::cli::values::parse_number;
use crate::session::Role;
use crate::session::select::CopySelector;
use crate::session::state_name::StateName;

/// Order of the sessions that `search` finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchOrder {
    /// The best match first
    #[default]
    Score,
    /// The newest activity first
    #[value(name = "active_at", alias = "active")]
    Active,
}

/// Arguments of `search`.
#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// Words that a session has, in any form; with a space in it, a phrase; `!WORD` leaves out sessions with a word
    ///
    /// `agent:claude`, `dir:shop`, `since:7d`, `before:2026-11` and `is:pinned` are filters here as in the picker.
    #[arg(value_name = "TEXT", required = true, value_parser = NonEmptyStringValueParser::new())]
    pub text: Vec<String>,

    /// Find messages that match TEXT, a regular expression
    ///
    /// The newest session comes first.
    #[arg(long, short = 'e')]
    pub regex: bool,

    /// Find messages that have every TEXT as it is typed
    ///
    /// The newest session comes first. Case is ignored unless a TEXT has a capital letter.
    #[arg(long, short = 'x', conflicts_with = "regex")]
    pub exact: bool,

    /// Ignore case with --exact or --regex
    ///
    /// Words are found in any case.
    #[arg(long, short, conflicts_with = "case_sensitive")]
    pub ignore_case: bool,

    #[command(flatten)]
    pub filter: FilterArgs,

    /// Include sub-agents, closed and empty sessions
    #[arg(long)]
    pub all: bool,

    /// Only messages of this role; can be repeated
    #[arg(long, value_name = "ROLE", action = ArgAction::Append)]
    pub role: Vec<Role>,

    /// Match case exactly, as --exact
    #[arg(long, short = 's')]
    pub case_sensitive: bool,

    /// Order of the sessions
    #[arg(long, value_name = "KEY", default_value = "score", conflicts_with_all = ["regex", "exact", "case_sensitive"])]
    pub sort: SearchOrder,

    /// Show at most N sessions, or all with 0
    #[arg(long, short = 'n', value_name = "N", value_parser = parse_number::<usize>)]
    pub limit: Option<usize>,

    /// Show at most N messages of each session
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = parse_number::<usize>)]
    pub matches: usize,

    /// Show N lines of the message around each match
    #[arg(long, short = 'C', value_name = "N", value_parser = parse_number::<usize>, conflicts_with_all = ["sessions", "count"])]
    pub context: Option<usize>,

    /// Print only the sessions, not the messages
    #[arg(long, short = 'l')]
    pub sessions: bool,

    /// Print how many messages of each session match
    #[arg(long, short, conflicts_with = "sessions")]
    pub count: bool,

    /// Open the picker with TEXT typed
    ///
    /// It shows the sessions with the messages, and enter resumes one.
    #[arg(long, conflicts_with_all = [
        "regex", "exact", "ignore_case", "sort", "all", "role", "case_sensitive", "limit", "matches", "context", "sessions", "count",
        "archived", "format", "json",
    ])]
    pub pick: bool,

    /// Look in the archive instead of the stores
    #[arg(long)]
    pub archived: bool,

    /// Use the archive in DIR instead of the default one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "archived", hide_short_help = true)]
    pub archive_dir: Option<PathBuf>,

    #[command(flatten)]
    pub format: FormatArgs,
}

impl SearchArgs {
    /// Returns whether words are searched in any form, and the best match comes first.
    pub(crate) fn is_ranked(&self) -> bool {
        !(self.regex || self.exact || self.case_sensitive)
    }

    /// Returns the highest number of sessions.
    pub(crate) fn limit(&self) -> usize {
        self.limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX)
    }

    /// Returns whether the picker finds the same.
    pub(crate) fn can_pick(&self) -> bool {
        let is_other = self.regex || self.exact || self.ignore_case || self.case_sensitive || self.all || self.archived;
        let is_short = self.sessions || self.count || self.context.is_some() || self.limit.is_some();
        !is_other && !is_short && self.role.is_empty()
    }
}

/// Arguments of `show`.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The session: an id or the start of one, AGENT:ID, `latest`, `.` for the newest here, its number in the
    /// list, words of its title or directory, its file or directory, or the directory of an app that Leo built
    #[arg(value_name = "SESSION", required = true)]
    pub session: Vec<String>,

    #[command(flatten)]
    pub filter: FilterArgs,

    /// Use this copy of the session: its number or its path
    ///
    /// The number is that in the list of candidates.
    #[arg(long, value_name = "N|PATH")]
    pub copy: Option<CopySelector>,

    /// Print only the path of the file or directory that holds the session
    #[arg(long, conflicts_with_all = [
        "counts", "messages", "transcript", "branch", "all_branches", "lists_branches", "archived", "format", "json",
    ])]
    pub path: bool,

    /// Count prompts and replies
    ///
    /// This reads every transcript to its end. Without this, they are counted in a transcript of at most 64 MiB.
    #[arg(long)]
    pub counts: bool,

    /// Also print the last N messages
    #[arg(long, short, value_name = "N", value_parser = parse_number::<usize>, conflicts_with = "transcript")]
    pub messages: Option<usize>,

    /// Print every message; a table shows nothing else
    #[arg(long, short)]
    pub transcript: bool,

    #[command(flatten)]
    pub branches: BranchArgs,

    /// List the branches of the conversation, as after a rewind
    #[arg(long = "branches", conflicts_with_all = ["messages", "transcript", "branch", "all_branches", "archived"])]
    pub lists_branches: bool,

    /// Look in the archive instead of the stores
    ///
    /// This is the default if the session is only in the archive.
    #[arg(long, conflicts_with = "copy")]
    pub archived: bool,

    /// Use the archive in DIR instead of the default one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "archived", hide_short_help = true)]
    pub archive_dir: Option<PathBuf>,

    /// Use archived state N instead of the newest; `rejoin show --archived SESSION` lists the states
    #[arg(long, value_name = "N", requires = "archived")]
    pub state: Option<StateName>,

    #[command(flatten)]
    pub format: FormatArgs,
}
