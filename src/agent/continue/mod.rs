//! Continue CLI: `<dir>/sessions/<id>.json`, one document a session, and `sessions.json`, an index of them.
//!
//! Facts: measured on 1.5.47. It resumes what was changed last, and nothing by its id.

pub(super) mod about;
mod records;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;

use super::claude::is_session_id;
use super::{Agent, Command, Found, ReadContext, StoreNotes, as_last_argument, is_there};
use crate::agent::stores;
use crate::agent::unknown_format::is_one_of;
use crate::error::PathError;
use crate::format::content::is_beginning_of;
use crate::format::shell;
use crate::session::evidence;
use crate::session::{AgentKind, Comparison, Copy, Fact, Health, Located, Message, Store};
use crate::system::env::Env;
use crate::system::fsio;
use crate::system::links;
use records::{DOCUMENT, made_at, title};

const INDEX: &str = "sessions.json";
const MAX_INDEX: u64 = 64 * 1024 * 1024;

/// The agent.
pub(super) struct Continue;

impl Agent for Continue {
    fn stores(&self, env: &Env) -> Vec<Store> {
        let usual = env.home.join(".continue");
        stores::by_variable(AgentKind::Continue, "CONTINUE_GLOBAL_DIR", &usual, env, |dir| dir.join("sessions"))
    }

    fn locate(&self, store: &Arc<Store>) -> Found {
        let mut found = Found::default();
        for (entry, kind) in found.entries(&store.root) {
            let (name, path) = (entry.file_name(), entry.path());
            let Some(id) = name.to_str().and_then(id_of_file) else { continue };
            if kind.is_file() {
                found.places.push(Located::new(store, id, path));
            } else {
                found.problem(&path, "it is not a regular file");
            }
        }
        found
    }

    fn locate_id(&self, store: &Arc<Store>, id: &str) -> Found {
        let path = store.root.join(format!("{id}.json"));
        let is_file = is_session_id(id) && links::is_file(&path);
        let places = is_file.then(|| Located::new(store, id, path)).into_iter().collect();
        Found { places, ..Found::default() }
    }

    fn notes(&self, store: &Store, _env: &Env) -> StoreNotes {
        let mut notes = StoreNotes::default();
        let path = store.root.join(INDEX);
        match fsio::read_if_present(&path, MAX_INDEX) {
            Ok(Some(bytes)) => match made_at(&bytes) {
                Ok(made) => {
                    let made = made.into_iter().map(|(id, at)| (id, Fact::new(at.to_string(), "index")));
                    notes.names.extend(made);
                }
                Err(error) => notes.problem(&path, format!("it is not JSON as Continue CLI writes it: {error}")),
            },
            Ok(None) => {}
            Err(error) => notes.problem(&path, error.reason()),
        }
        notes
    }

    fn notes_before_change(&self, _place: &Located, _env: &Env) -> StoreNotes {
        // It only says when sessions were made.
        StoreNotes::default()
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<Copy, PathError> {
        let sum = DOCUMENT.glance(&place.path)?;
        let mut copy = Copy::new(place);
        copy.size_bytes = sum.bytes;
        sum.fill(&mut copy);
        if let Some(id) = sum.text("sessionId").filled().filter(|id| *id != copy.place.id) {
            copy.health.insert(Health::InvalidContent);
            copy.notes
                .push(format!("its file says that its id is {id}, and Continue CLI would go on in that one's file"));
        }
        let prompt = copy.first_prompt.as_ref().map_or("", |prompt| &*prompt.value);
        let named = sum.text("title");
        let named = title(&named).filter(|title| !is_beginning_of(title, prompt));
        copy.title = named.map(|title| Fact::new(title.to_owned(), "session"));
        let made = context.notes.names.get(&copy.place.id).and_then(|made| made.value.parse::<Timestamp>().ok());
        copy.created_at = made.map(|at| Fact::new(at, "index"));
        // There is no time inside.
        copy.set_active_by_file(sum.modified);
        let why = |age| format!("it was written {age} ago, and Continue CLI keeps no lock");
        copy.judge_by_age(sum.modified, context.env.clock.now, why);
        copy.set_dir(sum.text("workspaceDirectory").filled(), "its workspaceDirectory");
        self.decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn count(&self, copy: &mut Copy) -> Result<(), PathError> {
        DOCUMENT.whole(&copy.place.path)?.fill_counts(copy);
        Ok(())
    }

    fn transcript(&self, _place: &Located) -> Option<PathBuf> {
        None
    }

    fn compare(&self, a: &Copy, b: &Copy) -> Option<Comparison> {
        DOCUMENT.compare(&a.place.path, &b.place.path)
    }

    fn written(&self, place: &Located) -> Vec<PathBuf> {
        vec![place.path.to_path_buf()]
    }

    fn companions(&self, place: &Located) -> Vec<PathBuf> {
        // Without its entry a session is not in its list until it is saved once more.
        Some(place.store.root.join(INDEX)).into_iter().filter(|path| is_there(path)).collect()
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        is_one_of(record, "/message/role", &["system"])
    }

    fn messages(&self, copy: &Copy, see: &mut dyn FnMut(Message) -> ControlFlow<()>) -> Result<(), PathError> {
        DOCUMENT.messages(&copy.place.path, see)
    }

    fn decide_launch_dir(&self, copy: &mut Copy) {
        evidence::decide(copy, |_| true);
    }

    fn command(&self, copy: &Copy, prompt: Option<&str>) -> Result<Command, String> {
        if copy.health.contains(Health::InvalidContent) {
            return Err(copy.notes.first().cloned().unwrap_or_else(|| "its file is damaged".to_owned()));
        }
        let argv = ["cn", "--resume"].map(str::to_owned).to_vec();
        // `-p` takes no value; the text is an argument of its own.
        let mut last = as_last_argument(prompt);
        last.splice(..0, prompt.map(|_| "-p".to_owned()));
        Ok(Command { argv, last, unset: Vec::new(), then_type: None })
    }

    fn still_lists(&self) -> Option<&'static str> {
        // Measured on 1.5.47: nothing but an editor takes an entry out of its `sessions.json`.
        Some("Continue CLI goes on listing what was removed, and opens the newest session instead")
    }

    fn check_start(&self, copy: &Copy, _dir: &Path) -> Result<(), String> {
        let place = &copy.place;
        let own = changed_at(&place.path);
        let newer = Found::default().entries(&place.store.root).into_iter().find(|(entry, kind)| {
            let is_other = kind.is_file() && *entry.path() != *place.path;
            let is_session = entry.file_name().to_str().is_some_and(|name| name.ends_with(".json") && name != INDEX);
            // Of two that were changed at once, nothing tells which one it takes.
            is_other && is_session && changed_at(&entry.path()) >= own
        });
        let Some((newer, _)) = newer else { return Ok(()) };
        let path = place.path.to_string_lossy();
        Err(format!(
            "Continue CLI has no resume by id: it goes on with the session that was changed last, which {} was; run `touch {}` \
             first, or copy it to a new session with `cn --fork {}`",
            newer.file_name().to_string_lossy(),
            shell::word(&path),
            place.id
        ))
    }
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    links::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// Returns the id that a file is named after; a copy under another name is in no list of the program.
fn id_of_file(name: &str) -> Option<&str> {
    name.strip_suffix(".json").filter(|id| is_session_id(id))
}
