//! Where a launch directory that is gone may be now: what is still on the disk, never a guess.

mod checkouts;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
mod tests;

use std::path::{Path, PathBuf};

use crate::agent;
use crate::session::Session;
use crate::session::recorded;
use crate::session::repository::Repository;
use crate::system::reach;

pub(crate) use checkouts::Checkouts;

/// A place to start instead, and what speaks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instead {
    /// The directory, which exists.
    pub dir: PathBuf,
    /// What it is to the one that is gone.
    pub why: Why,
}

/// What a place is to a directory that is gone, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    /// Git lists it as the main checkout of that worktree.
    MainCheckout,
    /// It has a commit that the repository there had.
    Commit,
    /// It has the remote that the repository there had.
    Remote,
    /// It has the first commit of the repository there, as every fork of it has.
    Root,
    /// It has the same name, and another session worked in it.
    NamedAndKnown,
    /// It has the same name, and lies near.
    Named,
    /// It has the same name, and is below the home directory.
    NamedAtHome,
    /// It is the checkout around what is gone.
    Around,
    /// It is what is left of the path.
    Parent,
}

impl Why {
    /// Says it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::MainCheckout => "the main checkout of that worktree",
            Self::Commit => "a checkout that has a commit at which a session began there",
            Self::Remote => "a checkout of the same git remote",
            Self::Root => "a checkout with the same first commit",
            Self::NamedAndKnown => "a directory of the same name in which another session worked",
            Self::Named => "a directory of the same name near where it was",
            Self::NamedAtHome => "a directory of the same name in your home directory",
            Self::Around => "the repository that it was part of",
            Self::Parent => "the nearest parent that still exists",
        }
    }

    /// Returns whether that is the same work in another place, and not only somewhere near.
    pub(crate) fn is_same_work(self) -> bool {
        self <= Self::Root
    }
}

/// So many sessions that began in a directory are asked what they record of the repository there, and so many answers do.
const MAX_ASKED: usize = 64;
const MAX_ANSWERS: usize = 4;

/// Returns what is known of the repository that a directory was in: the remote at its last launch, and what sessions record.
pub(crate) fn repository_in<'a>(remote: Option<String>, sessions: impl Iterator<Item = &'a Session>) -> Repository {
    let mut had = Repository::new(remote);
    let began_here = sessions.filter(|session| {
        let began = session.copy().start_dir.as_ref().map(|began| &*began.value);
        // It may have worked in another repository than the one that it began in.
        began.is_some() && began == session.launch_dir()
    });
    let asked = began_here.take(MAX_ASKED).filter_map(|session| {
        let known = agent::by_kind(session.agent)?.repository(session.copy());
        (!known.is_unknown()).then_some(known)
    });
    asked.take(MAX_ANSWERS).for_each(|known| had.add(known));
    had
}

/// Returns the place to which the sessions of a directory can go: the same work or a directory of its name, if there is just
/// one. Of several clones it is the one that is called as before. Where more is gone than one name, it may have been a
/// directory inside of the checkout, so that only the same name will do.
pub(crate) fn best(found: &[Instead], gone: &Path) -> Option<PathBuf> {
    let name = recorded::file_name(gone);
    let only = |fits: &dyn Fn(&Instead) -> bool| {
        let mut fitting = found.iter().filter(|instead| fits(instead));
        fitting.next().filter(|_| fitting.next().is_none()).map(|instead| instead.dir.clone())
    };
    let strongest = found.iter().map(|instead| instead.why).min().filter(|why| why.is_same_work());
    let is_one_name = gone.parent().is_some_and(|parent| reach::is_dir(parent) == Some(true));
    match strongest {
        Some(why) => only(&|instead| instead.why == why)
            .filter(|dir| why == Why::MainCheckout || is_one_name || dir.file_name() == name)
            .or_else(|| only(&|instead| instead.why == why && instead.dir.file_name() == name)),
        None => only(&|instead| instead.dir.file_name() == name && !gone.starts_with(&instead.dir)),
    }
}

/// Returns the nearest directory above one that is gone.
pub(crate) fn nearest_parent(gone: &Path) -> Option<&Path> {
    gone.ancestors().skip(1).find(|parent| reach::is_dir(parent) == Some(true))
}
