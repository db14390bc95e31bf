//! Every command, option and value as clap types; no behaviour but checking values.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{NonEmptyStringValueParser, ValueHint};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use jiff::{SignedDuration, Timestamp};

use crate::doctor::code::Code;
use crate::session::select::{CopySelector, Selector, SortKey};
use crate::session::{AgentKind, Role};

/// Find, repair, clean up and resume coding-agent sessions, whichever agent wrote them
///
/// An agent files a session under the directory where it was started. rejoin finds the session
/// from anywhere, knows its directory, and starts the right agent there.
#[derive(Debug, Parser)]
#[command(
    name = "rejoin",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub global: Global,

    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Args, Clone, Debug)]
pub(crate) struct Global {
    /// Use DIR as the home directory, and ignore the agents' own variables
    ///
    /// For containers, mounted volumes, backups and tests.
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub home: Option<PathBuf>,

    /// Print no notes and no warnings
    #[arg(long, short, global = true)]
    pub quiet: bool,

    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorWhen,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List sessions, newest activity first
    ///
    /// On a terminal, this prints a table. In a pipe, it prints one line per session, without a
    /// header and with nothing shortened. Tabs separate the fields: agent, id, title, directory,
    /// last activity, bytes, problems.
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Show everything that is known about a session
    Show(ShowArgs),
    /// Find sessions by what was said in them
    ///
    /// This reads every message, newest session first, and shows each match as soon as it is found. In a pipe, it
    /// prints one line per message. Tabs separate the fields: agent, id, role, time, the match and the text around it.
    Search(SearchArgs),
    /// Resume a session with its agent, in the session's directory
    ///
    /// The agent replaces this program, so the exit status is the agent's. Without SESSION, a
    /// terminal shows a list: type to filter it, move with the arrow keys, and press Enter to resume.
    Resume(ResumeArgs),
    /// Write or repair the session-info.json of Amplifier sessions
    ///
    /// This changes only sessions whose session-info.json is missing or unusable. It looks for evidence of the
    /// working directory. A directory counts only if its encoded name is the name of the session's project.
    Backfill(BackfillArgs),
    /// Save a session or its directory, for programs that keep sessions
    ///
    /// The files are in the agent's own format, so the agent and the other commands can read them. Each file is
    /// written whole or not at all. A failure ends with exit code 1, or with 0 under --best-effort.
    Save(SaveArgs),
    /// Handle the events that agents send to hooks, and install the hooks
    ///
    /// An agent runs `hook claude` or `hook amplifier` itself and sends an event on standard input. These two never
    /// make the agent fail: they report an error in one line on standard error and end with exit code 0.
    Hook(HookArgs),
    /// Copy sessions to an archive, where no agent deletes them
    ///
    /// An archived session includes everything that belongs to it. The archive is compressed and stores each content
    /// once: archiving a session again adds only what is new. The sessions stay where they are.
    Archive(ArchiveArgs),
    /// Put an archived session back where its agent finds it
    ///
    /// This checks everything first, and never overwrites a file. `rejoin undo` reverses it.
    Restore(RestoreArgs),
    /// Keep one copy of a session, and move the others to the trash
    ///
    /// Use this when the copies differ and only you can say which one counts.
    Dedupe(DedupeArgs),
    /// Remove old sessions and everything that belongs to them; safe to run from cron
    ///
    /// Sessions go to the trash, and `rejoin undo` brings them back. A session stays if it is in use, changed within
    /// the last hour, pinned, unreadable, or the parent of a session that stays. docs/cleanup.md describes the policy.
    /// If another rejoin is changing something, this run does nothing and succeeds; the next run does the work.
    Cleanup(CleanupArgs),
    /// Remove sessions, their sub-agents, and everything that belongs to them
    ///
    /// They go to the trash, and `rejoin undo` brings them back.
    Delete(DeleteArgs),
    /// Protect sessions from `cleanup` and `delete`
    Pin(PinArgs),
    /// Let `cleanup` and `delete` remove sessions again
    Unpin(UnpinArgs),
    /// Undo what a run of rejoin changed
    ///
    /// Every file and directory comes back with its contents, mode and times. A file that has changed since is left
    /// alone and reported. Without RUN, this undoes the newest run that can be undone.
    Undo(UndoArgs),
    /// List, restore or purge what is in the trash
    Trash(TrashArgs),
    /// Find problems in sessions and stores, with the evidence and the command that fixes each one
    ///
    /// This changes nothing unless --fix is given. The exit status is 4 if there is an error or a warning, or with
    /// --strict any finding.
    Doctor(DoctorArgs),
    /// Print a man page, a completion script or a JSON schema
    #[command(hide = true)]
    Generate(GenerateArgs),
    /// Print help for a command or a topic
    Help(HelpArgs),
}

