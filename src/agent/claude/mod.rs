//! Claude Code: `<config dir>/projects/<slug>/<uuid>.jsonl`, sub-agents beside or below it.
//!
//! Facts: measured on the real clients 2.1.330 and 2.1.197; claude-agent-sdk-python e8bde601.

pub(crate) mod records;

pub(super) mod about;
mod ends;
mod relocation;
pub(crate) mod slug;
mod title;
mod trailer;
mod upkeep;
mod usage;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ends::{Ends, TAIL};
use foldhash::{HashSet, HashSetExt as _};
use jiff::Timestamp;

use super::upkeep::{CwdRecords, Link, Retention, Strays};
use super::{
    Agent, Beginnings, Command, FindBelongings, Found, Interest, LiveRecord, ReadContext, Said, StoreNotes,
    as_last_argument, is_there, last_activity,
};
use crate::agent::command::{Plan, Request};
use crate::agent::relocation::{Act, DirMove, Relocation};
use crate::error::PathError;
use crate::format::edit::Edit;
use crate::format::jsonl::{Jsonl, each_line, each_message, last_messages, too_long};
use crate::session::evidence;
use crate::session::mapping::Mapping;
use crate::session::usage::Tokens;
use crate::session::{AgentKind, Belongings, Copy, Evidence, Health, Liveness, Located, Message, SessionKind, Store};
use crate::system::env::Env;
use crate::system::names;
use crate::system::process::{self, Presence, StartTime};
use records::{Record, Registration};
use slug::is_slug_of;

/// A registration is a few hundred bytes.
const MAX_REGISTRATION: u64 = 64 * 1024;

/// The agent.
pub(super) struct Claude;

/// What a client started from inside another one must not inherit: with them it keeps no transcript,
/// or takes itself for the other session (measured on 2.1.330).
const NESTED: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
];

impl Agent for Claude {
    fn stores(&self, env: &Env) -> Vec<Store> {
        let default = env.home.join(".claude");
        let chosen = env.agent_variable("CLAUDE_CONFIG_DIR").map(|dir| env.absolute(Path::new(dir)));
        let mut roots: Vec<PathBuf> = chosen.iter().cloned().collect();
        if !roots.contains(&default) {
            roots.push(default.clone());
        }
        // One person may keep a root for each account, named after the default one.
        let siblings = Found::default().entries(&env.home);
        let mut others: Vec<PathBuf> = siblings
            .into_iter()
            .filter(|(entry, kind)| kind.is_dir() && entry.file_name().as_encoded_bytes().starts_with(b".claude-"))
            .map(|(entry, _)| entry.path())
            .filter(|root| root.join("projects").is_dir() && !roots.contains(root))
            .collect();
        others.sort();
        roots.append(&mut others);
        roots
            .into_iter()
            .map(|root| {
                let is_default = root == *chosen.as_ref().unwrap_or(&default);
                let mut store = Store { is_default, ..Store::usual(AgentKind::Claude, root) };
                // The variable moves the client's global file too, even when it names the default place.
                if store.root == default && chosen.as_ref() != Some(&default) {
                    store.unset = vec!["CLAUDE_CONFIG_DIR"];
                } else {
                    store.set.insert("CLAUDE_CONFIG_DIR", OsString::from(&store.root));
                }
                store
            })
            .collect()
    }

