//! What the two ends of a file tell, which is what a list needs.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use memchr::memmem;

use super::Pi;
use crate::agent::Agent as _;
use crate::agent::pi::records::{Record, id_of_file};
use crate::session::{Copy, Evidence, Fact, Health, SessionKind};

/// How far from the end the name is searched for, and how much of the end is read at once.
pub(super) const TAIL: usize = 64 * 1024;
/// How many records near the end are read for the newest time.
const LAST_RECORDS: u32 = 6;

/// What the two ends of a file tell.
#[derive(Default)]
pub(super) struct Ends {
    pub(super) is_whole: bool,
    has_first_line: bool,
    header: Option<Header>,
    prompt: Option<String>,
    has_reply: bool,
    newest: Option<Timestamp>,
    /// The last name, empty when it was taken away.
    name: Option<String>,
    model: Option<String>,
    is_torn: bool,
    records_from_end: u32,
    bytes_from_end: usize,
}

struct Header {
    id: String,
    cwd: Option<PathBuf>,
    created_at: Option<Timestamp>,
    forked_from: Option<String>,
}

impl Ends {
    pub(super) fn see_from_start(&mut self, line: &[u8]) -> bool {
        let is_first = !std::mem::replace(&mut self.has_first_line, true);
        let Some(record) = Record::parse(line) else { return false };
        if is_first && record.is_header() {
            self.header = Some(Header {
                id: record.id.get().unwrap_or_default().to_owned(),
                // What is no absolute path would mean another directory to every caller.
                cwd: record.cwd.filled().map(PathBuf::from).filter(|cwd| cwd.is_absolute()),
                created_at: record.at(),
                forked_from: record.parent_session.filled().map(str::to_owned),
            });
        }
        self.prompt = self.prompt.take().or_else(|| record.prompt());
        self.has_reply |= record.is_reply();
        self.prompt.is_some()
    }

    pub(super) fn see_from_end(&mut self, line: &[u8], is_ended: bool) -> bool {
        self.bytes_from_end += line.len();
        let has_rest = self.newest.is_some() && self.records_from_end >= LAST_RECORDS;
        // Most sessions have no name, and only the name is searched for from here on.
        if has_rest && self.model.is_some() && memmem::find(line, b"session_info").is_none() {
            return self.bytes_from_end >= TAIL || self.name.is_some();
        }
        match Record::parse(line) {
            Some(record) => {
                self.records_from_end += 1;
                self.newest = self.newest.max(record.at());
                self.name = self.name.take().or_else(|| record.session_name().map(str::to_owned));
                self.model = self.model.take().or_else(|| record.model());
            }
            None => self.is_torn |= !is_ended,
        }
        let has_rest = self.newest.is_some() && self.records_from_end >= LAST_RECORDS;
        has_rest && (self.bytes_from_end >= TAIL || (self.name.is_some() && self.model.is_some()))
    }

    pub(super) fn fill(self, copy: &mut Copy, now: Timestamp) {
        let is_empty = self.is_whole && self.prompt.is_none() && !self.has_reply;
        copy.mark_if(is_empty, Health::EmptySession);
        copy.mark_if(self.is_torn, Health::TornTranscript);
        let forked_from = self.header.as_ref().and_then(|header| header.forked_from.as_deref());
        copy.kind = match forked_from {
            _ if is_empty => SessionKind::Empty,
            Some(_) => SessionKind::Fork,
            None => SessionKind::Main,
        };
        // The parent is a path. The home may have moved since, so only the file's name counts.
        let parent = forked_from.and_then(|path| Path::new(path).file_name()?.to_str());
        copy.parent_id = parent.and_then(id_of_file).map(str::to_owned);
        match &self.header {
            None if self.has_first_line || self.is_whole => {
                copy.health.insert(Health::InvalidContent);
                copy.notes.push("its first line is not a session header, so Pi would start the file over".to_owned());
            }
            Some(header) if header.id != copy.place.id => {
                copy.health.insert(Health::InvalidContent);
                copy.notes
                    .push(format!("its header says that its id is {}, and Pi knows it only by that id", header.id));
            }
            _ => {}
        }
        if let Some(header) = self.header {
            copy.created_at = header.created_at.map(|at| Fact::new(at, "header"));
            copy.start_dir = header.cwd.clone().map(|dir| Fact::new(dir, "header"));
            copy.last_dir = copy.start_dir.clone();
            if let Some(dir) = header.cwd {
                let project = copy.place.project.as_deref();
                let counts = project.is_none_or(|project| Pi.is_filed_under(project, &dir));
                copy.evidence.push(Evidence { dir, source: "header", detail: "its header".to_owned(), counts });
            }
        }
        copy.title = self.name.filter(|name| !name.is_empty()).map(|name| Fact::new(name, "session_info"));
        copy.first_prompt =
            self.prompt.filter(|prompt| !prompt.is_empty()).map(|prompt| Fact::new(prompt, "transcript"));
        copy.model = self.model.map(|model| Fact::new(model, "transcript"));
        copy.active_at = self.newest.map(|at| Fact::new(at, "transcript")).or_else(|| copy.active_at.take());
        let why = |age| format!("its last record was written {age} s ago, and Pi keeps no lock");
        copy.judge_by_age(self.newest, now, why);
    }
}
