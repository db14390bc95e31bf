//! Description of an agent: its part of docs/agents.md, and facts that the program asks for.

use std::path::Path;

use crate::agent::Unable;
use crate::agent::command::{Command, NewSession};
use crate::agent::installed::Package;
use crate::agent::relocation::Act;
use crate::agent::rewind::Rewind;
use crate::agent::upkeep::{CwdRecords, Fold, HalfLine, Link, is_object};
use crate::agent::usage::UsageAt;
use crate::agent::version;
use crate::error::PathError;
use crate::session::mapping::Mapping;
use crate::session::{SessionCopy, Store, evidence};
use crate::system::env::Env;

/// A function that finds the package of an installed program.
pub(crate) type FindPackage<'a> = &'a dyn Fn(&str) -> Option<Package>;

/// Description of an agent. The texts up to `facts` are Markdown, each the rest of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    /// The name as its makers write it.
    pub title: &'static str,
    /// The locations of its sessions.
    pub sessions: &'static str,
    /// The sources of the launch directory.
    pub launch_dir: &'static str,
    /// The effect of the agent's resume command in another directory.
    pub elsewhere: &'static str,
    /// The command that `rejoin resume` starts.
    pub starts: &'static str,
    /// The signs that a session is in use.
    pub in_use: &'static str,
    /// The data that the agent deletes by itself.
    pub deletes: &'static str,
    /// The data that rejoin writes into the agent's files, apart from moving sessions to the trash and back.
    pub writes: &'static str,
    /// The versions that were measured, or the source code that was read.
    pub facts: &'static str,
    /// The default root of its sessions, below the home.
    pub root: &'static str,
    /// Variables that select another root, the one with the highest precedence first: the directory in the variable, or
    /// one below it.
    pub variables: &'static [(&'static str, Option<&'static str>)],
    /// JSON pointers and values that mark a record without conversation; one is sufficient.
    pub silent: &'static [(&'static str, &'static [&'static str])],
    /// The tokens and the cost in the records of a log, if the agent records them there.
    pub usage: Option<UsageAt>,
    /// JSON pointer to the agent's version in a record of its transcript.
    pub version_at: Option<&'static str>,
    /// Decides the launch directory of a copy from its evidence.
    pub decide: fn(&mut SessionCopy),
    /// Returns the links of a record of a transcript to other records; `None` if the line is not a record.
    pub link: fn(&[u8]) -> Option<Link<'_>>,
    /// The agent's command that renames a session; the words `ID` and `TITLE` are replaced. Empty if there is none.
    pub renames: &'static [&'static str],
    /// Returns whether every save rewrites a file of this name, so that copies of a session may differ in it.
    pub is_state: fn(&str) -> bool,
    /// Checks whether a line of a transcript is a record of a move, which continues no conversation; `None` if a move adds
    /// no record.
    pub is_move_record: Option<fn(&[u8]) -> bool>,
    /// Names of a session's files and directories that the agent executes, sources or loads as settings, in lower case;
    /// one that starts with a dot is the ending of a name. They are restored from an archive only on `--trust`.
    pub runs: &'static [&'static str],
    /// The agent's handling of a torn last line.
    pub half_line: HalfLine,
    /// Text in every line with an error of the API in place of a reply; `None` if no such line is known.
    pub api_error: Option<&'static str>,
    /// Text in every line that takes messages back; `None` if records name the record that they follow, or nothing is taken back.
    pub rewind_mark: Option<&'static str>,
    /// Set if a session is found from its own directory alone, so that no other directory can replace a missing one.
    pub needs_own_dir: bool,
    /// Set if a server that resumes a session needs a session-info.json, which is then written first.
    pub needs_session_info: bool,
    /// Set if the agent resumes a session in its launch directory only, and asks in any other: without a terminal it
    /// then does nothing, and reports success.
    pub asks_elsewhere: bool,
    /// Set if only its open file shows that a session is in use, so that without a view of open files none is known to be
    /// idle.
    pub has_open_file_only: bool,
    /// Set if a register, a lock or an open file shows that a session is open, also while its client waits for a prompt.
    pub marks_use: bool,
    /// Set if sessions can be in any working directory.
    pub is_anywhere: bool,
    /// Set if all sessions are files in the directories that they belong to, so that a store contains none.
    pub keeps_in_projects: bool,
    /// Set if the file of [`super::Reading::verbatim`] also contains titles and first prompts verbatim, so that
    /// `search` can skip a session whose file lacks the text.
    pub has_verbatim_titles: bool,
    /// Text about removed sessions that the agent's own list still shows, and the command that clears them; `ID` is the
    /// session.
    pub still_lists: Option<&'static str>,
    /// Length of the prefix of an id that the agent prints, and accepts instead of the whole id.
    pub printed_id: Option<usize>,
    /// Returns whether a project is named after a hash of its directory, so that every known directory is worth trying.
    pub is_hash: fn(&str) -> bool,
    /// Commands that start a new session with a first prompt. Source: the `--help` of a version in `facts`, unless a
    /// comment names another one.
    pub new_session: NewSession,
    /// Adapts a command to the installed version of the program, if versions differ.
    pub fit_command: fn(&mut Command, &SessionCopy, FindPackage<'_>),
    /// Checks whether the agent, started in a directory with one prompt, would answer it there and end.
    pub check_prompt: fn(&SessionCopy, &Path) -> Result<(), Unable>,
    /// Returns whether the agent's own resume joins the process that uses the session, so that nothing is taken over.
    pub joins: fn(&SessionCopy) -> bool,
    /// Returns the command that makes an agent rebuild its list of a store's sessions, if it finds them by its list
    /// only.
    pub list_anew: fn(&Path) -> Option<String>,
    /// Returns the edits of the agent's data about moved directories, apart from sessions: trust, histories, costs.
    pub references: fn(&Store, &Mapping, &Env) -> Vec<Act>,
    /// Writes a rewound copy, if the format of such a session is known.
    pub rewind: Option<Rewind>,
    /// The files outside the stores that rejoin changes: in the home if the name begins with `~/`, else in any directory; a
    /// `*` matches the beginning of the last name.
    pub changes_outside: &'static [&'static str],
    /// Records of other programs about the directories in which the agent's sessions were working.
    pub cwd_records: Option<&'static dyn CwdRecords>,
    /// Returns the way to fold a copy that contains only a log into another copy of the session; `None` if it contains
    /// anything else.
    pub fold: fn(&Path, &Path) -> Result<Option<Fold>, PathError>,
}