    fn locate(&self, store: &Arc<Store>) -> Found {
        Found::in_projects(&store.root.join("projects"), |dir, project, found| {
            let mut side_dirs: HashSet<String> = HashSet::new();
            let mut files = Vec::new();
            for (entry, kind) in found.entries(dir) {
                let Ok(name) = entry.file_name().into_string() else { continue };
                if kind.is_dir() {
                    side_dirs.insert(name);
                } else if let Some(stem) = name.strip_suffix(".jsonl") {
                    files.push((stem.to_owned(), entry.path(), kind.is_file()));
                }
            }
            for (stem, path, is_file) in files {
                let is_subagent = stem.starts_with("agent-");
                if !is_subagent && !is_session_id(&stem) {
                    continue;
                }
                if !is_file {
                    found.problem(&path, "it is not a regular file");
                    continue;
                }
                let side_dir = (!is_subagent && side_dirs.contains(&stem)).then(|| dir.join(&stem));
                found.places.push(Located {
                    project: Some(Arc::clone(project)),
                    side_dir,
                    is_subagent,
                    ..Located::new(store, stem, path)
                });
            }
            for parent in side_dirs.into_iter().filter(|name| is_session_id(name)) {
                locate_subagents(store, project, &dir.join(&parent).join("subagents"), &parent, found);
            }
        })
    }

