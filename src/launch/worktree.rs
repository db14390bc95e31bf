//! Making a git worktree again that was deleted.

use std::process::{Command, Stdio};

use crate::error::{Exit, Refusal, reason};
use crate::format::shell::printable_word;
use crate::scan::worktree::Lost;
use crate::system::env::{Env, Program};

/// Variables that would lead git to another repository than the one that is named.
const REPOSITORY: [&str; 4] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"];

/// Has git make a worktree again.
pub(crate) fn recreate(lost: &Lost, env: &Env) -> Result<(), Refusal> {
    let Program::Found(program) = env.find_program("git") else {
        let message = "cannot find the program git on PATH";
        return Err(
            Refusal::new(Exit::ProgramNotFound, "program-not-found", message).hint("install git, then try again")
        );
    };
    let fail = |why: &str| {
        let message = format!("git did not make the worktree {}: {why}", lost.dir.display());
        Refusal::new(Exit::Failure, "no-worktree", message)
    };
    let mut git = Command::new(program);
    git.args(lost.git_args()).stdin(Stdio::null());
    REPOSITORY.iter().for_each(|name| {
        git.env_remove(name);
    });
    let output = git.output().map_err(|error| fail(&reason(&error)))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    Err(fail(last.trim_start_matches("fatal: ")))
}

/// Writes git's command for a shell; `None` if a word of it cannot be printed.
pub(crate) fn shell_line(lost: &Lost) -> Option<String> {
    let args = lost.git_args();
    let words: Option<Vec<_>> = args.iter().map(|word| printable_word(word)).collect();
    Some(format!("git {}", words?.join(" ")))
}
