//! Arguments of `export`, which hands sessions to other programs.

use std::path::{Path, PathBuf};

use clap::builder::ValueHint;
use clap::{Args, ValueEnum};

use crate::cli::options::{BranchArgs, FilterArgs};
use crate::session::select::Selector;

/// Arguments of `export`.
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// The sessions: ids or the start of ids, AGENT:ID, `latest`, titles, or the sessions' files or directories
    #[arg(value_name = "SESSION", required_unless_present_any = ["every", "since", "until", "older_than", "dir", "here", "tag"],
          conflicts_with = "every")]
    pub sessions: Vec<Selector>,

    /// Take all of them, without naming any
    #[arg(long)]
    pub every: bool,

    #[command(flatten)]
    pub filter: FilterArgs,

    /// Format of the output
    ///
    /// By default, it is the one that the name of OUT ends in, else html for a directory and markdown for standard output.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<ExportFormat>,

    /// Print one JSON object
    ///
    /// This is short for --format json.
    #[arg(long, conflicts_with = "format")]
    pub json: bool,

    /// Write to this file, or to a directory: one file per session, and an index; - is standard output
    #[arg(long, short, value_name = "OUT", value_hint = ValueHint::AnyPath)]
    pub output: Option<PathBuf>,

    /// Replace files that exist
    #[arg(long, requires = "output")]
    pub overwrite: bool,

    #[command(flatten)]
    pub branches: BranchArgs,

    /// Look in the archive instead of the stores
    #[arg(long)]
    pub archived: bool,

    /// Use the archive in DIR instead of the default one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "archived")]
    pub archive_dir: Option<PathBuf>,
}

impl ExportArgs {
    /// Returns the form that was asked for, by its name or by that of the file.
    pub(crate) fn asked_format(&self) -> Option<ExportFormat> {
        self.format
            .or(self.json.then_some(ExportFormat::Json))
            .or_else(|| ExportFormat::from_extension(self.output.as_deref()?))
    }
}

/// Format of an exported session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Text for readers and for other programs, with the tools' calls folded.
    #[value(alias = "md")]
    Markdown,
    /// One page that needs nothing else: no script, no style and no picture from elsewhere.
    Html,
    /// The output of `rejoin show --transcript --json`.
    Json,
}

impl ExportFormat {
    /// Returns the form that a file's name ends in.
    pub(crate) fn from_extension(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "md" | "markdown" => Some(Self::Markdown),
            "html" | "htm" => Some(Self::Html),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    /// Returns what the names of its files end in.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Html => "html",
            Self::Json => "json",
        }
    }
}