    fn locate_id(&self, store: &Arc<Store>, id: &str) -> Found {
        if !is_session_id(id) {
            return Found::default();
        }
        Found::in_projects(&store.root.join("projects"), |dir, project, found| {
            let path = dir.join(format!("{id}.jsonl"));
            if path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
                let side_dir = Some(dir.join(id)).filter(|side_dir| side_dir.is_dir());
                found.places.push(Located {
                    project: Some(Arc::clone(project)),
                    side_dir,
                    ..Located::new(store, id, path)
                });
            }
        })
    }

    fn notes(&self, store: &Store, _env: &Env) -> StoreNotes {
        let mut notes = StoreNotes::default();
        let mut found = Found::default();
        each_registration(store, &mut found, |_, id, process| {
            if let Some(id) = id {
                notes.live.entry(id).or_default().push(process);
            }
        });
        notes.problems.append(&mut found.problems);
        notes
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<Copy, PathError> {
        let mut file = Jsonl::open(&place.path)?.with_tail(TAIL);
        let mut copy = Copy::new(place);
        copy.transcript_bytes = file.len();
        copy.size_bytes = file.len() + context.tree_size(copy.place.side_dir.as_deref());
        copy.modified_at = file.modified();
        let changed = file.changed();

        let mut ends = Ends::default();
        let is_whole = file.lines_forward(|line| {
            ends.see_from_start(line);
            ends.knows_start()
        });
        ends.is_whole = is_whole?;
        let is_subagent = copy.place.is_subagent || ends.is_sidechain;
        context.inspect(&copy.place, &copy.place.path, &mut file, is_subagent);
        let seen = file.lines_backward(|line, is_ended| {
            ends.see_from_end(line, is_ended);
            ends.is_done_with_end()
        });
        seen?;
        let relocated = ends.fill(&mut copy);

        copy.set_active_by_file(copy.modified_at);
        context.bound_activity(&mut copy, changed);
        decide_launch_dir(&mut copy, relocated.as_deref().map(Path::new));
        copy.liveness = liveness(context.notes.live.get(&copy.place.id).map_or(&[], Vec::as_slice));
        Ok(copy)
    }

    fn not_after(&self, place: &Located) -> Option<Timestamp> {
        last_activity(&place.path)
    }

    fn count(&self, copy: &mut Copy) -> Result<(), PathError> {
        let (mut prompts, mut has_bad_lines) = (0_u64, false);
        let (mut replies, mut seen) = (HashSet::new(), HashSet::new());
        let mut whole = Ends::default();
        let counts_sidechains = copy.kind == SessionKind::Subagent;
        each_line(&copy.place.path, &mut |line| {
            let Some(record) = line.and_then(|line| serde_json::from_slice::<Record<'_>>(line).ok()) else {
                has_bad_lines = true;
                return ControlFlow::Continue(());
            };
            whole.note_entrypoint(&record);
            whole.late.see_later(&record);
            // A file that was concatenated with itself is read by the client as if it were not.
            let is_new = record.uuid.filled().is_none_or(|uuid| seen.insert(uuid));
            if is_new && (counts_sidechains || !record.is_sidechain.0) {
                prompts += u64::from(record.prompt().is_some());
                replies.extend(record.reply_id());
            }
            ControlFlow::Continue(())
        })?;
        let replies = replies.len() as u64;
        (copy.prompts, copy.replies) = (Some(prompts), Some(replies));
        copy.note_bad_lines(has_bad_lines);
        // What lies between the two windows of a glance may name the session, or show how it was started.
        copy.title = whole.late.into_title().or_else(|| copy.title.take());
        if matches!(copy.kind, SessionKind::Main | SessionKind::Exec | SessionKind::Empty) {
            copy.kind = match (prompts + replies, whole.is_exec && !whole.is_interactive) {
                (0, _) => SessionKind::Empty,
                (_, true) => SessionKind::Exec,
                (_, false) => SessionKind::Main,
            };
        }
        Ok(())
    }

    fn version_at(&self) -> Option<&'static str> {
        Some("/version")
    }

    fn belongings(&self, place: &Located) -> Result<Belongings, String> {
        let root = &place.store.root;
        let find = |dir: &str, name: &str| Some(root.join(dir).join(name)).filter(|path| is_there(path));
        Ok(belongings(place, find, &Beginnings::of(&root.join("todos"))))
    }

    fn belongings_in(&self, roots: &BTreeSet<&Path>) -> FindBelongings<'_> {
        // A look for each session in each directory costs more than a listing of each.
        let list = |root: &Path| -> HashMap<&str, Beginnings> {
            OF_SESSION.iter().chain(&["debug", "todos"]).map(|dir| (*dir, Beginnings::of(&root.join(dir)))).collect()
        };
        let listed: BTreeMap<PathBuf, _> = roots.iter().map(|root| ((*root).to_owned(), list(root))).collect();
        Box::new(move |place| {
            let Some(listed) = listed.get(&place.store.root) else { return self.belongings(place) };
            Ok(belongings(place, |dir, name| listed[dir].named(name), &listed["todos"]))
        })
    }

    fn tokens(&self, copy: &Copy) -> Result<Option<Tokens>, PathError> {
        usage::tokens(&copy.place)
    }

    fn messages(&self, copy: &Copy, see: &mut dyn FnMut(Message) -> ControlFlow<()>) -> Result<(), PathError> {
        let shows_sidechains = copy.kind == SessionKind::Subagent;
        each_message(&copy.place.path, see, |line| Some(messages(line, shows_sidechains)))
    }

    fn last_messages(&self, copy: &Copy, count: usize) -> Result<Option<Vec<Message>>, PathError> {
        let shows_sidechains = copy.kind == SessionKind::Subagent;
        last_messages(&copy.place.path, count, |line| Some(messages(line, shows_sidechains)))
    }

    fn messages_with(
        &self,
        copy: &Copy,
        interest: &dyn Fn(&[u8]) -> Interest,
        see: &mut dyn FnMut(Said) -> ControlFlow<()>,
    ) -> Result<(), PathError> {
        let shows_sidechains = copy.kind == SessionKind::Subagent;
        each_line(&copy.place.path, &mut |line| {
            let Some(line) = line else { return see(Said::Message(too_long())) };
            let count = match interest(line) {
                Interest::Messages => None,
                Interest::Count => Record::count_messages(line, shows_sidechains),
                Interest::Nothing => Some(0),
            };
            match count {
                Some(count) => see(Said::Uninteresting(count)),
                None => messages(line, shows_sidechains).into_iter().map(Said::Message).try_for_each(&mut *see),
            }
        })
    }

    fn verbatim(&self, place: &Located) -> Option<PathBuf> {
        Some(place.path.to_path_buf())
    }

    fn relocation<'a>(
        &'a self,
        store: &'a Store,
        moves: &'a [DirMove],
        mapping: &'a Mapping,
        _env: &'a Env,
    ) -> Result<Relocation<'a>, String> {
        Ok(relocation::relocation(store, moves, mapping))
    }

    fn retitle(&self, copy: &Copy, title: &str) -> Result<(PathBuf, Edit), String> {
        title::retitle(copy, title)
    }

    fn references(&self, store: &Store, mapping: &Mapping, env: &Env) -> Vec<Act> {
        relocation::references(store, mapping, env)
    }

    fn is_filed_under(&self, project: &str, dir: &Path) -> bool {
        // With CLAUDE_CODE_PROJECT_DIR_NAME a person chose the name, which then says nothing of the directory.
        if !project.starts_with('-') {
            return true;
        }
        // The client resolves links and composes accents first. Only a path that exists can be resolved.
        let encodes = |dir: &Path| {
            dir.to_str().is_some_and(|dir| is_slug_of(project, dir) || is_slug_of(project, &names::composed(dir)))
        };
        encodes(dir) || names::on_disk(dir).is_some_and(|dir| encodes(&dir))
    }

    fn decide_launch_dir(&self, copy: &mut Copy) {
        evidence::decide(copy, |_| true);
        if copy.is_filed_right {
            // Evidence that was added since it was read has put it right.
            copy.health.remove(&Health::MisfiledSession);
        }
    }

    fn command(&self, copy: &Copy, prompt: Option<&str>) -> Result<Command, String> {
        match copy.kind {
            SessionKind::Subagent => return Err("it is a sub-agent's session; resume its parent session".to_owned()),
            SessionKind::Empty => {
                return Err("it has neither a prompt nor a reply, so Claude Code does not find it".to_owned());
            }
            _ => {}
        }
        if !is_session_id(&copy.place.id) {
            return Err("its id is not a UUID".to_owned());
        }
        let words: &[&str] = if prompt.is_some() { &["claude", "-p", "--resume"] } else { &["claude", "--resume"] };
        let argv = words.iter().copied().chain([copy.place.id.as_str()]).map(str::to_owned).collect();
        Ok(Command { argv, last: as_last_argument(prompt), unset: NESTED.to_vec(), then_type: None })
    }

    fn cwd_records(&self) -> Option<&'static dyn CwdRecords> {
        Some(&super::cat::Cat)
    }

    fn strays(&self, store: &Store, env: &Env) -> Strays {
        upkeep::strays(self, store, env)
    }

    fn retention(&self, store: &Store, env: &Env) -> Option<Retention> {
        upkeep::retention(store, env)
    }

    fn link<'l>(&self, line: &'l [u8]) -> Option<Link<'l>> {
        upkeep::link(line)
    }
}

