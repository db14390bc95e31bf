//! Finds the edits that make records of lines that are not, from the lines of a transcript in their order.

use crate::agent::about::About;
use crate::agent::upkeep::{BadLine, Link};
use crate::format::edit::Edit;
use crate::format::json::last_object;
use serde::de::IgnoredAny;

/// Maximum length in bytes of a record that is divided into lines, and maximum number of these lines.
const LONGEST: usize = 1024 * 1024;
const MOST_LINES: usize = 1000;
/// Maximum number of blank lines in a divided record.
const MOST_BLANK: u64 = 64;

/// The repairs of the lines of a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineRepairs {
    /// The edits, in their order.
    pub edits: Vec<Edit>,
    /// Number of whole records that share a line with half of another one or with NUL bytes.
    pub glued: usize,
    /// Number of records that are divided into several lines.
    pub divided: usize,
    /// Number of halves of records that are removed.
    pub removed: usize,
}

/// Finds the repairs.
pub(super) struct RepairFinder {
    /// Returns the links of a record.
    link: fn(&[u8]) -> Option<Link<'_>>,
    /// Set if the agent loses other records because of half a record, so that halves are removed.
    removes_halves: bool,
    open: Option<OpenRecord>,
    pub found: LineRepairs,
}

/// The lines since the beginning of an object that has not ended.
struct OpenRecord {
    bytes: Vec<u8>,
    /// Offset of the end of the last line in the file, in bytes.
    end: u64,
    /// Offsets of the newlines between the lines.
    newlines: Vec<u64>,
    /// The number of edits, and of removed halves, before the first line.
    before: (usize, usize),
}

/// A line and its offset in the file.
#[derive(Clone, Copy)]
pub(super) struct PlacedLine<'a> {
    /// The line without its newline, and without NUL bytes around it.
    pub bytes: &'a [u8],
    /// Offset of its first byte, in bytes.
    pub start: u64,
    /// Number of NUL bytes before and after it.
    pub nul: [u64; 2],
}

impl PlacedLine<'_> {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl RepairFinder {
    pub(super) fn for_agent(about: &About) -> Self {
        let removes_halves = matches!(about.bad_line, BadLine::Ending | BadLine::Failing);
        Self { link: about.link, removes_halves, open: None, found: LineRepairs::default() }
    }

    /// Adds a record; returns whether NUL bytes share its line.
    pub(super) fn see_record(&mut self, line: PlacedLine<'_>) -> bool {
        self.open = None;
        let [before, after] = line.nul;
        for (at, removed) in [(line.start - before, before), (line.end(), after)] {
            if removed > 0 {
                self.found.edits.push(Edit { at, removed, inserted: Vec::new() });
            }
        }
        self.found.glued += usize::from(line.nul != [0, 0]);
        line.nul != [0, 0]
    }

    /// Adds a line that ends with a newline and is not a record.
    pub(super) fn see_bad(&mut self, line: PlacedLine<'_>) {
        if line.bytes.is_empty() {
            // NUL bytes alone.
            let removed = line.nul[0] + 1;
            self.found.edits.push(Edit { at: line.start - line.nul[0], removed, inserted: Vec::new() });
        } else if let Some(whole) = last_object(line.bytes) {
            self.open = None;
            self.separate(line, whole.len());
        } else if !self.joins(line) && self.removes_halves && is_half(line.bytes) {
            let edit = Edit {
                at: line.start - line.nul[0],
                removed: line.nul[0] + line.bytes.len() as u64,
                inserted: Vec::new(),
            };
            self.found.edits.push(Edit { removed: edit.removed + line.nul[1] + 1, ..edit });
            self.found.removed += 1;
        }
    }

    /// Gives a whole record of this length, which ends a line, a separate line.
    fn separate(&mut self, line: PlacedLine<'_>, length: usize) {
        let half = (line.bytes.len() - length) as u64;
        let edit = Edit { at: line.start + half, removed: 0, inserted: b"\n".to_vec() };
        self.found.edits.push(if self.removes_halves && is_half(&line.bytes[..line.bytes.len() - length]) {
            self.found.removed += 1;
            Edit { at: line.start, removed: half, inserted: Vec::new() }
        } else {
            edit
        });
        self.found.glued += 1;
    }

    /// Adds a line to the open object, or begins one. Returns whether the line is the end of a divided record.
    fn joins(&mut self, line: PlacedLine<'_>) -> bool {
        let before = (self.found.edits.len(), self.found.removed);
        let is_next = |open: &OpenRecord| {
            let gap = line.start.saturating_sub(open.end);
            let fits = open.bytes.len() + line.bytes.len() <= LONGEST && open.newlines.len() < MOST_LINES;
            line.nul == [0, 0] && (1..=MOST_BLANK).contains(&gap) && fits
        };
        let Some(mut open) = self.open.take().filter(is_next) else {
            let begins = line.bytes.starts_with(b"{") && line.bytes.len() <= LONGEST && line.nul == [0, 0];
            self.open = begins.then(|| OpenRecord {
                bytes: line.bytes.to_vec(),
                end: line.end(),
                newlines: Vec::new(),
                before,
            });
            return false;
        };
        for newline in open.end..line.start {
            open.newlines.push(newline);
            open.bytes.extend_from_slice(b"\\n");
        }
        open.bytes.extend_from_slice(line.bytes);
        open.end = line.end();
        if !line.bytes.ends_with(b"}") || (self.link)(&open.bytes).is_none() {
            self.open = Some(open);
            return false;
        }
        self.found.edits.truncate(open.before.0);
        self.found.removed = open.before.1;
        let joined = open.newlines.iter().map(|at| Edit { at: *at, removed: 1, inserted: b"\\n".to_vec() });
        self.found.edits.extend(joined);
        self.found.divided += 1;
        true
    }
}

