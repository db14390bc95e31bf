//! Recreates a git worktree that was deleted.

use std::ffi::{OsStr, OsString};
use std::process::{Output, Stdio};

use crate::error::{Exit, Refusal, RefusalCode, reason};
use crate::format::{command_line, shell};
use crate::scan::git::GitHead;
use crate::scan::worktree::Lost;
use crate::system::env::{Env, ProgramSearch};

/// Variables that would make git use another repository than the named one.
const REPOSITORY: [&str; 4] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"];

/// Options that keep git from starting hooks, a file system monitor and submodules.
const NO_PROGRAMS: [&str; 6] =
    ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false"];

/// Keys of a config that name a program which git may start for a checkout, and that no option turns off: filters, and
/// programs that a user's own filter such as git-lfs starts; a partial clone, which fetches missing objects; and
/// conditional includes, whose keys git lists only if the condition holds, as in the worktree.
///
/// git is not run with such a repository: if it fails, it no longer lists the worktree.
const PROGRAM_KEYS: &str = "^(filter\\..*\\.(smudge|process)|hook\\..*\\.command|includeif\\..*|\
                            remote\\..*\\.(promisor|partialclonefilter)|extensions\\.partialclone|\
                            lfs\\.(customtransfer|extension)\\..*|credential\\.(.*\\.)?helper|\
                            core\\.(sshcommand|askpass|virtualfilesystem))$";

/// A worktree that git should recreate.
#[derive(Clone, Debug)]
pub(crate) struct Recreation {
    /// The missing worktree.
    pub lost: Lost,
    /// Set to let git run the programs of the repository: hooks, filters and similar ones.
    pub trust: bool,
}

impl Recreation {
    /// Refuses a repository whose own config names programs that git would start, unless it is trusted.
    pub(crate) fn check(&self, env: &Env) -> Result<(), Refusal> {
        if self.trust {
            return Ok(());
        }
        let main = self.lost.main.as_os_str();
        let list = ["config", "--show-scope", "--name-only", "-z", "--get-regexp", PROGRAM_KEYS];
        let args = [OsStr::new("-C"), main].into_iter().chain(list.map(OsStr::new)).map(OsStr::to_owned).collect();
        let output = git(args, env)?;
        // Status 1 means that no key matches.
        if !matches!(output.status.code(), Some(0 | 1)) {
            return Err(self.failure(&last_line(&output)));
        }
        let listed = String::from_utf8_lossy(&output.stdout);
        let words: Vec<&str> = listed.split('\0').collect();
        let Some(key) = words.chunks(2).find_map(|pair| match pair {
            ["local" | "worktree", key] => Some(*key),
            _ => None,
        }) else {
            return Ok(());
        };
        let main = self.lost.main.display();
        let message = format!("the config of the repository {main} has {key}, by which git may run a program");
        let look = ["git".into(), "-C".into(), self.lost.main.clone().into(), "config".into(), "--get-all".into()];
        let look = printable(look.into_iter().chain([key.into()])).unwrap_or_else(|| "git config --list".to_owned());
        let hint = format!("look at it with `{look}`; if you trust the repository, run `{}`", trusting(env));
        Err(Refusal::new(RefusalCode::UntrustedRepository, message).hint(hint))
    }

    /// Runs git to recreate the worktree.
    pub(crate) fn run(&self, env: &Env) -> Result<(), Refusal> {
        let output = git(self.args(), env)?;
        if output.status.success() { Ok(()) } else { Err(self.failure(&last_line(&output))) }
    }

    /// Returns the confirmation prompt.
    pub(crate) fn question(&self) -> String {
        let Lost { dir, main, .. } = &self.lost;
        let hooks = if self.trust { "Its hooks are run." } else { "Its hooks are not run." };
        let (dir, main, head) = (dir.display(), main.display(), self.lost.head_in_words());
        format!("git makes the worktree {dir} again, from the repository {main}, on {head}. {hooks} Continue?")
    }

    /// Writes git's command for a shell; `None` if a word of it cannot be printed.
    pub(crate) fn shell_line(&self) -> Option<String> {
        printable(["git".into()].into_iter().chain(self.args()))
    }

    /// Returns git's arguments.
    fn args(&self) -> Vec<OsString> {
        let Lost { dir, main, head, is_listed, is_locked } = &self.lost;
        let mut args: Vec<OsString> = vec!["-C".into(), main.into()];
        if !self.trust {
            args.extend(NO_PROGRAMS.map(OsString::from));
        }
        args.extend(["worktree".into(), "add".into()]);
        args.extend([*is_listed, *is_locked].into_iter().filter(|is| *is).map(|_| "--force".into()));
        let head = match head {
            GitHead::Branch(name) => name,
            GitHead::Commit(id) => {
                args.push("--detach".into());
                id
            }
        };
        args.extend(["--".into(), dir.into(), head.into()]);
        args
    }

    fn failure(&self, why: &str) -> Refusal {
        let message = format!("git did not make the worktree {}: {why}", self.lost.dir.display());
        Refusal { exit: Exit::Failure, ..Refusal::new(RefusalCode::NoWorktree, message) }
    }
}

/// Runs git in the repository of its arguments, not in one that the environment names.
fn git(args: Vec<OsString>, env: &Env) -> Result<Output, Refusal> {
    let ProgramSearch::Found(program) = env.find_program("git") else {
        let message = "cannot find the program git on PATH";
        return Err(Refusal::new(RefusalCode::ProgramNotFound, message).hint("install git, then try again"));
    };
    let mut git = env.command(program);
    git.args(args).stdin(Stdio::null());
    REPOSITORY.iter().for_each(|name| {
        git.env_remove(name);
    });
    let fail = |error| Refusal::new(RefusalCode::CannotRun, format!("cannot run git: {}", reason(&error)));
    git.output().map_err(fail)
}

/// Returns the command of this run with `--trust`, for a shell.
fn trusting(env: &Env) -> String {
    command_line::again(env, &["--trust"], &["--trust"])
}

/// Writes words for a shell; `None` if one cannot be printed.
fn printable(words: impl Iterator<Item = OsString>) -> Option<String> {
    let words: Option<Vec<_>> = words.map(|word| Some(shell::printable_word(&word)?.into_owned())).collect();
    Some(words?.join(" "))
}

/// Returns the last line of git's output, which is the reason of a failure.
fn last_line(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    last.trim_start_matches("fatal: ").to_owned()
}
