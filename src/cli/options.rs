//! Options that several commands share.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::ValueHint;
use clap::{Args, ValueEnum};

use crate::cli::values::{parse_from_one, parse_number, parse_time};
use crate::session::AgentKind;
use crate::session::branches::{ACTIVE, BranchFilter};
use crate::session::tag::Tag;
use crate::session::when::When;

/// Format of an answer.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct FormatArgs {
    /// Format of the output
    ///
    /// By default, a terminal gets a table, and a pipe gets a list as tsv and any other answer as text.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,

    /// Print one JSON object
    ///
    /// This is short for --format json.
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

impl Format {
    /// Returns whether a script gets JSON, and its errors as JSON too.
    pub(crate) fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Ndjson)
    }

    /// Returns whether the answer is rows for a script.
    pub(crate) fn is_rows(self) -> bool {
        matches!(self, Self::Tsv | Self::Csv)
    }
}

impl From<FormatArgs> for Option<Format> {
    fn from(args: FormatArgs) -> Self {
        if args.json { Some(Format::Json) } else { args.format }
    }
}

impl FormatArgs {
    /// Returns the format of a list: the requested one, or the one that suits the destination.
    pub(crate) fn for_list(self, is_terminal: bool) -> Format {
        let usual = if is_terminal { Format::Table } else { Format::Tsv };
        Option::from(self).unwrap_or(usual)
    }

    /// Returns the format of any other answer.
    pub(crate) fn for_text(self) -> Format {
        Option::from(self).unwrap_or(Format::Table)
    }

    /// Returns whether the answer is a table.
    pub(crate) fn is_table(self) -> bool {
        self.for_text() == Format::Table
    }
}

/// Format of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table that fits the terminal, or text.
    Table,
    /// One line per item: fields separated by tabs, nothing shortened, no header.
    Tsv,
    /// Comma-separated values, with a header.
    Csv,
    /// One JSON object.
    Json,
    /// One JSON object per line: a header, the items, a summary.
    Ndjson,
}

/// Whose sessions a command considers.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AgentArgs {
    /// Only sessions of these agents, separated by commas
    ///
    /// `rejoin agents` names them. The option can be repeated.
    #[arg(long, short, value_name = "AGENT", value_delimiter = ',', hide_possible_values = true, ignore_case = true)]
    pub agent: Vec<AgentKind>,
}

/// Whose sessions a command considers, and from where: every command that takes sessions has these filters.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PlaceArgs {
    #[command(flatten)]
    pub agents: AgentArgs,

    /// Only sessions of DIR and its subdirectories
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "here")]
    pub dir: Option<PathBuf>,

    /// Only sessions of the current directory and below
    #[arg(long)]
    pub here: bool,

    /// Only sessions with this tag
    ///
    /// If it is repeated, only sessions with all of them.
    #[arg(long, value_name = "WORD")]
    pub tag: Vec<Tag>,
}

impl PlaceArgs {
    /// Returns whether it leaves out any session.
    pub(crate) fn is_narrow(&self) -> bool {
        self.options().next().is_some()
    }

    /// Returns the options that leave out sessions.
    pub(crate) fn options(&self) -> impl Iterator<Item = &'static str> {
        let (agent, tag) = (!self.agents.agent.is_empty(), !self.tag.is_empty());
        let used = [(agent, "--agent"), (self.dir.is_some(), "--dir"), (self.here, "--here"), (tag, "--tag")];
        used.into_iter().filter(|(is_used, _)| *is_used).map(|(_, option)| option)
    }
}

/// Filters of the sessions that a command considers.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FilterArgs {
    #[command(flatten)]
    pub place: PlaceArgs,

    /// Only sessions active since AGE: 2h, 7d, monday, 2026-11
    ///
    /// An age such as 2h or 7 days ago; a day such as monday, last week or 2026-11; or a time. A number alone is days, and one of
    /// four digits a year.
    #[arg(long, value_name = "AGE")]
    pub since: Option<When>,

    /// Only sessions active before AGE
    ///
    /// With --since, those active at any time in between.
    #[arg(long, value_name = "AGE", alias = "before")]
    pub until: Option<When>,

    /// Only sessions not active since AGE: 30d, 2026-11
    ///
    /// An age such as 2h or 7 days ago; a day such as monday, last week or 2026-11; or a time. A number alone is days, and one of
    /// four digits a year.
    #[arg(long, value_name = "AGE")]
    pub older_than: Option<When>,
}