/// How an answer is printed.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct FormatArgs {
    /// How to print the answer
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,

    /// Print one JSON object; short for --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

impl Format {
    /// Returns the format of an answer that has no lines of JSON.
    pub(crate) fn json_if(json: bool) -> Self {
        if json { Self::Json } else { Self::Table }
    }
}

impl From<FormatArgs> for Format {
    fn from(args: FormatArgs) -> Self {
        if args.json { Self::Json } else { args.format }
    }
}

impl FormatArgs {
    /// Tells whether the answer is for people.
    pub(crate) fn is_table(self) -> bool {
        Format::from(self) == Format::Table
    }
}

/// How an answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people: a table on a terminal, fields separated by tabs in a pipe.
    Table,
    /// One JSON object.
    Json,
    /// One JSON object per line: a header, the items, a summary.
    Ndjson,
}

/// Which sessions a command considers.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FilterArgs {
    /// Only sessions of this agent (can be repeated)
    #[arg(long, value_name = "AGENT", action = ArgAction::Append)]
    pub agent: Vec<AgentKind>,

    /// Only sessions of the current directory and its subdirectories
    #[arg(long)]
    pub here: bool,

    /// Only sessions active since AGE: an age such as 2h or 3days, or a date
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub since: Option<Age>,

    /// Only sessions not active since AGE: an age such as 2h or 3days, or a date
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub older_than: Option<Age>,
}

/// Arguments of `list`.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Only sessions of DIR and its subdirectories
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "here")]
    pub dir: Option<PathBuf>,

    /// Show sub-agents, archived and empty sessions too
    #[arg(long, short)]
    pub all: bool,

    /// Show at most N sessions
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,

    /// Count prompts and replies; this reads every transcript to its end
    #[arg(long)]
    pub counts: bool,

    /// Sort by KEY
    #[arg(long, value_name = "KEY", default_value = "active")]
    pub sort: SortKey,

    /// Reverse the order
    #[arg(long, short)]
    pub reverse: bool,

    /// List the sessions in the archive
    #[arg(long, conflicts_with = "counts")]
    pub archived: bool,

    /// Use the archive in DIR instead of the default one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "archived")]
    pub from: Option<PathBuf>,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `search`.