/// Where the client keeps files named after the session alone (2.1.330). Older clients also have `todos` and `debug`.
const OF_SESSION: [&str; 5] = ["file-history", "session-env", "tasks", "uploads", "image-cache"];

/// Puts together what belongs to a session; `find` finds what has a name in a directory of the store.
fn belongings(place: &Located, find: impl Fn(&'static str, &str) -> Option<PathBuf>, todos: &Beginnings) -> Belongings {
    let mut own = vec![place.path.to_path_buf()];
    own.extend(place.side_dir.clone());
    if place.is_subagent {
        // What the client notes of a sub-agent lies beside its transcript.
        own.push(place.path.with_extension("meta.json"));
    }
    own.retain(|path| **path == *place.path || is_there(path));
    if place.is_subagent {
        return Belongings { own, shared: Vec::new() };
    }
    let id = &place.id;
    let of_session = OF_SESSION.iter().filter_map(|dir| find(dir, id)).chain(find("debug", &format!("{id}.txt")));
    Belongings { own, shared: of_session.chain(todos.with(&format!("{id}-"))).collect() }
}

/// Returns the plan of a new session in a directory, in the store that the client itself would take.
pub(super) fn anew(dir: PathBuf, request: &Request, env: &Env) -> Plan {
    let mut set = BTreeMap::new();
    if env.foreign_home {
        set.insert("HOME", env.home.clone().into_os_string());
    }
    let mut argv = vec!["claude".to_owned()];
    argv.extend(request.prompt.is_some().then(|| "-p".to_owned()));
    argv.extend(request.args.iter().cloned());
    argv.extend(as_last_argument(request.prompt.as_deref()));
    Plan { argv, dir: Some(dir), unset: NESTED.to_vec(), set, then_type: None, has_prompt: request.prompt.is_some() }
}

fn locate_subagents(store: &Arc<Store>, project: &Arc<str>, dir: &Path, parent: &str, found: &mut Found) {
    for (entry, kind) in found.entries(dir) {
        let path = entry.path();
        if kind.is_dir() {
            locate_subagents(store, project, &path, parent, found);
            continue;
        }
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Some(stem) = name.strip_suffix(".jsonl").filter(|stem| stem.starts_with("agent-")) else { continue };
        if kind.is_file() {
            found.places.push(Located {
                project: Some(Arc::clone(project)),
                parent_id: Some(parent.to_owned()),
                is_subagent: true,
                ..Located::new(store, stem, path)
            });
        }
    }
}

/// Puts a line in words; one that is no record says nothing.
fn messages(line: &[u8], shows_sidechains: bool) -> Vec<Message> {
    let record =
        serde_json::from_slice(line).ok().filter(|record: &Record<'_>| shows_sidechains || !record.is_sidechain.0);
    record.map(|record| record.messages()).unwrap_or_default()
}

/// Returns whether a file's stem is a session id: a UUID with hyphens, in either case.
pub(crate) fn is_session_id(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn is_exec(entrypoint: &str) -> bool {
    entrypoint.starts_with("sdk")
}

/// Takes the first recorded directory that encodes to the project, or else the start directory.
fn decide_launch_dir(copy: &mut Copy, relocated: Option<&Path>) {
    let Copy { evidence, start_dir, last_dir, place, .. } = copy;
    let project = place.project.as_deref().unwrap_or_default();
    let relocated = relocated.map(|dir| (dir, "relocated"));
    let start = start_dir.as_ref().map(|fact| (&*fact.value, "transcript"));
    let last = last_dir.as_ref().map(|fact| (&*fact.value, "last-directory"));
    for (dir, source) in relocated.into_iter().chain(start).chain(last) {
        if evidence.iter().all(|evidence| evidence.dir != dir) {
            let counts = Claude.is_filed_under(project, dir);
            evidence.push(Evidence { dir: dir.to_owned(), source, detail: "transcript".into(), counts });
        }
    }
    evidence::decide(copy, |_| true);
    copy.mark_if(
        copy.launch_dir.is_some() && !copy.is_filed_right && copy.kind != SessionKind::Subagent,
        Health::MisfiledSession,
    );
}

/// Shows each registration of a client: its file, the session that it is in, and its process.
fn each_registration(store: &Store, found: &mut Found, mut see: impl FnMut(PathBuf, Option<String>, LiveRecord)) {
    found.each_json(&store.root.join("sessions"), MAX_REGISTRATION, |path, bytes| {
        // A client may be writing it just now; then it says nothing.
        let Ok(registration) = serde_json::from_slice::<Registration<'_>>(bytes) else { return };
        let started = registration.proc_start.get().and_then(StartTime::parse);
        let id = registration.session_id.filled().map(str::to_owned);
        see(path, id, LiveRecord { pid: registration.pid, started });
    });
}

/// Judges the processes that registered themselves as users of one session.
pub(super) fn liveness(records: &[LiveRecord]) -> Liveness {
    let mut liveness = Liveness::Idle;
    for record in records {
        match process::presence(record.pid, record.started) {
            Presence::Running => return Liveness::Live { pid: record.pid },
            Presence::Ended => {}
            Presence::Unknown => {
                liveness = Liveness::Maybe {
                    why: format!("process {} registered itself and may still be running", record.pid),
                };
            }
        }
    }
    liveness
}
