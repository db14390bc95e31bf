//! Copilot CLI: `<home>/session-state/<uuid>/`, with `events.jsonl` and `workspace.yaml`.
//!
//! Its database (`session-store.db`) is made from these files and not needed. Facts: measured on 1.0.102.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::claude::is_session_id;
use super::{Agent, Command, Found, ReadContext, is_there};
use crate::env::Env;
use crate::error::PathError;
use crate::evidence;
use crate::format::copilot::{Context, Event, may_have_context};
use crate::format::flat_yaml;
use crate::format::json::instant;
use crate::format::jsonl::{Jsonl, each_line};
use crate::fsio;
use crate::process;
use crate::session::{
    AgentKind, Belongings, Copy, Evidence, Fact, Health, Liveness, Located, Message, SessionKind, Store,
};

/// The file holds about ten short keys; a name can be a long prompt.
const MAX_WORKSPACE: u64 = 256 * 1024;
/// What is read of the end at once: a turn repeats the system prompt, which alone has 28 KiB.
const TAIL: usize = 96 * 1024;

/// The agent.
pub(super) struct Copilot;

impl Agent for Copilot {
    fn kind(&self) -> AgentKind {
        AgentKind::Copilot
    }

    fn stores(&self, env: &Env) -> Vec<Store> {
        let default = env.home.join(".copilot");
        let chosen = env.agent_variable("COPILOT_HOME").map(|dir| env.absolute(Path::new(dir)));
        let usual = Store {
            agent: self.kind(),
            is_usual: chosen.as_ref().is_none_or(|chosen| *chosen == default),
            root: default.clone(),
            set: BTreeMap::new(),
            unset: vec!["COPILOT_HOME"],
        };
        let chosen = chosen.filter(|chosen| *chosen != default).map(|root| Store {
            agent: self.kind(),
            is_usual: true,
            set: BTreeMap::from([("COPILOT_HOME", OsString::from(&root))]),
            root,
            unset: Vec::new(),
        });
        chosen.into_iter().chain([usual]).collect()
    }

    fn locate(&self, store: &Arc<Store>) -> Found {
        let mut found = Found::default();
        for (entry, kind) in found.entries(&store.root.join("session-state")) {
            let Ok(name) = entry.file_name().into_string() else { continue };
            if kind.is_dir() && is_session_id(&name) {
                found.places.push(place(store, name, entry.path()));
            }
        }
        found
    }

    fn locate_id(&self, store: &Arc<Store>, id: &str) -> Found {
        let mut found = Found::default();
        let path = store.root.join("session-state").join(id);
        if is_session_id(id) && path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            found.places.push(place(store, id.to_owned(), path));
        }
        found
    }

    fn read(&self, place: Located, _context: &ReadContext<'_>) -> Result<Copy, PathError> {
        let mut copy = Copy::new(place);
        let (size_bytes, users) = survey(&copy.place.path);
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
                let fail = |error| PathError::new("read", &path, error);
                ends.is_whole = file.from_start(|line| ends.see_from_start(line)).map_err(fail)?;
                file.from_end(|line, is_ended| ends.see_from_end(line, is_ended)).map_err(fail)?;
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
        if has_bad_lines && !copy.health.contains(&Health::TornTranscript) {
            copy.health.insert(Health::BadLines);
        }
        copy.kind = if prompts + replies == 0 { SessionKind::Empty } else { SessionKind::Main };
        // A long session may have been resumed elsewhere before what a glance sees.
        if let Some(last) =
            last.filter(|last| copy.last_dir.as_ref().is_none_or(|dir| dir.value != Path::new(&last.cwd)))
        {
            let dir = PathBuf::from(last.cwd);
            copy.last_dir = Some(Fact::new(dir.clone(), "events"));
            copy.evidence.retain(|evidence| evidence.dir != dir);
            copy.evidence.insert(0, recorded(dir, "last-directory", "events.jsonl"));
            self.decide_launch_dir(copy);
        }
        Ok(())
    }

    fn transcript(&self, place: &Located) -> Option<PathBuf> {
        Some(place.path.join("events.jsonl")).filter(|path| path.is_file())
    }

    fn belongings(&self, place: &Located) -> Result<Belongings, String> {
        let lock = format!("session-state/.session-operation-locks/{}.lock", place.id);
        let own = [place.path.clone(), place.store.root.join(lock)];
        Ok(Belongings { own: own.into_iter().filter(|path| is_there(path)).collect(), shared: Vec::new() })
    }

    fn messages(&self, copy: &Copy, see: &mut dyn FnMut(Message) -> ControlFlow<()>) -> Result<(), PathError> {
        each_line(&copy.place.path.join("events.jsonl"), &mut |line| {
            let event = line.and_then(Event::parse);
            event.into_iter().flat_map(|event| event.messages()).try_for_each(&mut *see)
        })
    }

    fn is_filed_under(&self, _project: &str, _dir: &Path) -> bool {
        true
    }

    fn decide_launch_dir(&self, copy: &mut Copy) {
        evidence::decide(copy, |_| true);
    }

    fn command(&self, copy: &Copy, prompt: Option<&str>) -> Result<Command, String> {
        // The client takes the beginning of an id, and a name, too: only a whole id means one session.
        if !is_session_id(&copy.place.id) {
            return Err("its id is not a UUID".to_owned());
        }
        let last = match prompt {
            Some(prompt) if prompt.starts_with('-') => vec![format!("--prompt={prompt}")],
            Some(prompt) => vec!["-p".to_owned(), prompt.to_owned()],
            None => Vec::new(),
        };
        let argv = vec!["copilot".to_owned(), format!("--resume={}", copy.place.id)];
        Ok(Command { argv, last, unset: Vec::new(), then_type: None })
    }
}

