//! Copilot CLI: `<home>/session-state/<uuid>/`, with `events.jsonl` and `workspace.yaml`.
//!
//! Its database (`session-store.db`) is made from these files and not needed. Facts: measured on 1.0.102.

pub(super) mod flat_yaml;
pub(super) mod records;

pub(super) mod about;
mod ends;
mod relocation;

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ends::{Ends, Workspace};

use super::claude::is_session_id;
use super::{Agent, Command, Found, ReadContext, as_prompt_option, each_file_below, is_there};
use crate::agent::relocation::{Moving, Relocation};
use crate::agent::stores;
use crate::agent::unknown_format::is_one_of;
use crate::agent::upkeep::{self, Link};
use crate::error::PathError;
use crate::format::jsonl::{Jsonl, each_line, each_message, last_messages};
use crate::session::{AgentKind, Belongings, Copy, Evidence, Fact, Liveness, Located, Message, SessionKind, Store};
use crate::system::env::Env;
use crate::system::links;
use crate::system::process;
use crate::system::reach;
use records::Event;

/// What is read of the end at once: a turn repeats the system prompt, which alone has 28 KiB.
const TAIL: usize = 96 * 1024;

/// The agent.
pub(super) struct Copilot;

impl Agent for Copilot {
    fn stores(&self, env: &Env) -> Vec<Store> {
        stores::by_variables(AgentKind::Copilot, &[("COPILOT_HOME", None)], env.home.join(".copilot"), env)
    }

    fn locate(&self, store: &Arc<Store>) -> Found {
        let mut found = Found::default();
        for (entry, kind) in found.entries(&store.root.join("session-state")) {
            let Ok(name) = entry.file_name().into_string() else { continue };
            if kind.is_dir() && is_session_id(&name) {
                found.places.push(Located::new(store, name, entry.path()));
            }
        }
        found
    }

    fn locate_id(&self, store: &Arc<Store>, id: &str) -> Found {
        let mut found = Found::default();
        let path = store.root.join("session-state").join(id);
        if is_session_id(id) && links::is_dir(&path) {
            found.places.push(Located::new(store, id.to_owned(), path));
        }
        found
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<Copy, PathError> {
        let mut copy = Copy::new(place);
        let (size_bytes, users) = survey(&copy.place.path, context);
        copy.size_bytes = size_bytes;
        copy.liveness = liveness(&copy.place.path, &users);
        let workspace = Workspace::read(&mut copy);

        let path = copy.place.path.join("events.jsonl");
        let mut ends = Ends::default();
        match Jsonl::open_if_present(&path)? {
            Some(file) => {
                let mut file = file.with_tail(TAIL);
                copy.transcript_bytes = file.len();
                let modified = file.modified();
                ends.is_whole = file.lines_forward(|line| ends.see_from_start(line))?;
                context.inspect(&copy.place, &path, &mut file, copy.place.is_subagent);
                file.lines_backward(|line, is_ended| ends.see_from_end(line, is_ended))?;
                copy.active_at = modified.map(|at| Fact::new(at, "mtime"));
            }
            // A client that was opened and left at once writes everything but this.
            None => ends.is_whole = true,
        }
        ends.fill(&mut copy, workspace);
        self.decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn count(&self, copy: &mut Copy) -> Result<(), PathError> {
        let (mut prompts, mut has_bad_lines) = (0_u64, false);
        let mut replies = HashSet::new();
        let mut last = None;
        each_line(&copy.place.path.join("events.jsonl"), &mut |line| {
            let Some(event) = line.and_then(Event::parse) else {
                has_bad_lines = true;
                return ControlFlow::Continue(());
            };
            prompts += u64::from(event.prompt().is_some());
            replies.extend(event.reply_id());
            last = event.context().or(last.take());
            ControlFlow::Continue(())
        })?;
        let replies = replies.len() as u64;
        (copy.prompts, copy.replies) = (Some(prompts), Some(replies));
        copy.note_bad_lines(has_bad_lines);
        copy.kind = if prompts + replies == 0 { SessionKind::Empty } else { SessionKind::Main };
        // A long session may have been resumed elsewhere before what a glance sees.
        if let Some(last) =
            last.filter(|last| copy.last_dir.as_ref().is_none_or(|dir| *dir.value != *Path::new(&last.cwd)))
        {
            let dir = Arc::<Path>::from(PathBuf::from(last.cwd));
            copy.last_dir = Some(Fact::new(dir.clone(), "events"));
            copy.evidence.retain(|evidence| evidence.dir != dir);
            copy.evidence.insert(0, recorded(dir, "last-directory", "events.jsonl"));
            self.decide_launch_dir(copy);
        }
        Ok(())
    }

    fn transcript(&self, place: &Located) -> Option<PathBuf> {
        Some(place.path.join("events.jsonl")).filter(|path| reach::is_file(path))
    }

    fn version_at(&self) -> Option<&'static str> {
        Some("/data/copilotVersion")
    }

    fn belongings(&self, place: &Located) -> Result<Belongings, String> {
        let lock = format!("session-state/.session-operation-locks/{}.lock", place.id);
        let lock = Some(place.store.root.join(lock)).filter(|path| is_there(path));
        Ok(Belongings { own: [place.path.to_path_buf()].into_iter().chain(lock).collect(), shared: Vec::new() })
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        is_one_of(
            record,
            "/type",
            &[
                "session.start",
                "session.resume",
                "session.shutdown",
                "session.model_change",
                "session.usage_record",
                "session.warning",
                "session.error",
                "session.info",
                "session.context_changed",
                "session.mode_changed",
                "system.message",
                "hook.start",
                "hook.end",
                "abort",
            ],
        )
    }

    fn messages(&self, copy: &Copy, see: &mut dyn FnMut(Message) -> ControlFlow<()>) -> Result<(), PathError> {
        let path = copy.place.path.join("events.jsonl");
        each_message(&path, see, |line| Event::parse(line).map(|event| event.messages()))
    }

    fn last_messages(&self, copy: &Copy, count: usize) -> Result<Option<Vec<Message>>, PathError> {
        let path = copy.place.path.join("events.jsonl");
        last_messages(&path, count, |line| Event::parse(line).map(|event| event.messages()))
    }

    fn relocation<'a>(&'a self, moving: &Moving<'a>) -> Result<Relocation<'a>, String> {
        Ok(relocation::relocation(moving.mapping))
    }

    fn command(&self, copy: &Copy, prompt: Option<&str>) -> Result<Command, String> {
        // The client takes the beginning of an id, and a name, too: only a whole id means one session.
        if !is_session_id(&copy.place.id) {
            return Err("its id is not a UUID".to_owned());
        }
        let argv = vec!["copilot".to_owned(), format!("--resume={}", copy.place.id)];
        Ok(Command { argv, last: as_prompt_option(prompt), unset: Vec::new(), then_type: None })
    }

    fn link<'l>(&self, line: &'l [u8]) -> Option<Link<'l>> {
        upkeep::node(line)
    }
}

