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
/// An agent files a session under the directory in which it was started. rejoin finds the session
/// from anywhere, knows the directory that it belongs to, and starts the right agent there.
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
    /// Look at DIR as the home directory, and ignore the agents' own variables
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
    /// On a terminal it is a table. In a pipe it is one line a session without a header, fields
    /// separated by tabs and nothing shortened: agent, id, title, directory, last activity,
    /// bytes, troubles.
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Show everything that is known of a session
    Show(ShowArgs),
    /// Find sessions by what was said in them
    ///
    /// Reads every message, newest session first, and shows what it finds as it finds it. In a pipe it is one line a
    /// message, fields separated by tabs: agent, id, who speaks, when, the text with what is around it.
    Search(SearchArgs),
    /// Resume a session with its agent, in the directory that it belongs to
    ///
    /// The agent replaces this program, so the exit status is the agent's. Without a SESSION, a
    /// terminal shows a list to pick from: type to filter it, move with the arrows, take with enter.
    Resume(ResumeArgs),
    /// Write or repair the session-info.json of Amplifier sessions, from evidence
    ///
    /// Only sessions whose session-info.json is missing or unusable are changed. A directory
    /// counts as evidence only if it encodes to the project that the session lies in.
    Backfill(BackfillArgs),
    /// Save a session, or where it belongs, for a program that keeps sessions
    ///
    /// The files are those of the agent: written whole or not at all, and read back by the agent and by the
    /// other commands. Each form fails with exit code 1, or with --best-effort never.
    Save(SaveArgs),
    /// Take the events that agents send to their hooks, and set the hooks up
    ///
    /// An agent runs `hook claude` or `hook amplifier` itself and sends an event on standard input. They never
    /// fail the agent: what goes wrong is one line on standard error and exit code 0.
    Hook(HookArgs),
    /// Copy sessions to where no agent deletes them
    ///
    /// With everything that belongs to them, packed, and each content stored once: what is there already costs
    /// nothing, and of a longer transcript only what is new is added. The sessions stay where they are.
    Archive(ArchiveArgs),
    /// Put an archived session back where its agent finds it
    ///
    /// Everything is checked first, and put only where nothing is. `undo` takes it back.
    Restore(RestoreArgs),
    /// Keep one copy of a session, and move the others to the trash
    ///
    /// For copies that went different ways, where only a person can say which one counts.
    Dedupe(DedupeArgs),
    /// Remove old sessions with all that belongs to them, safely enough for cron
    ///
    /// They go to the trash, from where `undo` brings them back. What is in use, changed within the last hour, pinned,
    /// not readable, or the parent of what stays, stays. docs/cleanup.md is the policy. When another rejoin is changing
    /// something, nothing is done, which is no failure: the next run does it.
    Cleanup(CleanupArgs),
    /// Remove sessions with their sub-agents and all that belongs to them
    ///
    /// They go to the trash, from where `undo` brings them back.
    Delete(DeleteArgs),
    /// Keep sessions from every cleanup
    Pin(PinArgs),
    /// Let cleanups take sessions again
    Unpin(UnpinArgs),
    /// Put back what a run of this program changed
    ///
    /// Every file and directory comes back with its bytes, mode and times. Where something newer stands in the way,
    /// it is left alone and said so. Without a RUN, the newest that can be undone is.
    Undo(UndoArgs),
    /// Show, restore or purge what runs of this program took away
    Trash(TrashArgs),
    /// Find every known trouble of sessions and stores, with the evidence and what to type against it
    ///
    /// It writes nothing. The exit status is 4 when there is an error or a warning, with --strict
    /// also when there is something worth knowing.
    Doctor(DoctorArgs),
    /// Print a man page, a completion script or a JSON schema
    #[command(hide = true)]
    Generate(GenerateArgs),
    /// Print help on a command or on a topic
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

impl FormatArgs {
    /// Returns the format that was asked for.
    pub(crate) fn get(self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

/// How an answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people on a terminal, separated by tabs in a pipe.
    Table,
    /// One JSON object.
    Json,
    /// One JSON object a line: a header, the items, a summary.
    Ndjson,
}

/// Which sessions are looked at.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FilterArgs {
    /// Only sessions of this agent (can be repeated)
    #[arg(long, value_name = "AGENT", action = ArgAction::Append)]
    pub agent: Vec<AgentKind>,

    /// Only sessions of the current directory and those below it
    #[arg(long)]
    pub here: bool,

