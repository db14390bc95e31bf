//! Codex: `<CODEX_HOME>/sessions/YYYY/MM/DD/rollout-<local time>-<uuid>.jsonl`, archived ones in `archived_sessions/`;
//! see [`thread`] for threads in several rollouts.
//!
//! Facts: measured on 0.169.0 and 0.57.0; openai/codex 28345fe3 (deleting), 3846901e (packed rollouts).

pub(super) mod records;

pub(super) mod about;
mod belongings;
mod ends;
mod meta;
mod obstacles;
mod pass;
mod pins;
mod replay;
mod rollbacks;
mod rollouts;
mod slim;
mod thread;
mod threads;

use ends::RolloutEnds;

use super::ids::is_uuid;
use super::{as_last_argument, last_activity};
use crate::agent::prelude::*;
use crate::agent::{locks, stores};
use crate::format::edit::Edit;
use crate::format::jsonl::{Jsonl, each_line, last_messages};
use crate::format::shell;
use crate::session::Problem;
use crate::session::branches::{BranchFilter, Branches};
use crate::session::repository::Repository;
use crate::system::process::{self, Locks, Presence, StartTime};
use meta::Meta;
use records::{CodexRecord, Daemon, Prompt, named};
use rollouts::{is_archived, is_segment, last_ids, locate, packed_twin};
use thread::Thread;

/// Number of bytes at the end that are read in one call: most turns fit.
const TAIL: usize = 64 * 1024;
/// Number of bytes that are searched backwards for the beginning of the last turn.
const MAX_TURN: u64 = 16 * 1024 * 1024;
/// A text that only the first record of a turn contains: inside a string the quotes would be escaped.
const TURN: &[u8] = br#""type":"turn_context""#;
/// The daemon's file has some hundred bytes.
const MAX_DAEMON: u64 = 64 * 1024;
const LOCKS: &str = "thread-writer-locks";

/// The agent.
pub(super) struct Codex;

impl Reading for Codex {
    fn usual_stores(&self, env: &Env) -> Vec<Store> {
        let mut stores = stores::selected_stores(AgentKind::Codex, env);
        if let Some(usual) = stores.last_mut() {
            usual.unset = match (env.foreign_home, usual.is_default) {
                // With `--home`, neither variable may select another store for the agent.
                (true, _) => vec!["CODEX_HOME", "CODEX_SQLITE_HOME"],
                (false, false) => vec!["CODEX_HOME"],
                (false, true) => Vec::new(),
            };
        }
        stores
    }

    fn engine(&self) -> &'static dyn Engine {
        &Self
    }

    fn notes(&self, store: &Store, env: &Env) -> StoreNotes {
        let mut notes = StoreNotes::default();
        let index = store.root.join("session_index.jsonl");
        let names = each_line(&index, &mut |line| {
            // The last line for an id wins.
            let named = named(line).map(|(id, name)| (id, Fact::new(name, "session-index")));
            notes.names.extend(named);
            ControlFlow::Continue(())
        });
        if let Err(error) = names {
            notes.problems.push(Problem { reason: error.reason(), path: index });
        }
        threads::add(store, None, env, &mut notes);
        pins::add(store, &mut notes);
        notes.logs = Some(Arc::default());
        notes.providers = obstacles::providers(store);
        locks::add_held(&store.root.join(LOCKS), is_uuid, |_| None, &mut notes);
        notes
    }

    fn notes_before_change(&self, place: &Located, env: &Env) -> StoreNotes {
        let mut notes = StoreNotes::default();
        // Names are irrelevant for a change, and listing all rows and locks for each of many sessions would take too
        // long.
        threads::add(&place.store, Some(&place.id), env, &mut notes);
        let lock = place.store.root.join(LOCKS).join(format!("{}.lock", place.id));
        let is_there = links::is_file(&lock);
        let used = is_there.then(|| locks::liveness(&lock, &Locks::read(), |_| None)).flatten();
        notes.locked.extend(used.map(|used| (place.id.clone(), used)));
        notes
    }

    fn not_after(&self, place: &Located) -> Option<Timestamp> {
        // A compressed rollout may be damaged.
        last_activity(&place.path).filter(|_| place.path.extension().is_some_and(|extension| extension == "jsonl"))
    }

    fn conversation_files(&self, place: &Located) -> Vec<PathBuf> {
        // A rewound thread continues in another rollout, which names the earlier ones by their length in bytes: no repair
        // may edit those, so they are not among the resumed files.
        let thread = is_segment(&place.path).then(|| Thread::of(place).ok()).flatten();
        let own = thread.map(|thread| thread.parts.into_iter().filter(|part| !part.is_foreign));
        own.map_or_else(|| vec![place.path.to_path_buf()], |own| own.map(|part| part.path).collect())
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        CodexRecord::of_line(record).is_some_and(|record| record.is_silent()) || meta::is_bare_header(record)
    }
}