fn recorded(dir: Arc<Path>, source: &'static str, file: &'static str) -> Evidence {
    Evidence { dir, source, detail: file.into(), counts: true }
}

/// Returns the bytes of a session's directory, and the processes that are named as its users.
fn survey(dir: &Path, context: &ReadContext<'_>) -> (u64, BTreeSet<u32>) {
    let (mut bytes, mut users) = (0, BTreeSet::new());
    let deepest = if context.sizes { usize::MAX } else { 1 };
    each_file_below(dir, deepest, &mut |entry, depth| {
        if context.sizes {
            bytes += entry.metadata().map_or(0, |metadata| metadata.len());
        }
        if depth == 1 {
            let name = entry.file_name();
            let name = name.to_str().and_then(|name| name.strip_prefix("inuse."));
            let pid = name.and_then(|name| name.strip_suffix(".lock").or_else(|| name.strip_suffix(".hold")));
            users.extend(pid.and_then(|pid| pid.parse::<u32>().ok()));
        }
    });
    (bytes, users)
}

/// Judges the processes that are named as users: a client that is killed leaves its files behind.
fn liveness(dir: &Path, users: &BTreeSet<u32>) -> Liveness {
    let mut liveness = Liveness::Idle;
    for pid in users {
        match process::is_locked(&dir.join(format!("inuse.{pid}.hold"))) {
            Some(true) => return Liveness::Live { pid: *pid },
            Some(false) => {}
            // Without a file that is kept locked only the process can be asked, and its id may be another's by now.
            None if process::exists(*pid) => {
                liveness = Liveness::Maybe { why: format!("inuse.{pid}.lock is there, and process {pid} runs") };
            }
            None => {}
        }
    }
    liveness
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
mod tests {
    use super::*;
    use crate::agent::{Depth, Inspector, StoreNotes};
    use crate::system::env::tests::fixed;

    #[test]
    fn a_sessions_directory_and_its_lock_belong_to_it_and_nothing_of_the_others() {
        let root = tempfile::tempdir().expect("a directory");
        let state = root.path().join("session-state");
        let [id, other] = ["aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa", "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb"];
        let locks = state.join(".session-operation-locks");
        std::fs::create_dir_all(&locks).expect("a directory");
        for id in [id, other] {
            std::fs::create_dir(state.join(id)).expect("a directory");
            std::fs::write(locks.join(format!("{id}.lock")), "").expect("a file");
        }
        let store = Store { root: root.path().to_owned(), ..Copilot.stores(&fixed()).remove(0) };
        let place = Copilot.locate_id(&Arc::new(store), id).places.remove(0);
        let own = vec![state.join(id), locks.join(format!("{id}.lock"))];
        assert_eq!(Copilot.belongings(&place), Ok(Belongings { own: own.clone(), shared: Vec::new() }));
        std::fs::remove_file(&own[1]).expect("a file");
        assert_eq!(Copilot.belongings(&place).map(|found| found.own), Ok(own[..1].to_vec()));
    }

    #[test]
    fn its_users_are_found_whether_sizes_are_wanted_or_not() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("deep")).expect("a directory");
        for name in ["inuse.71.lock", "inuse.72.hold", "inuse.x.lock", "deep/inuse.73.lock"] {
            std::fs::write(dir.path().join(name), "1234").expect("a file");
        }
        let (env, notes, inspector) = (fixed(), StoreNotes::default(), Inspector::default());
        let context =
            ReadContext { env: &env, notes: &notes, depth: Depth::Glance, sizes: true, inspector: &inspector };
        let look = |sizes| survey(dir.path(), &ReadContext { sizes, ..context });
        assert_eq!(look(true), (16, BTreeSet::from([71, 72])));
        assert_eq!(look(false), (0, BTreeSet::from([71, 72])));
    }
}