    /// Only sessions active since then: an age such as 2h or 3days, or a date
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub since: Option<Age>,

    /// Only sessions not active since then: an age such as 2h or 3days, or a date
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub older_than: Option<Age>,
}

/// Arguments of `list`.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Only sessions of this directory and those below it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "here")]
    pub dir: Option<PathBuf>,

    /// Show sub-agents, archived and empty sessions too
    #[arg(long, short)]
    pub all: bool,

    /// Show at most N sessions
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,

    /// Count prompts and replies; reads the whole of every transcript
    #[arg(long)]
    pub counts: bool,

    /// What to order by
    #[arg(long, value_name = "KEY", default_value = "active")]
    pub sort: SortKey,

    /// Turn the order round
    #[arg(long, short)]
    pub reverse: bool,

    /// Show what is in the archive
    #[arg(long, conflicts_with = "counts")]
    pub archived: bool,

    /// The archive's directory, instead of the usual one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "archived")]
    pub from: Option<PathBuf>,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `search`.
#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// The text to look for, as it stands there; without a capital letter, in any case
    #[arg(value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub text: String,

    #[command(flatten)]
    pub filter: FilterArgs,

    /// Only sessions of this directory and those below it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "here")]
    pub dir: Option<PathBuf>,

    /// Look through sub-agents, archived and empty sessions too
    #[arg(long, short)]
    pub all: bool,

    /// Only what this one said (can be repeated)
    #[arg(long, value_name = "ROLE", action = ArgAction::Append)]
    pub role: Vec<Role>,

    /// Tell capital and small letters apart
    #[arg(long, short = 's')]
    pub case_sensitive: bool,

    /// Stop after N sessions
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,

    /// Show at most N messages of each session
    #[arg(long, short, value_name = "N", default_value_t = 3)]
    pub matches: usize,

    /// Look through what is in the archive, instead of the stores
    #[arg(long)]
    pub archived: bool,

    /// The archive's directory, instead of the usual one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "archived")]
    pub from: Option<PathBuf>,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `show`.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Which session: an id or its beginning, AGENT:ID, `latest`, its place in the list, its title, its
    /// file or directory, or an app's directory with a Leo pointer
    #[arg(value_name = "SESSION")]
    pub session: Selector,

    #[command(flatten)]
    pub filter: FilterArgs,

    /// Use this copy of several: its number in the list of candidates, or its path
    #[arg(long, value_name = "N|PATH")]
    pub copy: Option<CopySelector>,

    /// Print the last N messages too
    #[arg(long, short, value_name = "N", conflicts_with = "transcript")]
    pub messages: Option<usize>,

    /// Print every message, and nothing else on a terminal or in a pipe
    #[arg(long, short)]
    pub transcript: bool,

    /// Show the session as it is in the archive; also done when it is nowhere else
    #[arg(long, conflicts_with = "copy")]
    pub archived: bool,

    /// The archive's directory, instead of the usual one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "archived")]
    pub from: Option<PathBuf>,

    /// Which archived state of it, instead of the newest
    #[arg(long, value_name = "N", requires = "archived")]
    pub state: Option<u64>,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `resume`.
#[derive(Args, Debug)]
pub(crate) struct ResumeArgs {
    /// Which session: an id or its beginning, AGENT:ID, `latest`, its place in the list, its title, its
    /// file or directory, or an app's directory with a Leo pointer; without it, a terminal shows a list to pick
    /// from
    #[arg(value_name = "SESSION")]
    pub session: Option<Selector>,

    #[command(flatten)]
    pub filter: FilterArgs,

    /// Use this copy of several: its number in the list of candidates, or its path
    #[arg(long, value_name = "N|PATH")]
    pub copy: Option<CopySelector>,

    /// Start the agent in DIR instead of the session's own directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// Print the command for a shell; run nothing
    #[arg(long, short)]
    pub print: bool,

    /// Print the plan as one JSON object; run nothing
    #[arg(long, conflicts_with = "print")]
    pub json: bool,

    /// Resume even if another process uses the session
    #[arg(long)]
    pub force: bool,

    /// Start the agent in the directory that the session claims, though its place in the store contradicts it
    #[arg(long)]
    pub trust: bool,

    /// Resume however often it was done in the last minute
    #[arg(long)]
    pub no_limit: bool,

    /// Send one prompt without a terminal and print the reply; `-` reads it from standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub prompt: Option<String>,