#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// The text to find; case is ignored unless it has a capital letter
    #[arg(value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub text: String,

    #[command(flatten)]
    pub filter: FilterArgs,

    /// Only sessions of DIR and its subdirectories
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "here")]
    pub dir: Option<PathBuf>,

    /// Search sub-agents, archived and empty sessions too
    #[arg(long, short)]
    pub all: bool,

    /// Only messages of this role (can be repeated)
    #[arg(long, value_name = "ROLE", action = ArgAction::Append)]
    pub role: Vec<Role>,

    /// Match case exactly
    #[arg(long, short = 's')]
    pub case_sensitive: bool,

    /// Stop after N sessions
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,

    /// Show at most N messages of each session
    #[arg(long, short, value_name = "N", default_value_t = 3)]
    pub matches: usize,

    /// Search the archive instead of the stores
    #[arg(long)]
    pub archived: bool,

    /// Use the archive in DIR instead of the default one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "archived")]
    pub from: Option<PathBuf>,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `show`.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Which session: an id or the start of one, AGENT:ID, `latest`, its number in the list, its title, its
    /// file or directory, or the directory of an app that Leo built
    #[arg(value_name = "SESSION")]
    pub session: Selector,

    #[command(flatten)]
    pub filter: FilterArgs,

    /// Use this copy of the session: its number in the list of candidates, or its path
    #[arg(long, value_name = "N|PATH")]
    pub copy: Option<CopySelector>,

    /// Also print the last N messages
    #[arg(long, short, value_name = "N", conflicts_with = "transcript")]
    pub messages: Option<usize>,

    /// Print every message; a table shows nothing else
    #[arg(long, short)]
    pub transcript: bool,

    /// Show the session as archived; this is the default if it is only in the archive
    #[arg(long, conflicts_with = "copy")]
    pub archived: bool,

    /// Use the archive in DIR instead of the default one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "archived")]
    pub from: Option<PathBuf>,

    /// Show archived state N instead of the newest
    #[arg(long, value_name = "N", requires = "archived")]
    pub state: Option<u64>,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `resume`.
#[derive(Args, Debug)]
pub(crate) struct ResumeArgs {
    /// Which session: an id or the start of one, AGENT:ID, `latest`, its number in the list, its title, its
    /// file or directory, or the directory of an app that Leo built; without it, a terminal shows a list to pick
    /// from
    #[arg(value_name = "SESSION")]
    pub session: Option<Selector>,

    #[command(flatten)]
    pub filter: FilterArgs,

    /// Use this copy of the session: its number in the list of candidates, or its path
    #[arg(long, value_name = "N|PATH")]
    pub copy: Option<CopySelector>,

    /// Start the agent in DIR instead of the session's own directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// Print the command for a shell; do not run it
    #[arg(long, short)]
    pub print: bool,

    /// Print the plan as one JSON object; do not run it
    #[arg(long, conflicts_with = "print")]
    pub json: bool,

    /// Resume even if another process uses the session
    #[arg(long)]
    pub force: bool,

    /// Resume a session that its agent has not registered, or whose place in the store contradicts its directory
    #[arg(long)]
    pub trust: bool,

    /// Resume even if the session was resumed too often in the last minute
    #[arg(long)]
    pub no_limit: bool,

    /// Send one prompt without a terminal and print the reply; `-` reads the prompt from standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub prompt: Option<String>,

    /// Print the last launch; run nothing
    #[arg(long, conflicts_with_all = ["session", "print", "prompt", "fresh", "dir"])]
    pub last_launch: bool,

    /// Wait until the agent ends, return its status, and report if it wrote to another session
    ///
    /// SIGTERM and SIGHUP are passed on to the agent. Afterwards, the terminal's settings are restored.
    #[arg(long, conflicts_with_all = ["print", "json", "last_launch"])]
    pub wait: bool,

    /// For an app's directory: start a new session there if the old one is gone
    #[arg(long)]
    pub fresh: bool,

    /// Arguments to pass to the agent
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

/// Arguments of `backfill`.
#[derive(Args, Debug)]
pub(crate) struct BackfillArgs {
    /// Which sessions: ids or the start of ids, or the sessions' directories
    #[arg(value_name = "SESSION", required_unless_present = "all", conflicts_with = "all")]
    pub sessions: Vec<Selector>,

    /// Check every Amplifier session
    #[arg(long, short)]
    pub all: bool,

    /// Record DIR, whatever the evidence says; for one session
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "all")]
    pub dir: Option<PathBuf>,

    /// Print what would be written; write nothing
    #[arg(long, short = 'n')]
    pub dry_run: bool,

    #[command(flatten)]
    pub lock: LockArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// How long a change waits for another change to end.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct LockArgs {
    /// Wait at most TIME for another rejoin that is changing something
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = humantime::parse_duration)]
    pub lock_timeout: Duration,
}

