//! Runs an agent's program without a terminal for a task that only it may do, such as deleting from its database.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::format::text;
use crate::session::{Store, when};
use crate::system::env::{ASKED, Env, HOST, ProgramSearch};

/// Maximum run time: the slowest program that was tried started in three seconds.
const LIMIT: Duration = Duration::from_secs(60);
/// Pause between two checks for the end of the program.
const PAUSE: Duration = Duration::from_millis(20);
/// Maximum bytes of output that are read.
const MOST_SAID: u64 = 64 * 1024;

/// A command and its store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgentCommand<'a> {
    /// The program and its arguments; nothing passes through a shell.
    pub argv: &'a [String],
    /// The directory to start in.
    pub dir: &'a Path,
    /// The store, which environment variables select for the program.
    pub store: &'a Store,
}

/// The reason why an agent command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentCommandError {
    /// The program is not on PATH.
    #[error("{0} is not on PATH")]
    NoProgram(String),
    /// The program could not be started, or failed.
    #[error("{0}")]
    Failed(String),
}

impl AgentCommand<'_> {
    /// Runs the program; its output is only used if it fails.
    pub(crate) fn run(&self, env: &Env) -> Result<(), AgentCommandError> {
        let name = self.argv.first().map_or("", String::as_str);
        let ProgramSearch::Found(program) = env.find_program(name) else {
            return Err(AgentCommandError::NoProgram(name.to_owned()));
        };
        let fail = |error: &io::Error| {
            AgentCommandError::Failed(format!("cannot run {name}: {}", crate::error::reason(error)))
        };
        let mut output_file = tempfile::tempfile().map_err(|error| fail(&error))?;
        let mut command = env.command(env.absolute(&program));
        command.arg0(name).args(&self.argv[1..]).current_dir(self.dir).env("PWD", self.dir);
        command.env_remove("OLDPWD").env_remove(HOST).env_remove(ASKED).env("NO_COLOR", "1");
        for name in &self.store.unset {
            command.env_remove(name);
        }
        command.envs(self.store.set.iter().map(|(name, value)| (&**name, value)));
        if env.foreign_home {
            command.env("HOME", &env.home);
        }
        let output = || output_file.try_clone().map(Stdio::from);
        let (out, err) = (output().map_err(|error| fail(&error))?, output().map_err(|error| fail(&error))?);
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        // The program gets its own process group, so that its children end with it.
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| fail(&error))?;
        let ended = within(&mut child, LIMIT).map_err(|error| fail(&error))?;
        match ended {
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                let last = last_line(&mut output_file).unwrap_or_else(|| "it said nothing".to_owned());
                Err(AgentCommandError::Failed(format!("{name} ended with {}: {last}", in_words(status))))
            }
            None => Err(AgentCommandError::Failed(format!("{name} had not ended after {}", when::shown_period(LIMIT)))),
        }
    }
}

/// Waits for a child; on timeout, ends the child and the processes that it started.
fn within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() >= limit {
            // The process id is not reused until the child is waited for.
            let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
}

fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".to_owned(),
    }
}

/// Returns the last line that is not blank.
fn last_line(output_file: &mut std::fs::File) -> Option<String> {
    let length = output_file.seek(SeekFrom::End(0)).ok()?;
    output_file.seek(SeekFrom::Start(length.saturating_sub(MOST_SAID))).ok()?;
    let mut bytes = Vec::new();
    output_file.take(MOST_SAID).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let last = text.lines().rev().map(text::one_line).find(|line| !line.is_empty())?;
    Some(last.into_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::session::AgentKind;
    use crate::system::env::tests::fixed;

    fn run(script: &str) -> Result<(), String> {
        let argv = ["/bin/sh", "-c", script].map(str::to_owned);
        let store = Store::usual(AgentKind::OpenCode, "/x");
        AgentCommand { argv: &argv, dir: Path::new("/usr"), store: &store }
            .run(&fixed())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn agent_command_gets_no_stdin_and_reports_failure() {
        assert_eq!(run("test -z \"$(cat)\" && test \"$(pwd)\" = /usr && test \"$PWD\" = /usr"), Ok(()));
        let why = run("echo one; echo two >&2; echo; exit 3").expect_err("a failure");
        assert_eq!(why, "/bin/sh ended with status 3: two");
        assert!(run("kill -TERM $$").expect_err("a failure").contains("signal 15"));
        let argv = ["no-such-program".to_owned()];
        let store = Store::usual(AgentKind::OpenCode, "/x");
        let missing = AgentCommand { argv: &argv, dir: Path::new("/"), store: &store }.run(&fixed());
        assert!(matches!(missing, Err(AgentCommandError::NoProgram(_))));
    }

    #[test]
    fn timeout_kills_agent_command_and_its_children() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "sleep 60 & sleep 60"]).process_group(0);
        let mut child = command.spawn().expect("a child");
        let begun = Instant::now();
        assert!(within(&mut child, Duration::from_millis(100)).expect("an end").is_none());
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