impl Engine for Codex {
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        if only.is_some_and(|id| !is_uuid(id)) {
            return Found::default();
        }
        locate(store, &|id| only.is_none_or(|only| only == id))
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        // The beginning of a fork belongs to the other thread, and a list does not need it.
        let thread = if is_segment(&place.path) { Some(Thread::chain(&place)?) } else { None };
        let mut file = Jsonl::open(&place.path)?.with_tail(TAIL);
        let path = place.path.clone();
        let mut copy = SessionCopy::new(place);
        copy.transcript_bytes = file.len();
        copy.size_bytes =
            file.len() + packed_twin(&path).and_then(|twin| twin.metadata().ok()).map_or(0, |twin| twin.len());
        let (modified, changed) = (file.modified(), file.changed());

        let mut ends = match &thread {
            Some(thread) => {
                let others = thread.parts.iter().filter(|part| !part.is_foreign && *part.path != *path);
                let others = others.filter_map(|part| part.path.metadata().ok());
                copy.size_bytes += others.map(|other| other.len()).sum::<u64>();
                let mut ends = read_start(&mut Jsonl::open(thread.root())?)?;
                ends.is_whole = false;
                ends
            }
            None => read_start_of(RolloutEnds::in_store(&copy.place.store), &mut file)?,
        };
        context.inspect(&copy.place, &path, &mut file, copy.place.is_subagent);
        file.lines_backward(&mut |line, is_ended| {
            ends.see_from_end(line, is_ended);
            ends.is_done_with_end()
        })?;
        let row = context.notes.dirs.get(&copy.place.id).and_then(|dirs| dirs.first());
        if !ends.knows_last_turn() && !ends.is_whole {
            ends.see_row(row);
        }
        if !ends.knows_last_turn() && !ends.is_whole {
            match Jsonl::open(&path)?.last_line_with(TURN, MAX_TURN)? {
                Some(line) => ends.see_last_turn(&line),
                None if copy.transcript_bytes > MAX_TURN => {
                    copy.notes.push("its last turn is too long to see where it began".to_owned());
                }
                None => {}
            }
        }
        let provider = ends.meta.as_ref().and_then(|meta| meta.provider.clone());
        let lacks_ordinal = ends.lacks_ordinal;
        let missing = match (&thread, ends.meta.as_ref().and_then(|meta| meta.base.as_ref()?.as_ref().ok())) {
            (Some(thread), _) => thread.missing.clone(),
            (None, base) => base.map(|base| &base.thread_id).filter(|id| is_missing(id, &copy.place, context)).cloned(),
        };
        let (by_place, listed) = (is_archived(&path), context.notes.archived.get(&copy.place.id).copied());
        ends.fill(&mut copy, by_place || listed == Some(true));
        if let Some(listed) = listed.filter(|listed| *listed != by_place) {
            copy.health.insert(Health::ArchiveMismatch);
            let [list, place] = [listed, by_place].map(|is| if is { "closed" } else { "not closed" });
            copy.notes.push(format!("Codex's list says that it is {list}, and by its place it is {place}"));
        }

