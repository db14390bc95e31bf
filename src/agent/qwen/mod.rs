//! Qwen Code: `~/.qwen/projects/<slug>/chats/<id>.jsonl`, archived ones in `chats/archive/`, sub-agents in
//! `subagents/<id of the session>/` of the project.
//!
//! Several directories share a slug, and the client looks for a session in the directory of its first record. Facts:
//! measured on Qwen Code 0.24.4 and 0.15.10; its sessionService.ts (011133cd), storage.ts (013e660f).

pub(super) mod records;

pub(super) mod about;
mod log;
mod relocation;

use std::collections::HashSet;

use super::lines::Lines;
use super::{LiveRecord, as_prompt_option, claude};
use crate::agent::ids::is_uuid;
use crate::agent::prelude::*;
use crate::agent::small_file;
use crate::agent::unknown_format::has_any;
use crate::format::json::number;
use crate::system::process::{self, StartTime};
use records::{QwenRegistration, Runtime, is_slug_of};

/// Maximum size in bytes of a registration, or of a file next to a transcript; these have a few hundred bytes.
const MAX_SMALL: u64 = 64 * 1024;
/// Subtypes of system records without conversation.
const SILENT: [&str; 6] = [
    "ui_telemetry",
    "attribution_snapshot",
    "file_history_snapshot",
    "custom_title",
    "slash_command",
    "parent_session",
];

/// Implements [`Agent`](super::Agent) for Qwen Code.
pub(super) struct Qwen;

impl Reading for Qwen {
    fn usual_stores(&self, env: &Env) -> Vec<Store> {
        let default = env.home.join(".qwen");
        let chosen = |name| env.agent_variable(name).map(|dir| env.absolute(Path::new(dir)));
        let (runtime, home) = (chosen("QWEN_RUNTIME_DIR"), chosen("QWEN_HOME"));
        let mut stores: Vec<Store> = Vec::new();
        let mut add = |root: &Path, set: Option<&'static str>, unset: &[&'static str]| {
            if stores.iter().all(|store| store.root != root) {
                let store = match set {
                    Some(variable) => Store::named(AgentKind::Qwen, root, variable, root),
                    None => Store::usual(AgentKind::Qwen, root),
                };
                stores.push(Store { is_default: stores.is_empty(), unset: unset.to_vec(), ..store });
            }
        };
        if let Some(runtime) = &runtime {
            add(runtime, Some("QWEN_RUNTIME_DIR"), &[]);
        }
        let base = home.as_deref().unwrap_or(&default);
        // The settings already select this directory, unless a variable selects another one.
        if let Some(set) = runtime_of_settings(base, env) {
            add(&set, Some("QWEN_RUNTIME_DIR"), &[]);
        }
        if let Some(home) = &home {
            add(home, Some("QWEN_HOME"), &["QWEN_RUNTIME_DIR"]);
        }
        add(&default, None, &["QWEN_RUNTIME_DIR", "QWEN_HOME"]);
        stores
    }

    fn engine(&self) -> &'static dyn Engine {
        &Lines(Self)
    }

    fn notes(&self, store: &Store, env: &Env) -> StoreNotes {
        let mut notes = StoreNotes::default();
        // Running clients are registered next to the settings, independent of the location of the conversations.
        let home = env.agent_variable("QWEN_HOME").map(|dir| env.absolute(Path::new(dir)));
        let mut roots = vec![store.root.clone(), home.unwrap_or_else(|| env.home.join(".qwen"))];
        roots.dedup();
        let boot = process::boot_id();
        for root in roots {
            let mut found = Found::default();
            found.each_json(&root.join("sessions"), MAX_SMALL, |_, bytes| {
                // A registration that a client is still writing is ignored.
                if let Ok(registration) = serde_json::from_slice::<QwenRegistration<'_>>(bytes) {
                    note_registration(&mut notes, &registration, boot.as_deref());
                }
            });
            notes.problems.append(&mut found.problems);
        }
        notes
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        has_any(record, &[("/type", &["system"])]) && has_any(record, &[("/subtype", &SILENT)])
    }
}

