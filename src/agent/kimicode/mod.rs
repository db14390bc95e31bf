//! Kimi Code: `~/.kimi-code/sessions/<project>/session_<uuid>/`, with `state.json` and one log per agent; sessions that
//! `kimi migrate` imported from Kimi CLI are `ses_<old id>`.
//!
//! Kimi Code continues a session only in the directory in `state.json`; not even its own index matters. Facts: Kimi
//! Code 2.1.0, measured. An import keeps the times of the old files; all its records have the same time.

mod records;

pub(super) mod about;

use serde_json::json;

use super::installed::{Package, PackageRegistry};
use super::lines::{Ends, Lines, Log};
use crate::agent::prelude::*;
use crate::format::edit::json_string;
use crate::format::json::record;
use crate::format::jsonl::each_line;
use crate::session::obstacle::Obstacle;
use records::{IMPORTED, KimiCodeRecord, KimiCodeState, is_id};

/// Maximum size of `state.json`, which lists the agents of a session.
const MAX_STATE: u64 = 4 * 1024 * 1024;

/// The package of Kimi Code, and that of Kimi CLI, whose program has the same name.
pub(super) const PACKAGE: (PackageRegistry, &str) = (PackageRegistry::Npm, "@moonshot-ai/kimi-code");
pub(super) const OLDER: (PackageRegistry, &str) = (PackageRegistry::PyPi, "kimi_cli");

/// Implements [`Agent`](super::Agent) for Kimi Code.
pub(super) struct KimiCode;

impl Reading for KimiCode {
    fn engine(&self) -> &'static dyn Engine {
        &Lines(Self)
    }

    /// Reads the directories in the index, which has each session once.
    fn notes(&self, store: &Store, _env: &Env) -> StoreNotes {
        let (mut notes, path) = (StoreNotes::default(), store.root.join("session_index.jsonl"));
        let read = each_line(&path, &mut |line| {
            let [id, dir] = texts_in(record(line), ["sessionId", "workDir"]);
            if let Some((id, dir)) = id.filled().zip(dir.filled().and_then(recorded::dir)) {
                let evidence = Evidence { dir, source: "session", detail: "session_index.jsonl".into(), counts: true };
                notes.dirs.insert(id.to_owned(), vec![evidence]);
            }
            ControlFlow::Continue(())
        });
        if let Err(error) = read {
            notes.problem(&path, error.reason());
        }
        notes
    }
}

impl Resuming for KimiCode {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        Ok(Command::new(&["kimi", "--session", &copy.place.id], super::as_prompt_option(prompt)))
    }

    fn check_start(&self, copy: &SessionCopy, dir: &Path) -> Result<(), Unable> {
        let Some(own) = copy.start_dir.as_ref().map(|own| &*own.value) else { return Ok(()) };
        // It compares the recorded text with the directory without links (2.1.0).
        if reach::canonicalize(dir).is_ok_and(|dir| dir == own) {
            Ok(())
        } else {
            Err(format!("Kimi Code continues it in {} and refuses anywhere else", own.display()).into())
        }
    }

    fn mend(&self, copy: &SessionCopy) -> Result<Vec<Act>, Unable> {
        let dir = copy.start_dir.as_ref().ok_or("no record has its directory")?;
        let time = |at: &Option<Fact<Timestamp>>| at.as_ref().map(|at| at.value.as_millisecond());
        let created = time(&copy.created_at).or(time(&copy.active_at)).ok_or("none of its records has a time")?;
        let path = &copy.place.path;
        let prompt = copy.first_prompt.as_ref().map_or("", |prompt| &*prompt.value);
        let state = json!({
            "id": copy.place.id, "version": 2, "cwd": dir.value, "archived": false, "title": first_line(prompt),
            "agents": {"main": {"homedir": path.join("agents/main"), "type": "main", "parentAgentId": null}},
            "custom": {}, "createdAt": created, "updatedAt": time(&copy.active_at).unwrap_or(created),
            "isCustomTitle": false,
        });
        Ok(vec![Act::Write { path: path.join("state.json"), contents: state.to_string().into_bytes() }])
    }

    fn check_program(&self, copy: &SessionCopy, env: &Env) -> Result<Option<String>, Unable> {
        match Package::find_on_path("kimi", env) {
            Some(package) if package.has_name(PACKAGE.0, PACKAGE.1) => Ok(None),
            Some(package) if package.has_name(OLDER.0, OLDER.1) => {
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
            let path = state_path(&copy.place);
            let json = small(&path, MAX_STATE)?.unwrap_or_default();
            let edit = |keys: &&[&str]| json_string(&json, keys, &|dir| moving.mapping.text_to(dir));
            let edit = [&["cwd"][..], &["workDir"], &["custom", "cwd"]].iter().find_map(edit);
            let edit = edit.ok_or("its state.json does not name the directory")?;
            Ok(Moved::by(Act::in_place(path, vec![edit])))
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
                found.add_folders(store, dir, Some(project), only, &is_id);
            }
        })
    }

    fn parse(line: &[u8]) -> Option<KimiCodeRecord<'_>> {
        record(line)
    }

    fn finish(copy: &mut SessionCopy, _ends: &Ends, (): (), context: &ReadContext<'_>) -> Result<(), PathError> {
        read_state(copy, context);
        Ok(())
    }
}

