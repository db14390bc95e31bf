//! What the two ends of a file tell, which is what a list needs.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use memchr::memmem;

use crate::agent::pi::records::{Record, id_of_file, is_session_id};
use crate::session::recorded;
use crate::session::{Copy, Evidence, Fact, Health, SessionKind};

/// How far from the end the name is searched for, and how much of the end is read at once.
pub(super) const TAIL: usize = 64 * 1024;
/// How many records near the end are read for the newest time.
const LAST_RECORDS: u32 = 6;

/// In what the programs that write these records differ.
pub(in crate::agent) struct Dialect {
    /// The program's name.
    pub name: &'static str,
    /// Whether a line with the title comes before the header.
    pub has_title_line: bool,
    /// What a file without a header means.
    pub headless: &'static str,
    /// Where a person finds the branches of a session that a resume does not go on with.
    pub branches: &'static str,
    /// Whether sessions of a directory are filed under a project.
    pub is_filed_under: fn(&str, &Path) -> bool,
}

/// What the two ends of a file tell.
pub(super) struct Ends {
    dialect: &'static Dialect,
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
    cwd: Option<Arc<Path>>,
    created_at: Option<Timestamp>,
    forked_from: Option<String>,
}

impl Ends {
    pub(super) fn new(dialect: &'static Dialect) -> Self {
        Self {
            dialect,
            is_whole: false,
            has_first_line: false,
            header: None,
            prompt: None,
            has_reply: false,
            newest: None,
            name: None,
            model: None,
            is_torn: false,
            records_from_end: 0,
            bytes_from_end: 0,
        }
    }

    pub(super) fn see_from_start(&mut self, line: &[u8]) -> bool {
        let is_first = !std::mem::replace(&mut self.has_first_line, true);
        let Some(record) = Record::parse(line) else { return false };
        if let Some(title) = record.title_line().filter(|_| is_first && self.dialect.has_title_line) {
            self.name = Some(title.to_owned());
            self.has_first_line = false;
            return false;
        }
        if is_first && record.is_header() {
            self.header = Some(Header {
                id: record.id.get().unwrap_or_default().to_owned(),
                cwd: record.cwd.filled().and_then(recorded::dir),
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
            _ if copy.place.is_subagent => SessionKind::Subagent,
            _ if is_empty => SessionKind::Empty,
            Some(_) => SessionKind::Fork,
            None => SessionKind::Main,
        };
        // The parent is a path or an id. The home may have moved since, so of a path only the file's name counts.
        let of_path = forked_from.and_then(|path| id_of_file(Path::new(path).file_name()?.to_str()?));
        let parent = of_path.or(forked_from.filter(|id| self.dialect.has_title_line && is_session_id(id)));
        copy.parent_id = parent.map(str::to_owned).or_else(|| copy.parent_id.take());
        match &self.header {
            None if self.has_first_line || self.is_whole => {
                copy.health.insert(Health::InvalidContent);
                copy.notes.push(self.dialect.headless.to_owned());
            }
            Some(header) if header.id != copy.place.id => {
                copy.health.insert(Health::InvalidContent);
                let name = self.dialect.name;
                copy.notes
                    .push(format!("its header says that its id is {}, and {name} knows it only by that id", header.id));
            }
            _ => {}
        }
        if let Some(header) = self.header {
            copy.created_at = header.created_at.map(|at| Fact::new(at, "header"));
            copy.start_dir = header.cwd.clone().map(|dir| Fact::new(dir, "header"));
            copy.last_dir = copy.start_dir.clone();
            if let Some(dir) = header.cwd {
                let project = copy.place.project.as_deref();
                let counts = project.is_none_or(|project| (self.dialect.is_filed_under)(project, &dir));
                copy.evidence.push(Evidence { dir, source: "header", detail: "its header".into(), counts });
            }
        }
        let source = if self.dialect.has_title_line { "title" } else { "session_info" };
        copy.title = self.name.filter(|name| !name.is_empty()).map(|name| Fact::new(name, source));
        copy.first_prompt =
            self.prompt.filter(|prompt| !prompt.is_empty()).map(|prompt| Fact::new(prompt, "transcript"));
        copy.model = self.model.map(|model| Fact::new(model, "transcript"));
        copy.active_at = self.newest.map(|at| Fact::new(at, "transcript")).or_else(|| copy.active_at.take());
        let name = self.dialect.name;
        let why = |age| format!("its last record was written {age} ago, and {name} keeps no lock");
        copy.judge_by_age(self.newest, now, why);
    }
}
