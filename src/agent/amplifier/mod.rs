//! Amplifier: `~/.amplifier/projects/<slug>/sessions/<id>/` with metadata.json, transcript.jsonl,
//! events.jsonl and session-info.json; each of these may be missing.
//!
//! Facts: microsoft/amplifier-app-cli f16375fc, amplifier-foundation d0d96f70, hooks-logging 20c9f06f,
//! ramparte/amplifier-distro 17dd3e00, and the real client 0.1.1.

pub(crate) mod records;
pub(crate) mod session_info;

pub(super) mod about;
mod reader;
mod relocation;
mod upkeep;

use std::collections::HashSet;
use std::path::Component;

use reader::AmplifierReader;

use super::as_last_argument;
use crate::agent::lines::{Ends, Lines, Log, Record as _};
use crate::agent::prelude::*;
use crate::format::json;
use crate::format::jsonl::each_message;
use crate::session::branches::BranchFilter;
use records::{EventLine, PointerRecord, TranscriptLine};

/// Maximum size of metadata.json, which contains the whole configuration of sub-agents.
const MAX_METADATA: u64 = 16 * 1024 * 1024;
/// The transcript, and its backup.
const TRANSCRIPTS: [&str; 2] = ["transcript.jsonl", "transcript.jsonl.backup"];
/// Length of the prefix of an id that the client prints.
const PRINTED_ID: usize = 8;

/// Implements [`Agent`](super::Agent) for Amplifier.
pub(super) struct Amplifier;

impl Reading for Amplifier {
    fn engine(&self) -> &'static dyn Engine {
        &Lines(Self)
    }

    fn notes(&self, store: &Store, env: &Env) -> StoreNotes {
        let mut notes = StoreNotes::default();
        for name in ["slack-sessions.json", "teams-sessions.json", "web-chat-sessions.json"] {
            let path = store.root.join("server").join(name);
            let Some(bytes) = read_or_report(&path, MAX_METADATA, &mut notes.problems) else { continue };
            let records = serde_json::from_slice::<Vec<PointerRecord>>(&bytes).unwrap_or_else(|error| {
                notes.problem(&path, error.to_string());
                Vec::new()
            });
            for record in records {
                let dir = record.working_dir.filter(|dir| !dir.is_empty());
                let Some((id, dir)) = record.session_id.zip(dir) else { continue };
                let dir = env.expand(Path::new(&dir)).into();
                let evidence = Evidence { dir, source: "pointer", detail: name.into(), counts: false };
                notes.dirs.entry(id).or_default().push(evidence);
            }
        }
        notes
    }

    fn observe(&self, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
        if let Some(path) = transcript_path(&copy.place.path) {
            observers.add_lines(&path, |line| Self::parse(line).map(|entry| entry.turn()))?;
        } else {
            let turn_of = |line: &[u8]| json::record::<EventLine<'_>>(line).and_then(|event| event.turn());
            observers.add_lines(&copy.place.path.join("events.jsonl"), |line| Some(turn_of(line)))?;
        }
        observers.finish(copy);
        Ok(())
    }

    fn transcript(&self, place: &Located) -> Option<PathBuf> {
        transcript_path(&place.path)
    }

    fn written(&self, place: &Located) -> Vec<PathBuf> {
        ["transcript.jsonl", "events.jsonl"].map(|name| place.path.join(name)).to_vec()
    }

    fn conversation_files(&self, place: &Located) -> Vec<PathBuf> {
        let written = self.written(place).into_iter();
        written.chain(["transcript.jsonl.backup"].map(|name| place.path.join(name))).collect()
    }

    fn messages_on(&self, copy: &SessionCopy, wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        if transcript_path(&copy.place.path).is_some() {
            return self.engine().messages_on(copy, wanted, see);
        }
        // This client logs every event twice.
        let mut seen = HashSet::new();
        each_message(&copy.place.path.join("events.jsonl"), see, |line| {
            let turn = json::record::<EventLine<'_>>(line)?.turn()?;
            seen.insert(turn.id).then_some(turn.messages)
        })
    }

    fn verbatim(&self, place: &Located) -> Option<PathBuf> {
        transcript_path(&place.path)
    }
}