fn place(store: &Arc<Store>, id: String, path: PathBuf) -> Located {
    Located { store: Arc::clone(store), project: None, id, path, side_dir: None, parent_id: None, is_subagent: false }
}

fn recorded(dir: PathBuf, source: &'static str, file: &str) -> Evidence {
    Evidence { dir, source, detail: file.to_owned(), counts: true }
}

/// Returns the bytes of a session's directory, and the processes that are named as its users.
fn survey(dir: &Path) -> (u64, BTreeSet<u32>) {
    let (mut bytes, mut users) = (0, BTreeSet::new());
    for entry in
        walkdir::WalkDir::new(dir).into_iter().filter_map(Result::ok).filter(|entry| entry.file_type().is_file())
    {
        bytes += entry.metadata().map_or(0, |metadata| metadata.len());
        if entry.depth() == 1 {
            let name = entry.file_name().to_str().and_then(|name| name.strip_prefix("inuse."));
            let pid = name.and_then(|name| name.strip_suffix(".lock").or_else(|| name.strip_suffix(".hold")));
            users.extend(pid.and_then(|pid| pid.parse::<u32>().ok()));
        }
    }
    (bytes, users)
}

/// Judges the processes that are named as users: a client that is killed leaves its files behind.
fn liveness(dir: &Path, users: &BTreeSet<u32>) -> Liveness {
    let mut liveness = Liveness::Idle;
    for pid in users {
        match fsio::is_locked(&dir.join(format!("inuse.{pid}.hold"))) {
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

/// What `workspace.yaml` tells.
#[derive(Default)]
struct Workspace {
    cwd: Option<PathBuf>,
    branch: Option<String>,
    name: Option<String>,
    is_named_by_user: bool,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
}

impl Workspace {
    fn read(copy: &mut Copy) -> Self {
        let bytes = match fsio::read_if_present(&copy.place.path.join("workspace.yaml"), MAX_WORKSPACE) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(error) => {
                copy.notes.push(format!("its workspace.yaml cannot be read: {}", error.reason()));
                return Self::default();
            }
        };
        let text = String::from_utf8_lossy(&bytes);
        let mut values = flat_yaml::read(&text);
        let at = |value: Option<&String>| value.and_then(|value| instant(value));
        Self {
            created_at: at(values.get("created_at")),
            updated_at: at(values.get("updated_at")),
            is_named_by_user: values.get("user_named").is_some_and(|value| value == "true"),
            // What is no absolute path would mean another directory to every caller.
            cwd: values.remove("cwd").map(PathBuf::from).filter(|cwd| cwd.is_absolute()),
            branch: values.remove("branch"),
            name: values.remove("name"),
        }
    }

    /// Returns the name, unless it is the first prompt again, which the client takes where nobody gave another.
    fn title(&mut self, prompt: Option<&str>) -> Option<String> {
        let name = self.name.take().filter(|name| !name.trim().is_empty())?;
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (short, long) = (words(&name), prompt.map(words).unwrap_or_default());
        let cut = short.trim_end_matches(['…', '.']);
        let is_prompt = !self.is_named_by_user && !cut.is_empty() && long.starts_with(cut);
        (!is_prompt).then_some(name)
    }
}

/// What the two ends of `events.jsonl` tell.
#[derive(Default)]
struct Ends {
    is_whole: bool,
    created_at: Option<Timestamp>,
    first: Option<Context>,
    prompt: Option<String>,
    has_reply: bool,
    newest: Option<Timestamp>,
    last: Option<Context>,
    model: Option<String>,
    is_torn: bool,
    events_from_end: u32,
}

/// Events near the end that are looked into for the newest time and the model, even where others would do.
const LAST_EVENTS: u32 = 6;
/// Events near the end that the model is looked for in: a session that was never answered has none.
const MOST_EVENTS: u32 = 40;

impl Ends {
    fn see_from_start(&mut self, line: &[u8]) -> bool {
        let Some(event) = Event::parse(line) else { return false };
        self.created_at = self.created_at.or_else(|| event.at());
        self.first = self.first.take().or_else(|| event.context());
        self.prompt = self.prompt.take().or_else(|| event.prompt());
        self.has_reply |= event.reply_id().is_some();
        self.created_at.is_some() && self.first.is_some() && self.prompt.is_some()
    }

    fn see_from_end(&mut self, line: &[u8], is_ended: bool) -> bool {
        let knows_rest = self.newest.is_some()
            && self.events_from_end >= LAST_EVENTS
            && (self.model.is_some() || self.events_from_end >= MOST_EVENTS);
        // The last resume can be far up; it is told from the rest without parsing.
        if !knows_rest || may_have_context(line) {
            match Event::parse(line) {
                Some(event) => {
                    self.newest = self.newest.max(event.at());
                    self.last = self.last.take().or_else(|| event.context());
                    self.model = self.model.take().or_else(|| event.model());
                    self.events_from_end += 1;
                }
                None => self.is_torn |= !is_ended,
            }
        }
        knows_rest && self.last.is_some()
    }

    fn fill(self, copy: &mut Copy, mut workspace: Workspace) {
        if self.is_whole && self.prompt.is_none() && !self.has_reply {
            copy.kind = SessionKind::Empty;
            copy.health.insert(Health::EmptySession);
        }
        if self.is_torn {
            copy.health.insert(Health::TornTranscript);
        }
        copy.title = workspace.title(self.prompt.as_deref()).map(|title| Fact::new(title, "workspace"));
        copy.first_prompt = self.prompt.filter(|prompt| !prompt.is_empty()).map(|prompt| Fact::new(prompt, "events"));
        copy.model = self.model.map(|model| Fact::new(model, "events"));
        copy.created_at = workspace.created_at.map(|at| Fact::new(at, "workspace"));
        copy.created_at = copy.created_at.take().or_else(|| self.created_at.map(|at| Fact::new(at, "events")));
        let newest = self.newest.map(|at| Fact::new(at, "events"));
        let updated = workspace.updated_at.map(|at| Fact::new(at, "workspace"));
        copy.active_at = newest.or(updated).or_else(|| copy.active_at.take());

        let (first, last) = (self.first, self.last);
        let branches = [last.as_ref(), first.as_ref()].into_iter().flatten().find_map(|context| context.branch.clone());
        copy.git_branch = branches
            .map(|branch| Fact::new(branch, "events"))
            .or_else(|| workspace.branch.map(|branch| Fact::new(branch, "workspace")));
        let dir = |context: Context| PathBuf::from(context.cwd);
        let (first, last) = (first.map(dir), last.map(dir));
        // A resume without an id goes on where it is started, and only the events say so.
        let moved = last.clone().filter(|last| Some(last) != first.as_ref()).map(|dir| (dir, "last-directory"));
        let named = workspace.cwd.clone().map(|dir| (dir, "workspace"));
        let sources = [moved, first.clone().map(|dir| (dir, "events")), named];
        for (dir, source) in sources.into_iter().flatten() {
            if copy.evidence.iter().all(|evidence| evidence.dir != dir) {
                let file = if source == "workspace" { "workspace.yaml" } else { "events.jsonl" };
                copy.evidence.push(recorded(dir, source, file));
            }
        }
        if let (Some(own), Some(launch)) = (&workspace.cwd, copy.evidence.first())
            && *own != launch.dir
        {
            copy.notes.push(format!("Copilot CLI goes to {} by itself when it resumes, if that exists", own.display()));
        }
        let start = first.map(|dir| Fact::new(dir, "events"));
        copy.start_dir = start.or_else(|| workspace.cwd.map(|dir| Fact::new(dir, "workspace")));
        copy.last_dir = last.map(|dir| Fact::new(dir, "events")).or_else(|| copy.start_dir.clone());
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
mod tests {
    use super::*;
    use crate::env::tests::fixed;

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
}
