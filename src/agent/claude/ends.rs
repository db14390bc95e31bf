//! What the two ends of a transcript tell, which is what a list needs.

use std::path::PathBuf;

use jiff::Timestamp;
use memchr::memchr3_iter;

use super::is_exec;
use crate::agent::claude::records::Record;
use crate::format::skim::Raw;
use crate::session::{Copy, Fact, Health, SessionKind};

/// How far from the end titles are searched for. The client's own picker reads as far (SDK: 64 KiB).
const TITLE_WINDOW: usize = 64 * 1024;
/// What is read of the end at once: the title window, and most often the whole of the line that it cuts.
pub(super) const TAIL: usize = 96 * 1024;
/// How many records near the end are read even after every field was found: times are not in order.
const LAST_RECORDS: u32 = 6;
/// A line of more bytes names and moves nothing, so that what is in the midst of it is not looked at.
const LONG: usize = 512;
/// How many records near the end are searched for the model.
const MAX_RECORDS: u32 = 40;

/// What the two ends of a transcript tell.
#[derive(Default)]
pub(super) struct Ends {
    created_at: Option<Timestamp>,
    first_cwd: Option<String>,
    session_id: Option<String>,
    forked_from: Option<String>,
    is_sidechain: bool,
    prompt: Option<String>,
    has_reply: bool,
    pub(super) is_whole: bool,
    pub(super) is_exec: bool,
    pub(super) is_interactive: bool,
    newest: Option<Timestamp>,
    last_cwd: Option<String>,
    branch: Option<String>,
    model: Option<String>,
    is_torn: bool,
    records_from_end: u32,
    bytes_from_end: usize,
    pub(super) early: Titles,
    pub(super) late: Titles,
}

/// The records that name or move a session; of each sort the last in the file wins.
#[derive(Default)]
pub(super) struct Titles {
    custom: Option<String>,
    ai: Option<String>,
    summary: Option<String>,
    relocated: Option<String>,
}

impl Titles {
    fn pairs<'r>(&mut self, record: &Record<'r>) -> [(&mut Option<String>, Raw<'r>); 4] {
        [
            (&mut self.custom, record.custom_title),
            (&mut self.ai, record.ai_title),
            (&mut self.summary, record.summary),
            (&mut self.relocated, record.relocated_cwd),
        ]
    }

    /// Takes a record that comes after every one before.
    pub(super) fn see_later(&mut self, record: &Record<'_>) {
        for (kept, seen) in self.pairs(record) {
            if let Some(seen) = seen.filled() {
                *kept = Some(seen);
            }
        }
    }

    /// Takes a record that comes before every one seen so far.
    fn see_earlier(&mut self, record: &Record<'_>) {
        for (kept, seen) in self.pairs(record) {
            if kept.is_none() {
                *kept = seen.filled();
            }
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            custom: self.custom.or(other.custom),
            ai: self.ai.or(other.ai),
            summary: self.summary.or(other.summary),
            relocated: self.relocated.or(other.relocated),
        }
    }

    /// Returns the title in the order of the picker (measured on 2.1.330).
    pub(super) fn title(&self) -> Option<Fact<String>> {
        let sources = [(&self.custom, "custom-title"), (&self.ai, "ai-title"), (&self.summary, "summary")];
        sources.into_iter().find_map(|(title, source)| title.clone().map(|title| Fact::new(title, source)))
    }
}

impl Ends {
    pub(super) fn see_from_start(&mut self, line: &[u8]) {
        if is_bulk(line) {
            return;
        }
        let Some(record) = Record::of_line(line) else { return };
        self.created_at = self.created_at.or_else(|| record.at());
        self.note_entrypoint(&record);
        if self.first_cwd.is_none()
            && let Some(cwd) = record.cwd.filled()
        {
            self.first_cwd = Some(cwd);
            self.is_sidechain = record.is_sidechain.0;
            self.session_id = record.session_id.filled();
        }
        self.forked_from = self.forked_from.take().or_else(|| record.forked_from());
        self.has_reply = self.has_reply || record.reply_id().is_some();
        self.prompt = self.prompt.take().or_else(|| record.prompt());
        self.early.see_later(&record);
    }

    pub(super) fn knows_start(&self) -> bool {
        self.first_cwd.is_some() && self.prompt.is_some() && self.created_at.is_some()
    }

