//! Arguments of `list`, `agents` and `stats`.

use std::path::PathBuf;

use clap::builder::ValueHint;
use clap::{Args, ValueEnum};

use crate::cli::options::{AgentArgs, ChoiceArgs, FilterArgs, FormatArgs};
use crate::cli::values::parse_number;
use crate::session::fields::Field;
use crate::session::select::SortKey;
use crate::session::stats::StatsKey;

/// Arguments of `list`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ListArgs {
    /// Only sessions with each of these words in their title, first prompt, directory, agent, id or marks
    ///
    /// `agent:claude`, `dir:shop`, `since:7d`, `before:2026-11`, `is:pinned`, `title:TEXT`, `!WORD` and `!is:exec` are filters
    /// here as in the picker.
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,

    #[command(flatten)]
    pub filter: FilterArgs,

    #[command(flatten)]
    pub choice: ChoiceArgs,

    /// Include sub-agents, closed and empty sessions
    #[arg(long)]
    pub all: bool,

    /// Only sessions in use, with the process of each
    ///
    /// STATE is `working`, `waiting` for you, or `unknown` if the agent does not show it; SINCE is the start of the process. These
    /// are the sessions with the marks `live` and `maybe live`. This also checks which process has a file open, which
    /// `is:live` alone does not.
    #[arg(long, conflicts_with = "archived")]
    pub running: bool,

    /// Show at most N sessions, or all with 0
    ///
    /// By default, a terminal shows as many as fit on it, and a pipe gets all.
    #[arg(long, short = 'n', value_name = "N", value_parser = parse_number::<usize>)]
    pub limit: Option<usize>,

    /// Count prompts and replies
    ///
    /// This reads every transcript to its end. JSON then has the recorded tokens and costs, too.
    #[arg(long)]
    pub counts: bool,

    /// Order of the sessions
    ///
    /// By default, it is that of their last activity. The orders by cost and by tokens read every transcript to its end, and put
    /// sessions of which nothing is recorded last.
    #[arg(long, value_name = "KEY")]
    pub sort: Option<SortKey>,

    /// Reverse the order
    #[arg(long, short)]
    pub reverse: bool,

    /// Group the sessions by KEY
    #[arg(long, value_name = "KEY")]
    pub group: Option<GroupKey>,

    /// Show these fields, separated by commas
    #[arg(long, value_name = "FIELDS", value_delimiter = ',', conflicts_with_all = ["json"])]
    pub fields: Vec<Field>,

    /// Write marks as words on terminals of less than 100 columns too
    #[arg(long, short, hide_short_help = true)]
    pub wide: bool,

    /// Look in the archive instead of the stores
    #[arg(long, conflicts_with = "counts")]
    pub archived: bool,

    /// Use the archive in DIR instead of the default one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "archived", hide_short_help = true)]
    pub archive_dir: Option<PathBuf>,

    #[command(flatten)]
    pub format: FormatArgs,
}

impl ListArgs {
    /// Returns whether prompts and replies are counted.
    pub(crate) fn counts(&self) -> bool {
        self.counts || self.choice.needs_counts() || self.fields.iter().any(|field| field.needs_counts())
    }

    /// Returns whether tokens and costs are part of the answer; JSON has them with the counts.
    pub(crate) fn usage(&self) -> bool {
        let is_json = self.counts && self.format.for_text().is_json();
        is_json || self.order().needs_usage() || self.fields.iter().any(|field| field.needs_usage())
    }

    /// Returns whether a query leaves out any session.
    pub(crate) fn has_words(&self) -> bool {
        !self.words.is_empty() || self.choice.is_narrow()
    }

    /// Returns the usual fields of a line in a pipe.
    pub(crate) fn usual_fields(&self) -> impl Iterator<Item = Field> {
        let fields: &[Field] = if self.running { &Field::OF_RUNNING } else { &Field::OF_LINES };
        let counts = Field::COUNTS.into_iter().filter(|_| self.counts());
        let usage = Field::USAGE.into_iter().filter(|_| self.order().needs_usage());
        fields.iter().copied().chain(counts).chain(usage)
    }

    /// Returns the order of the sessions.
    pub(crate) fn order(&self) -> SortKey {
        self.sort.unwrap_or_default()
    }

    /// Returns whether something else was asked for than the plain list.
    pub(crate) fn is_narrowed(&self) -> bool {
        let FilterArgs { place, since, until, older_than } = &self.filter;
        let has_times = since.is_some() || until.is_some() || older_than.is_some();
        let is_filtered = self.has_words() || place.is_narrow() || has_times;
        is_filtered
            || self.all
            || self.running
            || self.counts()
            || self.reverse
            || self.group.is_some()
            || self.limit.is_some()
    }

    /// Returns whether the number of a line names its session elsewhere: in the usual order, with nothing left out.
    pub(crate) fn has_places(&self) -> bool {
        let FilterArgs { place, since, until, older_than } = &self.filter;
        let has_times = since.is_some() || until.is_some() || older_than.is_some();
        let is_whole = !self.has_words() && !place.is_narrow() && !has_times;
        is_whole
            && !self.all
            && !self.running
            && !self.archived
            && self.order() == SortKey::Active
            && !self.reverse
            && self.group.is_none()
    }
}

/// Arguments of `agents`.
#[derive(Args, Debug)]
pub(crate) struct AgentsArgs {
    #[command(flatten)]
    pub agents: AgentArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `stats`.
#[derive(Args, Debug)]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Count by KEY, or by several, separated by commas; by default, by each of them
    #[arg(long, value_name = "KEY", value_delimiter = ',')]
    pub by: Vec<StatsKey>,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// The key by which sessions are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupKey {
    /// By launch directory.
    Project,
}
