//! Runs a command on one host in a thread: forwards its output, and kills it at the deadline.

use std::io::Read;
use std::os::fd::AsFd;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::error::reason;
use crate::fleet::command::GREETING;
use crate::fleet::gate::{Semaphore, Until};
use crate::session::when;
use crate::system::deadline;

/// Maximum bytes per piece. Two pieces may wait, so data that is not read stays on its host.
const PIECE: usize = 32 * 1024;
pub(super) const WAITING: usize = 2;
/// Maximum bytes that a login may write before the answer begins.
const MOST_BEFORE: usize = 64 * 1024;
/// Maximum bytes of standard error that are kept.
const MOST_SAID: usize = 64 * 1024;
/// Time for a host to end after its answer is complete.
pub(super) const TO_END: Duration = Duration::from_secs(5);
/// Time between two checks that the caller still listens.
const GLANCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// The exit status of ssh for its own errors, not those of the remote program.
const SSH_FAILED: i32 = 255;

/// The end of a host's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndOfAnswer {
    /// The status of the program; `None` if a signal ended it.
    pub status: Option<u8>,
    /// Its standard error.
    pub stderr: String,
    /// The reason if the answer is missing or incomplete.
    pub fault: Option<String>,
}

impl EndOfAnswer {
    pub(super) fn fault(why: impl Into<String>) -> Self {
        Self { fault: Some(why.into()), ..Self::default() }
    }
}

/// A message from a host's thread.
#[derive(Debug)]
pub(super) enum HostMessage {
    Bytes(Vec<u8>),
    End(EndOfAnswer),
}

/// Limits on the silence of a host; `None` is unlimited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Before the greeting; not used for a host that does not greet.
    pub to_begin: Option<Duration>,
    /// Within the answer.
    pub silence: Option<Duration>,
}

/// Runs a command to its end and forwards its output. Kills the command if it does not greet in time, is silent for too
/// long, or the caller stops listening.
pub(super) fn converse(
    mut command: Command,
    greets: bool,
    patience: Patience,
    gate: &Arc<Semaphore>,
    until: &Until,
    to: &SyncSender<HostMessage>,
) {
    let Some(place) = gate.enter(until) else { return };
    let ended = match command.spawn() {
        Err(error) => EndOfAnswer::fault(format!("cannot run {}: {}", command.get_program().display(), reason(&error))),
        Ok(mut child) => {
            let stderr_reader = child.stderr.take().map(StderrReader::listen);
            let pipe = child.stdout.take().map(|from| Pipe { from, until, buffer: vec![0; PIECE] });
            let heard = pipe.map_or(Heard::Nothing, |mut pipe| pipe.hear(greets, patience, place, to));
            let (status, is_ended_here) = reap(
                &mut child,
                match heard {
                    Heard::All => TO_END,
                    // A host that has not greeted may have exited, and then its status gives the reason.
                    Heard::Nothing => StderrReader::LAST,
                    Heard::Silence | Heard::Enough => Duration::ZERO,
                },
            );
            let stderr = stderr_reader.map(StderrReader::end).unwrap_or_default();
            let fault = match (heard, patience.silence) {
                (Heard::Silence, Some(time)) => Some(format!(
                    "it was silent for {}; --answer-timeout sets how long it may be",
                    when::shown_period(time)
                )),
                // The answer is complete; only its process was still running.
                (Heard::All, _) if is_ended_here => None,
                _ => fault(heard, greets, status, &stderr),
            };
            // Without an answer the status is that of ssh.
            let status = status.filter(|_| fault.is_none()).and_then(|status| u8::try_from(status).ok());
            EndOfAnswer { status, stderr, fault }
        }
    };
    // The receiver may be gone.
    let _ = to.send(HostMessage::End(ended));
}

/// Waits up to `patience` for a process to exit, then kills it. Returns its status, `None` if a signal ended it, and a flag:
/// this function killed it.
fn reap(child: &mut Child, patience: Duration) -> (Option<i32>, bool) {
    let until = deadline::after(patience);
    while Instant::now() < until {
        match child.try_wait() {
            Ok(None) => thread::sleep(Duration::from_millis(2)),
            ended => return (ended.ok().flatten().and_then(|status| status.code()), false),
        }
    }
    let _ = child.kill();
    (child.wait().ok().and_then(|status| status.code()), true)
}

