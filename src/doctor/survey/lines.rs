//! The lines of a transcript: which are no records, which follow a record that is not there, how the last one ends.

use std::ffi::OsString;
use std::hash::BuildHasher as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use foldhash::HashMap;
use foldhash::fast::RandomState;
use memchr::{memchr_iter, memmem};

use crate::agent::{Agent, Inspector, by_kind};
use crate::error::PathError;
use crate::format::json::last_object;
use crate::format::jsonl::{Jsonl, without_nul};

/// Transcripts up to this many bytes are read whole even without being asked to.
pub(crate) const READ_WHOLE: u64 = 256 * 1024;
/// How much of either end of a larger one is read.
const END: usize = 32 * 1024;
/// More numbers than these help no one.
const MAX_NUMBERS: usize = 20;

/// A line's number, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineNumber {
    /// From the start of the file.
    FromStart(u64),
    /// From its end, if the lines before were not counted.
    FromEnd(u64),
}

/// What was seen of the lines of a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    /// Lines that are no records; the first of them.
    pub bad: Vec<LineNumber>,
    /// How many lines are no records.
    pub bad_count: u64,
    /// Records whose parent is not in the file; the first of them.
    pub lost: Vec<u64>,
    /// How many records have a parent that is not in the file.
    pub lost_count: u64,
    /// If set, a record may be an error of the API in place of a reply.
    pub may_be_stuck: bool,
    /// If set, some records may be on other branches than the last one.
    pub may_branch: bool,
    /// Where whole records begin that are on one line with half of another, in bytes.
    pub glued: Vec<u64>,
    /// How the last line ends.
    pub last: LastLine,
    /// Whether every line was read.
    pub is_whole: bool,
}

/// How the last line of a file ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LastLine {
    /// With a newline.
    #[default]
    Ended,
    /// Without a newline, though it is a whole record.
    WithoutNewline,
    /// In its middle.
    CutOff,
    /// With NUL bytes after its newline, which no record is lost to.
    Nul,
}

impl Lines {
    /// Returns whether there is nothing to report.
    pub(crate) fn is_sound(&self) -> bool {
        self.bad_count == 0 && self.lost_count == 0 && self.last == LastLine::Ended
    }

    fn add_bad(&mut self, number: LineNumber) {
        self.bad_count += 1;
        if self.bad.len() < MAX_NUMBERS {
            self.bad.push(number);
        }
    }
}

/// Returns whether a transcript is one record a line; what is compressed or a single document is not.
pub(super) fn is_line_wise(path: &Path) -> bool {
    let is_jsonl = |path: &Path| path.extension().is_some_and(|extension| extension == "jsonl");
    is_jsonl(path)
        || (path.extension().is_some_and(|extension| extension == "backup") && is_jsonl(&path.with_extension("")))
}

/// What was seen of the small transcripts that were open anyway, by their paths as bytes, which compare faster.
#[derive(Clone, Default)]
pub(super) struct Seen(Arc<Mutex<HashMap<OsString, Lines>>>);

impl Seen {
    /// Returns what looks at the transcripts of a scan.
    pub(super) fn inspector(&self) -> Inspector {
        let seen = Arc::clone(&self.0);
        Inspector::new(move |agent, path, file, is_subagent| {
            let Some(agent) = by_kind(agent).filter(|_| is_line_wise(path)) else { return };
            // What cannot be read is opened again, and then reported.
            if let Some(Ok(lines)) = look_at_small(file, agent, is_subagent)
                && let Ok(mut seen) = seen.lock()
            {
                seen.insert(path.into(), lines);
            }
        })
    }

    /// Hands over what was seen of every transcript that was looked at.
    pub(super) fn all(self) -> HashMap<OsString, Lines> {
        self.0.lock().map(|mut seen| std::mem::take(&mut *seen)).unwrap_or_default()
    }
}

/// Looks at a transcript, whole if it is small or if that is wanted.
///
/// The first record of a sub-agent's follows one in the transcript of the session that made it, or none.
pub(super) fn look(path: &Path, agent: &dyn Agent, is_subagent: bool, deep: bool) -> Result<Lines, PathError> {
    let mut file = Jsonl::open(path)?;
    if let Some(lines) = look_at_small(&mut file, agent, is_subagent) {
        return lines;
    }
    if deep {
        let mut chain = Chain::new(agent, is_subagent);
        let mut lines = file.into_lines()?;
        while let Some(line) = lines.next_line()? {
            match line.bytes {
                Some(bytes) => {
                    chain.found.may_be_stuck |= has_api_error(agent, bytes);
                    chain.see(bytes, line.number, line.start, line.is_ended);
                }
                // It may still be a record, but one that is never read.
                None => chain.is_complete = false,
            }
        }
        return Ok(chain.finish());
    }
    look_at_ends(file, agent)
}