impl Resuming for Qwen {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        refuse_subagent(copy)?;
        if copy.kind == SessionKind::Archived {
            return Err("it is closed; unarchive it in Qwen Code first".into());
        }
        if copy.kind == SessionKind::Empty {
            return Err("it has neither a prompt nor a reply, so there is nothing to resume".into());
        }
        if !is_uuid(&copy.place.id) {
            // Any other text would be parsed as a title.
            return Err("its id is not a UUID".into());
        }
        Ok(Command::new(&["qwen", "--resume", &copy.place.id], as_prompt_option(prompt)))
    }
}

impl Housekeeping for Qwen {
    fn find_belongings(&self, place: &Located, listings: &Listings) -> Result<Belongings, Unable> {
        // All other files of one transcript begin with its name: the runtime, the ledger, the worktree.
        let siblings = listings.read_once(place.path.parent().unwrap_or(&place.path));
        let is_file = |path: &PathBuf| **path != *place.path && links::is_file(path);
        let own = own_files(place, siblings.entries_beginning_with(&format!("{}.", place.id)).filter(is_file));
        let (root, id) = (&place.store.root, &place.id);
        let mut shared = vec![
            root.join("file-history").join(id),
            root.join("debug").join(format!("{id}.txt")),
            root.join("todos").join(format!("{id}.json")),
        ];
        // Active and archived transcripts with one id have the same sub-agents.
        shared.extend(place.side_dir.clone());
        shared.retain(|path| !place.is_subagent && is_there(path));
        Ok(Belongings { shared, ..own })
    }
}

/// Finds the sessions in the projects of a store, with their sub-agents.
fn walk(store: &Arc<Store>) -> Found {
    Found::in_projects(&store.root.join("projects"), |dir, project, found| {
        let mut parents = HashSet::new();
        let subagents = dir.join("subagents");
        for folder in found.dirs(&subagents) {
            let parent = folder.file_name().and_then(|name| name.to_str()).filter(|name| is_session_id(name));
            let Some(parent) = parent.map(str::to_owned) else { continue };
            for (entry, kind) in found.entries(&folder) {
                let path = entry.path();
                let is_record = kind.is_file() && path.extension().is_some_and(|extension| extension == "jsonl");
                let stem = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_record);
                if let Some(stem) = stem.filter(|stem| stem.starts_with("agent-")).map(str::to_owned) {
                    let place = place(store, project, stem, path, None);
                    found.places.push(Located { parent_id: Some(parent.clone()), is_subagent: true, ..place });
                }
            }
            parents.insert(parent);
        }
        for chats in [dir.join("chats"), archive(dir)] {
            for (entry, kind) in found.entries(&chats) {
                let path = entry.path();
                let Ok(name) = entry.file_name().into_string() else { continue };
                let Some(id) = name.strip_suffix(".jsonl").filter(|id| is_session_id(id)) else { continue };
                if kind.is_file() {
                    let side_dir = parents.contains(id).then(|| subagents.join(id));
                    found.places.push(place(store, project, id.to_owned(), path, side_dir));
                } else {
                    found.problem(&path, "it is not a regular file");
                }
            }
        }
    })
}

/// Finds the places of a session by its id, without a walk of the store.
fn find_session(store: &Arc<Store>, id: &str) -> Found {
    Found::in_projects(&store.root.join("projects"), |dir, project, found| {
        for chats in [dir.join("chats"), archive(dir)] {
            let path = chats.join(format!("{id}.jsonl"));
            let is_real_dir = links::is_dir(&chats);
            if is_real_dir && links::is_file(&path) {
                let side_dir =
                    Some(dir.join("subagents").join(id)).filter(|side_dir| reach::is_dir(side_dir) == Some(true));
                found.places.push(place(store, project, id.to_owned(), path, side_dir));
            }
        }
    })
}

fn place(store: &Arc<Store>, project: &Arc<str>, id: String, path: PathBuf, side_dir: Option<PathBuf>) -> Located {
    Located { side_dir, ..Located::in_project(store, project, id, path) }
}

fn archive(project: &Path) -> PathBuf {
    project.join("chats").join("archive")
}

fn is_archived(place: &Located) -> bool {
    place.path.parent().and_then(Path::file_name).is_some_and(|name| name == "archive")
}

