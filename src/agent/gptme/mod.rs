//! gptme: `logs/<id>/` in its data directory, with `conversation.jsonl`, `config.toml` and the link `workspace`.
//!
//! gptme changes to the workspace by itself, and adds an error to the conversation if the workspace is missing. Facts:
//! measured on 0.35.1; sub-agents and local times by its code.

mod reader;
mod records;
mod relocation;

pub(super) mod about;

use super::as_last_argument;
use super::lines::{Ends, Lines, Log};
use crate::agent::prelude::*;
use crate::agent::{database, locks};
use crate::format::json::record;
use crate::format::shell;
use crate::system::process::Locks;
use records::{GptmeRecord, is_id};

/// The variable that selects another directory of conversations.
const VARIABLE: &str = "GPTME_LOGS_HOME";
/// Maximum size of a lock, which contains the id of its process.
const MAX_LOCK: u64 = 64;

/// Implements [`Agent`](super::Agent) for gptme.
pub(super) struct Gptme;

/// Returns the default stores, without [`VARIABLE`]. On macOS, gptme uses the directory of other systems only if that
/// exists (its `dirs.py`, 01607bbb), and then ignores its earlier conversations.
fn usual_stores(env: &Env, is_mac: bool) -> Vec<Store> {
    let mut stores = database::stores(AgentKind::Gptme, "gptme/logs", env);
    if is_mac {
        let root = env.home.join("Library/Application Support/gptme/logs");
        if is_there(&env.home.join(".local/share/gptme")) {
            stores.push(Store { is_default: false, ..Store::named(AgentKind::Gptme, &root, VARIABLE, &root) });
        } else if let Some(usual) = stores.last_mut() {
            usual.root = root;
        }
    }
    stores
}

impl Reading for Gptme {
    fn usual_stores(&self, env: &Env) -> Vec<Store> {
        let mut stores = usual_stores(env, cfg!(target_os = "macos"));
        stores.iter_mut().filter(|store| store.set.is_empty()).for_each(|store| store.unset.push(VARIABLE));
        if let Some(root) = env.agent_variable(VARIABLE).map(|root| env.absolute(Path::new(root))) {
            stores.retain(|store| store.root != root);
            stores.iter_mut().for_each(|store| store.is_default = false);
            stores.insert(0, Store::named(AgentKind::Gptme, &root, VARIABLE, &root));
        }
        stores
    }

    fn engine(&self) -> &'static dyn Engine {
        &Lines(Self)
    }

    fn notes_on(&self, _store: &Store, places: &[&Located], _counts: bool, _env: &Env) -> StoreNotes {
        let mut notes = StoreNotes::default();
        // The system's table is read only if there is a lock file, which remains after the end of a client.
        let mut table = None;
        for place in places {
            let path = place.path.join(".lock");
            if is_there(&path) {
                let held = locks::liveness(&path, table.get_or_insert_with(Locks::read), noted);
                notes.locked.extend(held.map(|held| (place.id.clone(), held)));
            }
        }
        notes
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        Self::parse(record).is_some_and(|record| record.is_silent())
    }

    fn verbatim(&self, place: &Located) -> Option<PathBuf> {
        self.transcript(place)
    }
}

impl Resuming for Gptme {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        let id = &copy.place.id;
        if id.starts_with('-') {
            return Err("its id could be taken for an option".into());
        }
        refuse_subagent(copy)?;
        if copy.kind == SessionKind::Exec && prompt.is_none() {
            let why = "it was made without a terminal, so gptme would only print it and end; go on with one prompt, as \
                       `--prompt` takes it";
            return Err(why.into());
        }
        let words: &[&str] = if prompt.is_some() { &["gptme", "-n"] } else { &["gptme"] };
        Ok(Command::new(&[words, &["--resume", "--name", id]].concat(), as_last_argument(prompt)))
    }

    fn changes_to(&self, copy: &SessionCopy) -> Option<Arc<Path>> {
        workspace(copy).map(Arc::from)
    }

    fn check_start(&self, copy: &SessionCopy, dir: &Path) -> Result<(), Unable> {
        let Some(own) = copy.last_dir.as_ref().filter(|own| own.source != "system-prompt") else { return Ok(()) };
        let path = own.value.display();
        if own.source == "workspace" {
            return Err(format!(
                "its settings name {path} as a directory of the home, and it is not in this one, so gptme would only add an error \
                 to it; move the project into this home first"
            )
            .into());
        }
        if reach::is_dir(&own.value) != Some(false) {
            return Ok(());
        }
        Err(format!(
            "its workspace {path} is gone, so gptme would only add an error to it; if it is here now, run `rejoin move {} \
             {}` first",
            shell::word(&own.value.to_string_lossy()),
            shell::word(&dir.to_string_lossy())
        )
        .into())
    }
}

impl Housekeeping for Gptme {}

impl Log for Gptme {
    type Record<'a> = GptmeRecord<'a>;
    type Facts = ();

    const FILE: Option<&'static str> = Some("conversation.jsonl");
    const SOURCE: &'static str = "conversation";

    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        let mut found = Found::default();
        found.add_folders(store, &store.root, None, only, &is_id);
        found.places.retain(|place| is_there(&Self::log(place)));
        found
    }

    fn parse(line: &[u8]) -> Option<GptmeRecord<'_>> {
        record(line)
    }

    fn see_from_start(record: &GptmeRecord<'_>, _number: usize, copy: &mut SessionCopy, (): &mut ()) {
        copy.start_dir = copy.start_dir.take().or_else(|| Some(Fact::new(record.dir()?, "system-prompt")));
    }

    fn finish(copy: &mut SessionCopy, _ends: &Ends, (): (), context: &ReadContext<'_>) -> Result<(), PathError> {
        reader::read_config(copy, context.env);
        reader::read_meta(copy);
        copy.liveness = context.notes.locked.get(&copy.place.id).cloned().unwrap_or_default();
        Ok(())
    }
}

/// Returns the workspace in its settings; a fork is bound to the directory in which it is first resumed.
fn workspace(copy: &SessionCopy) -> Option<&Path> {
    copy.last_dir.as_ref().filter(|dir| dir.source != "system-prompt").map(|dir| &*dir.value)
}

/// Returns the process that a lock contains.
fn noted(lock: &Path) -> Option<u32> {
    String::from_utf8(fsio::read_bounded(lock, MAX_LOCK).ok()?).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::disk::{self, Access, SYSTEM};
    use crate::system::env::tests::fixed;

    #[test]
    fn macos_uses_xdg_directory_only_if_it_exists() {
        let home = tempfile::tempdir().expect("a directory");
        let mut env = fixed();
        env.home = home.path().to_owned();
        let roots = |env: &Env, is_mac| -> Vec<(String, bool, bool)> {
            let below = |root: &Path| root.strip_prefix(home.path()).expect("below").display().to_string();
            let stores = usual_stores(env, is_mac);
            stores
                .iter()
                .map(|store| (below(&store.root), store.is_default, store.set.contains_key(VARIABLE)))
                .collect()
        };
        let (linux, mac) = (".local/share/gptme/logs", "Library/Application Support/gptme/logs");
        assert_eq!(roots(&env, false), [(linux.to_owned(), true, false)]);
        assert_eq!(roots(&env, true), [(mac.to_owned(), true, false)]);
        let dir = home.path().join(".local/share/gptme");
        disk::make_dirs(&SYSTEM, &dir, Access::Private).expect("a directory");
        assert_eq!(roots(&env, true), [(linux.to_owned(), true, false), (mac.to_owned(), false, true)]);
    }
}
