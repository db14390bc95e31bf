//! Description of an agent: facts that the program asks for. docs/agents.md has their sources.

use std::path::{Path, PathBuf};

use jiff::SignedDuration;

use crate::agent::Unable;
use crate::agent::command::{Command, NewSession};
use crate::agent::installed::Package;
use crate::agent::log_places::LogPlaces;
use crate::agent::mentions::ListAt;
use crate::agent::relocation::Act;
use crate::agent::rewind::{Rewind, Slim};
use crate::agent::upkeep::{BadLine, CwdRecords, HalfLine, Link, StrayLog, is_object};
use crate::agent::usage::UsageAt;
use crate::error::PathError;
use crate::session::mapping::Mapping;
use crate::session::{SessionCopy, SessionKind, Store, evidence};
use crate::system::env::Env;
use crate::system::fsio::{EntryKind, EntryMetadata};

/// A function that finds the package of an installed program.
pub(crate) type FindPackage<'a> = &'a dyn Fn(&str) -> Option<Package>;

/// The directory of an agent's output, one per user, in the directory for temporary files or in the one that a variable
/// names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputDir {
    /// The variable that names the parent directory.
    pub variable: &'static str,
    /// The directory's name up to the number of the user.
    pub prefix: &'static str,
}

impl OutputDir {
    /// Returns the directory's name for the user of this process.
    pub(crate) fn name(self) -> String {
        format!("{}{}", self.prefix, rustix::process::geteuid().as_raw())
    }

    /// Returns the directory's path. `None` if it does not exist, the home is another one, or it is a link or belongs
    /// to another user: anyone may create entries in a directory for temporary files.
    pub(super) fn path(self, env: &Env) -> Option<PathBuf> {
        let chosen = env.variable(self.variable).map(PathBuf::from).filter(|dir| dir.is_absolute());
        let path = chosen.unwrap_or_else(|| env.temp_dir()).join(self.name());
        let is_own =
            |look: EntryMetadata| look.kind == EntryKind::Dir && look.owner.0 == rustix::process::geteuid().as_raw();
        (!env.foreign_home && EntryMetadata::of_path(&path).is_ok_and(is_own)).then_some(path)
    }
}