    /// Print what was launched last; run nothing
    #[arg(long, conflicts_with_all = ["session", "print", "prompt", "fresh", "dir"])]
    pub last_launch: bool,

    /// Stay until the agent ends, return its status, and say so if it wrote to another session
    ///
    /// SIGTERM and SIGHUP are passed on to the agent, and the terminal's settings are put back after it.
    #[arg(long, conflicts_with_all = ["print", "json", "last_launch"])]
    pub wait: bool,

    /// For an app's directory: start a new session there if its old one is found nowhere
    #[arg(long)]
    pub fresh: bool,

    /// Arguments that are passed on to the agent
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

/// Arguments of `backfill`.
#[derive(Args, Debug)]
pub(crate) struct BackfillArgs {
    /// Session ids or beginnings of them, or sessions' directories
    #[arg(value_name = "SESSION", required_unless_present = "all", conflicts_with = "all")]
    pub sessions: Vec<Selector>,

    /// Look at every Amplifier session
    #[arg(long, short)]
    pub all: bool,

    /// Record DIR instead of what evidence says; for one session
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

/// How long a change waits for another one.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct LockArgs {
    /// Wait at most so long for another rejoin that is changing something
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = humantime::parse_duration)]
    pub lock_timeout: Duration,
}

/// How a change is made.
#[derive(Args, Clone, Debug)]
pub(crate) struct ChangeArgs {
    /// Print what would be done, and its fingerprint; change nothing
    #[arg(long, short = 'n')]
    pub dry_run: bool,

    /// Do it only if the plan is still the one with this fingerprint
    #[arg(long, value_name = "FINGERPRINT", conflicts_with = "dry_run")]
    pub apply: Option<String>,

    #[command(flatten)]
    pub lock: LockArgs,
}

/// Arguments of `archive`.
#[derive(Args, Debug)]
pub(crate) struct ArchiveArgs {
    /// Which sessions: ids or beginnings of them, AGENT:ID, titles, or their files or directories
    #[arg(value_name = "SESSION", required_unless_present_any = ["older_than", "expiring", "all", "verify"],
          conflicts_with_all = ["older_than", "expiring", "all", "verify"])]
    pub sessions: Vec<Selector>,

    /// Sessions not active since then: an age such as 30d, or a date
    #[arg(long, value_name = "AGE", value_parser = parse_age, conflicts_with_all = ["all", "verify"])]
    pub older_than: Option<Age>,

    /// Sessions that their agent will delete within this many days
    #[arg(long, value_name = "DAYS", conflicts_with_all = ["all", "verify"])]
    pub expiring: Option<u16>,

    /// Every session
    #[arg(long, short, conflicts_with = "verify")]
    pub all: bool,

    /// Read the whole archive and name what is damaged or missing; change nothing
    #[arg(long, conflicts_with_all = ["dry_run", "full", "agent", "dir"])]
    pub verify: bool,

    /// Read every file and what the archive has of it again, also where sizes and times did not change
    ///
    /// What is damaged in the archive is replaced by that.
    #[arg(long)]
    pub full: bool,

    /// Only sessions of this agent (can be repeated)
    #[arg(long, value_name = "AGENT", action = ArgAction::Append)]
    pub agent: Vec<AgentKind>,

    /// Only sessions of this directory and those below it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// The archive's directory, instead of the usual one
    ///
    /// It is made if the directory above it is there.
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
    /// Which archived session: its id or the beginning of it, AGENT:ID, or its title
    #[arg(value_name = "SESSION")]
    pub session: Selector,

    /// Which state of it, as in `rejoin show --archived SESSION`, instead of the newest
    #[arg(long, value_name = "N")]
    pub state: Option<u64>,

    /// Put it into this store, instead of the one that it came from
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub to_store: Option<PathBuf>,

    /// Keep the times of its files, though its agent deletes by them
    #[arg(long)]
    pub keep_times: bool,

    /// Only sessions of this agent (can be repeated)
    #[arg(long, value_name = "AGENT", action = ArgAction::Append)]
    pub agent: Vec<AgentKind>,

    /// The archive's directory, instead of the usual one
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
    /// Which session: its id or the beginning of it, AGENT:ID, its title, or one of its files or directories
    #[arg(value_name = "SESSION")]
    pub session: Selector,

    /// The copy to keep: its number in `rejoin show SESSION`, or its path
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
    /// What was last active before then goes: an age such as 30d, or a date; 30d unless --max-total or --all says
    /// what goes
    #[arg(long, value_name = "AGE", value_parser = parse_age, conflicts_with = "all")]
    pub older_than: Option<Age>,

    /// Keep the last N sessions of each project, however old they are
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub keep_last: usize,

    /// Remove the oldest sessions until the rest has at most SIZE: bytes, or 500M, 10G and the like
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "all")]
    pub max_total: Option<u64>,

    /// Only sessions without a prompt and without a reply; with --all whatever their age
    #[arg(long)]
    pub empty: bool,

    /// Every session that was asked for, whatever its age
    #[arg(long)]
    pub all: bool,

    /// Only sessions of this agent (can be repeated)
    #[arg(long, value_name = "AGENT", action = ArgAction::Append)]
    pub agent: Vec<AgentKind>,

    /// Only sessions of this directory and those below it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// Keep this session: its id, the beginning of it, or AGENT:ID (can be repeated)
    #[arg(long, value_name = "ID", action = ArgAction::Append, value_parser = parse_id)]
    pub exclude: Vec<Selector>,

    /// Remove them even if nothing would be left of an agent, more than half of all would go, or the clock may be wrong
    #[arg(long)]
    pub allow_all: bool,

    /// Archive what goes before it goes; what cannot be archived stays
    #[arg(long)]
    pub archive: bool,

    /// The archive's directory, instead of the usual one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "archive")]
    pub to: Option<PathBuf>,

    /// Purge from the trash what runs before then took away: an age or a date
    #[arg(long, value_name = "AGE", default_value = "14d", value_parser = parse_age)]
    pub trash_keep: Age,

    #[command(flatten)]
    pub removal: RemovalArgs,

    /// With --dry-run: end with status 4 if there is something to do
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

    /// Do not ask; needed where there is no terminal
    #[arg(long, short)]
    pub yes: bool,

    /// Delete for good instead of moving to the trash
    #[arg(long)]
    pub permanent: bool,
}