/// Reads standard error to its end, so that the process never blocks on it, and keeps the beginning.
struct StderrReader {
    kept: Arc<Mutex<Vec<u8>>>,
    is_ended: Receiver<()>,
}

impl StderrReader {
    /// Time for the last bytes after the process has ended; another process may hold the stream open.
    const LAST: Duration = Duration::from_millis(200);

    fn listen(mut from: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (end, is_ended) = sync_channel(1);
        let all = Arc::clone(&kept);
        thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut part) {
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                let room = MOST_SAID.saturating_sub(all.len());
                all.extend_from_slice(&part[..count.min(room)]);
            }
            let _ = end.send(());
        });
        Self { kept, is_ended }
    }

    fn end(self) -> String {
        let _ = self.is_ended.recv_timeout(Self::LAST);
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).trim_end().to_owned()
    }
}

/// The part of an answer that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// Not even the greeting.
    Nothing,
    /// The whole answer.
    All,
    /// A part of the answer, then silence until the timeout.
    Silence,
    /// The answer until the caller stopped listening.
    Enough,
}

/// The output of a command, read for as long as the caller listens.
struct Pipe<'a, R> {
    from: R,
    until: &'a Until,
    buffer: Vec<u8>,
}

impl<R: Read + AsFd> Pipe<'_, R> {
    /// Reads the next bytes; empty at the end. Another process may hold the pipe open, so no read may block.
    fn read(&mut self, end: Option<Instant>) -> Result<&[u8], Heard> {
        loop {
            if self.until.is_over() {
                return Err(Heard::Enough);
            }
            match poll(&mut [PollFd::new(&self.from, PollFlags::IN)], Some(&GLANCE)) {
                Ok(0) | Err(Errno::INTR) => {}
                _ => break,
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                return Err(Heard::Silence);
            }
        }
        let count = self.from.read(&mut self.buffer).unwrap_or(0);
        Ok(&self.buffer[..count])
    }

    /// Passes the answer on, without the greeting and everything before it; holds `place` until the greeting.
    fn hear(&mut self, greets: bool, patience: Patience, place: impl Sized, to: &SyncSender<HostMessage>) -> Heard {
        let mut piece = match self.begin(greets, patience.to_begin) {
            Ok(piece) => piece,
            Err(heard) => return heard,
        };
        // The host is connected, so another one may connect.
        drop(place);
        loop {
            if !piece.is_empty() && to.send(HostMessage::Bytes(piece)).is_err() {
                return Heard::Enough;
            }
            piece = match self.read(patience.silence.map(deadline::after)) {
                Ok([]) => return Heard::All,
                Ok(piece) => piece.to_vec(),
                Err(heard) => return heard,
            };
        }
    }

    /// Waits for the greeting and returns the bytes after it.
    fn begin(&mut self, greets: bool, patience: Option<Duration>) -> Result<Vec<u8>, Heard> {
        if !greets {
            return Ok(Vec::new());
        }
        let end = patience.map(deadline::after);
        let greeting = format!("\n{GREETING}\n");
        let mut before = b"\n".to_vec();
        while before.len() < MOST_BEFORE {
            match self.read(end) {
                Err(Heard::Enough) => return Err(Heard::Enough),
                Ok([]) | Err(_) => break,
                Ok(piece) => before.extend_from_slice(piece),
            }
            if let Some(at) = memchr::memmem::find(&before, greeting.as_bytes()) {
                return Ok(before.split_off(at.saturating_add(greeting.len())));
            }
        }
        Err(Heard::Nothing)
    }
}