/// Description of an agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    /// The name as its makers write it.
    pub title: &'static str,
    /// The program that resumes its sessions, as the user types it.
    pub program: Option<&'static str>,
    /// The newest version that was measured, or whose code was read if none was measured.
    pub tested_version: Option<&'static str>,
    /// False if the files of the agent were never measured: rejoin reads its sessions and changes none.
    pub measured: bool,
    /// The default root of its sessions, below the home.
    pub root: &'static str,
    /// Variables that select another root, the one with the highest precedence first: the directory in the variable, or
    /// one below it.
    pub variables: &'static [(&'static str, Option<&'static str>)],
    /// JSON pointers and values that mark a record without conversation; one is sufficient.
    pub silent: &'static [(&'static str, &'static [&'static str])],
    /// The tokens and the cost in the records of the conversation, if the agent records them there.
    pub usage: Option<UsageAt>,
    /// JSON pointer to the agent's version in a record of its transcript.
    pub version_at: Option<&'static str>,
    /// Decides the launch directory of a copy from its evidence.
    pub decide: fn(&mut SessionCopy),
    /// Returns the links of a record of a transcript to other records; `None` if the line is not a record.
    pub link: fn(&[u8]) -> Option<Link<'_>>,
    /// The member with the id of a record's parent, if a missing parent cuts off the earlier records, and setting the
    /// member joins both parts.
    pub parent_at: Option<&'static str>,
    /// Maximum time between a record and an earlier one that the agent uses in place of a missing parent; `None` if it
    /// uses none.
    pub bridges: Option<SignedDuration>,
    /// The agent's command that renames a session; the words `ID` and `TITLE` are replaced. Empty if there is none.
    pub renames: &'static [&'static str],
    /// Returns whether every save rewrites a file of this name, so that copies of a session may differ in it.
    pub is_state: fn(&str) -> bool,
    /// Returns whether a log next to transcripts is known to be no transcript, such as the journal of a workflow.
    pub is_journal: fn(&Path) -> bool,
    /// Checks whether a line of a transcript is a record of a move, which continues no conversation; `None` if a move adds
    /// no record.
    pub is_move_record: Option<fn(&[u8]) -> bool>,
    /// Set if forks of the agent store sessions in the same format in other homes.
    pub has_forks: bool,
    /// Types of records without a time that the agent itself writes at the end of a transcript. Other records without a time may
    /// be newer than the conversation.
    pub untimed: &'static [&'static str],
    /// Names of a session's files and directories that the agent executes, sources or loads as settings, in lower case;
    /// one that starts with a dot is the ending of a name. They are restored from an archive only on `--trust`.
    pub runs: &'static [&'static str],
    /// The agent's handling of a torn last line.
    pub half_line: HalfLine,
    /// The agent's handling of other lines that are not records.
    pub bad_line: BadLine,
    /// Text in every line with an error of the API in place of a reply; `None` if no such line is known.
    pub api_error: Option<&'static str>,
    /// Text in every line that rolls back messages; `None` if records name their parents, or messages are never rolled
    /// back.
    pub rewind_mark: Option<&'static str>,
    /// Set if the agent finds a session from the session's own directory only, so that no other directory can replace a
    /// missing one.
    pub needs_own_dir: bool,
    /// Set if a server that resumes a session needs a session-info.json, which is then written first.
    pub needs_session_info: bool,
    /// Set if the agent resumes a session in its launch directory only, and asks a question elsewhere: without a
    /// terminal it then does nothing, and reports success.
    pub asks_elsewhere: bool,
    /// Set if only an open file shows that a session is in use, so that no session is known to be idle if open files
    /// cannot be listed.
    pub has_open_file_only: bool,
    /// Set if a register, a lock or an open file shows that a session is open, even while its client waits for a
    /// prompt.
    pub marks_use: bool,
    /// The places and the names of its logs, if each is a file that is named after the UUID of its session.
    pub logs: Option<LogPlaces>,
    /// The lists that name sessions apart from the sessions' own files.
    pub lists: &'static [ListAt],
    /// Set if the agent refuses a whole log for a byte that is not UTF-8; others replace it.
    pub refuses_bytes: bool,
    /// Set if sessions can be in any working directory.
    pub is_anywhere: bool,
    /// Set if all sessions are files in the directories that they belong to, so that a store contains none.
    pub keeps_in_projects: bool,
    /// Set if the file of [`super::Reading::verbatim`] also contains titles and first prompts verbatim, so that
    /// `search` can skip a session whose file lacks the text.
    pub has_verbatim_titles: bool,
    /// Text about removed sessions that the agent's own list still shows, and the command that clears them; `ID` is
    /// replaced.
    pub still_lists: Option<&'static str>,
    /// Length of the prefix of an id that the agent prints, and accepts instead of the whole id.
    pub printed_id: Option<usize>,
    /// Returns whether a project is named after a hash of its directory, so that the hashes of all known directories
    /// are compared.
    pub is_hash: fn(&str) -> bool,
    /// Commands that start a new session with a first prompt. Source: the `--help` of `tested_version`, unless a
    /// comment names another one.
    pub new_session: NewSession,
    /// Adapts a command to the installed version of the program, if versions differ.
    pub fit_command: fn(&mut Command, &SessionCopy, FindPackage<'_>),
    /// Checks whether the agent, started in a directory with one prompt, would answer it there and end.
    pub check_prompt: fn(&SessionCopy, &Path) -> Result<(), Unable>,
    /// Returns whether the agent's own resume attaches to the process that uses the session, so that nothing is taken
    /// over.
    pub joins: fn(&SessionCopy) -> bool,
    /// Returns the command that makes an agent rebuild its list of a store's sessions, if it finds them by its list
    /// only.
    pub list_anew: fn(&Path) -> Option<String>,
    /// Returns the edits of the agent's data about moved directories, apart from sessions: trust, histories, costs.
    pub references: fn(&Store, &Mapping, &Env) -> Vec<Act>,
    /// Writes a rewound copy, if rejoin knows the format of a rewound session.
    pub rewind: Option<Rewind>,
    /// Writes a copy without large parts, if a resume of a slimmed session was measured.
    pub slim: Option<Slim>,
    /// The files outside the stores that rejoin changes: in the home if the name begins with `~/`, else in any directory; a
    /// `*` matches the beginning of the last name.
    pub changes_outside: &'static [&'static str],
    /// The directory outside of the stores in which its sessions write the output of background tasks, as `<project>/<id>/`.
    pub output_dir: Option<OutputDir>,
    /// Records of other programs about the directories in which the agent's sessions were working.
    pub cwd_records: Option<&'static dyn CwdRecords>,
    /// Returns how a copy that contains only a log can be folded into another copy of the session; `None` if it
    /// contains other data.
    pub fold: fn(&Path, &Path) -> Result<Option<StrayLog>, PathError>,
}

