//! Remedies for a missing launch directory: candidates for its new place, and the commands that continue its sessions.

use std::collections::BTreeSet;
use std::path::Path;

use super::checks;
use super::log;
use super::resume::{Options, Resume};
use super::worktree::Recreation;
use crate::error::{Refusal, RefusalCode};
use crate::format::{command_line, shell};
use crate::scan::moved::{self, Checkouts, DirRecords, Followers, Instead};
use crate::scan::worktree::Lost;
use crate::scan::{self, ScanScope};
use crate::system::env::Env;
use crate::system::reach;

/// Remedies for a missing launch directory, the likeliest first.
#[derive(Debug, Default)]
pub(crate) struct MissingDirRemedies {
    /// The command that moves the sessions to the only candidate directory, and its effect.
    pub moved: Option<(String, String)>,
    /// The git worktree that the directory was.
    pub worktree: Option<Lost>,
    /// Other launch directories.
    pub instead: Vec<Instead>,
    /// The commands that move the sessions to each of several candidate directories, and their effects.
    pub may_move: Vec<(String, String)>,
    /// The command that creates the directory again, for an agent that resumes a session only in it.
    pub made: Option<String>,
    /// The command that moves the sessions to a directory that the user must name, and its effect; `None` if there is a
    /// candidate.
    pub anywhere: Option<(String, String)>,
}

/// The facts about a missing launch directory.
struct Surveyed {
    checkouts: Checkouts,
    /// The git remote that the directory had at its last launch.
    remote: Option<String>,
    /// Number of sessions that a move of the directory takes along.
    followers: usize,
}

impl Resume {
    /// Plans to recreate the git worktree that the launch directory was.
    pub(super) fn plan_worktree(&mut self, options: &Options, env: &Env) -> Result<(), Refusal> {
        let dir = self.plan.dir.as_deref().unwrap_or_else(|| Path::new("")).display();
        let refuse = |message: String| Refusal::new(RefusalCode::NoWorktree, message);
        let Surveyed { checkouts, remote, .. } = self.survey(env);
        let lost = match self.lost_worktree(&checkouts, remote.as_deref()) {
            Ok(Some(lost)) => lost,
            Ok(None) => {
                let why = format!("no repository that rejoin knows has, or had, a worktree in {dir}");
                let hint = format!("see what is known about the session with `rejoin show {}`", self.name());
                return Err(refuse(why).hint(hint));
            }
            Err(why) => {
                return Err(refuse(why).hint("see its branches with `git branch` in its repository"));
            }
        };
        self.worktree.insert(Recreation { lost, trust: options.trust }).check(env)
    }

    /// Finds remedies for a missing launch directory. A directory that the user mistyped has none.
    pub(crate) fn left(&self, env: &Env) -> MissingDirRemedies {
        let gone = self.plan.dir.as_deref().filter(|_| !self.has_named_dir());
        let Some(gone) = gone else { return MissingDirRemedies::default() };
        let Surveyed { checkouts, remote, followers } = self.survey(env);
        let lets_follow = moved::lets_follow(followers);
        let worktree = self.lost_worktree(&checkouts, remote.as_deref()).ok().flatten();
        let mut instead = checkouts.instead_of(gone, &DirRecords::collect(remote, self.session.iter()));
        let best = moved::best(&instead, gone);
        let follow = |found: &Instead| {
            let why = format!("{lets_follow} to {}", found.why.words());
            (command_line::move_command(gone, &found.dir), why)
        };
        let is_best = |found: &&Instead| best.as_ref() == Some(&found.dir);
        let moved = instead.iter().find(is_best).map(follow);
        let may_move: Vec<_> =
            instead.iter().filter(|found| found.why.may_be_it() && !is_best(found)).map(follow).collect();
        let has_none =
            moved.is_none() && may_move.is_empty() && worktree.is_none() && reach::exists(gone) == Some(false);
        let anywhere = has_none.then(|| {
            let command = command_line::move_command(gone, Path::new("NEW_DIR"));
            (command, format!("{lets_follow} to where it is now"))
        });
        instead.retain(|found| self.starts_in(&found.dir));
        let made = self.needs_own_dir().then(|| checks::mkdir_command(gone)).flatten();
        MissingDirRemedies { moved, worktree, instead, may_move, made, anywhere }
    }

    fn lost_worktree(&self, checkouts: &Checkouts, remote: Option<&str>) -> Result<Option<Lost>, String> {
        let Some((session, dir)) = self.session.as_ref().zip(self.plan.dir.as_deref()) else { return Ok(None) };
        let branch = session.copy().git_branch.as_ref().map(|branch| &*branch.value);
        checkouts.lost_worktree(dir, remote, branch)
    }

    /// Finds the checkouts near the directories of all sessions, the git remote of the launch directory, and counts the
    /// sessions that follow it.
    fn survey(&self, env: &Env) -> Surveyed {
        let scan = scan::locate(env, &[]).read_all(env, ScanScope::GLANCE);
        let known: BTreeSet<&Path> = scan.sessions.iter().flat_map(|session| session.copy().directories()).collect();
        let gone = self.plan.dir.as_deref();
        let remote = gone.and_then(|gone| log::remote_of(&log::file(env), gone).ok().flatten());
        let followers = gone.map_or(0, |gone| Followers::among(&scan.sessions).count(gone));
        let checkouts = Checkouts::find_near(&mut known.into_iter(), &env.home).with_caller(env);
        Surveyed { checkouts, remote, followers }
    }

    /// Adds the remedies for a missing launch directory to a refusal.
    pub(crate) fn explain(&self, refusal: Refusal, env: &Env) -> Refusal {
        if refusal.code != RefusalCode::MissingDirectory {
            return refusal;
        }
        let MissingDirRemedies { moved, worktree, instead, may_move, made, anywhere } = self.left(env);
        if moved.is_none() && may_move.is_empty() && instead.is_empty() && worktree.is_none() && anywhere.is_none() {
            return refusal;
        }
        let command = self.session.as_ref().map_or_else(|| command_line::again(env, &[], &[]), checks::resume);
        let line = |(command, why)| format!("\n      `{command}`  ({why})");
        let (moved, may_move, anywhere) = (moved.map(line), may_move.into_iter().map(line), anywhere.map(line));
        let worktree = worktree.map(|lost| {
            let (head, main) = (lost.head_in_words(), lost.main.display().to_string());
            format!("\n      `{command} --recreate-worktree`  (makes the git worktree again on {head} of {main})")
        });
        let instead = instead.iter().map(|found| {
            let dir = found.dir.to_string_lossy();
            format!("\n      `{command} --in {}`  ({})", shell::word(&dir), found.why.words())
        });
        let made = made.map(|made| {
            let made = command_line::in_home(&made, &env.invocation.elsewhere);
            format!("\n      `{made}`  (creates it again, empty)")
        });
        let lines = moved.into_iter().chain(worktree).chain(instead).chain(may_move).chain(made).chain(anywhere);
        let lines: Vec<String> = lines.collect();
        let may_do = if lines.len() == 1 { "this may do" } else { "one of these may do" };
        let head = if self.needs_own_dir() {
            format!("{} resumes the session only there; {may_do}:", self.agent)
        } else {
            format!("if it was moved, go to where it is now and run `{command} --in .`; {may_do}:")
        };
        self.repeating_options(refusal.hint(head + &lines.concat()))
    }
}