/// Returns the reason for a missing answer.
fn fault(heard: Heard, greets: bool, status: Option<i32>, stderr: &str) -> Option<String> {
    let last = || stderr.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("nothing was answered");
    match (heard, status) {
        (Heard::Nothing, Some(SSH_FAILED)) => Some(last().trim_start_matches("ssh: ").to_owned()),
        (Heard::Nothing, None) => Some("its shell does not begin in time".to_owned()),
        (Heard::Nothing, _) => Some(format!("no shell answers there: {}", last())),
        (Heard::All, Some(SSH_FAILED)) if greets => Some(format!("the connection was lost: {}", last())),
        (Heard::All, Some(127)) if greets => {
            Some("there is no rejoin on its PATH; install it there, in ~/.local/bin for example".to_owned())
        }
        (Heard::All, None) => Some("rejoin was ended there by a signal".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    const LONG: Option<Duration> = Some(Duration::from_secs(50));
    const SHORT: Option<Duration> = Some(Duration::from_millis(100));

    fn talk_until(
        script: &str,
        to_begin: Option<Duration>,
        silence: Option<Duration>,
        until: &Until,
    ) -> (String, EndOfAnswer) {
        let gate = Semaphore::new(1);
        let (to, parts) = sync_channel(64);
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        converse(command, true, Patience { to_begin, silence }, &gate, until, &to);
        drop(to);
        assert_eq!(gate.free_places(), 1, "the place is free again");
        let (mut heard, mut ended) = (Vec::new(), EndOfAnswer::default());
        for part in parts {
            match part {
                HostMessage::Bytes(bytes) => heard.extend(bytes),
                HostMessage::End(end) => ended = end,
            }
        }
        (String::from_utf8(heard).expect("text"), ended)
    }

    fn talk(script: &str, to_begin: Option<Duration>, silence: Option<Duration>) -> (String, EndOfAnswer) {
        talk_until(script, to_begin, silence, &Until::default())
    }

    #[test]
    fn login_output_is_not_part_of_answer() {
        let (heard, ended) = talk("echo 'Welcome!'; echo; echo rejoin answers; printf 'one\\ntwo'", LONG, LONG);
        assert_eq!((&*heard, ended.status, ended.fault), ("one\ntwo", Some(0), None));
        let (heard, ended) = talk("echo This account is not available.; exit 1", LONG, LONG);
        assert_eq!((&*heard, ended.fault.as_deref()), ("", Some("no shell answers there: nothing was answered")));
    }

    #[test]
    fn hanging_host_times_out_at_any_point() {
        let begin = Instant::now();
        for script in ["exec sleep 60", "sleep 60; true", "yes hello | head -n 20000; exec sleep 60"] {
            let patience = if script.contains("yes") { LONG } else { SHORT };
            let (_, hung) = talk(script, patience, LONG);
            assert_eq!(hung.fault.as_deref(), Some("its shell does not begin in time"), "{script}");
        }
        // A child of the shell keeps the pipe open after the shell has ended.
        let (heard, silent) = talk("echo rejoin answers; echo one; sleep 60; true", LONG, SHORT);
        let expected = "it was silent for 100ms; --answer-timeout sets how long it may be";
        assert_eq!((&*heard, silent.status, silent.fault.as_deref()), ("one\n", None, Some(expected)));
        // Another program holds standard error open.
        let (heard, whole) = talk("echo rejoin answers; echo {}; sleep 60 >/dev/null & exit 4", LONG, LONG);
        assert_eq!((&*heard, whole.status, whole.fault), ("{}\n", Some(4), None));
        assert!(begin.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn ssh_ends_when_caller_stops() {
        let begin = Instant::now();
        for script in ["echo rejoin answers; sleep 60; true", "sleep 60; true"] {
            let until = Until::default();
            until.end_within(Duration::from_millis(100));
            // The earlier deadline holds.
            until.end_within(TO_END);
            assert_eq!(talk_until(script, LONG, LONG, &until), (String::new(), EndOfAnswer::default()));
        }
        assert!(begin.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn error_explains_failed_host_in_one_line() {
        let why = |heard, status, stderr| fault(heard, true, status, stderr).unwrap_or_default();
        let refused = "Warning: known hosts\nssh: connect to host box port 22: Connection refused\n";
        assert_eq!(why(Heard::Nothing, Some(255), refused), "connect to host box port 22: Connection refused");
        assert!(why(Heard::All, Some(127), "").contains("no rejoin"));
        assert!(why(Heard::All, Some(255), "Connection reset").contains("lost"));
        assert_eq!(fault(Heard::All, true, Some(4), ""), None);
    }
}
