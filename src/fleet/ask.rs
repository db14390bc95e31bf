//! Asking hosts: a process each, and the lines of its answer as they come.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::error::{Exit, Refusal, reason};
use crate::fleet::Host;
use crate::fleet::command::{self, GREETING, Manner};
use crate::system::env::{COLUMNS, Env, FORCE_COLORS, Program, own_program};

/// So many hosts are being connected to at once.
const AT_ONCE: usize = 16;
/// How many lines are handed over together, and how many times that may wait: what is not asked for stays on its host.
const PART: usize = 32;
const WAITING: usize = 2;
/// A line longer than this is no answer.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;
/// What a login may write before the answer begins.
const MOST_BEFORE: usize = 1000;
/// Of what a host says beside its answer, so much is kept.
const MOST_SAID: usize = 64 * 1024;
/// How much longer than to connect a host may take to begin: a shell starts, and perhaps its home is mounted.
const TO_BEGIN: Duration = Duration::from_secs(20);
/// Why what a host says is not listened to.
pub(crate) const NO_ANSWER: &str = "it answers something that is no answer of rejoin";
/// The status with which ssh says that it is its own and not that of the program there.
const SSH_FAILED: i32 = 255;

/// How a host's answer ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    /// The status of the program; `None` if a signal ended it.
    pub status: Option<u8>,
    /// What it said beside its answer.
    pub said: String,
    /// Why there is no answer, or not a whole one.
    pub fault: Option<String>,
}

enum Part {
    Lines(Vec<String>),
    End(Ended),
}

/// A host that is answering.
#[derive(Debug)]
pub(crate) struct Answering {
    /// Who.
    pub host: Host,
    parts: Receiver<Part>,
    lines: VecDeque<String>,
    ended: Option<Ended>,
}

impl std::fmt::Debug for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Lines(lines) => write!(f, "{} lines", lines.len()),
            Self::End(ended) => ended.fmt(f),
        }
    }
}

impl Answering {
    /// Returns the next line, without its end; waits for it.
    pub(crate) fn next(&mut self) -> Option<String> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Some(line);
            }
            if self.ended.is_some() {
                return None;
            }
            match self.parts.recv() {
                Ok(Part::Lines(lines)) => self.lines = lines.into(),
                Ok(Part::End(ended)) => self.ended = Some(ended),
                Err(_) => self.ended = Some(Ended::fault("the answer was lost")),
            }
        }
    }

    /// Reads to the end, without keeping anything, and returns how it ended.
    pub(crate) fn end(mut self) -> Ended {
        while self.next().is_some() {}
        self.ended.unwrap_or_default()
    }
}

impl Ended {
    fn fault(why: impl Into<String>) -> Self {
        Self { fault: Some(why.into()), ..Self::default() }
    }
}

/// Lets so many connect at once.
#[derive(Debug)]
struct Gate {
    free: Mutex<usize>,
    freed: Condvar,
}

/// A place in the gate, which is free again when this goes away.
struct Place(Arc<Gate>);

