//! The process that accesses a mount first, and its side of the conversation.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::Exit;
use crate::system::{deadline, own_program};

/// The only argument of a helper.
const HELPER: &str = "__look";

/// Runs as a helper, if the arguments request it: reads paths that end in NUL, and answers each with a byte.
#[expect(clippy::disallowed_methods, reason = "a helper has no terminal: its streams are pipes of this program")]
pub(crate) fn answer(first_args: &[Option<OsString>; 3]) -> Option<Exit> {
    let [_, Some(asked), None] = first_args else { return None };
    if asked != HELPER {
        return None;
    }
    let mut input = BufReader::new(io::stdin().lock());
    let mut path = Vec::new();
    let mut is_first = true;
    while input.read_until(0, &mut path).is_ok_and(|read| read > 0) {
        path.pop_if(|byte| *byte == 0);
        let asked = PathBuf::from(OsString::from_vec(std::mem::take(&mut path)));
        if is_first {
            // Most file systems do not answer this from a cache.
            let _ = rustix::fs::statfs(&asked);
        }
        is_first = false;
        let is_dir = asked.metadata().is_ok_and(|metadata| metadata.is_dir());
        if is_dir {
            drop(std::fs::read_dir(&asked));
        }
        if io::stdout().write_all(b".").and_then(|()| io::stdout().flush()).is_err() {
            break;
        }
    }
    Some(Exit::Ok)
}

/// A process that accesses a mount.
pub(super) struct Helper {
    child: Option<Child>,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    pub(super) state: MountState,
    /// Deadline for the first answer.
    pub(super) until: Instant,
    /// Set if the helper was started together with the helpers of other mounts, so that all share one wait.
    pub(super) is_ahead: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MountState {
    /// The helper has not answered yet.
    Started,
    Answering,
    Silent,
    /// No helper can be started on this system.
    Unasked,
}

impl Helper {
    /// Starts a process that accesses the mount point.
    pub(super) fn start(point: &Path, patience: Duration, is_ahead: bool) -> Self {
        let started = Self::spawn();
        let (state, child) = match started {
            Ok(child) => (MountState::Started, Some(child)),
            Err(_) => (MountState::Unasked, None),
        };
        let until = deadline::after(patience);
        let mut helper = Self { child, input: None, output: None, state, until, is_ahead };
        if let Some(child) = &mut helper.child {
            (helper.input, helper.output) = (child.stdin.take(), child.stdout.take());
            if helper.send(point).is_err() {
                helper.give_up();
            }
        }
        helper
    }

    fn spawn() -> io::Result<Child> {
        let mut command = Command::new(own_program::running().ok_or(io::ErrorKind::NotFound)?);
        // A separate process group, so that ^C reaches only this program, which then closes the pipe and so ends the
        // helper.
        command.arg(HELPER).env_clear().current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
    }

    pub(super) fn send(&mut self, path: &Path) -> io::Result<()> {
        let mut line = path.as_os_str().as_bytes().to_vec();
        line.push(0);
        self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(&line)
    }

    /// Waits for an answer; `false` if none came in time.
    pub(super) fn hear(&mut self, until: Instant) -> bool {
        let Some(output) = &mut self.output else { return false };
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
            let mut fds = [PollFd::new(output, PollFlags::IN)];
            match poll(&mut fds, Some(&left)) {
                Ok(0) => return false,
                Ok(_) => return output.read_exact(&mut [0]).is_ok(),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    /// Ends the process, and waits for it if it still answers.
    pub(super) fn end(&mut self) {
        self.input = None;
        if self.state == MountState::Answering
            && let Some(mut child) = self.child.take()
        {
            let _ = child.wait();
        }
    }

    /// Leaves the process behind.
    pub(super) fn give_up(&mut self) {
        self.state = MountState::Silent;
        (self.input, self.output) = (None, None);
        // The helper may be unkillable until the server is back, when this ends it. Do not wait for it.
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
        }
    }
}
