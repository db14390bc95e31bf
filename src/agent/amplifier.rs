//! Amplifier: `~/.amplifier/projects/<slug>/sessions/<id>/` with metadata.json, transcript.jsonl,
//! events.jsonl and session-info.json, any of which may be missing.
//!
//! Facts: microsoft/amplifier-app-cli f16375fc, amplifier-foundation d0d96f70, hooks-logging 20c9f06f,
//! ramparte/amplifier-distro 17dd3e00, and the real client 0.1.1.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{Agent, Command, Depth, Found, ReadContext, StoreNotes, as_last_argument};
use crate::env::Env;
use crate::error::PathError;
use crate::evidence;
use crate::format::amplifier::{Entry, Event, Metadata, PointerRecord};
use crate::format::jsonl::{Jsonl, each_line};
use crate::format::session_info;
use crate::fsio;
use crate::session::{
    AgentKind, Copy, Evidence, Fact, Health, Liveness, Located, Message, Problem, SessionKind, Store,
};

/// Sub-sessions keep their whole configuration in metadata.json, so it can be large.
const MAX_METADATA: u64 = 16 * 1024 * 1024;
/// A session with an event this recent may belong to a running agent: there is no lock to ask.
const MAYBE_LIVE: SignedDuration = SignedDuration::from_secs(120);

/// The agent.
pub(super) struct Amplifier;

impl Agent for Amplifier {
    fn kind(&self) -> AgentKind {
        AgentKind::Amplifier
    }

    fn stores(&self, env: &Env) -> Vec<Store> {
        // The client ignores AMPLIFIER_HOME for sessions: HOME alone decides.
        vec![Store { agent: self.kind(), root: env.home.join(".amplifier"), set: BTreeMap::new(), unset: Vec::new() }]
    }

    fn locate(&self, store: &Arc<Store>) -> Found {
        let mut found = Found::in_projects(&store.root.join("projects"), |dir, project, found| {
            let children = found.entries(dir);
            let has_sessions = children.iter().any(|(entry, kind)| kind.is_dir() && entry.file_name() == "sessions");
            if has_sessions {
                let sessions = found.entries(&dir.join("sessions"));
                let sessions = sessions.into_iter().filter(|(_, kind)| kind.is_dir()).map(|(entry, _)| entry.path());
                sessions.for_each(|path| add(found, store, Some(project), path));
            } else {
                // Some readers accept sessions right below the project (amplifier-distro, discovery).
                let sessions = children.into_iter().filter(|(_, kind)| kind.is_dir()).map(|(entry, _)| entry.path());
                sessions.filter(|path| is_session_dir(path)).for_each(|path| add(found, store, Some(project), path));
            }
        });
        // The naming hook still looks in the place that had no projects.
        let legacy = found.entries(&store.root.join("sessions"));
        for (entry, _) in legacy.into_iter().filter(|(_, kind)| kind.is_dir()) {
            add(&mut found, store, None, entry.path());
        }
        found
    }

    fn locate_id(&self, store: &Arc<Store>, id: &str) -> Found {
        // Whatever is no name of its own would lead out of the directory of sessions.
        if Path::new(id).components().ne([Component::Normal(id.as_ref())]) {
            return Found::default();
        }
        let is_dir = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        let mut found = Found::in_projects(&store.root.join("projects"), |dir, project, found| {
            let sessions = dir.join("sessions");
            let (path, direct) = (sessions.join(id), dir.join(id));
            if is_dir(&path) && is_dir(&sessions) {
                add(found, store, Some(project), path);
            } else if is_dir(&direct) && !is_dir(&sessions) && is_session_dir(&direct) {
                add(found, store, Some(project), direct);
            }
        });
        let legacy = store.root.join("sessions").join(id);
        if is_dir(&legacy) {
            add(&mut found, store, None, legacy);
        }
        found
    }

