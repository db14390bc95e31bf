//! Checks the lines of a transcript: lines that are not records, signs of several branches, and the end of the last
//! line.

use std::borrow::Cow;
use std::ffi::OsString;
use std::hash::BuildHasher as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use foldhash::HashMap;
use foldhash::fast::RandomState;
use memchr::{memchr_iter, memmem};

use crate::agent::upkeep::Link;
use crate::agent::{Agent, Inspector, by_kind};
use crate::doctor::survey::line_repairs::{LineRepairs, PlacedLine, RepairFinder};
use crate::error::PathError;
use crate::format::edit::Edit;
use crate::format::jsonl::{Jsonl, in_utf8, is_line_wise, without_mark, without_nul};

/// Transcripts up to this many bytes are always read whole.
pub(crate) const READ_WHOLE: u64 = 8 * 1024 * 1024;
/// Transcripts up to this many bytes are read into memory while the scan has them open.
const SMALL: u64 = 256 * 1024;
/// Number of bytes read at either end of a larger transcript.
const END: usize = 32 * 1024;
/// Maximum line numbers to report; more would not help.
const MAX_NUMBERS: usize = 20;

/// A line's number, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineNumber {
    /// From the start of the file.
    FromStart(u64),
    /// From its end, if the lines before were not counted.
    FromEnd(u64),
}

/// The problems found in the lines of a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TranscriptLines {
    /// The first lines that are not records.
    pub bad: Vec<LineNumber>,
    /// Number of lines that are not records.
    pub bad_count: u64,
    /// If set, a record may be an error of the API in place of a reply.
    pub may_be_stuck: bool,
    /// If set, some records may be on other branches than the last one.
    pub may_branch: bool,
    /// Set if at least one line is a record, of those that were read.
    pub has_records: bool,
    /// The edits that make records of lines that are not.
    pub repairs: LineRepairs,
    /// The end of the last line.
    pub last: LastLine,
    /// Set if every line was read.
    pub is_whole: bool,
}

/// The end of the last line of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LastLine {
    /// With a newline.
    #[default]
    Ended,
    /// Without a newline, though it is a whole record.
    WithoutNewline,
    /// In its middle.
    CutOff,
    /// With NUL bytes after its newline; no record is lost.
    Nul,
}

impl TranscriptLines {
    /// Returns whether there is nothing to report.
    pub(crate) fn is_sound(&self) -> bool {
        self.bad_count == 0 && self.last == LastLine::Ended
    }

    /// Returns whether nothing of a file can be read, or made readable.
    pub(crate) fn has_nothing(&self) -> bool {
        self.is_whole && !self.has_records && self.repairs.edits.is_empty()
    }

    /// Adds NUL bytes in place of the last line: a bad line, unless there is a record before them.
    fn add_nul_at_end(&mut self, number: u64) {
        if self.has_records {
            self.last = LastLine::Nul;
        } else {
            self.add_bad(LineNumber::FromStart(number));
        }
    }

    fn add_bad(&mut self, number: LineNumber) {
        self.bad_count += 1;
        if self.bad.len() < MAX_NUMBERS {
            self.bad.push(number);
        }
    }
}

/// The results for small transcripts that the scan had open anyway, by their paths as bytes, which compare faster.
#[derive(Clone, Default)]
pub(super) struct SeenLines(Arc<Mutex<HashMap<OsString, TranscriptLines>>>);

impl SeenLines {
    /// Returns the inspector for the transcripts of a scan.
    pub(super) fn inspector(&self) -> Inspector {
        let seen = Arc::clone(&self.0);
        Inspector::new(move |agent, path, file, is_subagent| {
            let Some(agent) = by_kind(agent).filter(|_| is_line_wise(path)) else { return };
            // An unreadable transcript is opened again later, and then reported.
            if let Some(Ok(lines)) = look_at_small(file, agent, is_subagent)
                && let Ok(mut seen) = seen.lock()
            {
                seen.insert(path.into(), lines);
            }
        })
    }

    /// Returns the results for all inspected transcripts.
    pub(super) fn all(self) -> HashMap<OsString, TranscriptLines> {
        self.0.lock().map(|mut seen| std::mem::take(&mut *seen)).unwrap_or_default()
    }
}

