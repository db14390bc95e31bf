//! `resume --wait`: starts the agent as a child, leaves the terminal to it, and reports how it ended.

use std::io;
use std::process::Child;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, waitpid};
use signal_hook::consts::{SIGHUP, SIGTERM};

use crate::system::signals::{self, Signals};
use crate::system::terminal::{self, TerminalSettings};

/// The end of the agent's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentExit {
    /// Exited, with this status.
    Exited(u8),
    /// Killed by this signal.
    Killed(i32),
}

impl AgentExit {
    /// Returns the status as a shell reports it.
    pub(crate) fn status(self) -> u8 {
        match self {
            Self::Exited(status) => status,
            Self::Killed(signal) => signals::status_of(signal),
        }
    }
}

/// Starts a child with `start`, waits until it ends, and restores the terminal.
pub(crate) fn run<E: From<io::Error>>(start: impl FnOnce() -> Result<Child, E>) -> Result<AgentExit, E> {
    let settings = TerminalSettings::remember();
    // The child must start before signals are caught: only then do signals that this process ignores stay ignored in
    // it.
    let child = start()?;
    let ended = stand_by(&child);
    if matches!(ended, Ok(AgentExit::Killed(_)) | Err(_)) {
        terminal::reset_screen();
    }
    if let Some(settings) = settings {
        settings.put_back();
    }
    Ok(ended?)
}

fn stand_by(child: &Child) -> io::Result<AgentExit> {
    let pid = Pid::from_child(child);
    let mut signals = Signals::catch()?;
    loop {
        // The child may have ended before the signals were caught.
        if let Some((_, status)) = waitpid(Some(pid), WaitOptions::NOHANG | WaitOptions::UNTRACED)? {
            if let Some(ended) = ended(status) {
                return Ok(ended);
            }
            stop_too(pid)?;
        }
        signals.wait()?;
        for signal in signals.pending() {
            // The terminal sends its signals also to the agent, but these two may be sent to this process only.
            let forwarded = match signal {
                SIGTERM => Signal::TERM,
                SIGHUP => Signal::HUP,
                _ => continue,
            };
            // The process id is not reused until the child is waited for.
            let _ = kill_process(pid, forwarded);
        }
    }
}

fn ended(status: WaitStatus) -> Option<AgentExit> {
    let exited = status.exit_status().map(|code| AgentExit::Exited(u8::try_from(code & 0xff).unwrap_or(u8::MAX)));
    exited.or_else(|| status.terminating_signal().map(AgentExit::Killed))
}

/// Stops this process after the agent stopped itself, so that the shell gets the terminal back; then continues both.
fn stop_too(pid: Pid) -> io::Result<()> {
    kill_process(getpid(), Signal::STOP)?;
    // SIGCONT may have been sent only to rejoin, so forward it to the agent.
    let _ = kill_process(pid, Signal::CONT);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[expect(clippy::zombie_processes, reason = "it is waited for by its id")]
    fn status_of(script: &str) -> u8 {
        let child = Command::new("/bin/sh").args(["-c", script]).spawn().expect("a child");
        stand_by(&child).expect("an end").status()
    }

    #[test]
    fn exit_status_is_that_of_the_child() {
        // A single test, because two processes must not wait at the same time.
        for (script, expected) in
            [("exit 0", 0), ("exit 42", 42), ("exit 255", 255), ("kill -KILL $$", 137), ("kill -TERM $$", 143)]
        {
            assert_eq!(status_of(script), expected, "{script}");
        }
    }
}