/// How a change is made.
#[derive(Args, Clone, Debug)]
pub(crate) struct ChangeArgs {
    /// Print the plan and its fingerprint; change nothing
    #[arg(long, short = 'n')]
    pub dry_run: bool,

    /// Carry out the plan only if it still has this fingerprint
    #[arg(long, value_name = "FINGERPRINT", conflicts_with = "dry_run")]
    pub apply: Option<String>,

    #[command(flatten)]
    pub lock: LockArgs,
}

/// Arguments of `archive`.
#[derive(Args, Debug)]
pub(crate) struct ArchiveArgs {
    /// Which sessions: ids or the start of ids, AGENT:ID, titles, or the sessions' files or directories
    #[arg(value_name = "SESSION", required_unless_present_any = ["older_than", "expiring", "all", "verify"],
          conflicts_with_all = ["older_than", "expiring", "all", "verify"])]
    pub sessions: Vec<Selector>,

    /// Sessions not active since AGE: an age such as 30d, or a date
    #[arg(long, value_name = "AGE", value_parser = parse_age, conflicts_with_all = ["all", "verify"])]
    pub older_than: Option<Age>,

    /// Sessions that their agent will delete within DAYS days
    #[arg(long, value_name = "DAYS", conflicts_with_all = ["all", "verify"])]
    pub expiring: Option<u16>,

    /// Every session
    #[arg(long, short, conflicts_with = "verify")]
    pub all: bool,

    /// Read the whole archive and report what is damaged or missing; change nothing
    #[arg(long, conflicts_with_all = ["dry_run", "full", "agent", "dir"])]
    pub verify: bool,

    /// Read every file again and compare it with the archive, even if its size and times did not change
    ///
    /// This replaces what is damaged in the archive.
    #[arg(long)]
    pub full: bool,

    /// Only sessions of this agent (can be repeated)
    #[arg(long, value_name = "AGENT", action = ArgAction::Append)]
    pub agent: Vec<AgentKind>,

    /// Only sessions of DIR and its subdirectories
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// Use the archive in DIR instead of the default one
    ///
    /// rejoin creates DIR if its parent directory exists.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub to: Option<PathBuf>,

    /// Print what would be archived; write nothing
    #[arg(long, short = 'n')]
    pub dry_run: bool,

    #[command(flatten)]
    pub lock: LockArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `restore`.
#[derive(Args, Debug)]
pub(crate) struct RestoreArgs {
    /// Which archived session: its id or the start of it, AGENT:ID, or its title
    #[arg(value_name = "SESSION")]
    pub session: Selector,

    /// Restore state N instead of the newest; `rejoin show --archived SESSION` lists the states
    #[arg(long, value_name = "N")]
    pub state: Option<u64>,

    /// Put the session into this store instead of the one it came from
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub to_store: Option<PathBuf>,

    /// Keep the times of the files, even if the agent deletes old files by their times
    #[arg(long)]
    pub keep_times: bool,

    /// Only sessions of this agent (can be repeated)
    #[arg(long, value_name = "AGENT", action = ArgAction::Append)]
    pub agent: Vec<AgentKind>,

    /// Use the archive in DIR instead of the default one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub from: Option<PathBuf>,

    #[command(flatten)]
    pub change: ChangeArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `dedupe`.
#[derive(Args, Debug)]
pub(crate) struct DedupeArgs {
    /// Which session: its id or the start of it, AGENT:ID, its title, or one of its files or directories
    #[arg(value_name = "SESSION")]
    pub session: Selector,

    /// The copy to keep: its number as shown by `rejoin show SESSION`, or its path
    #[arg(long, value_name = "N|PATH")]
    pub keep: CopySelector,

    /// Only sessions of this agent (can be repeated)
    #[arg(long, value_name = "AGENT", action = ArgAction::Append)]
    pub agent: Vec<AgentKind>,