    pub(super) fn see_from_end(&mut self, line: &[u8], is_ended: bool) {
        self.bytes_from_end += line.len();
        if is_bulk(line) || (self.knows_end() && !is_title(line)) {
            return;
        }
        // Only the model is in the content of a long record, and the last reply tells it.
        let is_enough = |record: &Record<'_>| self.model.is_some() || record.kind.get() != Some("assistant");
        let without_content =
            Some(line).filter(|line| is_ended && line.len() > LONG).and_then(Record::without_content).filter(is_enough);
        let Some(record) = without_content.or_else(|| Record::of_line(line)) else {
            self.is_torn |= !is_ended;
            return;
        };
        self.records_from_end += 1;
        self.newest = self.newest.max(record.at());
        self.note_entrypoint(&record);
        self.last_cwd = self.last_cwd.take().or_else(|| record.cwd.filled());
        self.branch = self.branch.take().or_else(|| record.git_branch.filled());
        self.model = self.model.take().or_else(|| record.model());
        self.late.see_earlier(&record);
    }

    fn knows_end(&self) -> bool {
        let has_all = self.newest.is_some() && self.last_cwd.is_some();
        // A session that was never answered has no model to find.
        has_all
            && self.records_from_end >= LAST_RECORDS
            && (self.model.is_some() || self.records_from_end >= MAX_RECORDS)
    }

    pub(super) fn is_done_with_end(&self) -> bool {
        self.knows_end() && (self.late.custom.is_some() || self.bytes_from_end >= TITLE_WINDOW)
    }

    pub(super) fn note_entrypoint(&mut self, record: &Record<'_>) {
        match record.entrypoint.get() {
            Some(entrypoint) if is_exec(entrypoint) => self.is_exec = true,
            Some(_) => self.is_interactive = true,
            None => {}
        }
    }

    /// Puts what is known into the copy and returns the directory that the session was moved to, if it was.
    pub(super) fn fill(self, copy: &mut Copy) -> Option<String> {
        let is_empty = self.is_whole && self.prompt.is_none() && !self.has_reply;
        copy.mark_if(is_empty, Health::EmptySession);
        copy.kind = if copy.place.is_subagent || self.is_sidechain {
            SessionKind::Subagent
        } else if is_empty {
            SessionKind::Empty
        } else if self.forked_from.is_some() {
            SessionKind::Fork
        } else if self.is_exec && !self.is_interactive {
            SessionKind::Exec
        } else {
            SessionKind::Main
        };
        if copy.kind == SessionKind::Subagent {
            copy.parent_id = copy.parent_id.take().or(self.session_id).filter(|parent| *parent != copy.place.id);
        } else {
            copy.parent_id = self.forked_from;
        }
        copy.mark_if(self.is_torn, Health::TornTranscript);
        let titles = self.late.or(self.early);
        copy.title = titles.title();
        copy.first_prompt =
            self.prompt.filter(|prompt| !prompt.is_empty()).map(|prompt| Fact::new(prompt, "transcript"));
        copy.start_dir = self.first_cwd.map(|dir| Fact::new(PathBuf::from(dir), "transcript"));
        copy.last_dir =
            self.last_cwd.map(|dir| Fact::new(PathBuf::from(dir), "transcript")).or_else(|| copy.start_dir.clone());
        copy.created_at = self.created_at.map(|at| Fact::new(at, "transcript"));
        copy.active_at = self.newest.map(|at| Fact::new(at, "transcript"));
        copy.git_branch = self.branch.filter(|branch| branch != "HEAD").map(|branch| Fact::new(branch, "transcript"));
        copy.model = self.model.map(|model| Fact::new(model, "transcript"));
        titles.relocated
    }
}

/// Tells a record that only repeats what was sent to the model; such records are most of a file's bytes.
fn is_bulk(line: &[u8]) -> bool {
    line.starts_with(br#"{"type":"api-request"#)
}

/// Tells a record that may name or move the session by its first bytes, without parsing it.
fn is_title(line: &[u8]) -> bool {
    const WORDS: [&[u8]; 3] = [b"itle", b"summary", b"relocated"];
    if line.starts_with(br#"{"parentUuid":""#) {
        // Most are part of the conversation, and begin with the id of what they follow.
        return false;
    }
    let start = &line[..line.len().min(48)];
    memchr3_iter(b'i', b's', b'r', start).any(|at| WORDS.iter().any(|word| start[at..].starts_with(word)))
}
