//! Vibe: `~/.vibe/logs/session/unified/<id>/` with generations, chunks and a journal, and the older directories
//! `~/.vibe/logs/session/<prefix>_<time>_<8 characters of the id>/` with meta.json and messages.jsonl.
//!
//! Facts: measured on 3.0.2; mistralai/mistral-vibe session_logger.py (025ba238), session_lease.py (503a4dcb).

pub(super) mod records;

pub(super) mod about;
mod journal;
mod old;
mod relocation;
mod unified;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;

use super::lines::Lines;
use crate::agent::ids::is_word_with;
use crate::agent::prelude::*;
use crate::agent::unknown_format::has_any;
use crate::agent::{locks, stores};
use crate::format::compare::{compare, compare_lists};
use crate::format::content::is_beginning_of;
use crate::format::json::record;
use crate::format::jsonl::is_shortened;
use crate::session::{Comparison, KeptBy};
use old::OldVibeLog;
use records::{VibeMeta, id_in_head, save_dir};
use unified::Unified;

/// Maximum size of the `meta.json` of an older directory, which contains the system prompt and every tool.
const MAX_META: u64 = 16 * 1024 * 1024;
/// Number of bytes of a `meta.json` that are searched for the id, which is the first member.
const ID_WINDOW: u64 = 4 * 1024;
/// Length of the prefix of an id that the client prints, and that the names of older directories contain.
const PRINTED_ID: usize = 8;
const MAX_CONFIG: u64 = 1024 * 1024;
const MAX_LEASE: u64 = 64 * 1024;

/// Implements [`Agent`](super::Agent) for Vibe.
pub(super) struct Vibe;

impl Reading for Vibe {
    fn usual_stores(&self, env: &Env) -> Vec<Store> {
        let mut stores = stores::selected_stores(AgentKind::Vibe, env);
        for Store { root: home, .. } in &mut stores {
            // Vibe's own settings may select another directory.
            let config = fsio::read_if_present(&home.join("config.toml"), MAX_CONFIG).ok().flatten();
            let dir = config.and_then(|bytes| save_dir(&String::from_utf8_lossy(&bytes)));
            *home = dir.map_or_else(|| home.join("logs/session"), |dir| env.absolute(Path::new(&dir)));
        }
        // Both may select the same directory.
        stores.dedup_by(|usual, chosen| usual.root == chosen.root);
        stores
    }

    fn notes(&self, store: &Store, _env: &Env) -> StoreNotes {
        let mut notes = StoreNotes::default();
        locks::add_held(&store.root.join("active"), is_id, noted, &mut notes);
        notes
    }

    fn engine(&self) -> &'static dyn Engine {
        &Unified
    }

    fn older_engine(&self, place: &Located) -> Option<&'static dyn Engine> {
        (!is_unified(place)).then_some(&Lines(OldVibeLog))
    }

    fn compare(&self, a: &SessionCopy, b: &SessionCopy) -> Option<Comparison> {
        // The two stores have different formats for the same conversation, so the texts are compared.
        let words = |copy: &SessionCopy| {
            let (mut words, mut is_whole) = (Vec::new(), true);
            let read = self.messages(copy, &mut |message| {
                is_whole &= !is_shortened(&message);
                let mut hasher = DefaultHasher::new();
                (message.role.name(), message.text).hash(&mut hasher);
                words.push(hasher.finish());
                ControlFlow::Continue(())
            });
            read.ok().filter(|()| is_whole).map(|()| words)
        };
        match [words(a), words(b)] {
            [Some(ours), Some(theirs)] => Some(compare_lists(&ours, &theirs)),
            _ => compare(&self.transcript(&a.place)?, &self.transcript(&b.place)?).ok(),
        }
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        has_any(record, &[("/type", &["action_result", "receipt_succeeded"]), ("/role", &["system"])])
            || unified::is_injected_turn(record)
    }

    fn conversation_files(&self, place: &Located) -> Vec<PathBuf> {
        if is_unified(place) { unified::conversation_files(place) } else { self.written(place) }
    }
}

impl Resuming for Vibe {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        refuse_subagent(copy)?;
        if !is_id(&copy.place.id) {
            return Err("its id is not one that Vibe creates".into());
        }
        // Vibe would accept a prefix of the id, but that may be ambiguous.
        Ok(Command::new(&["vibe", "--resume", &copy.place.id], super::as_prompt_option(prompt)))
    }
}

