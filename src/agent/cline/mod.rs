//! Cline CLI: `<data>/sessions/<id>/` with `<id>.json` about the session and `<id>.messages.json`, its conversation;
//! sub-agents as `agent_….messages.json` in the folder of their parent.
//!
//! Tasks of the editor extension are in [`tasks`]. Facts: measured on 3.0.65. Its `sessions.db` repeats these facts and
//! is not read: a list is made from the folders.

pub(super) mod about;
mod records;
pub(in crate::agent) mod tasks;

use super::judge_by_age;
use crate::agent::document::{Document, Sum, set_title};
use crate::agent::ids::is_word;
use crate::agent::prelude::*;
use crate::agent::stores;
use crate::format::edit::Edit;
use crate::format::shell;
use crate::session::Comparison;
use crate::session::branches::BranchFilter;
use crate::system::process;
use records::{ClineMeta, LEAD, SUBAGENT};
use tasks::{CLINE, Tasks};

const MESSAGES: &str = ".messages.json";
/// Maximum size of the file, which also contains a prompt and the instructions for the program.
const MAX_META: u64 = 16 * 1024 * 1024;

/// Implements [`Agent`](super::Agent) for Cline CLI.
pub(super) struct Cline;

impl Reading for Cline {
    fn usual_stores(&self, env: &Env) -> Vec<Store> {
        stores::selected_stores(AgentKind::Cline, env).into_iter().chain(tasks::stores(&CLINE, env)).collect()
    }

    fn engine(&self) -> &'static dyn Engine {
        &ClineEngine
    }

    fn older_engine(&self, place: &Located) -> Option<&'static dyn Engine> {
        tasks::is_in(place).then_some(&Tasks(&CLINE))
    }

    fn notes(&self, store: &Store, _env: &Env) -> StoreNotes {
        tasks::notes(store)
    }

    fn recorded_usage(&self, copy: &SessionCopy) -> Result<Usage, PathError> {
        let cost = match () {
            // The session's total includes the cost of its sub-agents, whose files have no costs.
            () if copy.kind == SessionKind::Subagent => None,
            () => {
                let meta = fsio::read_if_present(&meta_path(&copy.place), MAX_META)?.unwrap_or_default();
                ClineMeta::parse(&meta).and_then(|meta| meta.cost())
            }
        };
        Ok(Usage::from_cost(cost))
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        // The file about the session always has a member for the first prompt, even if there was none.
        tasks::is_silent(record) || ClineMeta::parse(record).is_some_and(|meta| meta.names_prompt())
    }
}

impl Resuming for Cline {
    fn warning(&self, copy: &SessionCopy, _env: &Env) -> Option<String> {
        tasks::is_in(&copy.place).then(|| tasks::warning(&CLINE, copy))
    }

    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        if tasks::is_in(&copy.place) {
            return tasks::command(&CLINE, copy, prompt);
        }
        refuse_subagent(copy)?;
        refuse_prompt(
            prompt,
            "Cline CLI resumes in a terminal only and ignores a prompt there; resume it without --prompt, and type it",
        )?;
        Ok(Command::new(&["cline", "--id", &copy.place.id], Vec::new()))
    }

    fn check_start(&self, copy: &SessionCopy, _dir: &Path) -> Result<(), Unable> {
        if tasks::is_in(&copy.place) {
            return Ok(());
        }
        let meta_path = meta_path(&copy.place);
        let bytes = fsio::read_if_present(&meta_path, MAX_META).map_err(|error| error.reason())?;
        // For an unknown id, the program shows an error and stays open.
        let bytes = bytes.ok_or_else(|| format!("{} is gone", meta_path.display()))?;
        let meta =
            ClineMeta::parse(&bytes).ok_or_else(|| format!("{} is not what Cline CLI writes", meta_path.display()))?;
        let Some(named) = meta.messages_path.filled().map(Path::new) else { return Ok(()) };
        let own = messages_path(&copy.place);
        if named == own
            || reach::canonicalize(named).is_ok_and(|named| reach::canonicalize(&own).is_ok_and(|own| own == named))
        {
            return Ok(());
        }
        Err(format!(
            "Cline CLI takes its conversation from {}, not from {}; change messages_path in {} and in its row of sessions.db",
            named.display(),
            own.display(),
            meta_path.display()
        )
        .into())
    }
}