/// Minimum size in bytes of a large transcript: clients open these slowly, or refuse them (14 public reports about
/// Copilot CLI, Claude Code, Pi and Codex name 100 MB and more).
const LARGE: u64 = 100_000_000;

impl About {
    /// The base of a description: an agent without any special case.
    pub(crate) const NONE: Self = Self {
        title: "",
        program: None,
        tested_version: None,
        measured: true,
        root: "",
        variables: &[],
        silent: &[],
        usage: None,
        version_at: None,
        decide: |copy| evidence::decide(copy, |_| true),
        link: |line| is_object(line).then(Link::default),
        parent_at: None,
        bridges: None,
        renames: &[],
        is_state: |_| false,
        is_journal: |_| false,
        is_move_record: None,
        has_forks: false,
        untimed: &[],
        runs: &[],
        half_line: HalfLine::PassedOver,
        bad_line: BadLine::Unknown,
        api_error: None,
        rewind_mark: None,
        needs_own_dir: false,
        needs_session_info: false,
        asks_elsewhere: false,
        logs: None,
        lists: &[],
        refuses_bytes: false,
        is_anywhere: false,
        keeps_in_projects: false,
        has_verbatim_titles: false,
        still_lists: None,
        printed_id: None,
        is_hash: |_| false,
        new_session: NewSession::NONE,
        fit_command: |_, _, _| (),
        check_prompt: |_, _| Ok(()),
        joins: |_| false,
        has_open_file_only: false,
        marks_use: false,
        list_anew: |_| None,
        references: |_, _, _| Vec::new(),
        rewind: None,
        slim: None,
        changes_outside: &[],
        output_dir: None,
        cwd_records: None,
        fold: |_, _| Ok(None),
    };

    /// Returns whether the agent appends its next record to a whole record without a newline, and loses messages because of
    /// that: measured on the four agents for which it holds.
    pub(crate) fn needs_newline(&self) -> bool {
        self.half_line != HalfLine::PassedOver || self.bad_line == BadLine::Ending
    }

    /// Returns the function that makes a session without the large parts of a copy; `None` if that is not supported.
    pub(crate) fn slim_of(&self, copy: &SessionCopy) -> Option<Slim> {
        self.slim.filter(|slim| copy.kind != SessionKind::Subagent && (slim.is_supported)(copy))
    }

    /// Returns whether a copy is large, and a session without its large parts can be made.
    pub(crate) fn can_slim(&self, copy: &SessionCopy) -> bool {
        let is_large =
            copy.transcript_bytes >= LARGE || copy.obstacle.as_ref().is_some_and(|obstacle| obstacle.is_size);
        is_large && self.slim_of(copy).is_some()
    }

    /// Returns the reason why no session of the agent is changed; `None` if its files were measured.
    pub(crate) fn only_read(&self) -> Option<String> {
        let title = self.title;
        (!self.measured).then(|| format!("the files of {title} were never measured, so rejoin only reads its sessions"))
    }
}