/// Filters by marks, titles and numbers of messages, as `list` shows them.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ChoiceArgs {
    /// Only sessions with this mark: `rejoin help marks`
    ///
    /// Such as exec or dir-gone. If it is repeated, only sessions with all of them.
    #[arg(long, value_name = "MARK")]
    pub is: Vec<String>,

    /// Only sessions with exactly this title
    ///
    /// If a session has no title, with this first prompt.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,

    /// Only sessions with at most N prompts and replies
    ///
    /// This reads every transcript to its end.
    #[arg(long, value_name = "N", value_parser = parse_number::<u64>, hide_short_help = true)]
    pub max_messages: Option<u64>,
}

impl ChoiceArgs {
    /// Returns whether it leaves out any session.
    pub(crate) fn is_narrow(&self) -> bool {
        self.options().next().is_some()
    }

    /// Returns the options that leave out sessions.
    pub(crate) fn options(&self) -> impl Iterator<Item = &'static str> {
        let (title, messages) = (self.title.is_some(), self.max_messages.is_some());
        let used = [(!self.is.is_empty(), "--is"), (title, "--title"), (messages, "--max-messages")];
        used.into_iter().filter(|(is_used, _)| *is_used).map(|(_, option)| option)
    }

    /// Returns whether prompts and replies must be counted for it.
    pub(crate) fn needs_counts(&self) -> bool {
        self.max_messages.is_some()
    }

    /// Returns the filters as words of a query.
    pub(crate) fn words(&self) -> impl Iterator<Item = String> {
        let marks = self.is.iter().map(|mark| format!("is:{mark}"));
        marks.chain(self.title.iter().map(|title| format!("title:{title}")))
    }
}

/// The branch of a conversation that a command is about.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct BranchArg {
    /// Take branch N instead of the one that a resume continues; `rejoin show SESSION --branches` lists them
    #[arg(long, value_name = "N", value_parser = parse_from_one::<u16>)]
    pub branch: Option<u16>,
}

impl BranchArg {
    /// Returns the branch that is meant.
    pub(crate) fn filter(self) -> BranchFilter {
        match self.branch {
            None | Some(ACTIVE) => BranchFilter::Active,
            Some(number) => BranchFilter::Number(number),
        }
    }
}

/// The branches of a conversation that are printed.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct BranchArgs {
    #[command(flatten)]
    pub one: BranchArg,

    /// Print the messages of every branch
    #[arg(long, conflicts_with = "branch")]
    pub all_branches: bool,
}

impl BranchArgs {
    /// Returns which branches are meant.
    pub(crate) fn filter(self) -> BranchFilter {
        if self.all_branches { BranchFilter::All } else { self.one.filter() }
    }
}

/// Options for waiting until another change ends.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct LockArgs {
    /// Wait at most TIME for another rejoin that is changing something
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    pub lock_timeout: Duration,
}

/// Options for the amount of detail about a change.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct DetailArgs {
    /// Show every item on a terminal, too, and not only their number
    #[arg(long)]
    pub all_items: bool,
}

/// Options of a change.
#[derive(Args, Clone, Debug)]
pub(crate) struct ChangeArgs {
    /// Print what would be done; change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Carry out the plan only if it still has this fingerprint, which --dry-run prints
    #[arg(long, value_name = "FINGERPRINT", conflicts_with = "dry_run")]
    pub apply: Option<String>,

    #[command(flatten)]
    pub detail: DetailArgs,

    #[command(flatten)]
    pub lock: LockArgs,
}

/// Options of a removal.
#[derive(Args, Clone, Debug)]
pub(crate) struct RemovalArgs {
    #[command(flatten)]
    pub change: ChangeArgs,

    /// Do not ask for confirmation
    ///
    /// Without a terminal, nothing is removed without this.
    #[arg(long, short)]
    pub yes: bool,

    /// Delete permanently instead of moving to the trash
    #[arg(long)]
    pub permanent: bool,

    /// Let OpenCode, Kilo and Hermes remove sessions from their databases, each archived first
    ///
    /// This cannot be undone; `rejoin restore` gives such a session back.
    #[arg(long)]
    pub via_agent: bool,
}
