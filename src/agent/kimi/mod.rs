//! Kimi CLI: `~/.kimi/sessions/<md5 of the directory>/<id>/` with wire.jsonl, context.jsonl and state.json; each of
//! these may be missing; `kimi.json` names the directory of a project.
//!
//! Kimi accepts an id that it does not find in its current directory: it starts a new session with that id, and empties
//! the context of one that it does not recognize. Facts: measured on 1.45.0; its session.py (02a40bfe). 1.52.0 resumes
//! nothing: it prints that it has no maintainers any more.

pub(super) mod records;

pub(super) mod about;
mod reader;
mod relocation;
mod resuming;

use std::path::Component;

use md5::{Digest as _, Md5};
use reader::{KimiFiles, is_file, listed_dirs, read_context, read_state};

use crate::agent::Depth;
use crate::agent::lines::{Ends, Lines, Log, Record as _};
use crate::agent::prelude::*;
use crate::agent::unknown_format::has_any;
use crate::format::json;
use crate::format::jsonl::each_message;
use crate::format::text;
use crate::session::branches::BranchFilter;
use records::{ContextRecord, Replies, WireRecord, WorkDir};
use resuming::imports_in_words;

/// Field values of record types that carry no messages.
const SILENT: [(&str, &[&str]); 3] = [
    ("/type", &["metadata"]),
    ("/role", &["_checkpoint", "_usage", "_system_prompt"]),
    ("/message/type", &["StatusUpdate", "StepBegin", "StepInterrupted", "StepRetry", "TurnEnd"]),
];

/// Implements [`Agent`](super::Agent) for Kimi CLI.
pub(super) struct Kimi;

impl Reading for Kimi {
    fn engine(&self) -> &'static dyn Engine {
        &Lines(Self)
    }

    fn notes(&self, store: &Store, _env: &Env) -> StoreNotes {
        let mut notes = StoreNotes::default();
        match listed_dirs(&store.root) {
            Ok(dirs) => {
                for WorkDir { path, kaos } in dirs {
                    let counts = kaos == "local";
                    let hash = hash(path.as_bytes());
                    let project = if counts { hash } else { format!("{kaos}_{hash}") };
                    let detail = "kimi.json".into();
                    let evidence = Evidence { dir: Path::new(&path).into(), source: "registry", detail, counts };
                    notes.dirs.entry(project).or_default().push(evidence);
                }
            }
            Err(problem) => notes.problems.push(problem),
        }
        notes
    }

    fn observe(&self, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
        let mut replies = Replies::default();
        observers.add_lines(&Self::log(&copy.place), |line| {
            let record = Self::parse(line)?;
            let event = record.event();
            replies.add_event(&event);
            // A reply may count only after further events.
            Some(record.turn_of(event).map(|turn| Turn { counts: turn.role == Role::User, ..turn }))
        })?;
        (0..replies.count()).for_each(|_| observers.count(false, true));
        if observers.prompts.is_empty() && observers.replies.is_empty() {
            KimiFiles::in_session_dir(&copy.place).find_context(|path| {
                observers
                    .add_lines(path, |line| json::record::<ContextRecord<'_>>(line).map(|record| record.turn()))?;
                Ok(!observers.prompts.is_empty() || !observers.replies.is_empty())
            })?;
        }
        observers.finish(copy);
        Ok(())
    }

    fn transcript(&self, place: &Located) -> Option<PathBuf> {
        // The context begins with a prompt that names the directory and is truncated when it grows too long; the log
        // only grows, and its times distinguish the conversations of two directories.
        [Self::log(place), KimiFiles::in_session_dir(place).context].into_iter().find(|path| is_file(path))
    }

    fn written(&self, place: &Located) -> Vec<PathBuf> {
        vec![Self::log(place), KimiFiles::in_session_dir(place).context]
    }

    fn resumed_files(&self, place: &Located) -> Vec<PathBuf> {
        // The model is sent the context; the log is only displayed.
        self.written(place).into_iter().filter(|path| is_file(path)).collect()
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        has_any(record, &SILENT) || records::is_command_record(record)
    }

    fn messages_on(&self, copy: &SessionCopy, wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        let mut has_any = false;
        self.engine().messages_on(copy, wanted, &mut |message| {
            has_any = true;
            see(message)
        })?;
        if has_any {
            return Ok(());
        }
        KimiFiles::in_session_dir(&copy.place).find_context(|path| {
            let see: &mut Visitor<'_> = &mut |message| {
                has_any = true;
                see(message)
            };
            each_message(path, see, |line| json::record::<ContextRecord<'_>>(line).map(|record| record.messages()))?;
            Ok(has_any)
        })
    }
}

impl Housekeeping for Kimi {
    fn find_belongings(&self, place: &Located, _listings: &Listings) -> Result<Belongings, Unable> {
        Ok(own_files(place, KimiFiles::in_session_dir(place).legacy.filter(|legacy| **legacy != *place.path)))
    }