impl Housekeeping for Vibe {
    fn find_belongings(&self, place: &Located, _listings: &Listings) -> Result<Belongings, Unable> {
        let mut shared: Vec<PathBuf> = lease_paths(place).into();
        shared.retain(|path| is_there(path));
        Ok(Belongings { shared, ..own_files(place, []) })
    }
}

/// Finds the sessions of both stores.
fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
    let mut found = Found::default();
    if only.is_some_and(|id| !is_id(id)) {
        return found;
    }
    let unified = store.root.join("unified");
    if links::is_dir(&unified) {
        found.add_folders(store, &unified, None, only, &is_id);
    }
    for (entry, kind) in found.entries(&store.root) {
        let name = entry.file_name();
        let beginning = name.to_str().and_then(beginning_in_name).filter(|_| kind.is_dir());
        if beginning.is_some_and(|beginning| only.is_none_or(|id| id.starts_with(beginning))) {
            add_old(&mut found, store, entry.path());
        }
    }
    found.places.retain(|place| only.is_none_or(|id| place.id == id));
    found
}

/// Returns whether a name can be an id, by the rule of Vibe's own lock.
fn is_id(name: &str) -> bool {
    is_word_with(name, b"-_")
}

/// Returns the prefix of the id in the name of an older directory: `<prefix>_<date>_<time>_<8 characters>`.
fn beginning_in_name(name: &str) -> Option<&str> {
    let mut parts = name.rsplitn(4, '_');
    let beginning = parts.next().filter(|part| part.len() == PRINTED_ID && is_id(part))?;
    let is_digits = |part: &str, count| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_time = parts.next().is_some_and(|part| is_digits(part, 6));
    let is_date = parts.next().is_some_and(|part| is_digits(part, 8));
    (is_time && is_date && parts.next().is_some()).then_some(beginning)
}

/// Adds an older directory, whose name contains only a prefix of the id.
fn add_old(found: &mut Found, store: &Arc<Store>, path: PathBuf) {
    let meta = path.join("meta.json");
    let read = fsio::open_regular(&meta).and_then(|(file, _)| {
        let mut head = Vec::new();
        file.take(ID_WINDOW).read_to_end(&mut head).map_err(|error| PathError::new("read", &meta, error))?;
        if let Some(id) = id_in_head(&head) {
            return Ok(Some(id));
        }
        let bytes = fsio::read_bounded(&meta, MAX_META)?;
        let meta: VibeMeta<'_> = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(meta.session_id.get().map(str::to_owned))
    });
    match read.map(|id| id.filter(|id| is_id(id))) {
        Ok(Some(id)) => found.places.push(Located::new(store, id, path)),
        Ok(None) => found.problem(&meta, "it does not contain the session's id"),
        Err(error) => found.problem(&meta, error.reason()),
    }
}

fn is_unified(place: &Located) -> bool {
    place.path.parent() == Some(&place.store.root.join("unified"))
}

/// Completes a copy with facts that do not depend on the store.
fn complete(copy: &mut SessionCopy, context: &ReadContext<'_>) {
    let prompt = copy.first_prompt.as_ref().map_or("", |prompt| &*prompt.value);
    copy.title = copy.title.take().filter(|title| !is_beginning_of(&title.value, prompt));
    copy.mark_if(copy.kind == SessionKind::Empty, Health::EmptySession);
    copy.liveness = context.notes.locked.get(&copy.place.id).cloned().unwrap_or_default();
}

