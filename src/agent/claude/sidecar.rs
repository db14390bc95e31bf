//! The files next to a transcript with its name and its archive mark: `<project>/<session>/custom-title.json` and
//! `archived.json`.
//!
//! Facts: measured on 2.1.332, whose picker shows the name in the file unless the last 64 KiB of the transcript have
//! another one, and finds the session by it. `archived.json` was read in its bundle: a later prompt ends the archiving.

use crate::agent::prelude::*;
use crate::format::edit::{Edit, json_string};
use crate::format::json::record;

/// The name of the file with the title, which is also the source of the title.
pub(super) const TITLE: &str = "custom-title.json";
const ARCHIVED: &str = "archived.json";
/// Each of the files has some hundred bytes.
const MAX_BYTES: u64 = 64 * 1024;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Sidecar<'a> {
    custom_title: Text<'a>,
    archived: Flag,
    at: Text<'a>,
}

/// Reads a file next to the transcript and passes it to `see`; `None` if the file is missing or cannot be read.
fn read<T>(place: &Located, name: &str, see: impl FnOnce(&Sidecar<'_>) -> Option<T>) -> Option<T> {
    let path = place.side_dir.as_ref()?.join(name);
    see(&record(&fsio::read_if_present(&path, MAX_BYTES).ok()??)?)
}

/// Returns the title that the user gave the session.
pub(super) fn title(place: &Located) -> Option<Fact<Arc<str>>> {
    read(place, TITLE, |file| Some(Fact::new(file.custom_title.filled()?.to_owned(), TITLE)))
}

/// Returns the edit of the title in the file, if the session has one.
pub(super) fn retitled(place: &Located, title: &str) -> Result<Option<(PathBuf, Edit)>, Unable> {
    let Some(path) = place.side_dir.as_ref().map(|dir| dir.join(TITLE)) else { return Ok(None) };
    let edit =
        small(&path, MAX_BYTES)?.and_then(|text| json_string(&text, &["customTitle"], &|_| Some(title.to_owned())));
    Ok(edit.map(|edit| (path, edit)))
}

/// Marks a session as archived, unless it was continued since.
pub(super) fn mark_archived(copy: &mut SessionCopy, env: &Env) {
    let at = read(&copy.place, ARCHIVED, |file| file.at.instant().filter(|_| file.archived.0));
    let Some(at) = at.filter(|at| copy.active_at.as_ref().is_some_and(|active| active.value <= *at)) else { return };
    if copy.kind.is_listed() {
        copy.kind = SessionKind::Archived;
        copy.notes
            .push(format!("Claude Code archived it at {}, and resumes it nevertheless", env.clock.local_time(at)));
    }
}