/// Arguments of `delete`.
#[derive(Args, Debug)]
pub(crate) struct DeleteArgs {
    /// Which sessions: ids or beginnings of them, AGENT:ID, titles, or files or directories of sessions
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
    /// Which sessions: ids or beginnings of them, AGENT:ID, titles, or files or directories of sessions
    #[arg(value_name = "SESSION", required_unless_present = "list")]
    pub sessions: Vec<Selector>,

    /// Only sessions of this agent (can be repeated)
    #[arg(long, value_name = "AGENT", action = ArgAction::Append)]
    pub agent: Vec<AgentKind>,

    /// List what is pinned
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
    /// Which sessions: ids or beginnings of them, or AGENT:ID; they may be gone
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
    /// Which run, as in the output of --list
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
    /// Put one thing back where it was
    Restore(TrashRestoreArgs),
    /// Delete for good
    ///
    /// What is purged can no longer be undone.
    Purge(TrashPurgeArgs),
}

impl TrashCommand {
    /// Returns how the answer is printed.
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::List(args) => args.format.get(),
            Self::Restore(args) => args.format.get(),
            Self::Purge(args) => args.format.get(),
        }
    }
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
    /// What: RUN/ITEM as in the output of `trash list`, or the id of a session or its beginning
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
    /// Only what these runs took away
    #[arg(value_name = "RUN", required_unless_present_any = ["older_than", "all"])]
    pub runs: Vec<String>,

    /// What was taken away before then: an age such as 14d, or a date
    #[arg(long, value_name = "AGE", value_parser = parse_age, conflicts_with_all = ["runs", "all"])]
    pub older_than: Option<Age>,

    /// Everything
    #[arg(long, conflicts_with = "runs")]
    pub all: bool,

    /// Do not ask
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
    /// Mend what can be mended without losing anything, and list what needs a decision
    #[arg(long, conflicts_with_all = ["list_checks", "strict"])]
    pub fix: bool,

    /// With --fix: print what would be done, and its fingerprint; change nothing
    #[arg(long, short = 'n', requires = "fix")]
    pub dry_run: bool,

    /// With --fix: do it only if the plan is still the one with this fingerprint
    #[arg(long, value_name = "FINGERPRINT", requires = "fix", conflicts_with = "dry_run")]
    pub apply: Option<String>,

    #[command(flatten)]
    pub lock: LockArgs,

    /// Make only this check (can be repeated)
    #[arg(long, value_name = "CODE", action = ArgAction::Append, hide_possible_values = true)]
    pub check: Vec<Code>,

    /// Only what is about this agent (can be repeated)
    #[arg(long, value_name = "AGENT", action = ArgAction::Append)]
    pub agent: Vec<AgentKind>,

    /// Only what is about this directory and those below it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// List the checks with what they mean; look at nothing
    #[arg(long, conflicts_with_all = ["check", "agent", "dir", "strict", "deep", "expires_within"])]
    pub list_checks: bool,

    /// End with status 4 even if there is nothing but what is worth knowing
    #[arg(long)]
    pub strict: bool,

    /// Read every transcript whole, however large it is
    #[arg(long)]
    pub deep: bool,

    /// Report sessions that their agent will delete within this many days
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

    /// Never fail: what goes wrong is a warning, and the exit code is 0
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
        /// The session's directory; it is made if it is missing
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        session_dir: PathBuf,

        /// The directory that the session belongs to; `~` and links are resolved, it need not exist
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        working_dir: PathBuf,
    },
    /// Write the transcript.jsonl of an Amplifier session from messages on standard input
    ///
    /// The messages are a JSON array or one object a line, and replace the ones that are there. Those of the
    /// roles system and developer are left out. One message is held in memory at a time.
    Transcript {
        /// The session's directory; it is made if it is missing
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        session_dir: PathBuf,
    },
    /// Write the .agent_session.json of an app that Leo builds, with the directory that its session belongs to
    ///
    /// `rejoin resume APP_DIR` starts Claude Code in that directory. Keys that others wrote survive.
    Leo {
        /// The app's directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        app_dir: PathBuf,

        /// The session of Claude Code, a UUID
        #[arg(long, value_name = "ID", allow_hyphen_values = true)]
        session_id: String,

        /// What Leo wants to remember, a JSON object; without it, what is there is kept
        #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
        context: Option<String>,

        /// The directory that Claude Code ran in, instead of the current one
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        cwd: Option<PathBuf>,
    },
    /// Write a session of JidoCode from a JSON object on standard input
    ///
    /// It is judged by JidoCode's own rules, completed with `version` and `closed_at` where they are missing, and
    /// signed with the machine's key. A session of the same id is never written over.
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
    /// Take an event of Claude Code from standard input
    ///
    /// It remembers the directory that a session works in, states it after a compaction, and forgets it when the
    /// session ends. `hook install` has Claude Code send the events.
    Claude,
    /// Take an event of Amplifier from standard input and save the conversation
    Amplifier,
    /// Have Claude Code send its events, by its settings.json
    Install(HookSettingsArgs),
    /// Take out of settings.json what `hook install` put in
    Uninstall(HookSettingsArgs),
    /// Say in which settings.json the hooks are set up
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookScope {
    /// Every project of the user: settings.json in Claude Code's own directory.
    User,
    /// Whoever works on this project: .claude/settings.json in the current directory.
    Project,
    /// This project, for the user alone: .claude/settings.local.json in the current directory.
    Local,
}