/// Reads `meta.json`, which both stores have. Returns whether it was readable.
fn read_meta(copy: &mut SessionCopy, env: &Env) -> bool {
    let path = copy.place.path.join("meta.json");
    let Some(bytes) = read_or_note(copy, &path, MAX_META, "meta.json") else { return false };
    let Ok(meta) = serde_json::from_slice::<VibeMeta<'_>>(&bytes) else {
        copy.notes.push("meta.json cannot be read as JSON".to_owned());
        return false;
    };
    let fact = |text: &Text<'_>| text.filled().map(|text| Fact::<Arc<str>>::new(text, "meta"));
    copy.title = fact(&meta.title);
    copy.git_branch = fact(&meta.git_branch).filter(|branch| *branch.value != *"HEAD");
    let [model, active] = texts_in(meta.config, ["model_name", "active_model"]);
    copy.model = fact(&model).or_else(|| fact(&active));
    copy.parent_id = meta.parent_session_id.filled().map(str::to_owned);
    let is_pinned = meta.pinned_at.is_some_and(|at| !matches!(at.get(), "null" | "false"));
    copy.kept_by = is_pinned.then(|| KeptBy::new("pinned in Vibe", "unpin it there").into());
    copy.created_at = meta.start_time.instant().map(|at| Fact::new(at, "meta"));
    copy.active_at =
        meta.end_time.instant().max(meta.bumped_at.instant()).map(|at| Fact::new(at, "meta")).or(copy.active_at.take());
    if copy.kind == SessionKind::Empty {
        // An older directory without messages.
    } else if meta.archived_at.filled().is_some() {
        copy.kind = SessionKind::Archived;
    } else if copy.parent_id.is_some() && !is_unified(&copy.place) {
        // A fork, or the continuation after a compaction; sub-agents of these versions have no directory here.
        copy.kind = SessionKind::Fork;
    }
    // A move changes it and keeps the origin.
    if let Some(dir) = text_in(meta.environment, "working_directory").filled() {
        add_dir(copy, dir, "meta", "meta.json", env);
    }
    if let Some(dir) = meta.origin_directory.filled() {
        copy.start_dir = Some(Fact::new(env.expand(Path::new(dir)), "meta"));
    }
    true
}

fn add_dir(copy: &mut SessionCopy, dir: &str, source: &'static str, file: &'static str, env: &Env) {
    let dir = env.expand(Path::new(dir));
    copy.last_dir = Some(Fact::new(dir.clone(), source));
    copy.evidence.push(Evidence { dir: dir.into(), source, detail: file.into(), counts: true });
}

/// Adds the few relevant facts in `runtime-state.json`, which contains more about the origin of a session than
/// `meta.json`; sub-agents have no `meta.json`.
fn take_runtime(copy: &mut SessionCopy, state: &[u8], has_meta: bool, env: &Env) {
    let Some(state) = record(state) else { return };
    let [identity, metadata] = members(Some(state), ["identity", "session_metadata"]);
    let [kind, parent] = texts_in(identity, ["kind", "parent_session_id"]);
    let [cwd, model, other_parent] = texts_in(metadata, ["cwd", "active_model", "parent_session_id"]);
    match kind.filled() {
        Some("subagent") => copy.kind = SessionKind::Subagent,
        Some("fork") if copy.kind != SessionKind::Archived => copy.kind = SessionKind::Fork,
        _ => {}
    }
    let parent = parent.filled().or(other_parent.filled());
    copy.parent_id = copy.parent_id.take().or_else(|| parent.map(str::to_owned));
    if !has_meta {
        copy.model = model.filled().map(|model| Fact::new(model.to_owned(), "runtime-state"));
        if let Some(dir) = cwd.filled() {
            add_dir(copy, dir, "runtime-state", "runtime-state.json", env);
        }
    }
}

/// Returns the lock that a client holds while it has a session open, and the note with the identity of that client.
fn lease_paths(place: &Located) -> [PathBuf; 2] {
    let dir = place.store.root.join("active");
    [dir.join(format!("{}.lock", place.id)), dir.join(format!("{}.lock.json", place.id))]
}

/// Returns the process in the note next to a lock; both files remain after a client was killed.
fn noted(lock: &Path) -> Option<u32> {
    #[derive(Deserialize)]
    struct Lease {
        process_id: Option<u32>,
    }
    let bytes = fsio::read_bounded(&lock.with_extension("lock.json"), MAX_LEASE).ok()?;
    serde_json::from_slice::<Lease>(&bytes).ok()?.process_id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_identifies_ids_and_older_directories() {
        for id in ["9dd6408d-a996-f1b2-6b70-6aed9447a130", "a", "A_1"] {
            assert!(is_id(id), "{id}");
        }
        for other in ["", "-a", ".a", "a/b", "a b", "a\n", &"x".repeat(129)] {
            assert!(!is_id(other), "{other}");
        }
        assert_eq!(beginning_in_name("session_20260201_100000_0a1b2c3d"), Some("0a1b2c3d"));
        assert_eq!(beginning_in_name("my_own_20260201_100000_0a1b2c3d"), Some("0a1b2c3d"));
        for other in
            ["unified", "active", "session_2026_100000_0a1b2c3d", "20260201_100000_0a1b2c3d", "s_20260201_100000_x"]
        {
            assert_eq!(beginning_in_name(other), None, "{other}");
        }
    }
}