/// Checks a transcript, completely unless it is large and `deep` is not set.
///
/// The first record of a sub-agent follows one in the transcript of its parent session, or none.
pub(super) fn look(
    path: &Path,
    agent: &dyn Agent,
    is_subagent: bool,
    deep: bool,
) -> Result<TranscriptLines, PathError> {
    let mut file = Jsonl::open(path)?;
    if let Some(lines) = look_at_small(&mut file, agent, is_subagent) {
        return lines;
    }
    if deep || file.len() <= READ_WHOLE {
        let mut chain = Chain::new(agent, is_subagent);
        let (ends_in_nul, mut number) = (file.ends_in_nul()?, 0);
        let mut lines = file.into_lines()?;
        while let Some(line) = lines.next_line()? {
            chain.found.may_be_stuck |= has_mark(agent.about().api_error, line.bytes);
            chain.found.may_branch |= has_mark(agent.about().rewind_mark, line.bytes);
            let place = PlacedLine { bytes: line.bytes, start: line.start, nul: [line.nul_before(), 0] };
            let is_as_it_is = line.replaced.is_none() && line.left_out.is_none();
            chain.see(place, line.number, line.is_ended, is_as_it_is);
            number = line.number;
        }
        if ends_in_nul && chain.found.last == LastLine::Ended {
            // The reader leaves out lines that have only NUL bytes.
            chain.found.add_nul_at_end(number + 1);
        }
        return Ok(chain.finish());
    }
    look_at_ends(file, agent)
}

/// Returns the edits that make records of the lines of a transcript that are not.
pub(crate) fn line_edits(path: &Path, agent: &dyn Agent) -> Result<Vec<Edit>, PathError> {
    Ok(look(path, agent, false, true)?.repairs.edits)
}

/// Checks a small transcript completely; `None` for a large one.
fn look_at_small(file: &mut Jsonl, agent: &dyn Agent, is_subagent: bool) -> Option<Result<TranscriptLines, PathError>> {
    (file.len() <= SMALL).then(|| {
        let bytes = file.whole()?;
        let mut chain = Chain::new(agent, is_subagent);
        let mut start = 0;
        for (number, end) in memchr_iter(b'\n', bytes).chain([bytes.len()]).enumerate() {
            let (line, is_ended) = (without_mark(&bytes[start..end], start == 0), end < bytes.len());
            if !line.is_empty() {
                let bare = without_nul(line);
                let bare = if is_ended || !bare.is_empty() { bare } else { line };
                let before = line.iter().take_while(|byte| **byte == 0).count().min(line.len() - bare.len());
                let nul = [before, line.len() - bare.len() - before].map(|count| count as u64);
                let text = in_utf8(bare);
                let place = PlacedLine { bytes: &text, start: (end - line.len() + before) as u64, nul };
                chain.see(place, number as u64 + 1, is_ended, matches!(text, Cow::Borrowed(_)));
            }
            start = end + 1;
        }
        let end = bytes.len().saturating_sub(END);
        chain.found.may_be_stuck = has_mark(agent.about().api_error, &bytes[end..]);
        chain.found.may_branch |= has_mark(agent.about().rewind_mark, bytes);
        Ok(chain.finish())
    })
}

/// Returns whether bytes contain a mark of the agent, if it has one.
fn has_mark(mark: Option<&str>, bytes: &[u8]) -> bool {
    mark.is_some_and(|mark| memmem::find(bytes, mark.as_bytes()).is_some())
}

fn look_at_ends(mut file: Jsonl, agent: &dyn Agent) -> Result<TranscriptLines, PathError> {
    let (mut found, about) = (TranscriptLines::default(), agent.about());
    let ends_in_nul = file.ends_in_nul()?;
    let (mut number, mut seen) = (0, 0);
    file.lines_forward(&mut |line| {
        number += 1;
        seen += line.len();
        let is_record = (about.link)(line).is_some();
        found.has_records |= is_record;
        if !is_record {
            found.add_bad(LineNumber::FromStart(number));
        }
        seen >= END
    })?;
    let first_lines = number;
    let (mut number, mut seen) = (0, 0);
    file.with_tail(END).lines_backward(&mut |line, is_ended| {
        number += 1;
        seen += line.len();
        found.may_be_stuck |= has_mark(about.api_error, line);
        found.may_branch |= has_mark(about.rewind_mark, line);
        let is_record = (about.link)(line).is_some();
        found.has_records |= is_record;
        match (is_record, is_ended) {
            (true, true) => {}
            (true, false) => found.last = LastLine::WithoutNewline,
            (false, false) => found.last = LastLine::CutOff,
            (false, true) => found.add_bad(LineNumber::FromEnd(number)),
        }
        seen >= END
    })?;
    if ends_in_nul && found.last == LastLine::Ended {
        found.add_nul_at_end(first_lines + 1);
    }
    Ok(found)
}