        if let Some(lacks) = thread.and_then(|thread| thread.lacks) {
            copy.health.insert(Health::InvalidContent);
            copy.notes.push(lacks);
        }
        copy.title = context.notes.names.get(&copy.place.id).cloned();
        copy.set_active_by_file(modified);
        context.bound_activity(&mut copy, changed);
        for (fact, detail) in [(&copy.last_dir, "the last turn"), (&copy.start_dir, "the first record")] {
            let Some(fact) = fact.as_ref().filter(|fact| copy.evidence.iter().all(|known| known.dir != fact.value))
            else {
                continue;
            };
            let evidence =
                Evidence { dir: fact.value.clone(), source: fact.source, detail: detail.into(), counts: true };
            copy.evidence.push(evidence);
        }
        decide_launch_dir(&mut copy);
        copy.liveness = context.notes.locked.get(&copy.place.id).cloned().unwrap_or_default();
        let listed = context.notes.files.get(&copy.place.id).map(PathBuf::as_path);
        if threads::names_another(listed, &path, &copy.place.store.root, context.env) {
            copy.health.insert(Health::Unlisted);
            copy.notes.extend(listed.map(|listed| format!("Codex's list names {} for its id", listed.display())));
        }
        let of_provider = provider.zip(context.notes.providers.as_ref());
        let of_provider = of_provider.and_then(|(provider, known)| obstacles::of_provider(&copy, &provider, known));
        let of_ordinal = || lacks_ordinal.then(|| obstacles::of_ordinal(&path));
        if let Some(obstacle) = missing.map(|id| obstacles::of_base(&id)).or(of_provider).or_else(of_ordinal) {
            copy.obstruct(obstacle);
        }
        Ok(copy)
    }

    fn observe(&self, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
        pass::observe(copy, observers)
    }

    fn branches(&self, copy: &SessionCopy) -> Result<Branches, PathError> {
        rollbacks::branches(&Thread::of(&copy.place)?)
    }

    fn messages_on(&self, copy: &SessionCopy, wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        let thread = Thread::of(&copy.place)?;
        let Some(mut file) = Jsonl::open_if_present(thread.root())? else { return Ok(()) };
        let lacks_events = read_start(&mut file)?.lacks_events();
        let branches = rollbacks::branches(&thread)?;
        let mut number = 0;
        thread.each_line(&mut |line| {
            let at = number;
            number += 1;
            let message = message(line.bytes, lacks_events).filter(|_| branches.has(at, wanted));
            message.map_or(ControlFlow::Continue(()), |message| see(message.on_branch(branches.other(at))))
        })
    }

    fn last_messages(&self, copy: &SessionCopy, count: usize) -> Result<Option<Vec<Message>>, PathError> {
        let Some(mut file) = Jsonl::open_if_present(&copy.place.path)? else { return Ok(None) };
        let start = read_start(&mut file)?;
        if start.meta.as_ref().is_some_and(|meta| meta.base.is_some()) {
            return Ok(None);
        }
        let lacks_events = start.lacks_events();
        let mut has_rollback = false;
        let last = last_messages(&copy.place.path, count, |line| {
            has_rollback |= rollbacks::taken_back(line).is_some();
            Some(message(line, lacks_events))
        })?;
        Ok(last.filter(|_| !has_rollback))
    }

    fn transcript(&self, place: &Located) -> Option<PathBuf> {
        Some(place.path.to_path_buf())
    }
}

impl Resuming for Codex {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        let id = &copy.place.id;
        if !is_uuid(id) {
            return Err("its id is not a UUID".into());
        }
        refuse_subagent(copy)?;
        if copy.kind == SessionKind::Archived {
            return Err(format!("it is closed; run `codex unarchive {id}` first").into());
        }
        if copy.health.contains(Health::MissingFields) {
            let why = "its first record is not `session_meta`, which Codex needs to load a session";
            let hint =
                format!("keep it with `rejoin export {} -o conversation.md`", shell::selector(AgentKind::Codex, id));
            return Err(Unable::from(why).hint(hint));
        }
        if prompt.is_some() && joins(copy) {
            let why = "Codex's background process has it open, and only a terminal session can join it";
            return Err(format!("{why}: resume it without --prompt").into());
        }
        // Without its flag, `exec` refuses to run outside a git repository; it accepts no directory.
        let words: &[&str] = match prompt {
            Some(_) => &["exec", "--skip-git-repo-check", "resume"],
            None => &["resume"],
        };
        let profile = obstacles::profile(copy);
        let profile = profile.as_deref().map(|name| ["-p", name]);
        let start: Vec<&str> = ["codex"].into_iter().chain(profile.into_iter().flatten()).collect();
        // Always pass the full id: Codex silently starts a new session for an unknown one.
        Ok(Command::new(&[&start, words, &[id.as_str()]].concat(), as_last_argument(prompt)))
    }

    fn mend(&self, copy: &SessionCopy) -> Result<Vec<Act>, Unable> {
        obstacles::numbered(&copy.place.path)
    }
}