/// Returns whether bytes are the beginning of a record. Other bytes are left alone, because nothing is known about them.
fn is_half(bytes: &[u8]) -> bool {
    let is_cut_off = serde_json::from_slice::<IgnoredAny>(bytes).is_err_and(|error| error.is_eof());
    is_cut_off && bytes.starts_with(b"{")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::survey::lines::tests::looked_as;
    use crate::format::edit;
    use crate::session::AgentKind;

    /// Returns the lines after the repair, and the numbers of glued, divided and removed ones.
    fn repaired(agent: AgentKind, text: &str) -> (String, [usize; 3]) {
        let LineRepairs { edits, glued, divided, removed } = looked_as(agent, text).repairs;
        (String::from_utf8(edit::apply(text.as_bytes(), &edits)).expect("text"), [glued, divided, removed])
    }

    #[test]
    fn repairs_keep_every_whole_record() {
        let nul = "\0".repeat(5_000);
        for (text, expected, counts) in [
            ("{\"a\":1}\n{\"b\":{\"c\":2}\n{}\n", "{\"a\":1}\n{\"b\":{\"c\":2}\n{}\n", [0, 0, 0]),
            ("{\"a\":\"x{\"b\":2}\n{}\n", "{\"a\":\"x\n{\"b\":2}\n{}\n", [1, 0, 0]),
            (&format!("{{}}\n{nul}{{\"b\":2}}\n"), "{}\n{\"b\":2}\n", [1, 0, 0]),
            (&format!("{{}}{nul}\n{{\"b\":2}}\n"), "{}\n{\"b\":2}\n", [1, 0, 0]),
            (&format!("{{}}\n{nul}\n{{\"b\":2}}\n"), "{}\n{\"b\":2}\n", [0, 0, 0]),
            ("{}\n{\"a\":\"x\ny\n\nz\"}\n{}\n", "{}\n{\"a\":\"x\\ny\\n\\nz\"}\n{}\n", [0, 1, 0]),
            // A record between the lines: they may not belong together.
            ("{\"a\":\"x\n{}\ny\"}\n", "{\"a\":\"x\n{}\ny\"}\n", [0, 0, 0]),
        ] {
            assert_eq!(repaired(AgentKind::Codex, text), (expected.to_owned(), counts), "{text:?}");
        }
    }

    #[test]
    fn half_records_are_removed_only_if_agent_loses_others() {
        for (text, expected, counts) in [
            ("{}\n{\"half\n{\"b\":2}\n", "{}\n{\"b\":2}\n", [0, 0, 1]),
            ("{}\n{\"half{\"b\":2}\n", "{}\n{\"b\":2}\n", [1, 0, 1]),
            ("{}\n{\"a\":\"x\ny\"}\n", "{}\n{\"a\":\"x\\ny\"}\n", [0, 1, 0]),
        ] {
            assert_eq!(repaired(AgentKind::KimiCode, text), (expected.to_owned(), counts), "{text:?}");
        }
        let unknown = "{}\n#2\n[1]\n{\"b\":2,}\n#{\"c\":3}\n";
        let separated = unknown.replace("#{", "#\n{");
        assert_eq!(repaired(AgentKind::KimiCode, unknown), (separated, [1, 0, 0]), "other lines are not understood");
        assert_eq!(repaired(AgentKind::Codex, "{}\n{\"half\n").1, [0, 0, 0]);
    }
}
