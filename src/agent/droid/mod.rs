//! Factory Droid: `~/.factory/sessions/<project>/<id>.jsonl`, one file a session, and its settings beside it.
//!
//! Facts: read in the packages of droid 0.215.0 and 0.225.2; nothing of it was tried.

mod records;

pub(super) mod about;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Agent, Command, Found, ReadContext, as_last_argument, is_there, stores};
use crate::agent::pi::records::is_session_id;
use crate::agent::relocation::{Moved, Moving, Relocation};
use crate::agent::unknown_format::is_one_of;
use crate::error::PathError;
use crate::format::content::is_beginning_of;
use crate::format::jsonl::{Jsonl, each_line, each_message};
use crate::session::recorded;
use crate::session::{AgentKind, Belongings, Copy, Evidence, Fact, Health, Located, Message, SessionKind, Store};
use crate::system::env::Env;
use crate::system::fsio;
use crate::system::links;
use crate::system::reach;
use records::{Record, Settings};

/// Stands in for the home.
const VARIABLE: &str = "FACTORY_HOME_OVERRIDE";
/// What lies beside a session, after its id.
const SETTINGS: &str = "settings.json";
const MAX_SETTINGS: u64 = 4 * 1024 * 1024;
/// The folder of side questions, each a fork that its list leaves out.
const ASIDE: &str = "btw";

/// The agent.
pub(super) struct Droid;

impl Agent for Droid {
    fn stores(&self, env: &Env) -> Vec<Store> {
        stores::by_variables(AgentKind::Droid, &[(VARIABLE, Some(".factory"))], env.home.join(".factory"), env)
    }

    fn locate(&self, store: &Arc<Store>) -> Found {
        locate(store, |_| true)
    }