impl Moving for Cline {
    fn retitle(&self, copy: &SessionCopy, title: &str) -> Result<Vec<(PathBuf, Edit)>, Unable> {
        if tasks::is_in(&copy.place) {
            return Err("a task of Cline's extension has no title but its first prompt".into());
        }
        Err(format!(
            "its agent does that: `cline history update --session-id {} --title {}`",
            shell::word(&copy.place.id),
            shell::word(title)
        )
        .into())
    }
}

impl Housekeeping for Cline {}

/// The engine for the sessions of the program.
struct ClineEngine;

impl Engine for ClineEngine {
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        let mut found = Tasks(&CLINE).locate(store, only);
        if let Some(id) = only {
            found.extend(locate_id(store, id));
            return found;
        }
        for (entry, kind) in found.entries(&store.root.join("sessions")) {
            let name = entry.file_name();
            if let Some(id) = name.to_str().filter(|name| kind.is_dir() && is_word(name)) {
                in_folder(store, id, &entry.path(), &mut found);
            }
        }
        found
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        let mut copy = SessionCopy::new(place);
        let path = meta_path(&copy.place);
        let bytes = read_or_note(&mut copy, &path, MAX_META, path.display()).unwrap_or_default();
        let meta = ClineMeta::parse(&bytes);
        // The two files are written one after the other, so a missing one was removed.
        copy.mark_if(meta.is_none(), Health::InvalidContent);
        let meta = meta.unwrap_or_default();
        let sum = unless_gone(document(&copy.place).glance(&messages_path(&copy.place)))?;
        copy.size_bytes = if copy.place.is_subagent { sum.bytes } else { context.tree_size(Some(&copy.place.path)) };
        fill(&mut copy, &meta);
        sum.fill(&mut copy);
        let updated = sum.text("updated_at").instant().max(sum.newest);
        copy.active_at = updated.or_else(|| meta.started_at()).map(|at| Fact::new(at, "transcript"));
        copy.set_active_by_file(sum.modified);
        copy.liveness = liveness(&meta);
        judge_by_age(&mut copy, updated.max(sum.modified), context.env.clock.now);
        decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn observe(&self, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
        if !observers.counts {
            return Ok(());
        }
        let mut sum = unless_gone(document(&copy.place).whole(&messages_path(&copy.place), &mut |_| ()))?;
        // A prompt was typed, although only the other file contains it.
        let is_only_announced = sum.prompts + sum.replies == 0 && copy.first_prompt.is_some();
        sum.prompts += u64::from(is_only_announced);
        sum.fill_counts(copy);
        Ok(())
    }

    fn messages_on(&self, copy: &SessionCopy, _wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        let mut has_any = false;
        document(&copy.place).messages(&messages_path(&copy.place), &mut |message| {
            has_any = true;
            see(message)
        })?;
        if let (false, Some(prompt)) = (has_any, &copy.first_prompt) {
            let at = copy.created_at.as_ref().map(|at| at.value);
            // This is the only message, so a break needs no handling.
            let _ = see(Message::new(Role::User, prompt.value.to_string(), at));
        }
        Ok(())
    }

    fn written(&self, place: &Located) -> Vec<PathBuf> {
        vec![messages_path(place), meta_path(place)]
    }

    fn compare(&self, a: &SessionCopy, b: &SessionCopy) -> Option<Comparison> {
        document(&a.place).compare(&messages_path(&a.place), &messages_path(&b.place))
    }
}