/// Returns whether a file's stem is a session id by the client's own rule.
fn is_session_id(text: &str) -> bool {
    (32..=36).contains(&text.len()) && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// Returns the directory of conversations in the settings.
fn runtime_of_settings(base: &Path, env: &Env) -> Option<PathBuf> {
    let settings = small_file::settings_without_comments(&base.join("settings.json"))?;
    let dir = text_in(member(serde_json::from_str(&settings).ok()?, "advanced"), "runtimeOutputDir");
    // A path relative to each project is not a single directory.
    Some(env.expand(Path::new(dir.filled()?))).filter(|dir| dir.is_absolute())
}

fn note_registration(notes: &mut StoreNotes, registration: &QwenRegistration<'_>, boot: Option<&str>) {
    let Some((id, pid)) = registration.session_id.filled().zip(number(registration.pid)) else { return };
    let start = registration.proc_start.get().and_then(|start| start.rsplit_once(':'));
    if start.zip(boot).is_some_and(|((then, _), now)| then != now) {
        // The machine was restarted after that.
        return;
    }
    if number::<u64>(registration.pid_ns).zip(process::pid_namespace()).is_some_and(|(theirs, ours)| theirs != ours) {
        let why = format!("process {pid} of another container registered itself, and rejoin cannot see it");
        notes.locked.insert(id.to_owned(), Liveness::Maybe { why });
        return;
    }
    let started = start.and_then(|(_, ticks)| StartTime::parse(ticks));
    notes.live.entry(id.to_owned()).or_default().push(LiveRecord { pid, started, state: None });
}

/// Returns the file with the last client that used a transcript.
fn runtime(place: &Located) -> Option<Vec<u8>> {
    fsio::read_if_present(&place.path.with_extension("runtime.json"), MAX_SMALL).ok().flatten()
}

/// Determines the liveness from the registrations or, in a store without them, from the file next to the transcript.
fn liveness(place: &Located, context: &ReadContext<'_>, runtime: Option<&Runtime<'_>>) -> Liveness {
    let registered = claude::liveness(context.notes.live.get(&place.id).map_or(&[], Vec::as_slice));
    if registered != Liveness::Idle {
        return registered;
    }
    if let Some(elsewhere) = context.notes.locked.get(&place.id) {
        return elsewhere.clone();
    }
    let Some(runtime) = runtime.filter(|_| reach::is_dir(&place.store.root.join("sessions")) == Some(false)) else {
        return Liveness::Idle;
    };
    // The file has no start time, so the id may belong to another process now.
    let is_here = runtime.hostname.get().is_none_or(|host| host == context.env.hostname);
    match number(runtime.pid).filter(|pid| is_here && process::exists(*pid)) {
        Some(pid) => Liveness::Maybe { why: format!("process {pid} used it last and may still be running") },
        None => Liveness::Idle,
    }
}

/// Adds the directories that a session records: the first one decides, the others help if the session is filed
/// elsewhere.
fn add_evidence(copy: &mut SessionCopy, runtime: Option<&Runtime<'_>>) {
    let start = copy.start_dir.as_ref().map(|fact| fact.value.clone());
    // Sessions in a worktree that the client created are filed under the repository (sessionService.ts).
    let repository = start.as_ref().and_then(|dir| dir.to_str()).and_then(|dir| {
        let (repository, _) = dir.rsplit_once("/.qwen/worktrees/")?;
        recorded::dir(repository)
    });
    let work_dir = runtime.and_then(|runtime| runtime.work_dir.filled()).and_then(recorded::dir);
    let last = copy.last_dir.as_ref().map(|fact| fact.value.clone());
    let sources = [
        (start, "transcript", "transcript"),
        (repository, "worktree", "the repository of the worktree"),
        (work_dir, "runtime", "runtime.json"),
        (last, "last-directory", "transcript"),
    ];
    for (dir, source, detail) in sources {
        let Some(dir) = dir.filter(|dir| copy.evidence.iter().all(|evidence| evidence.dir != *dir)) else { continue };
        let counts = counts(&copy.place, &dir);
        copy.evidence.push(Evidence { dir, source, detail: detail.into(), counts });
    }
}
