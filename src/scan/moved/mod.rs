//! Searches the disk for the new place of a missing launch directory; every proposal has evidence.

mod checkouts;
mod linked;
mod near;
mod records;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::session::{Session, SessionKind, recorded};
use crate::system::reach;

pub(crate) use checkouts::Checkouts;
pub(crate) use linked::{LinkedDir, linked_dirs};
pub(crate) use records::DirRecords;

/// A possible launch directory, and the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instead {
    /// The directory; it exists.
    pub dir: PathBuf,
    /// Relation to the missing directory.
    pub why: MoveClue,
}

/// Relation of a directory to the missing one, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MoveClue {
    /// It is the missing directory, which Windows recorded, and this WSL distribution has it.
    InWsl,
    /// It has the path that the missing directory has in some WSL distribution.
    WslPath,
    /// It is a git worktree with a branch on which a session of the missing directory worked: `git worktree move` has moved
    /// that one.
    Worktree,
    /// git lists it as the main checkout of the missing worktree.
    MainCheckout,
    /// It has a commit that the missing repository had.
    Commit,
    /// It has the remote that the missing repository had.
    Remote,
    /// It has the first commit of the missing repository, as every fork does.
    Root,
    /// The agent of a session files the sessions of this directory where that session is, and not those of the missing
    /// one.
    Project,
    /// A session of the missing directory worked in it last.
    LastDir,
    /// A session of the missing directory was started in it.
    StartDir,
    /// It has the same name, and another session worked in it.
    NamedAndKnown,
    /// It has the same name, and is near the old place.
    Named,
    /// It has the same name, and is below the home directory.
    NamedAtHome,
    /// Its last name is the same except for case and the encoding of accents, and its repository has a branch on which a
    /// session worked.
    AlikeWithBranch,
    /// Its last name is the same except for case and the encoding of accents, and another session worked in it.
    AlikeAndKnown,
    /// Its last name is the same except for case and the encoding of accents.
    Alike,
    /// It is the checkout around the missing directory.
    Around,
    /// It is the nearest existing directory above the missing one.
    Parent,
}

impl MoveClue {
    /// Describes the relation for users.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::InWsl => "that directory, as this WSL distribution names it",
            Self::WslPath => "the directory of that path on this system",
            Self::Worktree => "a git worktree on a branch on which a session from there worked",
            Self::MainCheckout => "the main checkout of that worktree",
            Self::Commit => "a checkout that has a commit at which a session began there",
            Self::Remote => "a checkout of the same git remote",
            Self::Root => "a checkout with the same first commit",
            Self::Project => "the directory of the project in which a session from there is filed",
            Self::LastDir => "the directory in which a session from there worked last",
            Self::StartDir => "the directory in which a session from there was started",
            Self::NamedAndKnown => "a directory of the same name in which another session worked",
            Self::Named => "a directory of the same name near where it was",
            Self::NamedAtHome => "a directory of the same name in your home directory",
            Self::AlikeWithBranch => {
                "a directory of the same name, ignoring case, whose repository has a branch that a session worked on"
            }
            Self::AlikeAndKnown => "a directory of the same name, ignoring case, in which another session worked",
            Self::Alike => "a directory of the same name, ignoring case",
            Self::Around => "the repository that it was part of",
            Self::Parent => "the nearest parent that still exists",
        }
    }

    /// Returns whether the candidate may be the missing directory itself, instead of one that existed with it.
    pub(crate) fn may_be_it(self) -> bool {
        self < Self::Around && self != Self::StartDir
    }

    /// Returns whether the candidate is only near the missing directory.
    pub(crate) fn is_only_near(self) -> bool {
        self >= Self::Around
    }

    /// Returns whether the candidate has the same work, instead of being only near.
    pub(crate) fn is_same_work(self) -> bool {
        matches!(self, Self::InWsl | Self::MainCheckout | Self::Commit | Self::Remote | Self::Root)
    }

    /// Returns whether another candidate is not chosen against this one, although the candidate's evidence is stronger.
    fn is_objection(self) -> bool {
        matches!(self, Self::Worktree | Self::Project)
    }
}

/// Returns the directory to which the sessions of a missing one can be moved, if there is just one candidate: a
/// checkout of the same repository, or a directory of the same name. Among several clones, the one with the old name is
/// chosen. If several components at the end of the path are missing, the directory may have been inside the checkout,
/// so its name must be the same, too. Only the same last component is not enough. If another fact names another
/// directory, none is chosen.
pub(crate) fn best(found: &[Instead], gone: &Path) -> Option<PathBuf> {
    let name = recorded::file_name(gone);
    let only = |fits: &dyn Fn(&Instead) -> bool| {
        let mut fitting = found.iter().filter(|instead| fits(instead));
        fitting.next().filter(|_| fitting.next().is_none()).map(|instead| instead.dir.clone())
    };
    let strongest = found.iter().map(|instead| instead.why).min().filter(|why| why.is_same_work());
    let is_one_name = gone.parent().is_some_and(|parent| reach::is_dir(parent) == Some(true));
    let chosen = match strongest {
        Some(why) => only(&|instead| instead.why == why)
            .filter(|dir| why == MoveClue::MainCheckout || is_one_name || dir.file_name() == name)
            .or_else(|| only(&|instead| instead.why == why && instead.dir.file_name() == name)),
        None => only(&|instead| {
            let is_alike = matches!(instead.why, MoveClue::AlikeWithBranch | MoveClue::AlikeAndKnown | MoveClue::Alike);
            instead.dir.file_name() == name && !is_alike && !gone.starts_with(&instead.dir)
        }),
    };
    chosen.filter(|dir| found.iter().all(|other| other.dir == *dir || !other.why.is_objection()))
}

/// Returns whether a user would resume the session.
pub(crate) fn is_launched(session: &Session) -> bool {
    !matches!(session.copy().kind, SessionKind::Subagent | SessionKind::Empty)
}

/// The launch directories of sessions, in order.
pub(crate) struct Followers<'s>(Vec<Cow<'s, Path>>);

impl<'s> Followers<'s> {
    /// Collects the launch directories.
    pub(crate) fn among(sessions: impl IntoIterator<Item = &'s Session>) -> Self {
        let launched = sessions.into_iter().filter(|session| is_launched(session));
        let mut dirs: Vec<_> =
            launched.filter_map(|session| session.launch_dir().map(recorded::one_spelling)).collect();
        dirs.sort();
        Self(dirs)
    }

    /// Counts the sessions that a move of a directory takes along: those of the directory, and of directories below it.
    pub(crate) fn count(&self, gone: &Path) -> usize {
        let gone = recorded::one_spelling(gone);
        let first = self.0.partition_point(|dir| **dir < *gone);
        self.0[first..].iter().take_while(|dir| dir.starts_with(&gone)).count()
    }
}

/// Describes the effect of a move on this many sessions.
pub(crate) fn lets_follow(followers: usize) -> String {
    match followers {
        0 | 1 => "lets the session follow".to_owned(),
        count => format!("lets all {count} sessions follow"),
    }
}

/// Returns the nearest existing directory above a missing one.
pub(crate) fn nearest_parent(gone: &Path) -> Option<&Path> {
    gone.ancestors().skip(1).find(|parent| reach::is_dir(parent) == Some(true))
}