impl Gate {
    fn enter(self: &Arc<Self>) -> Place {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        Place(Arc::clone(self))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

/// Asks every host at once; each answers as fast as it is listened to.
pub(crate) fn ask(hosts: &[Host], words: &[String], manner: Manner, env: &Env) -> Result<Vec<Answering>, Refusal> {
    let has_others = hosts.iter().any(|host| host.destination.is_some());
    let ssh = if has_others { Some(ssh(env)?) } else { None };
    let gate = Arc::new(Gate { free: Mutex::new(AT_ONCE), freed: Condvar::new() });
    let ask = |host: &Host| {
        let (to, parts) = sync_channel(WAITING);
        let (command, greets) = command_for(host, ssh.as_deref(), words, manner)?;
        let gate = Arc::clone(&gate);
        let patience = manner.timeout.saturating_add(TO_BEGIN);
        let started = thread::Builder::new().spawn(move || converse(command, greets, patience, &gate, &to));
        started.map_err(|error| {
            Refusal::new(Exit::Failure, "failed", format!("cannot ask {}: {}", host.name, reason(&error)))
        })?;
        Ok(Answering { host: host.clone(), parts, lines: VecDeque::new(), ended: None })
    };
    hosts.iter().map(ask).collect()
}

/// Finds ssh.
pub(crate) fn ssh(env: &Env) -> Result<PathBuf, Refusal> {
    match env.find_program("ssh") {
        Program::Found(program) => Ok(program),
        _ => Err(Refusal::new(Exit::ProgramNotFound, "program-not-found", "cannot find the program ssh")
            .hint("install OpenSSH's client, or add its directory to PATH")),
    }
}

/// Finds this very program, for this machine among the hosts.
pub(crate) fn ourselves() -> Result<PathBuf, Refusal> {
    own_program().ok_or_else(|| Refusal::new(Exit::Failure, "failed", "cannot tell where rejoin is"))
}

/// Returns the command that asks a host, and whether it greets before it answers.
fn command_for(host: &Host, ssh: Option<&Path>, words: &[String], manner: Manner) -> Result<(Command, bool), Refusal> {
    let mut command = match (&host.destination, ssh) {
        (Some(destination), Some(ssh)) => {
            let argv = command::to_ask(destination, words, manner);
            let mut command = Command::new(ssh);
            command.args(&argv[1..]);
            command
        }
        _ => {
            let mut command = Command::new(ourselves()?);
            command.args(words);
            command.env_remove(COLUMNS).env_remove(FORCE_COLORS).envs(manner.variables());
            command
        }
    };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok((command, host.destination.is_some()))
}

/// Runs a command to its end and hands on what it writes; one that does not greet in time is ended.
fn converse(mut command: Command, greets: bool, patience: Duration, gate: &Arc<Gate>, to: &SyncSender<Part>) {
    let place = gate.enter();
    let ended = match command.spawn() {
        Err(error) => Ended::fault(format!("cannot run {}: {}", command.get_program().display(), reason(&error))),
        Ok(mut child) => {
            let said = child.stderr.take().map(Said::listen);
            let stdout = child.stdout.take();
            let child = Arc::new(Mutex::new(child));
            let (greeted, is_greeted) = sync_channel::<()>(1);
            if greets {
                let child = Arc::clone(&child);
                thread::spawn(move || {
                    if is_greeted.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                        let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
                    }
                });
            }
            let heard = stdout.map(|stdout| hear(BufReader::new(stdout), greets, (place, greeted), to));
            let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
            if heard.is_none_or(|heard| heard == Heard::Enough) {
                // Nobody listens, or what it says is no answer; it may go on forever.
                let _ = child.kill();
            }
            if heard == Some(Heard::Nothing) {
                // Who has not greeted may have ended by itself, and then its status says why.
                for _ in 0..20 {
                    if matches!(child.try_wait(), Ok(Some(_))) {
                        break;
                    }
                    thread::sleep(Said::LAST / 20);
                }
                let _ = child.kill();
            }
            let status = child.wait().ok().and_then(|status| status.code());
            let said = said.map(Said::end).unwrap_or_default();
            let fault = fault(heard.unwrap_or(Heard::Nothing), greets, status, &said);
            // Without an answer the status is that of ssh.
            let status = status.filter(|_| fault.is_none()).and_then(|status| u8::try_from(status).ok());
            Ended { status, said, fault }
        }
    };
    // Who asked may be gone.
    let _ = to.send(Part::End(ended));
}

/// What is said beside the answer: all is read, so that nobody waits to say it, and its beginning kept.
struct Said {
    kept: Arc<Mutex<Vec<u8>>>,
    is_ended: Receiver<()>,
}

impl Said {
    /// What is still on its way when the program has ended comes within this time; another program may hold the stream open.
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

/// What was heard of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// Not even the greeting.
    Nothing,
    /// Everything.
    All,
    /// As much as anybody listened to, or more than an answer can be.
    Enough,
}

fn hear(mut from: impl BufRead, greets: bool, begun: impl Sized, to: &SyncSender<Part>) -> Heard {
    if greets && !(0..MOST_BEFORE).any(|_| matches!(line(&mut from), Ok(Some(line)) if line == GREETING)) {
        return Heard::Nothing;
    }
    // It is connected: another one may be.
    drop(begun);
    loop {
        let mut lines = Vec::new();
        let mut is_all = false;
        while lines.len() < PART {
            match line(&mut from) {
                Ok(Some(line)) => lines.push(line),
                Ok(None) => {
                    is_all = true;
                    break;
                }
                Err(()) => return Heard::Enough,
            }
        }
        if to.send(Part::Lines(lines)).is_err() {
            return Heard::Enough;
        }
        if is_all {
            return Heard::All;
        }
    }
}

/// Reads a line; what is no text becomes some.
fn line(from: &mut impl BufRead) -> Result<Option<String>, ()> {
    let mut line = Vec::new();
    let count = from.take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(|_| ())?;
    if count as u64 == LONGEST_LINE {
        return Err(());
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    Ok((count > 0)
        .then(|| String::from_utf8(line).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into())))
}

/// Says why there is no answer.
fn fault(heard: Heard, greets: bool, status: Option<i32>, said: &str) -> Option<String> {
    let last = || said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("nothing was answered");
    match (heard, status) {
        (Heard::Nothing, Some(SSH_FAILED)) => Some(last().trim_start_matches("ssh: ").to_owned()),
        (Heard::Nothing, None) => Some("its shell does not begin in time".to_owned()),
        (Heard::Nothing, _) => Some(format!("no shell answers there: {}", last())),
        (Heard::All, Some(SSH_FAILED)) if greets => Some(format!("the connection was lost: {}", last())),
        (Heard::All, Some(127)) if greets => {
            Some("there is no rejoin on its PATH; install it there, in ~/.local/bin for example".to_owned())
        }
        (Heard::All, None) => Some("rejoin was ended there by a signal".to_owned()),
        (Heard::Enough, _) => Some(NO_ANSWER.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(text: &str, greets: bool) -> (Heard, Vec<String>) {
        let gate = Arc::new(Gate { free: Mutex::new(1), freed: Condvar::new() });
        let (to, parts) = sync_channel(64);
        let heard = hear(text.as_bytes(), greets, gate.enter(), &to);
        drop(to);
        let lines = parts.iter().flat_map(|part| match part {
            Part::Lines(lines) => lines,
            Part::End(_) => Vec::new(),
        });
        assert_eq!(*gate.free.lock().expect("a lock"), 1, "the place is free again");
        (heard, lines.collect())
    }

    #[test]
    fn what_a_login_writes_before_the_answer_is_no_part_of_it() {
        let text = format!("Welcome to box!\n\n{GREETING}\none\ntwo");
        assert_eq!(heard(&text, true), (Heard::All, vec!["one".to_owned(), "two".to_owned()]));
        assert_eq!(heard("one\n", false), (Heard::All, vec!["one".to_owned()]));
        assert_eq!(heard("This account is not available.\n", true), (Heard::Nothing, Vec::new()));
    }

    fn talk(script: &str, patience: Duration) -> (Vec<String>, Ended) {
        let gate = Arc::new(Gate { free: Mutex::new(1), freed: Condvar::new() });
        let (to, parts) = sync_channel(64);
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        converse(command, true, patience, &gate, &to);
        drop(to);
        let (mut lines, mut ended) = (Vec::new(), Ended::default());
        for part in parts {
            match part {
                Part::Lines(more) => lines.extend(more),
                Part::End(end) => ended = end,
            }
        }
        (lines, ended)
    }

    #[test]
    fn a_host_that_hangs_before_its_answer_is_left_and_one_that_hangs_after_it_too() {
        let begin = std::time::Instant::now();
        let (_, hung) = talk("exec sleep 60", Duration::from_millis(100));
        assert_eq!(hung.fault.as_deref(), Some("its shell does not begin in time"));
        let (_, noisy) = talk("yes hello | head -n 2000; exec sleep 60", Duration::from_secs(50));
        assert_eq!(noisy.fault.as_deref(), Some("its shell does not begin in time"));
        // Another program holds the stream of what is said open.
        let (lines, whole) = talk(
            "printf 'hi '; echo; echo rejoin answers; echo {}; sleep 60 >/dev/null & exit 4",
            Duration::from_secs(50),
        );
        assert_eq!((lines, whole.status, whole.fault), (vec!["{}".to_owned()], Some(4), None));
        assert!(begin.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_host_that_does_not_answer_says_why_in_one_line() {
        let why = |heard, status, said| fault(heard, true, status, said).unwrap_or_default();
        let refused = "Warning: known hosts\nssh: connect to host box port 22: Connection refused\n";
        assert_eq!(why(Heard::Nothing, Some(255), refused), "connect to host box port 22: Connection refused");
        assert!(why(Heard::All, Some(127), "").contains("no rejoin"));
        assert!(why(Heard::All, Some(255), "Connection reset").contains("lost"));
        assert_eq!(fault(Heard::All, true, Some(4), ""), None);
    }
}