/// Looks at all of a small transcript.
fn look_at_small(file: &mut Jsonl, agent: &dyn Agent, is_subagent: bool) -> Option<Result<Lines, PathError>> {
    (file.len() <= READ_WHOLE).then(|| {
        let bytes = file.whole()?;
        let mut chain = Chain::new(agent, is_subagent);
        let mut start = 0;
        for (number, end) in memchr_iter(b'\n', bytes).chain([bytes.len()]).enumerate() {
            let line = &bytes[start..end];
            if !line.is_empty() {
                chain.see(line, number as u64 + 1, start as u64, end < bytes.len());
            }
            start = end + 1;
        }
        let end = bytes.len().saturating_sub(END);
        chain.found.may_be_stuck = has_api_error(agent, &bytes[end..]);
        Ok(chain.finish())
    })
}

/// Returns whether some bytes may have an error of the API.
fn has_api_error(agent: &dyn Agent, bytes: &[u8]) -> bool {
    agent.about().api_error.is_some_and(|mark| memmem::find(bytes, mark.as_bytes()).is_some())
}

fn look_at_ends(mut file: Jsonl, agent: &dyn Agent) -> Result<Lines, PathError> {
    let mut found = Lines::default();
    let (mut number, mut seen) = (0, 0);
    file.lines_forward(|line| {
        number += 1;
        seen += line.len();
        if agent.link(line).is_none() {
            found.add_bad(LineNumber::FromStart(number));
        }
        seen >= END
    })?;
    let (mut number, mut seen) = (0, 0);
    file.with_tail(END).lines_backward(|line, is_ended| {
        number += 1;
        seen += line.len();
        found.may_be_stuck |= has_api_error(agent, line);
        match (agent.link(line).is_some(), is_ended) {
            (true, true) => {}
            (true, false) => found.last = LastLine::WithoutNewline,
            (false, false) => found.last = LastLine::CutOff,
            (false, true) => found.add_bad(LineNumber::FromEnd(number)),
        }
        seen >= END
    })?;
    Ok(found)
}

/// The records of a file that is read whole.
struct Chain<'a> {
    agent: &'a dyn Agent,
    hasher: RandomState,
    /// The ids of its records, in their order.
    known: Vec<u64>,
    /// Records that do not follow the one right before them, and the ids of those that they follow.
    waiting: Vec<(u64, u64)>,
    is_complete: bool,
    may_begin_elsewhere: bool,
    found: Lines,
}

impl<'a> Chain<'a> {
    fn new(agent: &'a dyn Agent, is_subagent: bool) -> Self {
        Self {
            agent,
            hasher: RandomState::default(),
            known: Vec::new(),
            waiting: Vec::new(),
            is_complete: true,
            may_begin_elsewhere: is_subagent,
            found: Lines { is_whole: true, ..Lines::default() },
        }
    }

    fn see(&mut self, line: &[u8], number: u64, start: u64, is_ended: bool) {
        let Some(link) = self.agent.link(line) else {
            if let Some(whole) = last_object(line) {
                self.found.glued.push(start + (line.len() - whole.len()) as u64);
            }
            let is_nul = without_nul(line).is_empty() && !is_ended;
            let is_bad = if is_nul { self.known.is_empty() } else { is_ended };
            if is_bad {
                self.found.add_bad(LineNumber::FromStart(number));
            } else {
                self.found.last = if is_nul { LastLine::Nul } else { LastLine::CutOff };
            }
            return;
        };
        if !is_ended {
            self.found.last = LastLine::WithoutNewline;
        }
        // `summary` records of older versions name a leaf of another session.
        let leaf = link.leaf.map(|leaf| self.hasher.hash_one(leaf.as_bytes()));
        self.found.may_branch |= leaf.is_some_and(|leaf| self.known.last() != Some(&leaf));
        let is_first = self.known.is_empty();
        if let Some(parent) = link.parent.filter(|_| !(is_first && self.may_begin_elsewhere)) {
            let parent = self.hasher.hash_one(parent.as_bytes());
            if self.known.last() != Some(&parent) {
                self.waiting.push((number, parent));
            }
        }
        if let Some(id) = link.id {
            self.known.push(self.hasher.hash_one(id.as_bytes()));
        }
    }