    #[command(flatten)]
    pub change: ChangeArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `cleanup`.
#[derive(Args, Debug)]
pub(crate) struct CleanupArgs {
    /// Remove sessions last active before AGE: an age such as 30d, or a date; the default is 30d unless --max-total
    /// or --all is given
    #[arg(long, value_name = "AGE", value_parser = parse_age, conflicts_with = "all")]
    pub older_than: Option<Age>,

    /// Keep the last N sessions of each project, however old they are
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub keep_last: usize,

    /// Remove the oldest sessions until the rest takes at most SIZE: a number of bytes, or a size such as 500M or 10G
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "all")]
    pub max_total: Option<u64>,

    /// Remove only sessions without a prompt or reply; with --all, of any age
    #[arg(long)]
    pub empty: bool,

    /// Remove sessions of any age
    #[arg(long)]
    pub all: bool,

    /// Only sessions of this agent (can be repeated)
    #[arg(long, value_name = "AGENT", action = ArgAction::Append)]
    pub agent: Vec<AgentKind>,

    /// Only sessions of DIR and its subdirectories
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// Keep this session: its id, the start of it, or AGENT:ID (can be repeated)
    #[arg(long, value_name = "ID", action = ArgAction::Append, value_parser = parse_id)]
    pub exclude: Vec<Selector>,

    /// Remove them even if an agent would lose every session, more than half of all sessions would go, or the clock
    /// may be wrong
    #[arg(long)]
    pub allow_all: bool,

    /// Archive each session before removing it; a session that cannot be archived stays
    #[arg(long)]
    pub archive: bool,

    /// Use the archive in DIR instead of the default one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "archive")]
    pub to: Option<PathBuf>,

    /// Purge from the trash what was removed before AGE: an age or a date
    #[arg(long, value_name = "AGE", default_value = "14d", value_parser = parse_age)]
    pub trash_keep: Age,

    #[command(flatten)]
    pub removal: RemovalArgs,

    /// With --dry-run: end with exit code 4 if there is something to do
    #[arg(long, requires = "dry_run")]
    pub exit_code: bool,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// How sessions are removed.
#[derive(Args, Clone, Debug)]
pub(crate) struct RemovalArgs {
    #[command(flatten)]
    pub change: ChangeArgs,

    /// Do not ask for confirmation; required without a terminal
    #[arg(long, short)]
    pub yes: bool,

    /// Delete permanently instead of moving to the trash
    #[arg(long)]
    pub permanent: bool,
}

/// Arguments of `delete`.
#[derive(Args, Debug)]
pub(crate) struct DeleteArgs {
    /// Which sessions: ids or the start of ids, AGENT:ID, titles, or the sessions' files or directories
    #[arg(value_name = "SESSION", required = true)]
    pub sessions: Vec<Selector>,

    /// Only sessions of this agent (can be repeated)
    #[arg(long, value_name = "AGENT", action = ArgAction::Append)]
    pub agent: Vec<AgentKind>,

    #[command(flatten)]
    pub removal: RemovalArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `pin`.
#[derive(Args, Debug)]
pub(crate) struct PinArgs {
    /// Which sessions: ids or the start of ids, AGENT:ID, titles, or the sessions' files or directories
    #[arg(value_name = "SESSION", required_unless_present = "list")]
    pub sessions: Vec<Selector>,

    /// Only sessions of this agent (can be repeated)
    #[arg(long, value_name = "AGENT", action = ArgAction::Append)]
    pub agent: Vec<AgentKind>,

    /// List the pinned sessions
    #[arg(long, short, conflicts_with = "sessions")]
    pub list: bool,

    #[command(flatten)]
    pub lock: LockArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `unpin`.
#[derive(Args, Debug)]
pub(crate) struct UnpinArgs {
    /// Which sessions: ids or the start of ids, or AGENT:ID; sessions that are gone count too
    #[arg(value_name = "SESSION", required = true, value_parser = parse_id)]
    pub sessions: Vec<Selector>,

    #[command(flatten)]
    pub lock: LockArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `undo`.
#[derive(Args, Debug)]
pub(crate) struct UndoArgs {
    /// Which run, as shown by --list
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// List the runs, newest first
    #[arg(long, short, conflicts_with = "run")]
    pub list: bool,