    fn notes(&self, store: &Store, env: &Env) -> StoreNotes {
        let mut notes = StoreNotes::default();
        for name in ["slack-sessions.json", "teams-sessions.json", "web-chat-sessions.json"] {
            let path = store.root.join("server").join(name);
            let records = match fsio::read_if_present(&path, MAX_METADATA) {
                Ok(None) => continue,
                Ok(Some(bytes)) => {
                    serde_json::from_slice::<Vec<PointerRecord>>(&bytes).map_err(|error| error.to_string())
                }
                Err(error) => Err(error.reason()),
            };
            match records {
                Ok(records) => {
                    for record in records {
                        let Some((id, dir)) = record.session_id.zip(record.working_dir.filter(|dir| !dir.is_empty()))
                        else {
                            continue;
                        };
                        let dir = env.expand(Path::new(&dir));
                        let evidence = Evidence { dir, source: "pointer", detail: name.to_owned(), counts: false };
                        notes.dirs.entry(id).or_default().push(evidence);
                    }
                }
                Err(reason) => notes.problems.push(Problem { path, reason }),
            }
        }
        notes
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<Copy, PathError> {
        let mut reader = Reader::open(place, context)?;
        reader.read_metadata();
        reader.read_transcript()?;
        reader.read_events()?;
        reader.read_session_info();
        Ok(reader.finish())
    }

    fn count(&self, copy: &mut Copy) -> Result<(), PathError> {
        let (mut prompts, mut replies, mut has_bad_lines) = (0, 0, false);
        if let Some(path) = transcript_path(&copy.place.path) {
            each_line(&path, &mut |line| {
                match line.and_then(|line| serde_json::from_slice::<Entry<'_>>(line).ok()) {
                    Some(entry) => {
                        prompts += u64::from(entry.prompt().is_some());
                        replies += u64::from(entry.is_reply());
                    }
                    None => has_bad_lines = true,
                }
                ControlFlow::Continue(())
            })?;
        } else {
            // This client logs every event twice, so equal ones count once.
            let mut seen = HashSet::new();
            each_line(&copy.place.path.join("events.jsonl"), &mut |line| {
                if let Some(event) = line.and_then(|line| serde_json::from_slice::<Event<'_>>(line).ok()) {
                    if let Some(prompt) = event.prompt() {
                        prompts += u64::from(seen.insert((event.stamp(), prompt)));
                    } else if let Some(reply) = event.reply() {
                        replies += u64::from(seen.insert((event.stamp(), reply)));
                    }
                }
                ControlFlow::Continue(())
            })?;
        }
        copy.prompts = Some(prompts);
        copy.replies = Some(replies);
        if has_bad_lines && !copy.health.contains(&Health::TornTranscript) {
            copy.health.insert(Health::BadLines);
        }
        Ok(())
    }

    fn transcript(&self, place: &Located) -> Option<PathBuf> {
        transcript_path(&place.path)
    }

    fn written(&self, place: &Located) -> Vec<PathBuf> {
        ["transcript.jsonl", "events.jsonl"].map(|name| place.path.join(name)).to_vec()
    }

    fn messages(&self, copy: &Copy, see: &mut dyn FnMut(Message) -> ControlFlow<()>) -> Result<(), PathError> {
        if let Some(path) = transcript_path(&copy.place.path) {
            return each_line(&path, &mut |line| {
                let entry = line.and_then(|line| serde_json::from_slice::<Entry<'_>>(line).ok());
                entry.into_iter().flat_map(|entry| entry.messages()).try_for_each(&mut *see)
            });
        }
        let mut seen = HashSet::new();
        each_line(&copy.place.path.join("events.jsonl"), &mut |line| {
            let event = line.and_then(|line| serde_json::from_slice::<Event<'_>>(line).ok());
            let Some((stamp, message)) = event.and_then(|event| Some((event.stamp(), event.message()?))) else {
                return ControlFlow::Continue(());
            };
            if seen.insert((stamp, message.text.clone())) { see(message) } else { ControlFlow::Continue(()) }
        })
    }

    fn is_filed_under(&self, project: &str, dir: &Path) -> bool {
        is_filed_under(project, dir)
    }

    fn decide_launch_dir(&self, copy: &mut Copy) {
        evidence::decide(copy, |evidence| evidence.source == "session-info");
    }

    fn command(&self, copy: &Copy, prompt: Option<&str>) -> Result<Command, String> {
        if copy.kind == SessionKind::Subagent {
            return Err("a sub-session is resumed through the session that made it".to_owned());
        }
        if copy.place.project.is_none() {
            return Err("it lies outside every project, where Amplifier does not look".to_owned());
        }
        let id = &copy.place.id;
        if id.starts_with('-') || id.contains(['\\', '\n']) {
            return Err("its id could be taken for an option".to_owned());
        }
        // Only `run` takes a prompt; `session resume` always opens a conversation.
        let words =
            if prompt.is_some() { ["amplifier", "run", "--resume"] } else { ["amplifier", "session", "resume"] };
        let argv = words.into_iter().chain([id.as_str()]).map(str::to_owned).collect();
        Ok(Command { argv, last: as_last_argument(prompt), unset: Vec::new(), then_type: None })
    }
}

fn add(found: &mut Found, store: &Arc<Store>, project: Option<&Arc<str>>, path: PathBuf) {
    let Some(id) = path.file_name().and_then(|name| name.to_str()).map(str::to_owned) else {
        return found.problem(&path, "its name is not UTF-8, so it cannot be an id");
    };
    if id.starts_with('.') {
        return;
    }
    found.places.push(Located {
        store: Arc::clone(store),
        project: project.cloned(),
        // Top-level ids have no underscore (amplifier-app-cli, is_top_level_session); metadata may say otherwise.
        is_subagent: id.contains('_'),
        id,
        path,
        side_dir: None,
        parent_id: None,
    });
}

fn is_session_dir(path: &Path) -> bool {
    ["metadata.json", "transcript.jsonl", "events.jsonl", "session-info.json"]
        .iter()
        .any(|name| path.join(name).is_file())
}

/// Returns the transcript, or its backup where only that is left, as the client does.
fn transcript_path(dir: &Path) -> Option<PathBuf> {
    ["transcript.jsonl", "transcript.jsonl.backup"].into_iter().map(|name| dir.join(name)).find(|path| path.is_file())
}

/// Tells whether a directory encodes to a project by one of the four rules that writers have used.
fn is_filed_under(project: &str, dir: &Path) -> bool {
    let Some(text) = dir.to_str() else { return false };
    let encodes = |text: &str| {
        // The client and hooks-logging; the servers of both distros replace the slashes only.
        slug(text) == project || text.replace('/', "-") == project
    };
    if encodes(text) {
        return true;
    }
    // hooks-handoff of microsoft/amplifier-distro files under the last component alone.
    if !project.starts_with('-') && dir.file_name().is_some_and(|name| name == project) {
        return true;
    }
    // The client resolves links first. Only a path that exists can be resolved.
    dir.canonicalize().is_ok_and(|resolved| resolved != dir && resolved.to_str().is_some_and(encodes))
}

/// Encodes a directory as `get_project_slug` does (amplifier-app-cli): it cannot be decoded again.
fn slug(dir: &str) -> String {
    let slug: String =
        dir.chars().filter(|c| *c != ':').map(|c| if matches!(c, '/' | '\\') { '-' } else { c }).collect();
    if slug.starts_with('-') { slug } else { format!("-{slug}") }
}

/// Collects what the files of one session directory say.
struct Reader<'a> {
    copy: Copy,
    context: &'a ReadContext<'a>,
    /// The regular files by name, with the sizes of those that were opened: a look at each file costs time.
    files: BTreeMap<String, Option<u64>>,
    created: Vec<Fact<Timestamp>>,
    is_empty: bool,
}

impl<'a> Reader<'a> {
    fn open(place: Located, context: &'a ReadContext<'a>) -> Result<Self, PathError> {
        let fail = |error| PathError::new("read", &place.path, error);
        let mut files = BTreeMap::new();
        let mut size_bytes = 0;
        for entry in std::fs::read_dir(&place.path).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let kind = entry.file_type().map_err(fail)?;
            if kind.is_dir() {
                size_bytes += super::tree_size(&entry.path());
            } else if kind.is_file() {
                match entry.file_name().into_string() {
                    Ok(name) => drop(files.insert(name, None)),
                    Err(_) => size_bytes += entry.metadata().map_or(0, |metadata| metadata.len()),
                }
            }
        }
        let mut copy = Copy::new(place);
        copy.size_bytes = size_bytes;
        Ok(Self { copy, context, files, created: Vec::new(), is_empty: true })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.copy.place.path.join(name)
    }

    fn counts(&self, dir: &Path) -> bool {
        self.copy.place.project.as_deref().is_some_and(|project| is_filed_under(project, dir))
    }

    fn add_evidence(&mut self, dir: &str, source: &'static str, detail: &str) {
        let dir = self.context.env.expand(Path::new(dir));
        let counts = self.counts(&dir);
        self.copy.evidence.push(Evidence { dir, source, detail: detail.to_owned(), counts });
    }

    fn read_metadata(&mut self) {
        for name in ["metadata.json", "metadata.json.backup"] {
            if !self.files.contains_key(name) {
                continue;
            }
            // What cannot be read of it is missed, but the conversation is there all the same.
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

    fn take_metadata(&mut self, metadata: &Metadata<'_>, name: &str) {
        let copy = &mut self.copy;
        copy.title = metadata.name.filled().map(|title| Fact::new(title.to_owned(), "metadata"));
        copy.model = metadata.model.filled().map(|model| Fact::new(model.to_owned(), "metadata"));
        copy.parent_id = metadata.parent_id.filled().map(str::to_owned);
        // parent_id marks both; only forks can be resumed by a person.
        if metadata.is_fork() {
            copy.kind = SessionKind::Fork;
        } else if metadata.agent_name.filled().is_some() {
            copy.kind = SessionKind::Subagent;
        }
        self.created.extend(metadata.created.instant().map(|at| Fact::new(at, "metadata")));
        if let Some(dir) = metadata.working_dir.filled() {
            // Every resume overwrites it, so it tells where the session last was.
            let expanded = self.context.env.expand(Path::new(dir));
            self.copy.last_dir = Some(Fact::new(expanded, "metadata"));
            self.add_evidence(dir, "metadata", name);
        }
    }

    fn read_transcript(&mut self) -> Result<(), PathError> {
        let names = ["transcript.jsonl", "transcript.jsonl.backup"];
        let Some(name) = names.into_iter().find(|name| self.files.contains_key(*name)) else { return Ok(()) };
        let path = self.path(name);
        let fail = |error| PathError::new("read", &path, error);
        let mut file = Jsonl::open(&path)?;
        self.note_size(name, file.len());
        self.copy.transcript_bytes = file.len();
        let (mut prompt, mut first_at, mut has_reply) = (None, None, false);
        let is_whole = file
            .from_start(|line| {
                if let Ok(entry) = serde_json::from_slice::<Entry<'_>>(line) {
                    first_at = first_at.or_else(|| entry.at());
                    has_reply |= entry.is_reply();
                    prompt = entry.prompt();
                }
                prompt.is_some()
            })
            .map_err(fail)?;
        self.is_empty = is_whole && prompt.is_none() && !has_reply;
        self.copy.first_prompt = prompt.map(|prompt| Fact::new(prompt, "transcript"));
        self.created.extend(first_at.map(|at| Fact::new(at, "transcript")));

        let (mut newest, mut is_torn, mut seen) = (None, false, 0);
        file.from_end(|line, is_ended| {
            match serde_json::from_slice::<Entry<'_>>(line) {
                Ok(entry) => newest = newest.max(entry.at()),
                Err(_) => is_torn |= !is_ended,
            }
            seen += 1;
            // Messages are in order, but a tool's answer may carry no time.
            newest.is_some() || seen >= 64
        })
        .map_err(fail)?;
        if is_torn {
            self.copy.health.insert(Health::TornTranscript);
        }
        self.note_activity(newest, "transcript");
        Ok(())
    }

    fn read_events(&mut self) -> Result<(), PathError> {
        if !self.files.contains_key("events.jsonl") {
            return Ok(());
        }
        let path = self.path("events.jsonl");
        let fail = |error| PathError::new("read", &path, error);
        let mut file = Jsonl::open(&path)?;
        self.note_size("events.jsonl", file.len());
        let modified = file.modified();
        let has_transcript = self.copy.transcript_bytes > 0;
        let wants_dir = self.context.depth == Depth::Thorough || !self.copy.evidence.iter().any(|found| found.counts);
        if !has_transcript || wants_dir {
            let (mut prompt, mut first_at, mut has_reply, mut dir) = (None, None, false, None);
            let is_whole = file
                .from_start(|line| {
                    if let Ok(event) = serde_json::from_slice::<Event<'_>>(line) {
                        first_at = first_at.or_else(|| event.at());
                        has_reply |= event.reply().is_some();
                        prompt = prompt.take().or_else(|| event.prompt());
                        dir = dir.take().or_else(|| event.working_dir());
                    }
                    prompt.is_some() && (dir.is_some() || !wants_dir)
                })
                .map_err(fail)?;
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
        file.from_end(|line, _| {
            let event = serde_json::from_slice::<Event<'_>>(line).ok();
            newest = event.as_ref().and_then(Event::at);
            has_ended = event.is_some_and(|event| event.is_end());
            newest.is_some()
        })
        .map_err(fail)?;
        self.note_activity(newest, "events");

        // The times inside are asked first: a copy or a backup has new file times.
        let last = newest.or(modified);
        let age = last.map(|last| self.context.env.now.duration_since(last));
        if let Some(age) = age.filter(|age| !age.is_negative() && *age < MAYBE_LIVE && !has_ended) {
            let why = format!("its last event was {} s ago, and none says that it ended", age.as_secs());
            self.copy.liveness = Liveness::Maybe { why };
        }
        Ok(())
    }

    fn read_session_info(&mut self) {
        let env = self.context.env;
        let name = session_info::FILE_NAME;
        let read = match self.copy.place.path.join(name) {
            path if self.files.contains_key(name) => fsio::read_if_present(&path, session_info::MAX_BYTES),
            // A link or a FIFO of that name is there, though it is none that can be read.
            path if path.symlink_metadata().is_ok() => fsio::read_bounded(&path, 0).map(Some),
            _ => Ok(None),
        };
        if let Ok(Some(bytes)) = &read {
            self.note_size(name, bytes.len() as u64);
        }
        let problem = match read {
            Ok(None) => {
                // Nobody writes one for a sub-session, which is resumed through its parent.
                if self.copy.kind != SessionKind::Subagent {
                    self.copy.health.insert(Health::SessionInfoMissing);
                }
                return;
            }
            Ok(Some(bytes)) => match session_info::parse(&bytes, |dir| env.expand(dir)) {
                Ok(info) => {
                    self.created.insert(0, Fact::new(info.created_at.unwrap_or(Timestamp::MAX), "session-info"));
                    let counts = self.counts(&info.working_dir);
                    if !counts {
                        self.copy.health.insert(Health::SessionInfoMismatch);
                    }
                    let detail = session_info::FILE_NAME.to_owned();
                    self.copy
                        .evidence
                        .insert(0, Evidence { dir: info.working_dir, source: "session-info", detail, counts });
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

    fn finish(mut self) -> Copy {
        let pointers = self.context.notes.dirs.get(&self.copy.place.id).cloned().unwrap_or_default();
        for mut evidence in pointers {
            evidence.counts = self.counts(&evidence.dir);
            self.copy.evidence.push(evidence);
        }
        if let Some(first) = self.copy.evidence.first().filter(|first| first.source == "session-info") {
            self.copy.start_dir = Some(Fact::new(first.dir.clone(), first.source));
        }
        Amplifier.decide_launch_dir(&mut self.copy);
        let mut copy = self.copy;
        if copy.last_dir.is_none() {
            copy.last_dir = copy.start_dir.clone();
        }
        // The client's `created` is the end of the first turn, so an earlier time is nearer the truth.
        copy.created_at =
            self.created.into_iter().filter(|fact| fact.value < Timestamp::MAX).min_by_key(|fact| fact.value);
        let has_time = copy.active_at.is_some();
        for (name, size) in &self.files {
            if let (Some(size), true) = (size, has_time) {
                copy.size_bytes += size;
                continue;
            }
            let Ok(metadata) = copy.place.path.join(name).symlink_metadata() else { continue };
            copy.size_bytes += metadata.len();
            let modified = metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
            if !has_time && modified > copy.active_at.as_ref().map(|at| at.value) {
                copy.active_at = modified.map(|at| Fact::new(at, "mtime"));
            }
        }
        if self.is_empty {
            if copy.kind != SessionKind::Subagent {
                copy.kind = SessionKind::Empty;
            }
            copy.health.insert(Health::EmptySession);
        }
        copy
    }
}
