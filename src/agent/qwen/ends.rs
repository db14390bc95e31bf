//! What the two ends of a transcript of Qwen Code tell.

use jiff::Timestamp;

use super::is_archived;
use crate::agent::qwen::records::record;
use crate::session::recorded;
use crate::session::{Copy, Fact, Health, SessionKind};

/// What the two ends of a transcript tell.
#[derive(Default)]
pub(super) struct Ends {
    created_at: Option<Timestamp>,
    first_cwd: Option<String>,
    prompt: Option<String>,
    has_reply: bool,
    is_sidechain: bool,
    is_managed: bool,
    forked_from: Option<String>,
    parent: Option<String>,
    pub(super) early_title: Option<String>,
    /// Whether the whole transcript was seen.
    pub(super) is_whole: bool,
    newest: Option<Timestamp>,
    last_cwd: Option<String>,
    branch: Option<String>,
    model: Option<String>,
    pub(super) title: Option<String>,
    is_torn: bool,
    records_from_end: u32,
}

/// How many records near the end are read even after every field was found: times are not in order.
const LAST_RECORDS: u32 = 8;
/// How many records near the end are searched for the branch and the model.
const MAX_RECORDS: u32 = 40;

impl Ends {
    pub(super) fn see_from_start(&mut self, line: &[u8]) {
        let is_wanted = !self.knows_start() || !self.has_reply;
        if !is_wanted && memchr::memmem::find(line, b"custom_title").is_none() {
            return;
        }
        let Some(record) = record(line) else { return };
        self.created_at = self.created_at.or_else(|| record.at());
        if self.first_cwd.is_none() {
            self.is_sidechain |= record.is_sidechain.0;
            self.first_cwd = record.cwd.filled().map(str::to_owned);
        }
        self.prompt = self.prompt.take().or_else(|| record.prompt());
        self.has_reply |= record.is_reply();
        self.is_managed |= record.subtype.get().is_some_and(|subtype| subtype.starts_with("managed_session_"));
        self.forked_from = self.forked_from.take().or_else(|| record.forked_from());
        self.parent = self.parent.take().or_else(|| record.parent());
        self.early_title = record.title().or(self.early_title.take());
    }

    pub(super) fn knows_start(&self) -> bool {
        self.first_cwd.is_some() && self.prompt.is_some() && self.created_at.is_some()
    }

    pub(super) fn see_from_end(&mut self, line: &[u8], is_ended: bool) {
        // Most sessions have no title, and only the title is searched for from here on.
        let is_title_wanted = self.knows_end() && self.records_from_end >= LAST_RECORDS;
        if is_title_wanted && memchr::memmem::find(line, b"custom_title").is_none() {
            return;
        }
        let Some(record) = record(line) else {
            self.is_torn |= !is_ended;
            return;
        };
        self.records_from_end += 1;
        self.newest = self.newest.max(record.at());
        self.last_cwd = self.last_cwd.take().or_else(|| record.cwd.filled().map(str::to_owned));
        self.branch = self.branch.take().or_else(|| record.git_branch.filled().map(str::to_owned));
        if record.kind.get() == Some("assistant") {
            self.model = self.model.take().or_else(|| record.model.filled().map(str::to_owned));
        }
        self.title = self.title.take().or_else(|| record.title());
    }

    pub(super) fn knows_end(&self) -> bool {
        let has_all = self.newest.is_some() && self.last_cwd.is_some();
        has_all && (self.records_from_end >= MAX_RECORDS || (self.branch.is_some() && self.model.is_some()))
    }

    pub(super) fn fill(self, copy: &mut Copy) {
        let is_empty = self.is_whole && self.prompt.is_none() && !self.has_reply;
        copy.mark_if(is_empty, Health::EmptySession);
        copy.kind = if copy.place.is_subagent || self.is_sidechain {
            SessionKind::Subagent
        } else if is_archived(&copy.place) {
            SessionKind::Archived
        } else if is_empty {
            SessionKind::Empty
        } else if self.forked_from.is_some() {
            SessionKind::Fork
        } else {
            SessionKind::Main
        };
        copy.parent_id = copy.parent_id.take().or(self.forked_from).or(self.parent);
        copy.mark_if(self.is_torn, Health::TornTranscript);
        if self.is_managed {
            copy.notes.push(
                "Qwen Code keeps the newer part of it in a log of its own, and rejoin does not read that".to_owned(),
            );
        }
        let from_transcript = |dir: String| Some(Fact::new(recorded::dir(&dir)?, "transcript"));
        copy.title = self.title.or(self.early_title).map(|title| Fact::new(title, "custom-title"));
        copy.first_prompt =
            self.prompt.filter(|prompt| !prompt.is_empty()).map(|prompt| Fact::new(prompt, "transcript"));
        copy.start_dir = self.first_cwd.and_then(from_transcript);
        copy.last_dir = self.last_cwd.and_then(from_transcript).or_else(|| copy.start_dir.clone());
        copy.created_at = self.created_at.map(|at| Fact::new(at, "transcript"));
        copy.active_at = self.newest.map(|at| Fact::new(at, "transcript"));
        copy.git_branch = self.branch.filter(|branch| branch != "HEAD").map(|branch| Fact::new(branch, "transcript"));
        copy.model = self.model.map(|model| Fact::new(model, "transcript"));
    }
}
