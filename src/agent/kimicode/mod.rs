//! Kimi Code: `~/.kimi-code/sessions/<project>/session_<uuid>/`, with `state.json` and one log per agent; sessions that
//! `kimi migrate` imported from Kimi CLI are `ses_<old id>`.
//!
//! Kimi Code continues a session only in the directory in `state.json`; not even its own index matters. Facts: Kimi
//! Code 2.1.0, measured. An import keeps the times of the old files; all its records have the same time.

mod records;

pub(super) mod about;

use super::installed::{Package, Registry};
use super::lines::{Ends, Lines, Log};
use crate::agent::prelude::*;
use crate::format::edit::json_string;
use crate::format::json::record;
use records::{IMPORTED, KimiCodeRecord, State, is_id};

/// `state.json` lists the agents of a session.
const MAX_STATE: u64 = 4 * 1024 * 1024;

/// Its package, and that of Kimi CLI, whose program has the same name.
pub(super) const PACKAGE: (Registry, &str) = (Registry::Npm, "@moonshot-ai/kimi-code");
pub(super) const OLDER: (Registry, &str) = (Registry::PyPi, "kimi_cli");

/// The agent.
pub(super) struct KimiCode;

impl Reading for KimiCode {
    fn engine(&self) -> &'static dyn Engine {
        &Lines(Self)
    }
}

impl Resuming for KimiCode {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        Ok(Command::new(&["kimi", "--session", &copy.place.id], super::as_prompt_option(prompt)))
    }

    fn check_start(&self, copy: &SessionCopy, dir: &Path) -> Result<(), Unable> {
        let Some(own) = copy.start_dir.as_ref().map(|own| &*own.value) else { return Ok(()) };
        if reach::canonicalize(own).unwrap_or_else(|_| own.to_owned()) == reach::canonicalize(dir).unwrap_or_default() {
            Ok(())
        } else {
            Err(format!("Kimi Code continues it in {} and refuses anywhere else", own.display()).into())
        }
    }

    fn check_program(&self, copy: &SessionCopy, env: &Env) -> Result<Option<String>, Unable> {
        if copy.health.contains(Health::InvalidContent) {
            return Err(copy.notes.first().cloned().unwrap_or_default().into());
        }
        match Package::of("kimi", env) {
            Some(package) if package.is(PACKAGE.0, PACKAGE.1) => Ok(None),
            Some(package) if package.is(OLDER.0, OLDER.1) => {
                let why = format!("`kimi` is Kimi CLI {}, which does not know it", package.version);
                Err(Unable::from(why).hint(
                    "install Kimi Code with `npm install --global @moonshot-ai/kimi-code`, and put its directory before that \
                     of Kimi CLI in PATH",
                ))
            }
            _ => {
                let older = copy.place.store.root.with_file_name(".kimi");
                Ok(is_there(&older).then(|| {
                    "Kimi CLI, whose sessions are here too, is started by the same name; it would begin a new session of that id"
                        .to_owned()
                }))
            }
        }
    }
}

impl Moving for KimiCode {
    fn relocation<'a>(&'a self, moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        Ok(Relocation::of_each(|copy, _| {
            let path = copy.place.path.join("state.json");
            let json = small(&path, MAX_STATE)?.unwrap_or_default();
            let edit = json_string(&json, &["cwd"], |dir| moving.mapping.text_to(dir));
            let edit = edit.ok_or("its state.json does not name the directory")?;
            Ok(Moved::by(vec![Act::Edit { from: path.clone(), to: path, edits: vec![edit] }]))
        }))
    }
}

impl Housekeeping for KimiCode {}

impl Log for KimiCode {
    type Record<'a> = KimiCodeRecord<'a>;
    type Facts = ();

    /// Sub-agents have their logs in sibling folders.
    const FILE: Option<&'static str> = Some("agents/main/wire.jsonl");
    const SOURCE: &'static str = "wire";

    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        Found::in_projects(&store.root.join("sessions"), |dir, project, found| {
            // Names that begin with a dot belong to its index.
            if !project.starts_with('.') {
                found.add_folders(store, dir, Some(project), only, is_id);
            }
        })
    }

    fn parse(line: &[u8]) -> Option<KimiCodeRecord<'_>> {
        record(line)
    }

    fn finish(copy: &mut SessionCopy, _ends: &Ends, (): (), _context: &ReadContext<'_>) -> Result<(), PathError> {
        read_state(copy);
        Ok(())
    }
}

/// Finds the sessions that Kimi Code imported from a copy of Kimi CLI.
pub(super) fn imports_of(older: &Located, env: &Env) -> Vec<Located> {
    let id = format!("{IMPORTED}{}", older.id);
    let stores = KimiCode.stores(env).into_iter().map(Arc::new);
    let places = stores.flat_map(|store| KimiCode.locate(&store, Some(&id)).places);
    let is_of = |place: &Located| {
        let bytes = fsio::read_if_present(&place.path.join("state.json"), MAX_STATE).ok().flatten().unwrap_or_default();
        let state: State<'_> = serde_json::from_slice(&bytes).unwrap_or_default();
        state.import().is_some_and(|import| import.is_of(older))
    };
    places.filter(is_of).collect()
}

/// Reads the title and the directory, and whether the session was archived. Without a valid file, Kimi Code answers
/// that there is no such session (measured).
fn read_state(copy: &mut SessionCopy) {
    let path = copy.place.path.join("state.json");
    let bytes = match fsio::read_if_present(&path, MAX_STATE) {
        Ok(bytes) => bytes,
        Err(error) => return copy.notes.push(format!("its state.json cannot be read: {}", error.reason())),
    };
    let Some(state) = bytes.as_deref().and_then(|bytes| serde_json::from_slice::<State<'_>>(bytes).ok()) else {
        let why = if bytes.is_some() { "cannot be read as JSON" } else { "is missing" };
        copy.health.insert(Health::InvalidContent);
        return copy.notes.insert(0, format!("its state.json {why}, so Kimi Code does not find it"));
    };
    copy.set_dir(state.cwd.get(), "state.json");
    copy.title = state.title.filled().map(|title| Fact::new(title.to_owned(), "state"));
    copy.created_at = state.created_at().map(|at| Fact::new(at, "state")).or(copy.created_at.take());
    if let Some(import) = state.import() {
        let when = import.at.map(|at| format!(" at {at}")).unwrap_or_default();
        copy.notes
            .push(format!("it was imported from Kimi CLI's session {}{when}; its times are the old ones", import.id));
    }
    let updated = state.updated_at().map(|at| Fact::new(at, "state"));
    copy.active_at = copy.active_at.take().or(updated);
    if state.archived.0 && copy.kind != SessionKind::Empty {
        copy.kind = SessionKind::Archived;
    }
}
