//! Continue CLI: `<dir>/sessions/<id>.json`, one document per session, and `sessions.json`, their index.
//!
//! Facts: measured on 1.5.47. It resumes the session that was changed last, and cannot resume by id. The extensions of
//! editors share the directory: ContinueGUIWebviewViewProvider.ts and session.ts of continuedev/continue (#9936).

pub(super) mod about;
mod records;

use std::time::SystemTime;

use super::as_last_argument;
use super::ids::is_uuid;
use crate::agent::document::{Documents, Sum, set_title};
use crate::agent::prelude::*;
use crate::format::{file_uri, shell};
use records::{DOCUMENT, UNTITLED, made_at};

const INDEX: &str = "sessions.json";
const MAX_INDEX: u64 = 64 * 1024 * 1024;

/// A copy under another name is not in any list of the program.
const DOCUMENTS: Documents = Documents { dir: None, is_id: is_uuid, document: DOCUMENT, fill };

/// Implements [`Agent`](super::Agent) for Continue CLI.
pub(super) struct Continue;

impl Reading for Continue {
    fn engine(&self) -> &'static dyn Engine {
        &DOCUMENTS
    }

    fn notes(&self, store: &Store, _env: &Env) -> StoreNotes {
        let mut notes = StoreNotes::default();
        let path = store.root.join(INDEX);
        let Some(bytes) = read_or_report(&path, MAX_INDEX, &mut notes.problems) else { return notes };
        match made_at(&bytes) {
            Ok(made) => {
                let made = made.into_iter().map(|(id, at)| (id, Fact::new(at.to_string(), "index")));
                notes.names.extend(made);
            }
            Err(error) => notes.problem(&path, format!("it is not JSON as Continue CLI writes it: {error}")),
        }
        notes
    }

    fn notes_before_change(&self, _place: &Located, _env: &Env) -> StoreNotes {
        // The index only contains the times of creation.
        StoreNotes::default()
    }
}

impl Resuming for Continue {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        refuse_invalid(copy)?;
        // `-p` takes no value; the text is a separate argument.
        let mut last = as_last_argument(prompt);
        last.splice(..0, prompt.map(|_| "-p".to_owned()));
        Ok(Command::new(&["cn", "--resume"], last))
    }

    fn check_start(&self, copy: &SessionCopy, _dir: &Path) -> Result<(), Unable> {
        let place = &copy.place;
        let own = changed_at(&place.path);
        let newer = Found::default().entries(&place.store.root).into_iter().find(|(entry, kind)| {
            let is_other = kind.is_file() && *entry.path() != *place.path;
            let is_session = entry.file_name().to_str().is_some_and(|name| name.ends_with(".json") && name != INDEX);
            // If two sessions were changed at the same time, it is unknown which one the program resumes.
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
        )
        .into())
    }
}

impl Moving for Continue {}

impl Housekeeping for Continue {
    fn companions(&self, place: &Located) -> Vec<PathBuf> {
        // Without its entry, a session is missing in the program's list until it is saved again.
        Some(place.store.root.join(INDEX)).into_iter().filter(|path| is_there(path)).collect()
    }
}

/// Fills in a copy from a document, which contains no times.
fn fill(copy: &mut SessionCopy, sum: &Sum, context: &ReadContext<'_>) -> Result<(), PathError> {
    if let Some(id) = sum.text("sessionId").filled().filter(|id| *id != copy.place.id) {
        copy.health.insert(Health::InvalidContent);
        copy.notes
            .push(format!("its file says that its id is {id}, and Continue CLI would continue in that one's file"));
    }
    set_title(copy, sum.text("title").filled().filter(|title| !UNTITLED.contains(title)));
    let made = context.notes.names.get(&copy.place.id).and_then(|made| made.value.parse::<Timestamp>().ok());
    copy.created_at = made.map(|at| Fact::new(at, "index"));
    // Continue's extensions of editors record a URI, which may be that of a folder on another machine.
    let recorded = sum.text("workspaceDirectory");
    let local = recorded.filled().and_then(file_uri::path);
    let plain = recorded.filled().filter(|dir| !dir.contains("://"));
    copy.set_dir(local.as_deref().or(plain), "its workspaceDirectory");
    Ok(())
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    links::metadata(path).and_then(|metadata| metadata.modified()).ok()
}
