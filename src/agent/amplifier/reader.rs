//! Reads the files of one session directory.

use std::collections::BTreeMap;

use super::upkeep::is_temporary;
use super::{MAX_METADATA, TRANSCRIPTS, is_filed_under};
use crate::agent::Depth;
use crate::agent::amplifier::records::{EventLine, Metadata};
use crate::agent::amplifier::session_info;
use crate::agent::lines::Record as _;
use crate::agent::prelude::*;
use crate::format::json;
use crate::format::jsonl::Jsonl;

/// Collects the facts in the files of one session directory.
pub(super) struct AmplifierReader<'a> {
    copy: &'a mut SessionCopy,
    context: &'a ReadContext<'a>,
    /// The regular files by name, with the sizes of those that were opened: reading the metadata of each file takes
    /// time.
    files: BTreeMap<String, Option<u64>>,
    created: Vec<Fact<Timestamp>>,
    is_empty: bool,
}

impl<'a> AmplifierReader<'a> {
    /// Lists the directory of a copy, whose transcript was read.
    pub(super) fn open(copy: &'a mut SessionCopy, context: &'a ReadContext<'a>) -> Result<Self, PathError> {
        let fail = |error| PathError::new("read", &copy.place.path, error);
        let mut files = BTreeMap::new();
        let mut size_bytes = 0;
        for entry in reach::read_dir(&copy.place.path).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let kind = entry.file_type().map_err(fail)?;
            if kind.is_dir() {
                size_bytes += context.tree_size(Some(&entry.path()));
            } else if kind.is_file() || (kind.is_symlink() && links::is_file(&entry.path())) {
                match entry.file_name().into_string() {
                    Ok(name) => drop(files.insert(name, None)),
                    Err(_) if context.sizes => size_bytes += entry.metadata().map_or(0, |metadata| metadata.len()),
                    Err(_) => {}
                }
            }
        }
        copy.size_bytes = size_bytes;
        // The events decide these facts, too.
        let is_empty = copy.is_empty();
        copy.health.remove(Health::EmptySession);
        copy.kind = if copy.kind == SessionKind::Empty { SessionKind::Main } else { copy.kind };
        copy.active_at.take_if(|at| at.source == "mtime");
        copy.liveness = Liveness::Idle;
        Ok(Self { copy, context, files, created: Vec::new(), is_empty })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.copy.place.path.join(name)
    }

    fn counts(&self, dir: &Path) -> bool {
        self.copy.place.project.as_deref().is_some_and(|project| is_filed_under(project, dir))
    }

    fn add_evidence(&mut self, dir: &str, source: &'static str, detail: &'static str) {
        let dir = self.context.env.expand(Path::new(dir));
        let counts = self.counts(&dir);
        self.copy.evidence.push(Evidence { dir: dir.into(), source, detail: detail.into(), counts });
    }

    /// Reads the other files.
    pub(super) fn read(mut self) -> Result<(), PathError> {
        self.read_metadata();
        self.created.extend(self.copy.created_at.take());
        if let Some(name) = TRANSCRIPTS.into_iter().find(|name| self.files.contains_key(*name)) {
            self.note_size(name, self.copy.transcript_bytes);
        }
        self.read_events()?;
        self.read_session_info();
        self.finish();
        Ok(())
    }

    fn read_metadata(&mut self) {
        for name in ["metadata.json", "metadata.json.backup"] {
            if !self.files.contains_key(name) {
                continue;
            }
            // If the file is unreadable, its facts are lost, but the conversation still exists.
            match fsio::read_bounded(&self.path(name), MAX_METADATA) {
                Ok(bytes) => {
                    self.note_size(name, bytes.len() as u64);
                    match serde_json::from_slice::<Metadata<'_>>(&bytes) {
                        Ok(metadata) => return self.take_metadata(&metadata, name),
                        Err(_) => self.copy.notes.push(format!("{name} cannot be read as JSON")),
                    }
                }
                Err(error) => self.copy.notes.push(format!("{name} cannot be read: {}", error.reason())),
            }
        }
    }

    fn take_metadata(&mut self, metadata: &Metadata<'_>, name: &'static str) {
        let copy = &mut *self.copy;
        copy.title = metadata.name.filled().map(|title| Fact::new(title.to_owned(), "metadata"));
        copy.model = metadata.model.filled().map(|model| Fact::new(model.to_owned(), "metadata"));
        copy.parent_id = metadata.parent_id.filled().map(str::to_owned);
        // parent_id marks both; only forks can be resumed by the user.
        if metadata.is_fork() {
            copy.kind = SessionKind::Fork;
        } else if metadata.agent_name.filled().is_some() {
            copy.kind = SessionKind::Subagent;
        }
        self.created.extend(metadata.created.instant().map(|at| Fact::new(at, "metadata")));
        if let Some(dir) = metadata.working_dir.filled() {
            // Every resume overwrites the directory, so it is the last one of the session.
            let expanded = self.context.env.expand(Path::new(dir));
            self.copy.last_dir = Some(Fact::new(expanded, "metadata"));
            self.add_evidence(dir, "metadata", name);
        }
    }

    fn read_events(&mut self) -> Result<(), PathError> {
        if !self.files.contains_key("events.jsonl") {
            return Ok(());
        }
        let path = self.path("events.jsonl");
        let mut file = Jsonl::open(&path)?;
        self.note_size("events.jsonl", file.len());
        let modified = file.modified();
        let has_transcript = self.copy.transcript_bytes > 0;
        let wants_dir = self.context.depth == Depth::Thorough || !self.copy.evidence.iter().any(|found| found.counts);
        if !has_transcript || wants_dir {
            let (mut prompt, mut first_at, mut has_reply, mut dir) = (None, None, false, None);
            let is_whole = file.lines_forward(&mut |line| {
                if let Some(event) = json::record::<EventLine<'_>>(line) {
                    let turn = event.turn();
                    first_at = first_at.or_else(|| event.time());
                    has_reply |= turn.as_ref().is_some_and(Turn::is_reply);
                    prompt = prompt.take().or_else(|| turn?.prompt().map(str::to_owned));
                    dir = dir.take().or_else(|| event.working_dir());
                }
                prompt.is_some() && (dir.is_some() || !wants_dir)
            })?;
            if !has_transcript {
                self.is_empty = is_whole && prompt.is_none() && !has_reply;
                self.copy.first_prompt = prompt.map(|prompt| Fact::new(prompt, "events"));
            }
            self.created.extend(first_at.map(|at| Fact::new(at, "events")));
            if let Some(dir) = dir {
                self.add_evidence(&dir, "events", "events.jsonl");
            }
        }
        let (mut newest, mut has_ended) = (None, false);
        file.lines_backward(&mut |line, _| {
            let event = json::record::<EventLine<'_>>(line);
            newest = event.as_ref().and_then(EventLine::time);
            has_ended = event.is_some_and(|event| event.is_end());
            newest.is_some()
        })?;
        self.note_activity(newest, "events");

        // Times in records have priority: a copy or a backup has new file times.
        let last = newest.or(modified).filter(|_| !has_ended);
        let why = |age| format!("its last event was {age} ago, and none says that it ended");
        self.copy.judge_by_age(last, self.context.env.clock.now, why);
        Ok(())
    }

    fn read_session_info(&mut self) {
        let env = self.context.env;
        let name = session_info::FILE_NAME;
        let read = match self.copy.place.path.join(name) {
            path if self.files.contains_key(name) => fsio::read_if_present(&path, session_info::MAX_BYTES),
            // The entry is not a file, or is a link that is not followed.
            path if path.symlink_metadata().is_ok() => fsio::read_bounded(&path, 0).map(Some),
            _ => Ok(None),
        };
        if let Ok(Some(bytes)) = &read {
            self.note_size(name, bytes.len() as u64);
        }
        let problem = match read {
            Ok(None) => {
                // Sub-agents have none, because they are resumed through their parent.
                self.copy.mark_if(self.copy.kind != SessionKind::Subagent, Health::SessionInfoMissing);
                return;
            }
            Ok(Some(bytes)) => match session_info::parse(&bytes, |dir| env.expand(dir)) {
                Ok(info) => {
                    self.created.insert(0, Fact::new(info.created_at.unwrap_or(Timestamp::MAX), "session-info"));
                    let counts = self.counts(&info.working_dir);
                    self.copy.mark_if(!counts, Health::SessionInfoMismatch);
                    let detail = session_info::FILE_NAME.into();
                    self.copy
                        .evidence
                        .insert(0, Evidence { dir: info.working_dir.into(), source: "session-info", detail, counts });
                    return;
                }
                Err(why) => why.to_string(),
            },
            Err(error) => error.reason(),
        };
        self.copy.health.insert(Health::SessionInfoInvalid);
        self.copy.notes.push(format!("session-info.json cannot be used: {problem}"));
    }

    fn note_size(&mut self, name: &str, bytes: u64) {
        if let Some(size) = self.files.get_mut(name) {
            *size = Some(bytes);
        }
    }

    fn note_activity(&mut self, at: Option<Timestamp>, source: &'static str) {
        let newest = self.copy.active_at.as_ref().map(|fact| fact.value);
        if let Some(at) = at.filter(|at| newest.is_none_or(|newest| *at > newest)) {
            self.copy.active_at = Some(Fact::new(at, source));
        }
    }

    fn finish(self) {
        let pointers = self.context.notes.dirs.get(&self.copy.place.id).cloned().unwrap_or_default();
        for mut evidence in pointers {
            evidence.counts = self.counts(&evidence.dir);
            self.copy.evidence.push(evidence);
        }
        if let Some(first) = self.copy.evidence.first().filter(|first| first.source == "session-info") {
            self.copy.start_dir = Some(Fact::new(first.dir.clone(), first.source));
        }
        decide_launch_dir(self.copy);
        let copy = self.copy;
        if copy.last_dir.is_none() {
            copy.last_dir = copy.start_dir.clone();
        }
        // The client's `created` is the end of the first turn, so an earlier time is more accurate.
        copy.created_at =
            self.created.into_iter().filter(|fact| fact.value < Timestamp::MAX).min_by_key(|fact| fact.value);
        let has_time = copy.active_at.is_some();
        let temporary = self.files.keys().filter(|name| is_temporary(name));
        copy.temporary = temporary.map(|name| copy.place.path.join(name)).collect();
        for (name, size) in &self.files {
            if let (Some(size), true) = (size, has_time) {
                copy.size_bytes += size;
                continue;
            }
            if has_time && !self.context.sizes {
                continue;
            }
            let Ok(metadata) = links::metadata(&copy.place.path.join(name)) else { continue };
            copy.size_bytes += metadata.len();
            let modified = metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
            if !has_time && modified > copy.active_at.as_ref().map(|at| at.value) {
                copy.active_at = modified.map(|at| Fact::new(at, "mtime"));
            }
        }
        if self.is_empty {
            copy.be_empty();
        }
    }
}