/// Arguments of `generate`.
#[derive(Args, Debug)]
pub(crate) struct GenerateArgs {
    /// What to print
    #[arg(value_name = "WHAT")]
    pub what: Generated,

    /// Which one: a command, a shell or a schema; without it the names are listed
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
        return SignedDuration::try_from(age).map(Age::Before).map_err(|_| "the age is too long".to_owned());
    }
    if let Ok(at) =
        humantime::parse_rfc3339_weak(text).map_err(drop).and_then(|at| Timestamp::try_from(at).map_err(drop))
    {
        return Ok(Age::At(at));
    }
    let date: Result<jiff::civil::Date, _> = text.parse();
    match date.and_then(|date| date.to_zoned(jiff::tz::TimeZone::UTC)) {
        Ok(date) => Ok(Age::At(date.timestamp())),
        Err(_) => Err("give an age such as 90s, 2h or 3days, or a date such as 2026-02-01".to_owned()),
    }
}

/// Reads an id, the beginning of one, or AGENT:ID.
fn parse_id(text: &str) -> Result<Selector, String> {
    match text.parse()? {
        id @ Selector::Id { .. } => Ok(id),
        Selector::Latest | Selector::Path(_) => Err("give an id, the beginning of one, or AGENT:ID".to_owned()),
    }
}

/// Reads a number of bytes; K, M, G and T count in 1024 as sizes are shown, KB, MB, GB and TB in 1000.
fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || "give a number of bytes, or a size such as 500M, 1.5G or 10GiB".to_owned();
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