    fn locate_id(&self, store: &Arc<Store>, id: &str) -> Found {
        locate(store, |name| name == id)
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<Copy, PathError> {
        let mut copy = Copy::new(place);
        read_ends(&mut copy, context)?;
        let settings = settings(&copy.place.path);
        let beside = links::metadata(&settings).map_or(0, |metadata| metadata.len());
        copy.size_bytes = copy.transcript_bytes + if context.sizes { beside } else { 0 };
        match fsio::read_if_present(&settings, MAX_SETTINGS) {
            Ok(bytes) => judge_kind(&mut copy, &bytes.unwrap_or_default()),
            Err(error) => copy.notes.push(format!("{} cannot be read: {}", error.path.display(), error.reason())),
        }
        self.decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn count(&self, copy: &mut Copy) -> Result<(), PathError> {
        let (mut prompts, mut replies, mut has_bad_lines) = (0, 0, false);
        each_line(&copy.place.path, &mut |line| {
            match line.and_then(Record::parse) {
                Some(record) => {
                    prompts += u64::from(record.prompt().is_some());
                    replies += u64::from(record.is_reply());
                }
                None => has_bad_lines = true,
            }
            ControlFlow::Continue(())
        })?;
        (copy.prompts, copy.replies) = (Some(prompts), Some(replies));
        copy.note_bad_lines(has_bad_lines);
        Ok(())
    }

    fn belongings(&self, place: &Located) -> Result<Belongings, String> {
        let own = [place.path.to_path_buf(), settings(&place.path)].into_iter().filter(|path| is_there(path));
        Ok(Belongings { own: own.collect(), shared: Vec::new() })
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        is_one_of(record, "/type", &["session_start"])
    }

    fn messages(&self, copy: &Copy, see: &mut dyn FnMut(Message) -> ControlFlow<()>) -> Result<(), PathError> {
        each_message(&copy.place.path, see, |line| Record::parse(line).map(|record| record.messages()))
    }

    fn command(&self, copy: &Copy, prompt: Option<&str>) -> Result<Command, String> {
        let words: &[&str] = if prompt.is_some() { &["droid", "exec", "--session-id"] } else { &["droid", "--resume"] };
        let argv = words.iter().copied().chain([copy.place.id.as_str()]).map(str::to_owned).collect();
        Ok(Command { argv, last: as_last_argument(prompt), unset: Vec::new(), then_type: None })
    }

    fn relocation<'a>(&'a self, _moving: &Moving<'a>) -> Result<Relocation<'a>, String> {
        // Where its own is gone, it stays where it is started.
        Ok(Relocation::of_each(|copy, dir| {
            goes_on_in(copy, dir)?;
            Ok(Moved { acts: Vec::new(), is_kept: true })
        }))
    }

    fn check_start(&self, copy: &Copy, dir: &Path) -> Result<(), String> {
        goes_on_in(copy, dir)
    }

    fn is_state(&self, name: &str) -> bool {
        name.ends_with(SETTINGS)
    }
}

/// Says why a session does not go on in a directory: its own is there, and is another one.
fn goes_on_in(copy: &Copy, dir: &Path) -> Result<(), String> {
    let own = copy.last_dir.as_ref().and_then(|own| reach::canonicalize(&own.value).ok());
    match own.filter(|own| reach::canonicalize(dir).map_or(true, |dir| dir != *own)) {
        Some(own) => Err(format!(
            "Droid goes on in {}, wherever it is started; `droid --resume {} --cwd DIR` takes it elsewhere",
            own.display(),
            copy.place.id
        )),
        None => Ok(()),
    }
}

/// Finds the sessions whose id is wanted.
fn locate(store: &Arc<Store>, is_wanted: impl Fn(&str) -> bool + Sync) -> Found {
    let sessions = store.root.join("sessions");
    let in_folder = |dir: &Path, project: Option<&Arc<str>>, found: &mut Found| {
        for (entry, kind) in found.entries(dir) {
            let name = entry.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
            if let Some(id) = id.filter(|id| kind.is_file() && is_session_id(id) && is_wanted(id)) {
                let project = project.map(Arc::clone);
                found.places.push(Located { project, ..Located::new(store, id, entry.path()) });
            }
        }
    };
    let mut found = Found::in_projects(&sessions, |dir, project, found| {
        if project.starts_with('-') || &**project == ASIDE {
            in_folder(dir, Some(project).filter(|project| &***project != ASIDE), found);
        }
    });
    // Where it kept them before it had projects, and still finds them.
    in_folder(&sessions, None, &mut found);
    found
}

/// Returns where the settings of a session are.
fn settings(path: &Path) -> PathBuf {
    path.with_extension(SETTINGS)
}

/// Reads the two ends of a session.
fn read_ends(copy: &mut Copy, context: &ReadContext<'_>) -> Result<(), PathError> {
    let mut file = Jsonl::open(&copy.place.path)?;
    copy.transcript_bytes = file.len();
    let modified = file.modified();
    let (mut created, mut prompt, mut has_reply) = (None, None, false);
    let is_whole = file.lines_forward(|line| {
        let Some(record) = Record::parse(line) else { return false };
        if record.is_start() {
            describe(copy, &record);
        }
        created = created.or_else(|| record.at());
        prompt = record.prompt();
        has_reply |= record.is_reply();
        prompt.is_some()
    })?;
    let (mut newest, mut model, mut is_ended, mut is_torn) = (None, None, None, false);
    file.lines_backward(|line, has_end| {
        let record = Record::parse(line);
        is_torn |= !has_end && record.is_none();
        if let Some(record) = record {
            is_ended = is_ended.or(Some(record.ends_turn()));
            newest = newest.or_else(|| record.at());
            model = model.take().or_else(|| record.model());
        }
        newest.is_some() && model.is_some()
    })?;
    copy.created_at = created.map(|at| Fact::new(at, "transcript"));
    copy.active_at = newest.map(|at| Fact::new(at, "transcript"));
    copy.set_active_by_file(modified);
    copy.model = model.map(|model| Fact::new(model, "transcript"));
    copy.mark_if(is_torn, Health::TornTranscript);
    // Whether an open one is idle after a turn was never measured.
    copy.judge_by_age(newest.max(modified), context.env.clock.now, |age| format!("it was written to {age} ago"));
    if is_whole && prompt.is_none() && !has_reply {
        copy.kind = SessionKind::Empty;
        copy.health.insert(Health::EmptySession);
    }
    // Until it has a better one, it takes the beginning of the first prompt.
    let is_own = |title: &Fact<Arc<str>>| !prompt.as_ref().is_some_and(|prompt| is_beginning_of(&title.value, prompt));
    copy.title = copy.title.take().filter(is_own);
    copy.first_prompt = prompt.map(|prompt| Fact::new(prompt, "transcript"));
    Ok(())
}

/// Notes what the first record says of the session.
fn describe(copy: &mut Copy, start: &Record<'_>) {
    let last = start.last_cwd.filled().and_then(recorded::dir);
    if let Some(dir) = last.clone() {
        let detail = "lastCwd of session_start".into();
        copy.evidence.push(Evidence { dir, source: "last-directory", detail, counts: true });
    }
    copy.set_dir(start.cwd.get(), "cwd of session_start");
    copy.last_dir = last.map(|dir| Fact::new(dir, "last-directory")).or(copy.last_dir.take());
    copy.title = start.title().map(|title| Fact::new(title.to_owned(), "session_start"));
    let caller = start.calling_session_id.filled();
    copy.kind = match start.parent.filled() {
        _ if caller.is_some() || start.is_worker() => SessionKind::Subagent,
        Some(_) => SessionKind::Fork,
        None => SessionKind::Main,
    };
    copy.parent_id = caller.or(start.parent.filled()).map(str::to_owned);
}

/// Notes which kind of session the settings make of one that was used.
fn judge_kind(copy: &mut Copy, bytes: &[u8]) {
    let settings: Settings<'_> = serde_json::from_slice(bytes).unwrap_or_default();
    copy.kind = match copy.kind {
        SessionKind::Empty => SessionKind::Empty,
        _ if settings.has_tag(&["subagent", "mission-worker", "btw-fork"]) => SessionKind::Subagent,
        SessionKind::Subagent => SessionKind::Subagent,
        _ if settings.archived_at.filled().is_some() => SessionKind::Archived,
        SessionKind::Main if settings.has_tag(&["exec"]) => SessionKind::Exec,
        kind => kind,
    };
}
