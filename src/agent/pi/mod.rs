//! Pi: `<agent dir>/sessions/<project>/<time>_<id>.jsonl`, a header and a tree of records.
//!
//! Facts: measured on 0.87.1 and 1.5.2, which creates the file at the first prompt; the variables and settings from
//! earendil-works/pi 005aeb97.

pub(super) mod records;

pub(super) mod about;
pub(super) mod log;
pub(super) mod relocation;
mod slim;

use super::as_last_argument;
use super::lines::Lines;
use crate::agent::ids::is_word;
use crate::agent::prelude::*;
use crate::agent::small_file;
use log::{Dialect, PiTree};
use records::{id_of_file, is_slug_of, slug};

/// The variable with a directory of sessions without projects.
const SESSION_DIR: &str = "PI_CODING_AGENT_SESSION_DIR";
const AGENT_DIR: &str = "PI_CODING_AGENT_DIR";

/// Implements [`Agent`](super::Agent) for Pi.
pub(super) struct Pi;

impl Reading for Pi {
    fn usual_stores(&self, env: &Env) -> Vec<Store> {
        let absolute = |name| env.agent_variable(name).map(|dir| env.absolute(Path::new(dir)));
        let default = env.home.join(".pi/agent");
        let chosen = absolute(AGENT_DIR).filter(|dir| *dir != default);
        let flat = absolute(SESSION_DIR).or_else(|| session_dir_setting(chosen.as_ref().unwrap_or(&default), env));
        let is_default = flat.is_none();
        let flat = flat.map(|dir| Store::named(AgentKind::Pi, &dir, SESSION_DIR, &dir));
        let usual = Store {
            is_default: is_default && chosen.is_none(),
            unset: vec![AGENT_DIR, SESSION_DIR],
            ..Store::usual(AgentKind::Pi, default.join("sessions"))
        };
        let chosen = chosen.map(|dir| Store {
            is_default,
            unset: vec![SESSION_DIR],
            ..Store::named(AgentKind::Pi, dir.join("sessions"), AGENT_DIR, &dir)
        });
        flat.into_iter().chain(chosen).chain([usual]).collect()
    }

    fn engine(&self) -> &'static dyn Engine {
        &Lines(PiTree(Self))
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        records::is_silent(record)
    }
}

impl Resuming for Pi {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        refuse_invalid(copy)?;
        // A prefix of an id may match another session: ids start with the time, and Pi uses the first match.
        if !is_word(&copy.place.id) {
            return Err("its id could be taken for an option".into());
        }
        Ok(Command::new(&["pi", "--session", &copy.place.id], prompt_words(prompt)))
    }
}

impl Moving for Pi {
    fn relocation<'a>(&'a self, _moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        Ok(relocation::relocation(slug, |_| Vec::new()))
    }

    fn is_filed_under(&self, project: &str, dir: &Path) -> Option<bool> {
        // Pi uses the name of the directory on the disk, which can only be determined for an existing path.
        Some(encodes(dir, |dir| recorded::encodes(project, dir, is_slug_of)))
    }
}

impl Housekeeping for Pi {}

impl Dialect for Pi {
    const NAME: &'static str = "Pi";
    const HAS_TITLE_LINE: bool = false;
    const HEADLESS: &'static str = "its first line is not a session header, so Pi would start the file over";
    const BRANCHES: &'static str = "use /tree in Pi to go there";

    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        walk(store, |id| only.is_none_or(|only| only == id))
    }
}

/// Returns the arguments that make Pi answer one prompt without a terminal.
pub(super) fn prompt_words(prompt: Option<&str>) -> Vec<String> {
    let Some(prompt) = prompt else { return Vec::new() };
    // An argument that begins with `@` would be the name of a file to attach.
    let prompt = if prompt.starts_with('@') { format!(" {prompt}") } else { prompt.to_owned() };
    std::iter::once("-p".to_owned()).chain(as_last_argument(Some(&prompt))).collect()
}

/// Returns the directory for all sessions in Pi's settings.
fn session_dir_setting(agent_dir: &Path, env: &Env) -> Option<PathBuf> {
    let settings = small_file::settings(&agent_dir.join("settings.json"))?;
    let dir = text_in(serde_json::from_str(&settings).ok()?, "sessionDir");
    // A relative path would mean another directory in each project.
    dir.filled().map(|dir| env.expand(Path::new(dir))).filter(|dir| dir.is_absolute())
}

/// Finds the files of the sessions whose id `is_wanted` accepts: in projects, or in a directory without projects.
fn walk(store: &Arc<Store>, is_wanted: impl Fn(&str) -> bool + Sync) -> Found {
    if store.set.contains_key(SESSION_DIR) {
        let mut found = Found::default();
        found.add_named(store, &store.root, None, &|name| id_of_file(name).filter(|id| is_wanted(id)));
        return found;
    }
    Found::in_projects(&store.root, |dir, project, found| {
        found.add_named(store, dir, Some(project), &|name| id_of_file(name).filter(|id| is_wanted(id)));
    })
}