/// The records of a file that is read completely.
struct Chain {
    /// Returns the links of a record.
    link: fn(&[u8]) -> Option<Link<'_>>,
    hasher: RandomState,
    /// The ids of its records, in their order.
    known: Vec<u64>,
    /// Ids of records that are named as the end of a branch and are not the last ones before.
    leaves: Vec<u64>,
    may_begin_elsewhere: bool,
    refuses_bytes: bool,
    repairs: RepairFinder,
    found: TranscriptLines,
}

impl Chain {
    fn new(agent: &dyn Agent, is_subagent: bool) -> Self {
        Self {
            link: agent.about().link,
            hasher: RandomState::default(),
            known: Vec::new(),
            leaves: Vec::new(),
            may_begin_elsewhere: is_subagent,
            refuses_bytes: agent.about().refuses_bytes,
            repairs: RepairFinder::for_agent(agent.about()),
            found: TranscriptLines { is_whole: true, ..TranscriptLines::default() },
        }
    }

    /// Adds a line; `is_as_it_is` is false if bytes of it were replaced or left out.
    fn see(&mut self, line: PlacedLine<'_>, number: u64, is_ended: bool, is_as_it_is: bool) {
        let Some(link) = (self.link)(line.bytes).filter(|_| is_as_it_is || !self.refuses_bytes) else {
            let is_nul = without_nul(line.bytes).is_empty() && !is_ended;
            if is_nul {
                self.found.add_nul_at_end(number);
            } else if is_ended {
                self.found.add_bad(LineNumber::FromStart(number));
            } else {
                self.found.last = LastLine::CutOff;
            }
            if is_ended && is_as_it_is {
                self.repairs.see_bad(line);
            }
            return;
        };
        self.found.has_records = true;
        if self.repairs.see_record(line) {
            self.found.add_bad(LineNumber::FromStart(number));
        }
        if !is_ended {
            self.found.last = LastLine::WithoutNewline;
        }
        let leaf = link.leaf.map(|leaf| self.hasher.hash_one(leaf.as_bytes()));
        self.leaves.extend(leaf.filter(|leaf| self.known.last() != Some(leaf)));
        let is_first = self.known.is_empty();
        // Another root, unless it is the first record after a header.
        self.found.may_branch |= link.id.is_some() && link.parent.is_none() && self.known.len() > 1;
        if let Some(parent) = link.parent.filter(|_| !(is_first && self.may_begin_elsewhere)) {
            self.found.may_branch |= self.known.last() != Some(&self.hasher.hash_one(parent.as_bytes()));
        }
        if let Some(id) = link.id {
            self.known.push(self.hasher.hash_one(id.as_bytes()));
        }
    }

    fn finish(mut self) -> TranscriptLines {
        if !self.leaves.is_empty() {
            self.known.sort_unstable();
            // `summary` records of older versions name a leaf of another session.
            let has = |id: &u64| self.known.binary_search(id).is_ok();
            self.found.may_branch |= self.leaves.iter().any(has);
        }
        self.found.repairs = self.repairs.found;
        self.found
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
pub(super) mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::format::jsonl::MAX_LINE;
    use crate::scan;
    use crate::session::{AgentKind, SessionKind};
    use crate::system::env::tests::fixed;

    fn looked(text: &str, is_subagent: bool, deep: bool) -> TranscriptLines {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.jsonl");
        std::fs::write(&path, text).expect("a file");
        let agent = by_kind(AgentKind::Claude).expect("an agent");
        look(&path, agent, is_subagent, deep).expect("lines")
    }

    /// Checks a transcript of an agent completely.
    pub(in crate::doctor::survey) fn looked_as(agent: AgentKind, text: &str) -> TranscriptLines {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.jsonl");
        std::fs::write(&path, text).expect("a file");
        look(&path, by_kind(agent).expect("an agent"), false, true).expect("lines")
    }

    fn record(id: &str, parent: &str) -> String {
        format!("{{\"uuid\":\"{id}\",\"parentUuid\":\"{parent}\"}}\n")
    }

    #[test]
    fn line_numbers_include_empty_lines() {
        let lines = looked("{}\n\nbad\n{}\n[1]\n", false, false);
        assert_eq!(lines.bad, [LineNumber::FromStart(3), LineNumber::FromStart(5)]);
        assert_eq!((lines.bad_count, lines.last, lines.is_whole), (2, LastLine::Ended, true));
        assert!(looked("", false, false).is_sound());
    }

    #[test]
    fn line_accepted_by_agent_parser_is_sound() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.jsonl");
        let agent = by_kind(AgentKind::Claude).expect("an agent");
        std::fs::write(&path, b"{\"a\":\"\xff\"}\n{}\n").expect("a file");
        assert!(look(&path, agent, false, false).expect("lines").is_sound());
        let strict = by_kind(AgentKind::Amplifier).expect("an agent");
        let lines = look(&path, strict, false, false).expect("lines");
        assert_eq!((lines.bad, lines.bad_count), (vec![LineNumber::FromStart(1)], 1));
        let text = format!("{{}}\n{{\"a\":\"{}\"}}\n{{}}\n", "x".repeat(MAX_LINE));
        assert!(looked(&text, false, true).is_sound());
    }

