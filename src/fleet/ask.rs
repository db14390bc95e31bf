//! Asks hosts: one process per host, and its answer as it arrives, in lines or as text.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use crate::error::{Refusal, RefusalCode, reason};
use crate::fleet::Host;
use crate::fleet::command::{self, Manner};
use crate::fleet::gate::{Semaphore, Until};
use crate::fleet::talk::{self, EndOfAnswer, HostMessage, Patience};
use crate::format::text;
use crate::system::env::{COLUMNS, Env, FORCE_COLORS, ProgramSearch};
use crate::system::own_program;

/// Maximum concurrent connections.
const AT_ONCE: usize = 16;
/// Time limit between the connection and the first output of a host: a shell starts, and perhaps its home is mounted.
const TO_BEGIN: Duration = Duration::from_secs(20);
/// The error if the output of a host is not an answer.
pub(crate) const NO_ANSWER: &str = "its answer is not one of rejoin";

/// A host that is answering. Dropping this ends its process.
#[derive(Debug)]
pub(crate) struct Answering {
    /// The host.
    pub host: Host,
    parts: Receiver<HostMessage>,
    until: Until,
    /// The bytes that were received and not returned yet.
    rest: Vec<u8>,
    ended: Option<EndOfAnswer>,
}

impl Answering {
    /// Waits for the next piece; returns whether there is one.
    fn receive(&mut self) -> bool {
        if self.ended.is_some() {
            return false;
        }
        match self.parts.recv() {
            Ok(HostMessage::Bytes(bytes)) => self.rest = bytes,
            Ok(HostMessage::End(ended)) => self.ended = Some(ended),
            Err(_) => self.ended = Some(EndOfAnswer::fault("the answer was lost")),
        }
        self.ended.is_none()
    }

    /// Returns the next line, without its end; waits for it. A line of more than `most` bytes ends the answer.
    pub(crate) fn line(&mut self, most: usize) -> Option<String> {
        let mut line = Vec::new();
        loop {
            let end = memchr::memchr(b'\n', &self.rest);
            let after = self.rest.split_off(end.map_or(self.rest.len(), |end| end.saturating_add(1)));
            line.extend(std::mem::replace(&mut self.rest, after));
            if line.len() > most {
                self.leave();
                let most = text::size(most as u64);
                self.ended = Some(EndOfAnswer::fault(format!("a line of its answer is longer than {most}")));
                return None;
            }
            if end.is_some() {
                line.pop();
                return Some(in_utf8(line));
            }
            if !self.receive() {
                let is_cut_off = self.ended.as_ref().is_some_and(|ended| ended.fault.is_some());
                return Some(line).filter(|line| !line.is_empty() && !is_cut_off).map(in_utf8);
            }
        }
    }

    /// Waits for the next text and returns it. Characters and colour codes are not split.
    pub(crate) fn text(&mut self) -> Option<String> {
        let mut bytes = std::mem::take(&mut self.rest);
        if self.receive() {
            bytes.append(&mut self.rest);
            self.rest = bytes.split_off(whole(&bytes));
            return Some(in_utf8(bytes));
        }
        Some(bytes).filter(|bytes| !bytes.is_empty()).map(in_utf8)
    }

    /// Records that the answer is complete: the host has a moment to end.
    pub(crate) fn finish(&self) {
        self.until.end_within(talk::TO_END);
    }

    /// Skips the rest of a complete answer and returns how it ended.
    pub(crate) fn end(mut self) -> EndOfAnswer {
        self.finish();
        while self.receive() {}
        self.ended.clone().unwrap_or_default()
    }

    /// Ends the host's process, unless it has ended.
    fn leave(&mut self) {
        self.until.end_within(Duration::ZERO);
        while self.receive() {}
        self.rest.clear();
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.leave();
    }
}

fn in_utf8(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into())
}

/// Returns the length of the text without a character or a colour code that is cut off at the end.
fn whole(bytes: &[u8]) -> usize {
    /// The longest colour code.
    const CODE: usize = 5;
    let last = |count: usize| bytes.len().saturating_sub(count);
    let code = last(CODE);
    if let Some(at) = memchr::memrchr(b'\x1b', &bytes[code..]) {
        let at = code.saturating_add(at);
        return if bytes[at..].contains(&b'm') { bytes.len() } else { at };
    }
    let is_cut_off = |count: &usize| match bytes.get(last(*count)) {
        Some(0xc0..=0xdf) => *count < 2,
        Some(0xe0..=0xef) => *count < 3,
        Some(0xf0..) => *count < 4,
        _ => false,
    };
    (1..=3).find(is_cut_off).map_or(bytes.len(), last)
}