    #[command(flatten)]
    pub lock: LockArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `trash`.
#[derive(Args, Debug)]
pub(crate) struct TrashArgs {
    #[command(subcommand)]
    pub command: TrashCommand,
}

/// What can be done with the trash.
#[derive(Debug, Subcommand)]
pub(crate) enum TrashCommand {
    /// List what is in the trash, newest first
    List(TrashListArgs),
    /// Put one entry back where it was
    Restore(TrashRestoreArgs),
    /// Delete entries permanently
    ///
    /// A purge cannot be undone.
    Purge(TrashPurgeArgs),
}

/// Arguments of `trash list`.
#[derive(Args, Debug)]
pub(crate) struct TrashListArgs {
    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `trash restore`.
#[derive(Args, Debug)]
pub(crate) struct TrashRestoreArgs {
    /// Which entry: RUN/ITEM as shown by `rejoin trash list`, or a session's id or the start of it
    #[arg(value_name = "ENTRY")]
    pub entry: String,

    #[command(flatten)]
    pub lock: LockArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `trash purge`.
#[derive(Args, Debug)]
pub(crate) struct TrashPurgeArgs {
    /// Purge what these runs removed
    #[arg(value_name = "RUN", required_unless_present_any = ["older_than", "all"])]
    pub runs: Vec<String>,

    /// Purge what was removed before AGE: an age such as 14d, or a date
    #[arg(long, value_name = "AGE", value_parser = parse_age, conflicts_with_all = ["runs", "all"])]
    pub older_than: Option<Age>,

    /// Purge everything
    #[arg(long, conflicts_with = "runs")]
    pub all: bool,

    /// Do not ask for confirmation; required without a terminal
    #[arg(long, short)]
    pub yes: bool,

    #[command(flatten)]
    pub lock: LockArgs,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `doctor`.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Fix what can be fixed without losing anything, and list what needs a decision
    #[arg(long, conflicts_with_all = ["list_checks", "strict"])]
    pub fix: bool,

    /// With --fix: print the plan and its fingerprint; change nothing
    #[arg(long, short = 'n', requires = "fix")]
    pub dry_run: bool,

    /// With --fix: carry out the plan only if it still has this fingerprint
    #[arg(long, value_name = "FINGERPRINT", requires = "fix", conflicts_with = "dry_run")]
    pub apply: Option<String>,

    #[command(flatten)]
    pub lock: LockArgs,

    /// Run only this check (can be repeated)
    #[arg(long, value_name = "CODE", action = ArgAction::Append, hide_possible_values = true)]
    pub check: Vec<Code>,

    /// Only findings about this agent (can be repeated)
    #[arg(long, value_name = "AGENT", action = ArgAction::Append)]
    pub agent: Vec<AgentKind>,

    /// Only findings about DIR and its subdirectories
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// List the checks and what they mean; check nothing
    #[arg(long, conflicts_with_all = ["check", "agent", "dir", "strict", "deep", "expires_within"])]
    pub list_checks: bool,

    /// End with exit code 4 on any finding, even one of severity info
    #[arg(long)]
    pub strict: bool,

    /// Read every transcript to its end, however large it is
    #[arg(long)]
    pub deep: bool,

    /// Report sessions that their agent will delete within DAYS days
    #[arg(long, value_name = "DAYS", default_value_t = 7)]
    pub expires_within: u16,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `save`.
#[derive(Args, Debug)]
#[command(disable_help_subcommand = true)]
pub(crate) struct SaveArgs {
    #[command(subcommand)]
    pub what: Save,

    /// Report failures as warnings and always end with exit code 0
    #[arg(long, global = true)]
    pub best_effort: bool,

