//! Arguments of `save`.

use std::path::PathBuf;

use clap::builder::ValueHint;
use clap::{Args, Subcommand};

/// Arguments of `save`.
#[derive(Args, Debug)]
#[command(disable_help_subcommand = true)]
pub(crate) struct SaveArgs {
    #[command(subcommand)]
    pub what: SaveCommand,

    /// Report failures as warnings and always end with exit code 0
    #[arg(long, global = true)]
    pub best_effort: bool,

    /// Print one JSON object
    #[arg(long, global = true)]
    pub json: bool,
}

/// Kinds of data to save.
#[derive(Debug, Subcommand)]
pub(crate) enum SaveCommand {
    /// Record the working directory of an Amplifier session in its session-info.json
    SessionInfo {
        /// The session's directory in the store; it is created if it is missing
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        session_dir: PathBuf,

        /// The directory that the session belongs to; `~` and links are resolved, and it need not exist
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        working_dir: PathBuf,
    },
    /// Write the transcript.jsonl of an Amplifier session from messages on standard input
    ///
    /// The messages are a JSON array or one object per line. They replace the existing messages. Messages of the
    /// roles system and developer are left out. Only one message is held in memory at a time.
    Transcript {
        /// The session's directory in the store; it is created if it is missing
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        session_dir: PathBuf,
    },
    /// Write the .agent_session.json of an app that Leo built, with the directory of its session
    ///
    /// `rejoin resume APP_DIR` starts Claude Code in that directory. Keys that other programs wrote are kept.
    Leo {
        /// The app's directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        app_dir: PathBuf,

        /// The id of the Claude Code session, a UUID
        #[arg(long, value_name = "ID", allow_hyphen_values = true)]
        session_id: String,

        /// The context that Leo wants to keep, a JSON object; without it, the existing context is kept
        #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
        context_json: Option<String>,

        /// The directory that the session belongs to; `~` and links are resolved, and it need not exist
        ///
        /// By default, it is the current directory.
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        working_dir: Option<PathBuf>,
    },
    /// Write a session of JidoCode from a JSON object on standard input
    ///
    /// This checks the session by JidoCode's own rules, adds `version` and `closed_at` if they are missing, and signs
    /// it with the machine's key. It never overwrites a session with the same id.
    Jido,
}