impl About {
    /// The base of a description: an agent without any special case.
    pub(crate) const NONE: Self = Self {
        title: "",
        sessions: "",
        launch_dir: "",
        elsewhere: "",
        starts: "",
        in_use: "",
        deletes: "",
        writes: "",
        facts: "",
        root: "",
        variables: &[],
        silent: &[],
        usage: None,
        version_at: None,
        decide: |copy| evidence::decide(copy, |_| true),
        link: |line| is_object(line).then(Link::default),
        renames: &[],
        is_state: |_| false,
        is_move_record: None,
        runs: &[],
        half_line: HalfLine::PassedOver,
        api_error: None,
        rewind_mark: None,
        needs_own_dir: false,
        needs_session_info: false,
        asks_elsewhere: false,
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
        changes_outside: &[],
        cwd_records: None,
        fold: |_, _| Ok(None),
    };

    /// Returns the newest version of the agent in `facts`; `None` if it names source code only. If any version was
    /// measured, versions that were only read do not count.
    pub(crate) fn newest_version(&self) -> Option<&'static str> {
        let measured = self.facts.split(';').find(|part| part.trim_start().starts_with("measured on "));
        let words = measured.unwrap_or(self.facts).split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
        let versions = words.map(|word| word.trim_end_matches('.')).filter(|word| version::parts(word).is_some());
        versions.max_by_key(|word| version::parts(word))
    }

    /// Returns the program that `starts` names first.
    pub(crate) fn program(&self) -> Option<&'static str> {
        self.starts.split('`').nth(1)?.split(' ').next()
    }

    /// Returns the lines of docs/agents.md, each with its heading.
    pub(crate) fn rows(&self) -> [(&'static str, &'static str); 8] {
        [
            ("sessions", self.sessions),
            ("launch directory", self.launch_dir),
            ("its own resume from elsewhere", self.elsewhere),
            ("`rejoin resume` starts", self.starts),
            ("in use", self.in_use),
            ("deletes by itself", self.deletes),
            ("rejoin writes", self.writes),
            ("known from", self.facts),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newest(facts: &'static str) -> Option<&'static str> {
        About { facts, ..About::NONE }.newest_version()
    }

    #[test]
    fn a_version_known_from_code_is_not_the_newest_measured() {
        assert_eq!(
            newest("measured on 1.18.34; anomalyco/opencode 063e8306; the import by its code of 2.0"),
            Some("1.18.34")
        );
        assert_eq!(newest("measured on 1.45.0 and 1.52.0; 1.53.0 by its code"), Some("1.52.0"));
        assert_eq!(newest("read in the packages of 0.215.0 and 0.225.2 alone"), Some("0.225.2"));
        assert_eq!(newest("read in agentjido/jido_code 03efe8eb"), None);
    }
}
