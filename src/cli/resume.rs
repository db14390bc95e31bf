//! Arguments of `resume`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::ValueHint;

use crate::cli::options::{FilterArgs, Format, FormatArgs};
use crate::session::AgentKind;
use crate::session::select::CopySelector;

/// Arguments of `resume`.
#[derive(Args, Debug, Default)]
pub(crate) struct ResumeArgs {
    /// The session: an id, words of its title, `latest`, `.` or another name of `rejoin help sessions`; without it, a
    /// terminal opens the picker
    ///
    /// An id or the start of one, AGENT:ID, `latest`, `.` for the newest here, its number in the list, words of its title or
    /// directory, its file or directory, or the directory of an app that Leo built.
    #[arg(value_name = "SESSION")]
    pub session: Vec<String>,

    #[command(flatten)]
    pub filter: FilterArgs,

    /// Use this copy of the session: its number or its path
    ///
    /// The number is that in the list of candidates.
    #[arg(long, value_name = "N|PATH")]
    pub copy: Option<CopySelector>,

    /// Use DIR as the session's directory
    ///
    /// The recorded directories do not count then.
    #[arg(long = "in", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub in_dir: Option<PathBuf>,

    /// Print the command for a shell; do not run it
    #[arg(long, short, conflicts_with_all = ["format", "json"])]
    pub print: bool,

    #[command(flatten)]
    pub format: FormatArgs,

    /// Resume even if another process uses the session
    #[arg(long)]
    pub force: bool,

    /// Accept a session that nothing else confirms
    ///
    /// The agent has not registered such a session, or its place in the store contradicts its directory. With
    /// --recreate-worktree, git also runs the repository's hooks and filters.
    #[arg(long)]
    pub trust: bool,

    /// Resume even if it was resumed too often just now
    ///
    /// Several resumes of one session within a minute may be a loop.
    #[arg(long)]
    pub no_limit: bool,

    /// Continue in a new session of AGENT, with a briefing
    ///
    /// The new session starts in the same directory, with a briefing on the conversation as its first prompt. The session is only read. The briefing names a file with the whole conversation. With --prompt, TEXT follows the briefing.
    #[arg(long, value_name = "AGENT", hide_possible_values = true, ignore_case = true, conflicts_with = "fresh")]
    pub with: Option<AgentKind>,

    /// Send one prompt without a terminal, print the reply
    ///
    /// `-` reads the prompt from standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub prompt: Option<String>,

    /// Print the last launch; run nothing
    #[arg(long, conflicts_with_all = ["session", "print", "prompt", "fresh", "in_dir", "with"])]
    pub last_launch: bool,

    /// Wait for the agent and return its status
    ///
    /// This reports if the agent wrote to another session. SIGTERM and SIGHUP are passed on to the agent. Afterwards, the terminal's settings are restored.
    #[arg(long, conflicts_with_all = ["print", "format", "json", "last_launch"])]
    pub wait: bool,

    /// Start a new session for an app whose session is gone
    ///
    /// SESSION is the directory of the app.
    #[arg(long)]
    pub fresh: bool,

    /// Make the git worktree of the session again first
    ///
    /// If the session's directory was a git worktree that is gone: this makes it again on its branch, then resumes there. It asks
    /// first.
    ///
    /// git runs no hook, and no other program that the repository brings; --trust has it run them.
    #[arg(long, conflicts_with_all = ["in_dir", "last_launch"])]
    pub recreate_worktree: bool,

    /// Do not ask for confirmation
    #[arg(long, short, requires = "recreate_worktree")]
    pub yes: bool,

    /// Arguments to pass to the agent
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

impl ResumeArgs {
    /// Returns the format of the plan if only the plan is printed.
    pub(crate) fn plan(&self) -> Option<Format> {
        Option::from(self.format).filter(|format| *format != Format::Table)
    }

    /// Returns whether only the command is printed.
    pub(crate) fn prints(&self) -> bool {
        self.print || Option::from(self.format) == Some(Format::Table)
    }
}