    /// Print what was written as one JSON object
    #[arg(long, global = true)]
    pub json: bool,
}

/// What can be saved.
#[derive(Debug, Subcommand)]
pub(crate) enum Save {
    /// Record the working directory of an Amplifier session in its session-info.json
    SessionInfo {
        /// The session's directory; it is created if it is missing
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
        /// The session's directory; it is created if it is missing
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

        /// What Leo wants to remember, a JSON object; without it, the existing context is kept
        #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
        context: Option<String>,

        /// The directory that Claude Code ran in, instead of the current directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        cwd: Option<PathBuf>,
    },
    /// Write a session of JidoCode from a JSON object on standard input
    ///
    /// This checks the session by JidoCode's own rules, adds `version` and `closed_at` if they are missing, and signs
    /// it with the machine's key. It never overwrites a session with the same id.
    Jido,
}

/// Arguments of `hook`.
#[derive(Args, Debug)]
#[command(disable_help_subcommand = true)]
pub(crate) struct HookArgs {
    #[command(subcommand)]
    pub what: Hook,
}

/// What `hook` does.
#[derive(Debug, Subcommand)]
pub(crate) enum Hook {
    /// Handle an event that Claude Code sends on standard input
    ///
    /// The hook records the session's working directory, repeats it after a compaction, and deletes the record when
    /// the session ends. `rejoin hook install` makes Claude Code send the events.
    Claude,
    /// Handle an event that Amplifier sends on standard input, and save the conversation
    Amplifier,
    /// Add the hooks to Claude Code's settings.json
    Install(HookSettingsArgs),
    /// Remove from settings.json what `rejoin hook install` added
    Uninstall(HookSettingsArgs),
    /// Show which settings.json files have the hooks
    Status(HookStatusArgs),
}

/// Arguments of `hook install` and `hook uninstall`.
#[derive(Args, Clone, Debug)]
pub(crate) struct HookSettingsArgs {
    /// Whose settings
    #[arg(long, value_name = "AGENT", default_value = "claude")]
    pub agent: HookAgent,

    /// Which settings.json
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    pub scope: HookScope,

    /// Print what would change; write nothing
    #[arg(long, short = 'n')]
    pub dry_run: bool,

    #[command(flatten)]
    pub lock: LockArgs,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `hook status`.
#[derive(Args, Clone, Debug)]
pub(crate) struct HookStatusArgs {
    /// Whose settings
    #[arg(long, value_name = "AGENT", default_value = "claude")]
    pub agent: HookAgent,

    /// Only this settings.json
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<HookScope>,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// An agent whose hooks can be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookAgent {
    /// Claude Code.
    Claude,
}

/// A settings.json of Claude Code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum HookScope {
    /// Every project of the user: settings.json in Claude Code's own directory.
    User,
    /// Everyone who works on this project: .claude/settings.json in the current directory.
    Project,
    /// This project, for this user alone: .claude/settings.local.json in the current directory.
    Local,
}

/// Arguments of `generate`.
#[derive(Args, Debug)]
pub(crate) struct GenerateArgs {
    /// What to print
    #[arg(value_name = "WHAT")]
    pub what: Generated,

