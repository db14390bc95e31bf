//! Moving sessions: the project to which a session belongs, and the changes of an agent's files that move or rename a
//! session.

use std::path::{Path, PathBuf};

use super::Unable;
use super::registry::{Listed, about, by_kind};
use super::relocation::{Moved, Relocation, StoreMove};
use crate::format::command_line::move_command;
use crate::format::edit::Edit;
use crate::format::shell;
use crate::session::repository::Repository;
use crate::session::{Located, SessionCopy};
use crate::system::{names, reach};

/// Returns whether a rule accepts a directory as text: as spelled, or as spelled on the disk, which only an existing
/// path has.
pub(super) fn encodes(dir: &Path, rule: impl Fn(&str) -> bool) -> bool {
    names::is_either(dir, |dir| dir.to_str().is_some_and(&rule))
}

/// Returns whether the agent files the sessions of a directory in the same project as this one; `None` if that is
/// unknown.
pub(crate) fn leads_back(place: &Located, dir: &Path) -> Option<bool> {
    by_kind(place.agent())?.is_filed_under(place.project.as_deref()?, dir)
}

/// Returns whether a recorded directory counts as evidence: it is not known to belong to another project.
pub(crate) fn counts(place: &Located, dir: &Path) -> bool {
    leads_back(place, dir) != Some(false)
}

/// Returns whether an agent that is started in the launch directory of a copy does not find the session, because links
/// lead from there to this directory: every agent asks the kernel for its directory, which names it without links.
pub(crate) fn is_lost_behind_link(copy: &SessionCopy, target: &Path) -> bool {
    let Some(agent) = by_kind(copy.place.agent()) else { return false };
    let looks_there_only = agent.about().needs_own_dir || agent.about().asks_elsewhere;
    let is_lost = || leads_back(&copy.place, target) == Some(false) || agent.check_start(copy, target).is_err();
    looks_there_only && is_lost()
}

/// Returns the hint with the command that moves the sessions of a directory to the one to which it leads.
pub(crate) fn follow_hint(from: &Path, to: &Path) -> String {
    format!("if the directory was moved, its sessions follow with `{}`", move_command(from, to))
}

/// Refuses a directory that the agent would leave for its own one of a session, if that exists; `way` is the way out.
pub(super) fn refuse_other_dir(copy: &SessionCopy, dir: &Path, way: &str) -> Result<(), Unable> {
    // A directory on a mount that does not answer may exist.
    let own = copy.last_dir.as_ref().map(|own| &*own.value).filter(|own| reach::exists(own) != Some(false));
    match own.filter(|own| !names::is_same_dir(own, dir)) {
        Some(own) => {
            let title = about(copy.place.agent()).title;
            Err(format!("{title} continues in {}, wherever it is started; {way}", own.display()).into())
        }
        None => Ok(()),
    }
}

/// Describes a briefing as the way to continue a conversation in another directory.
pub(super) fn brief_elsewhere(copy: &SessionCopy) -> String {
    let name = shell::selector(copy.place.agent(), &copy.place.id);
    format!("`rejoin resume {name} --with AGENT --in DIR` begins a new session there")
}

/// Leaves the sessions whose agent would go back to their own directories, if these exist; `way` is the way out.
pub(super) fn relocate_unless_back<'a>(way: impl Fn(&SessionCopy) -> String + Sync + 'a) -> Relocation<'a> {
    Relocation::of_each(move |copy, dir| {
        refuse_other_dir(copy, dir, &way(copy))?;
        Ok(Moved::changing_no_file())
    })
}

/// Decides where the sessions of an agent belong, and moves and renames them.
pub(crate) trait Moving: Listed + Sync {
    /// Returns whether the agent files the sessions of a directory under this project; `None` if that is unknown. Only a
    /// known project is evidence for a directory that the session itself does not record.
    fn is_filed_under(&self, _project: &str, _dir: &Path) -> Option<bool> {
        None
    }

    /// Returns the facts about the git repository in which a copy was started, to find its current location.
    fn repository(&self, _copy: &SessionCopy) -> Repository {
        Repository::default()
    }

    /// Returns the changes that let the agent find the sessions of a store from other directories: one-time changes,
    /// and changes per session. By default no agent file is changed, and rejoin records the new directory.
    fn relocation<'a>(&'a self, _moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        Ok(Relocation::changing_no_file())
    }

    /// Returns the file and the edit that change the title of a copy in the agent, or the reason why there are none.
    fn retitle(&self, copy: &SessionCopy, title: &str) -> Result<Vec<(PathBuf, Edit)>, Unable> {
        let word = |word: &&'static str| match *word {
            "ID" => shell::word(&copy.place.id),
            "TITLE" => shell::word(title),
            word => word.into(),
        };
        let command: Vec<_> = about(self.kind()).renames.iter().map(word).collect();
        if !command.is_empty() {
            return Err(format!("its agent does that: `{}`", command.join(" ")).into());
        }
        let title = about(self.kind()).title;
        Err(format!("rejoin cannot rename {title} sessions; rename it in {title}").into())
    }
}