impl Moving for Codex {
    fn repository(&self, copy: &SessionCopy) -> Repository {
        start_of(copy).map(|meta| meta.repository).unwrap_or_default()
    }

    fn retitle(&self, _copy: &SessionCopy, _title: &str) -> Result<Vec<(PathBuf, Edit)>, Unable> {
        Err("codex keeps titles in a database, which rejoin never writes; use /rename there".into())
    }
}

/// Returns whether a rollout is known to be missing.
fn is_missing(id: &str, place: &Located, context: &ReadContext<'_>) -> bool {
    let logs = context.notes.logs.as_ref().map(|logs| logs.get_or_init(|| last_ids(&place.store)));
    logs.is_some_and(|logs| !logs.contains(id))
}

/// Returns the first record of a thread.
fn start_of(copy: &SessionCopy) -> Option<Meta> {
    let start = Thread::of(&copy.place).and_then(|thread| read_start(&mut Jsonl::open(thread.root())?));
    start.ok()?.meta
}

/// Returns the message of a line. In a rollout without events, prompts are taken from the messages to the model.
fn message(line: &[u8], lacks_events: bool) -> Option<Message> {
    let record = CodexRecord::parse(line)?;
    let prompt = match record.prompt() {
        Some(Prompt::Typed(text)) => Some(text),
        Some(Prompt::Sent(text)) if lacks_events => Some(text),
        _ => None,
    };
    let prompt = prompt.map(|text| Message::new(Role::User, text, record.at()));
    prompt.or_else(|| record.message())
}

/// Reads the start of a rollout.
fn read_start(file: &mut Jsonl) -> Result<RolloutEnds, PathError> {
    read_start_of(RolloutEnds::default(), file)
}

fn read_start_of(mut ends: RolloutEnds, file: &mut Jsonl) -> Result<RolloutEnds, PathError> {
    ends.is_whole = file.lines_forward(&mut |line| {
        ends.see_from_start(line);
        ends.knows_start()
    })?;
    if let Some(again) = ends.begun_again() { read_start_of(again, file) } else { Ok(ends) }
}

/// Advises how to rebuild Codex's list; implements [`About::list_anew`](super::about::About::list_anew).
fn list_anew(root: &Path) -> Option<String> {
    // A variable may select another directory, which is unknown here.
    let list = threads::of_store(root)?;
    let root = list.parent()?;
    let former = root.join("former");
    let (former, root) = (shell::printable_word(former.as_os_str())?, shell::printable_word(root.as_os_str())?);
    Some(format!("mkdir -p {former} && mv {root}/state_*.sqlite* {former}/"))
}

/// Implements [`About::joins`](super::about::About::joins).
fn joins(copy: &SessionCopy) -> bool {
    let Liveness::Live { pid } = copy.liveness else { return false };
    // The daemon keeps sessions open after their terminals are closed.
    let path = copy.place.store.root.join("app-server-daemon/daemon.pid");
    let Ok(bytes) = fsio::read_bounded(&path, MAX_DAEMON) else { return false };
    let daemon: Daemon = serde_json::from_slice(&bytes).unwrap_or_default();
    let is_same = daemon
        .identity
        .start_ticks
        .is_none_or(|ticks| process::presence(pid, Some(StartTime::Ticks(ticks))) == Presence::Running);
    daemon.pid == pid && is_same
}
