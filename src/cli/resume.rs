//! Arguments of `resume`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::ValueHint;

use crate::cli::options::FilterArgs;
use crate::session::AgentKind;
use crate::session::select::CopySelector;

/// Arguments of `resume`.
#[derive(Args, Debug, Default)]
pub(crate) struct ResumeArgs {
    /// The session: an id or the start of one, AGENT:ID, `latest`, `.` for the newest here, its number in the
    /// list, words of its title or directory, its file or directory, or the directory of an app that Leo built;
    /// without it, a terminal opens the picker
    #[arg(value_name = "SESSION")]
    pub session: Vec<String>,

    #[command(flatten)]
    pub filter: FilterArgs,

    /// Use this copy of the session: its number in the list of candidates, or its path
    #[arg(long, value_name = "N|PATH")]
    pub copy: Option<CopySelector>,

    /// Use DIR as the session's directory, whatever is recorded
    #[arg(long = "in", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub in_dir: Option<PathBuf>,

    /// Print the command for a shell; do not run it
    #[arg(long, short)]
    pub print: bool,

    /// Print one JSON object
    ///
    /// It is the plan; nothing is run.
    #[arg(long, conflicts_with = "print")]
    pub json: bool,

    /// Resume even if another process uses the session
    #[arg(long)]
    pub force: bool,

    /// Accept a session and a directory that nothing else confirms
    ///
    /// The agent has not registered such a session, or its place in the store contradicts its directory. With
    /// --recreate-worktree, git also runs the repository's hooks and filters.
    #[arg(long)]
    pub trust: bool,

    /// Resume even if the session was resumed too often in the last minute
    #[arg(long)]
    pub no_limit: bool,

    /// Start AGENT instead of the session's own, as a new session in the same directory, with a briefing on the conversation as its
    /// first prompt
    ///
    /// The session is only read. The briefing names a file with the whole conversation. With --prompt, TEXT follows the briefing.
    #[arg(long, value_name = "AGENT", hide_possible_values = true, ignore_case = true, conflicts_with = "fresh")]
    pub with: Option<AgentKind>,

    /// Send one prompt without a terminal and print the reply; `-` reads the prompt from standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub prompt: Option<String>,

    /// Print the last launch; run nothing
    #[arg(long, conflicts_with_all = ["session", "print", "prompt", "fresh", "in_dir", "with"])]
    pub last_launch: bool,

    /// Wait until the agent ends, return its status, and report if it wrote to another session
    ///
    /// SIGTERM and SIGHUP are passed on to the agent. Afterwards, the terminal's settings are restored.
    #[arg(long, conflicts_with_all = ["print", "json", "last_launch"])]
    pub wait: bool,

    /// For an app's directory: start a new session there if the old one is gone
    #[arg(long)]
    pub fresh: bool,

    /// If the session's directory was a git worktree that is gone: make it again on its branch, then resume there; asks
    /// first
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