    /// Which one: a command, a shell, a schema or an agent; without it, the names are listed
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

/// What can be printed for packagers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Generated {
    /// A man page.
    Man,
    /// A completion script.
    Completions,
    /// A JSON schema.
    Schema,
    /// The table of an agent, in Markdown.
    Agents,
}

/// Arguments of `help`.
#[derive(Args, Debug)]
pub(crate) struct HelpArgs {
    /// A command, or the topic `exit-codes`
    #[arg(value_name = "TOPIC")]
    pub topic: Vec<String>,
}

/// A point in time that was given as an age or as a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Age {
    /// So long before now.
    Before(SignedDuration),
    /// At that time.
    At(Timestamp),
}

impl Age {
    /// Returns the point in time, seen from `now`.
    pub(crate) fn before(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Before(age) => now.checked_sub(age).unwrap_or(Timestamp::MIN),
            Self::At(at) => at,
        }
    }
}

fn parse_age(text: &str) -> Result<Age, String> {
    if let Ok(age) = humantime::parse_duration(text) {
        return SignedDuration::try_from(age).map(Age::Before).map_err(|_| "the age is too large".to_owned());
    }
    if let Ok(at) =
        humantime::parse_rfc3339_weak(text).map_err(drop).and_then(|at| Timestamp::try_from(at).map_err(drop))
    {
        return Ok(Age::At(at));
    }
    let date: Result<jiff::civil::Date, _> = text.parse();
    match date.and_then(|date| date.to_zoned(jiff::tz::TimeZone::UTC)) {
        Ok(date) => Ok(Age::At(date.timestamp())),
        Err(_) => Err("use an age such as 90s, 2h or 3days, or a date such as 2026-02-01".to_owned()),
    }
}

/// Reads an id, the beginning of one, or AGENT:ID.
fn parse_id(text: &str) -> Result<Selector, String> {
    match text.parse()? {
        id @ Selector::Id { .. } => Ok(id),
        Selector::Latest | Selector::Path(_) => Err("use an id, the start of one, or AGENT:ID".to_owned()),
    }
}

/// Reads a number of bytes; K, M, G and T count in 1024 as sizes are shown, KB, MB, GB and TB in 1000.
fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || "use a number of bytes, or a size such as 500M, 1.5G or 10GiB".to_owned();
    let digits = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_uppercase();
    let power = |letter: &str| ["", "K", "M", "G", "T"].iter().position(|known| *known == letter);
    let (base, power) = match unit.as_str() {
        "" | "B" => (1024, Some(0)),
        unit => match (unit.strip_suffix("IB"), unit.strip_suffix('B')) {
            (Some(letter), _) => (1024, power(letter)),
            (None, Some(letter)) => (1000, power(letter)),
            (None, None) => (1024, power(unit)),
        },
    };
    let factor = u64::pow(base, u32::try_from(power.ok_or_else(wrong)?).map_err(|_| wrong())?);
    if let Ok(number) = number.parse::<u64>() {
        return number.checked_mul(factor).ok_or_else(|| "the size is too large".to_owned());
    }
    let (whole, part) = number.split_once('.').ok_or_else(wrong)?;
    let (whole, digits): (u64, u32) =
        (whole.parse().map_err(|_| wrong())?, part.len().try_into().map_err(|_| wrong())?);
    let part: u64 = part.parse().map_err(|_| wrong())?;
    let scale = 10_u64.checked_pow(digits).ok_or_else(wrong)?;
    let part = u128::from(part) * u128::from(factor) / u128::from(scale);
    let whole = u128::from(whole) * u128::from(factor);
    u64::try_from(whole + part).map_err(|_| "the size is too large".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_are_read_as_they_are_shown_and_as_disks_are_sold() {
        for (text, expected) in [
            ("0", 0),
            ("512", 512),
            ("1k", 1024),
            ("10M", 10 << 20),
            ("1.5G", 3 << 29),
            ("2 GiB", 2 << 30),
            ("1MB", 1_000_000),
            ("16777215T", 16_777_215 << 40),
        ] {
            assert_eq!(parse_size(text), Ok(expected), "{text}");
        }
        for wrong in
            ["", "G", "-1", "1X", "1.2.3", "1.", ".5G", "99999999T", "1 0", "0x1", "1E3", "18446744073709551616"]
        {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ages_and_dates_are_told_apart() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
        for (text, expected) in [
            ("2h", "2026-03-01T10:00:00Z"),
            ("1day 12h", "2026-02-28T00:00:00Z"),
            ("2026-02-01", "2026-02-01T00:00:00Z"),
            ("2026-02-01T10:00:00Z", "2026-02-01T10:00:00Z"),
        ] {
            assert_eq!(parse_age(text).expect("an age").before(now).to_string(), expected, "{text}");
        }
        for wrong in ["", "-3d", "soon", "3 parsecs", "2026-13-01"] {
            assert!(parse_age(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_age("100000years").map(|age| age.before(now)), Ok(Timestamp::MIN));
    }
}