/// Asks every host at once; each answers as fast as its output is read.
pub(crate) fn ask_hosts(
    hosts: &[Host],
    words: &[String],
    manner: Manner,
    env: &Env,
) -> Result<Vec<Answering>, Refusal> {
    let has_others = hosts.iter().any(|host| host.destination.is_some());
    let ssh = if has_others { Some(ssh(env)?) } else { None };
    let gate = Semaphore::new(AT_ONCE);
    // A user at the terminal may type a password, or think about a question.
    let limit = |time: Duration| Some(time).filter(|_| !manner.is_asked);
    let patience =
        Patience { to_begin: limit(manner.timeout.saturating_add(TO_BEGIN)), silence: limit(manner.silence) };
    let ask = |host: &Host| {
        let (to, parts) = sync_channel(talk::WAITING);
        let (command, greets) = command_for(host, ssh.as_deref(), words, manner, env)?;
        let (gate, until) = (Arc::clone(&gate), Until::default());
        let answering = Answering { host: host.clone(), parts, until: until.clone(), rest: Vec::new(), ended: None };
        let talk = move || talk::converse(command, greets, patience, &gate, &until, &to);
        thread::Builder::new().spawn(talk).map_err(|error| {
            Refusal::new(RefusalCode::Failed, format!("cannot ask {}: {}", host.name, reason(&error)))
        })?;
        Ok(answering)
    };
    hosts.iter().map(ask).collect()
}

/// Finds ssh.
pub(crate) fn ssh(env: &Env) -> Result<PathBuf, Refusal> {
    match env.find_program("ssh") {
        ProgramSearch::Found(program) => Ok(program),
        _ => Err(Refusal::new(RefusalCode::ProgramNotFound, "cannot find the program ssh")
            .hint("install OpenSSH's client, or add its directory to PATH")),
    }
}

/// Finds the running executable, which answers for this machine.
pub(crate) fn ourselves() -> Result<PathBuf, Refusal> {
    own_program::path().ok_or_else(|| Refusal::new(RefusalCode::Failed, "the path of rejoin is unknown"))
}

/// Returns the command that asks a host, and whether its answer begins with a greeting.
fn command_for(
    host: &Host,
    ssh: Option<&Path>,
    words: &[String],
    manner: Manner,
    env: &Env,
) -> Result<(Command, bool), Refusal> {
    let mut command = match (&host.destination, ssh) {
        (Some(destination), Some(ssh)) => {
            let argv = command::to_ask(destination, words, manner);
            let mut command = env.command(ssh);
            command.args(&argv[1..]);
            command
        }
        _ => {
            let mut command = env.command(ourselves()?);
            command.args(words);
            command.env_remove(COLUMNS).env_remove(FORCE_COLORS).envs(manner.variables());
            command
        }
    };
    command.stdin(if manner.is_asked { Stdio::inherit() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok((command, host.destination.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answering(pieces: &[&[u8]]) -> Answering {
        let (to, parts) = sync_channel(64);
        let parts_of = pieces.iter().map(|piece| HostMessage::Bytes(piece.to_vec()));
        parts_of.chain([HostMessage::End(EndOfAnswer::default())]).for_each(|part| to.send(part).expect("a listener"));
        let host = Host { name: "box".to_owned(), destination: None };
        Answering { host, parts, until: Until::default(), rest: Vec::new(), ended: None }
    }

    #[test]
    fn reader_joins_lines_across_chunks() {
        let mut lines = answering(&[b"on", b"e\ntwo\n\nthr", b"ee"]);
        let all: Vec<String> = std::iter::from_fn(|| lines.line(4)).collect();
        assert_eq!(all, ["one", "two", ""], "the last one is too long");
        assert_eq!(lines.end().fault.as_deref(), Some("a line of its answer is longer than 4 B"));
    }

    #[test]
    fn chunks_split_no_character_or_escape_code() {
        let text = "a\x1b[31mé日\u{1f99c}\x1b[0m\n";
        for cut in 0..text.len() {
            let (one, two) = text.as_bytes().split_at(cut);
            let mut pieces = answering(&[one, two]);
            let all: Vec<String> = std::iter::from_fn(|| pieces.text()).collect();
            assert_eq!(all.concat(), text);
            assert!(all.iter().all(|piece| piece.matches('\x1b').count() == piece.matches('m').count()), "{all:?}");
        }
        assert_eq!(answering(&[b"a\x1b"]).text().as_deref(), Some("a"));
    }
}