/// Returns the first line of a text.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Finds the sessions that Kimi Code imported from a copy of Kimi CLI.
pub(super) fn imports_of(older: &Located, env: &Env) -> Vec<Located> {
    let id = format!("{IMPORTED}{}", older.id);
    let stores = KimiCode.stores(env).into_iter().map(Arc::new);
    let places = stores.flat_map(|store| KimiCode.locate(&store, Some(&id)).places);
    let is_of = |place: &Located| {
        let bytes = fsio::read_if_present(&state_path(place), MAX_STATE).ok().flatten().unwrap_or_default();
        let state: KimiCodeState<'_> = serde_json::from_slice(&bytes).unwrap_or_default();
        state.import().is_some_and(|import| import.is_of(older))
    };
    places.filter(is_of).collect()
}

/// Returns the file with the facts about a session; Kimi Code looks in both places.
fn state_path(place: &Located) -> PathBuf {
    let places = ["state.json", "session-meta/state.json"].map(|name| place.path.join(name));
    places.iter().find(|path| is_there(path)).unwrap_or(&places[0]).clone()
}

/// Reads the title and the directory, and whether the session was archived. Without a valid file, Kimi Code does
/// not find the session (measured).
fn read_state(copy: &mut SessionCopy, context: &ReadContext<'_>) {
    let path = state_path(&copy.place);
    let bytes = match fsio::read_if_present(&path, MAX_STATE) {
        Ok(bytes) => bytes,
        Err(error) => return copy.notes.push(format!("its state.json cannot be read: {}", error.reason())),
    };
    let Some(state) = bytes.as_deref().and_then(|bytes| serde_json::from_slice::<KimiCodeState<'_>>(bytes).ok()) else {
        let why = if bytes.is_some() { "cannot be read as JSON" } else { "is missing" };
        take_listed_dir(copy, context);
        let is_mendable = copy.start_dir.is_some() && copy.transcript_bytes > 0;
        let why = format!("its state.json {why}, so Kimi Code answers that the session is not found");
        return copy.obstruct(Obstacle { is_mendable, ..Obstacle::damage(why) });
    };
    match state.dir() {
        Some(dir) => copy.set_dir(Some(&dir), "state.json"),
        // Versions before 2 have it in their index alone.
        None => take_listed_dir(copy, context),
    }
    copy.title = state.title.filled().map(|title| Fact::new(title.to_owned(), "state"));
    copy.created_at = state.created_at().map(|at| Fact::new(at, "state")).or(copy.created_at.take());
    if let Some(import) = state.import() {
        let when = import.at.map(|at| format!(" at {at}")).unwrap_or_default();
        copy.notes
            .push(format!("it was imported from Kimi CLI's session {}{when}; its times are the old ones", import.id));
    }
    let updated = state.updated_at().map(|at| Fact::new(at, "state"));
    let of_file = copy.active_at.take_if(|at| at.source == "mtime");
    copy.active_at = copy.active_at.take().or(updated).or(of_file);
    if state.archived.0 && copy.kind != SessionKind::Empty {
        copy.kind = SessionKind::Archived;
    }
}

/// Takes the directory in the index.
fn take_listed_dir(copy: &mut SessionCopy, context: &ReadContext<'_>) {
    let listed = context.notes.dirs.get(&copy.place.id).and_then(|dirs| dirs.first()).cloned();
    copy.start_dir = listed.as_ref().map(|listed| Fact::new(listed.dir.clone(), listed.source));
    copy.last_dir = copy.start_dir.clone();
    copy.evidence.extend(listed);
}