    #[test]
    fn survey_distinguishes_cut_line_from_missing_newline() {
        assert_eq!(looked("{}\n{\"a\":", false, false).last, LastLine::CutOff);
        assert_eq!(looked("{}\n{}", false, false).last, LastLine::WithoutNewline);
        assert_eq!(looked("{}\n{\"a\":", false, false).bad_count, 0, "it is not one of the bad lines as well");
    }

    #[test]
    fn nul_tail_is_bad_line_only_without_records() {
        let long = format!("{{\"a\":\"{}\"}}\n", "x".repeat(READ_WHOLE as usize));
        for agent in [AgentKind::Claude, AgentKind::Codex, AgentKind::Copilot, AgentKind::Letta] {
            for text in ["{}\n{}\n", &long] {
                let lines = looked_as(agent, &format!("{text}\0\0\0"));
                assert_eq!((lines.bad_count, lines.last), (0, LastLine::Nul), "{agent}");
            }
        }
        assert_eq!(looked(&(long + "\0"), false, false).last, LastLine::Nul);
        for nul in ["\0".repeat(100), "\0".repeat(SMALL as usize + 1), "\0".repeat(READ_WHOLE as usize + 1)] {
            let lines = looked(&nul, false, false);
            assert_eq!((lines.bad, lines.last), (vec![LineNumber::FromStart(1)], LastLine::Ended));
        }
        assert_eq!(looked("{}\n{}\0\0", false, false).last, LastLine::WithoutNewline);
        assert_eq!(looked("{}\n{\"a\"\0\0", false, false).last, LastLine::CutOff);
    }

    #[test]
    fn record_with_missing_parent_may_branch() {
        let text = record("a", "gone") + &record("b", "a");
        assert!(looked(&text, false, false).may_branch);
        assert!(!looked(&text, true, false).may_branch, "a sub-agent's session begins in its parent");
        assert!(looked(&(text + &record("c", "a")), true, false).may_branch);
    }

    #[test]
    fn leaf_before_last_record_may_branch() {
        let leaf = |id: &str| format!("{{\"type\":\"last-prompt\",\"leafUuid\":\"{id}\"}}\n");
        let text = "{\"uuid\":\"a\"}\n".to_owned() + &record("b", "a");
        assert!(looked(&(text.clone() + &leaf("a")), false, false).may_branch);
        assert!(!looked(&(text.clone() + &leaf("b")), false, false).may_branch, "it is the last one");
        assert!(!looked(&(text + &leaf("of another session")), false, false).may_branch);
    }

    #[test]
    fn large_file_is_read_fully_only_with_deep() {
        let mut lines: Vec<String> =
            (0..9_000).map(|number| record(&number.to_string(), "0").replace('\n', &" ".repeat(1_000))).collect();
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
        assert_eq!((deep.last, deep.is_whole), (LastLine::WithoutNewline, true));
    }

    #[test]
    fn inspector_equals_separate_read() {
        let mut env = fixed();
        env.home = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
        env.foreign_home = true;
        let seen = SeenLines::default();
        let scan = scan::locate(&env, &[]).inspected(seen.inspector()).read_all(&env, scan::ScanScope::GLANCE);
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
    fn bad_line_numbers_are_limited() {
        let lines = looked(&"bad\n".repeat(50), false, false);
        assert_eq!((lines.bad.len(), lines.bad_count), (MAX_NUMBERS, 50));
    }
}