/// Finds the session with an id.
fn locate_id(store: &Arc<Store>, id: &str) -> Found {
    let mut found = Found::default();
    // A sub-agent's id begins with the id of its parent.
    let parent = id.split_once("__").map_or(id, |(parent, _)| parent);
    for folder in [id, parent].into_iter().filter(|id| is_word(id)) {
        let path = store.root.join("sessions").join(folder);
        if links::is_dir(&path) {
            in_folder(store, folder, &path, &mut found);
        }
    }
    found.places.retain(|place| place.id == id);
    found.places.dedup_by(|a, b| a.path == b.path);
    found
}

/// Fills in a copy from the first file.
fn fill(copy: &mut SessionCopy, meta: &ClineMeta<'_>) {
    let of_session = |text: String| Fact::<Arc<str>>::new(text, "session");
    if !copy.place.is_subagent {
        if let Some(id) = meta.session_id.filled().filter(|id| *id != copy.place.id) {
            copy.health.insert(Health::InvalidContent);
            copy.notes.push(format!("its file says that its id is {id}"));
        }
        copy.first_prompt = meta.prompt().map(of_session);
        // Unless the user renames it, the title is the first line of the prompt.
        set_title(copy, meta.text_member("title").as_deref());
        copy.created_at = meta.started_at().map(|at| Fact::new(at, "session"));
        copy.git_branch = meta.branch().map(of_session);
        copy.model = meta.model.filled().map(str::to_owned).map(of_session);
    }
    if let Some(dir) = meta.cwd.filled().and_then(recorded::dir) {
        copy.start_dir = Some(Fact::new(dir.clone(), "session"));
        let detail = "cwd of its file".into();
        copy.evidence.push(Evidence { dir, source: "session", detail, counts: true });
    }
}

/// Determines the liveness from the status and the process. A hub runs all open sessions, so its existence proves
/// nothing about a single one.
fn liveness(meta: &ClineMeta<'_>) -> Liveness {
    let status = meta.status.get().filter(|status| matches!(*status, "running" | "idle"));
    match (status, meta.pid()) {
        (Some(status), Some(pid)) if process::exists(pid) => Liveness::Maybe {
            why: format!("its status is {status}, and process {pid} is there, which Cline CLI noted for it"),
        },
        (Some(status), None) => {
            Liveness::Maybe { why: format!("its status is {status}, and Cline CLI noted no process for it") }
        }
        _ => Liveness::Idle,
    }
}

/// Finds a session in its folder, and its sub-agents.
fn in_folder(store: &Arc<Store>, id: &str, folder: &Path, found: &mut Found) {
    let mut is_session = false;
    for (entry, kind) in found.entries(folder) {
        let (name, path) = (entry.file_name(), entry.path());
        let Some(name) = name.to_str() else { continue };
        let stem = name.strip_suffix(MESSAGES);
        if stem == Some(id) || name.strip_suffix(".json") == Some(id) {
            is_session = true;
        } else if let Some(agent) = stem.filter(|stem| kind.is_file() && stem.starts_with("agent_")) {
            let place = Located::new(store, format!("{id}__{agent}"), path);
            found.places.push(Located { parent_id: Some(id.to_owned()), is_subagent: true, ..place });
        }
    }
    if is_session {
        found.places.push(Located::new(store, id, folder));
    }
}

/// Treats a missing conversation as an empty, damaged one, so that the facts in the other file are still listed.
fn unless_gone(sum: Result<Sum, PathError>) -> Result<Sum, PathError> {
    match sum {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Sum::gone()),
        sum => sum,
    }
}

fn document(place: &Located) -> &'static Document {
    if place.is_subagent { &SUBAGENT } else { &LEAD }
}

fn messages_path(place: &Located) -> PathBuf {
    if place.is_subagent { place.path.to_path_buf() } else { place.path.join(format!("{}{MESSAGES}", place.id)) }
}

/// Returns the file about a session; a sub-agent has only the file of its parent.
fn meta_path(place: &Located) -> PathBuf {
    match (place.path.parent(), &place.parent_id) {
        (Some(folder), Some(parent)) if place.is_subagent => folder.join(format!("{parent}.json")),
        _ => place.path.join(format!("{}.json", place.id)),
    }
}