    fn companions(&self, place: &Located) -> Vec<PathBuf> {
        // Kimi empties a session whose directory is not in this list.
        Some(place.store.root.join("kimi.json")).into_iter().filter(|path| is_there(path)).collect()
    }
}

impl Log for Kimi {
    type Record<'a> = WireRecord<'a>;
    type Facts = ();

    const SOURCE: &'static str = "wire";
    const WINDOW: usize = 8 * 1024;
    /// Events are in order.
    const LAST_RECORDS: u32 = 1;

    fn log(place: &Located) -> PathBuf {
        place.path.with_file_name(&place.id).join("wire.jsonl")
    }

    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        if let Some(id) = only {
            return locate_id(store, id);
        }
        Found::in_projects(&store.root.join("sessions"), |dir, project, found| {
            let entries = found.entries(dir);
            let is_dir = |name: &str| entries.iter().any(|(entry, kind)| kind.is_dir() && entry.file_name() == name);
            for (entry, kind) in &entries {
                let path = entry.path();
                let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                    found.problem(&path, "its name is not UTF-8, so it cannot be an id");
                    continue;
                };
                let id = match name.strip_suffix(".jsonl") {
                    _ if kind.is_dir() => name.as_str(),
                    // Older versions stored the context next to the directories; it is moved at its next use.
                    Some(stem) if kind.is_file() && !is_dir(stem) => stem,
                    _ => continue,
                };
                if !id.starts_with('.') && !id.is_empty() {
                    found.places.push(Located::in_project(store, project, id, path));
                }
            }
        })
    }

    fn parse(line: &[u8]) -> Option<WireRecord<'_>> {
        json::record(line)
    }

    fn finish(copy: &mut SessionCopy, ends: &Ends, (): (), context: &ReadContext<'_>) -> Result<(), PathError> {
        let files = KimiFiles::in_session_dir(&copy.place);
        // A path that is not a directory has size 0.
        copy.size_bytes = context.tree_size(Some(&copy.place.path))
            + files.legacy.as_ref().and_then(|path| path.metadata().ok()).map_or(0, |metadata| metadata.len());
        // A torn record after the end of a turn begins the next turn.
        let is_torn = copy.health.contains(Health::TornTranscript);
        let last = if is_torn { ends.newest.max(ends.modified) } else { ends.newest.filter(|_| !ends.is_ended) };
        copy.liveness = Liveness::Idle;
        let why = |age| format!("its last event was {age} ago, in the middle of a turn");
        copy.judge_by_age(last, context.env.clock.now, why);
        // The context decides the time and the emptiness, too.
        copy.active_at.take_if(|at| at.source == "mtime");
        copy.health.remove(Health::EmptySession);
        let has_prompt = copy.first_prompt.is_some();
        let project = copy.place.project.clone().unwrap_or_default();
        copy.evidence = context.notes.dirs.get(&*project).cloned().unwrap_or_default();
        let needs_dir = context.depth == Depth::Thorough || !copy.evidence.iter().any(|evidence| evidence.counts);
        if needs_dir || !has_prompt || copy.active_at.is_none() {
            let mut dir = None;
            files.find_context(|path| {
                dir = dir.take().or(read_context(copy, path, has_prompt)?);
                Ok(has_prompt || copy.first_prompt.is_some())
            })?;
            if let Some(dir) = dir.and_then(|dir| recorded::dir(&dir)).filter(|_| needs_dir) {
                let counts = counts(&copy.place, &dir);
                let detail = "context.jsonl".into();
                copy.evidence.push(Evidence { dir, source: "system-prompt", detail, counts });
            }
        }
        if copy.first_prompt.is_some() {
            copy.kind = SessionKind::Main;
        }
        read_state(copy, &files);
        if context.depth == Depth::Thorough {
            let imports = imports_in_words(copy, context.env);
            copy.notes.extend(imports);
        }
        Ok(())
    }
}

/// Finds the sessions with an id.
fn locate_id(store: &Arc<Store>, id: &str) -> Found {
    // An id that is not a plain file name could be a path outside the project.
    if id.starts_with('.') || Path::new(id).components().ne([Component::Normal(id.as_ref())]) {
        return Found::default();
    }
    Found::in_projects(&store.root.join("sessions"), |dir, project, found| {
        let (path, legacy) = (dir.join(id), dir.join(format!("{id}.jsonl")));
        if links::is_dir(&path) {
            found.places.push(Located::in_project(store, project, id, path));
        } else if is_file(&legacy) {
            found.places.push(Located::in_project(store, project, id, legacy));
        }
    })
}

/// Returns the project name of a directory: the MD5 of its path.
fn hash(path: &[u8]) -> String {
    text::hex(&Md5::digest(path))
}

/// Returns the access method of a project on another machine: `<method>_<md5>`; `None` for this machine.
fn remote_kaos(project: &str) -> Option<&str> {
    let (kaos, hash) = project.rsplit_once('_')?;
    (hash.len() == 32 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(kaos)
}