impl Resuming for Amplifier {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        refuse_subagent(copy)?;
        if copy.place.project.is_none() {
            return Err("it is outside every project, where Amplifier does not look".into());
        }
        let id = &copy.place.id;
        if id.starts_with('-') || id.contains(['\\', '\n']) {
            return Err("its id could be taken for an option".into());
        }
        // Only `run` accepts a prompt; `session resume` is always interactive.
        let words =
            if prompt.is_some() { ["amplifier", "run", "--resume"] } else { ["amplifier", "session", "resume"] };
        Ok(Command::new(&[&words[..], &[id]].concat(), as_last_argument(prompt)))
    }
}

impl Housekeeping for Amplifier {}

impl Log for Amplifier {
    type Record<'a> = TranscriptLine<'a>;
    type Facts = ();

    const WINDOW: usize = 8 * 1024;
    /// Messages are in order.
    const LAST_RECORDS: u32 = 1;

    fn log(place: &Located) -> PathBuf {
        transcript_path(&place.path).unwrap_or_else(|| place.path.join(TRANSCRIPTS[0]))
    }

    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        // An id that is not a plain file name could be a path outside the directory of sessions.
        if only.is_some_and(|id| Path::new(id).components().ne([Component::Normal(id.as_ref())])) {
            return Found::default();
        }
        let folders = |found: &mut Found, dir: &Path| match only {
            Some(id) => Vec::from_iter(Some(dir.join(id)).filter(|path| links::is_dir(path))),
            None => found.dirs(dir),
        };
        let mut found = Found::in_projects(&store.root.join("projects"), |dir, project, found| {
            let (sessions, mut paths) = (dir.join("sessions"), folders(found, dir));
            if paths.contains(&sessions) || only.is_some() && links::is_dir(&sessions) {
                paths = folders(found, &sessions);
            } else {
                // Some readers accept sessions directly below the project (amplifier-distro, discovery).
                paths.retain(|path| is_session_dir(path));
            }
            paths.into_iter().for_each(|path| add(found, store, Some(project), path));
        });
        // The naming hook still searches the directory that was used before projects.
        let legacy = folders(&mut found, &store.root.join("sessions"));
        legacy.into_iter().for_each(|path| add(&mut found, store, None, path));
        found
    }

    fn parse(line: &[u8]) -> Option<TranscriptLine<'_>> {
        json::record(line)
    }

    fn finish(copy: &mut SessionCopy, _ends: &Ends, (): (), context: &ReadContext<'_>) -> Result<(), PathError> {
        AmplifierReader::open(copy, context)?.read()
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
        project: project.cloned(),
        // Top-level ids have no underscore (amplifier-app-cli, is_top_level_session); metadata may say otherwise.
        is_subagent: id.contains('_'),
        ..Located::new(store, id, path)
    });
}

fn is_session_dir(path: &Path) -> bool {
    ["metadata.json", "transcript.jsonl", "events.jsonl", "session-info.json"]
        .iter()
        .any(|name| reach::is_file(&path.join(name)))
}

/// Returns the transcript, or its backup if only that exists, like the client.
fn transcript_path(dir: &Path) -> Option<PathBuf> {
    TRANSCRIPTS.map(|name| dir.join(name)).into_iter().find(|path| links::is_file(path))
}

/// Returns whether a directory encodes to a project by one of the four rules that writers have used.
fn is_filed_under(project: &str, dir: &Path) -> bool {
    // The rule of the client and of hooks-logging; the servers of both distros replace only the slashes.
    let rule = |project: &str, text: &str| slug(text) == project || text.replace('/', "-") == project;
    // hooks-handoff of microsoft/amplifier-distro files under the last component alone.
    let is_last = !project.starts_with('-') && dir.file_name().is_some_and(|name| name == project);
    // The client resolves links first.
    dir.to_str().is_some() && (is_last || encodes(dir, |dir| recorded::encodes(project, dir, rule)))
}

/// Encodes a directory like `get_project_slug` (amplifier-app-cli); the encoding is not reversible.
fn slug(dir: &str) -> String {
    let slug: String =
        dir.chars().filter(|c| *c != ':').map(|c| if matches!(c, '/' | '\\') { '-' } else { c }).collect();
    if slug.starts_with('-') { slug } else { format!("-{slug}") }
}
