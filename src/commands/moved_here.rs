//! Suggests sessions of missing directories that may be the old path of the requested directory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::agent;
use crate::format::{command_line, text};
use crate::launch::log;
use crate::scan::git::{GitHead, head_of, remote_of};
use crate::scan::moved::{self, Checkouts, DirRecords, Followers};
use crate::session::Session;
use crate::session::recorded;
use crate::system::env::Env;
use crate::system::reach;

/// Maximum directories that are mentioned.
const MAX: usize = 3;

/// Returns a note on each missing directory whose sessions may belong to `dir`, with the command that moves them.
pub(super) fn notes(dir: &Path, sessions: &[Session], env: &Env) -> Vec<String> {
    let remotes = log::remotes(&log::file(env)).unwrap_or_default();
    let (remote, name) = (remote_of(dir), recorded::file_name(dir));
    let is_alike = |gone: &Path| {
        let names = recorded::file_name(gone).zip(name);
        names.is_some_and(|(gone, name)| gone.eq_ignore_ascii_case(name))
            || (remote.is_some() && remotes.get(gone) == remote.as_ref())
    };
    // The agent itself looks for such a session here.
    let is_filed_here = |session: &Session| {
        let copy = session.copy();
        !copy.is_filed_right && agent::leads_back(&copy.place, dir) == Some(true)
    };
    let mut by_dir: BTreeMap<&Path, Vec<&Session>> = BTreeMap::new();
    for session in sessions.iter().filter(|session| session.copy().kind.is_listed()) {
        if let Some(gone) = session.launch_dir().filter(|gone| *gone != dir) {
            by_dir.entry(gone).or_default().push(session);
        }
    }
    // `git worktree move` gives a worktree another name.
    let head = head_of(dir);
    let is_on_branch = |session: &Session| {
        let branch = session.copy().git_branch.as_ref().map(|branch| &*branch.value);
        matches!(&head, Some(GitHead::Branch(name)) if branch == Some(name))
    };
    let is_of_dir = |session: &&Session| is_filed_here(session) || is_on_branch(session);
    let is_meant = |gone: &Path, sessions: &[&Session]| is_alike(gone) || sessions.iter().any(is_of_dir);
    by_dir.retain(|gone, sessions| is_meant(gone, sessions) && reach::exists(gone) == Some(false));
    if by_dir.is_empty() {
        return Vec::new();
    }
    let known: BTreeSet<&Path> = sessions.iter().flat_map(|session| session.copy().directories()).collect();
    let checkouts = Checkouts::find_near(&mut known.into_iter().chain([dir]), &env.home).with_caller(env);
    let (mut notes, followers) = (Vec::new(), Followers::among(sessions));
    for (gone, of_dir) in by_dir {
        let had = DirRecords::collect(remotes.get(gone).cloned(), of_dir.iter().copied());
        let is_here = |found: &moved::Instead| found.dir == dir && found.why.may_be_it();
        if !checkouts.instead_of(gone, &had).iter().any(is_here) {
            continue;
        }
        let command = command_line::move_command(gone, dir);
        let command = command_line::in_home(&command, &env.invocation.elsewhere);
        let followers = followers.count(gone);
        notes.push(format!(
            "{} worked in {}, which is gone; if it was moved here, `{command}` lets {} follow.",
            text::count(followers, "session"),
            env.tilde(gone),
            if followers == 1 { "it" } else { "them" }
        ));
    }
    notes.truncate(MAX);
    notes
}