    fn finish(mut self) -> Lines {
        if self.is_complete && !self.waiting.is_empty() {
            self.known.sort_unstable();
            self.found.may_branch = true;
            let lost = self.waiting.iter().filter(|(_, parent)| self.known.binary_search(parent).is_err());
            let lost: Vec<u64> = lost.map(|(number, _)| *number).collect();
            self.found.lost_count = lost.len() as u64;
            self.found.lost = lost.into_iter().take(MAX_NUMBERS).collect();
        }
        self.found
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::scan;
    use crate::session::{AgentKind, SessionKind};
    use crate::system::env::tests::fixed;

    fn looked(text: &str, is_subagent: bool, deep: bool) -> Lines {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.jsonl");
        std::fs::write(&path, text).expect("a file");
        let agent = by_kind(AgentKind::Claude).expect("an agent");
        look(&path, agent, is_subagent, deep).expect("lines")
    }

    fn record(id: &str, parent: &str) -> String {
        format!("{{\"uuid\":\"{id}\",\"parentUuid\":\"{parent}\"}}\n")
    }

    #[test]
    fn lines_are_counted_with_the_empty_ones() {
        let lines = looked("{}\n\nbad\n{}\n[1]\n", false, false);
        assert_eq!(lines.bad, [LineNumber::FromStart(3), LineNumber::FromStart(5)]);
        assert_eq!((lines.bad_count, lines.last, lines.is_whole), (2, LastLine::Ended, true));
        assert!(looked("", false, false).is_sound());
    }

    #[test]
    fn the_end_of_the_last_line_is_told_apart() {
        assert_eq!(looked("{}\n{\"a\":", false, false).last, LastLine::CutOff);
        assert_eq!(looked("{}\n{}", false, false).last, LastLine::WithoutNewline);
        assert_eq!(looked("{}\n{\"a\":", false, false).bad_count, 0, "it is not one of the bad lines as well");
    }

    #[test]
    fn a_parent_may_come_later_but_must_be_there() {
        let text = record("b", "a") + &record("a", "gone") + &record("c", "b");
        assert_eq!(looked(&text, false, false).lost, [2]);
        let own = record("a", "in the session that made it") + &record("b", "a") + &record("c", "gone");
        assert_eq!(looked(&own, true, false).lost, [3]);
    }

    #[test]
    fn a_large_file_is_read_at_both_ends_and_deep_the_same_as_a_small_one() {
        let mut lines: Vec<String> =
            (0..9_000).map(|number| record(&number.to_string(), "0").replace('\n', "")).collect();
        for at in [1, 4_000, 8_998] {
            lines[at] = "bad".to_owned();
        }
        let text = lines.join("\n");
        assert!(text.len() as u64 > READ_WHOLE);
        let ends = looked(&text, false, false);
        assert_eq!(ends.bad, [LineNumber::FromStart(2), LineNumber::FromEnd(2)]);
        assert_eq!((ends.last, ends.is_whole), (LastLine::WithoutNewline, false));
        let deep = looked(&text, false, true);
        assert_eq!(deep.bad, [2, 4_001, 8_999].map(LineNumber::FromStart));
        assert_eq!((deep.last, deep.is_whole, deep.lost_count), (LastLine::WithoutNewline, true, 0));
    }

    #[test]
    fn what_is_seen_while_a_transcript_is_open_is_what_a_look_of_its_own_sees() {
        let mut env = fixed();
        env.home = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
        env.foreign_home = true;
        let seen = Seen::default();
        let scan = scan::locate(&env, &[]).inspected(seen.inspector()).read_all(&env, scan::Wanted::GLANCE);
        let mut seen = seen.all();
        let mut agents = BTreeSet::new();
        for session in &scan.sessions {
            let agent = by_kind(session.agent).expect("an agent");
            let Some(path) = agent.transcript(&session.copy().place) else { continue };
            let Some(lines) = seen.remove(path.as_os_str()) else { continue };
            let is_subagent = session.copy().kind == SessionKind::Subagent;
            assert_eq!(lines, look(&path, agent, is_subagent, false).expect("lines"), "{}", path.display());
            agents.insert(session.agent);
        }
        assert!(agents.is_superset(&[AgentKind::Amplifier, AgentKind::Claude].into()), "{agents:?}");
    }

    #[test]
    fn no_more_numbers_are_kept_than_help() {
        let lines = looked(&"bad\n".repeat(50), false, false);
        assert_eq!((lines.bad.len(), lines.bad_count), (MAX_NUMBERS, 50));
    }
}
