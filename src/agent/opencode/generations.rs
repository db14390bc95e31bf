//! Two generations of tables in one database: version 2 imports the sessions of version 1 once, and leaves the old
//! rows.
//!
//! Version 2 does not know rows that version 1 writes afterwards. Facts: anomalyco/opencode, v1-migration of 2.0: `kv`
//! has `migration.v1-v2`, stamped when the import was completed; an imported message keeps its id and time of creation;
//! deleting a session in version 2 leaves its old row.

use crate::agent::database::Older;
use crate::agent::installed::{Package, PackageRegistry};
use crate::agent::prelude::*;
use crate::format::shell;
use crate::format::sqlite::{Db, QueryError};
use crate::format::text::count;

/// Reads the state of the import, which ends as `COMPLETED`.
const STATE: &str = "SELECT value FROM kv WHERE key = 'migration.v1-v2'";
const COMPLETED: &str = "\"completed\"";
const PACKAGE: &str = "opencode-ai";

const UNKNOWN: &str = "version 2 of its agent does not have it: version 1 wrote it after version 2 had imported the others, \
                       or it was deleted in version 2";

/// Returns the query for the messages that version 1 added to imported sessions; `None` if there are no times to
/// compare.
pub(super) fn older(db: &Db) -> Result<Option<Older<'_>>, QueryError> {
    let has = |table: &str, column: &str| Ok::<_, QueryError>(db.columns(table)?.contains(column));
    for table in ["session", "session_v2"] {
        if !has(table, "time_updated")? {
            return Ok(None);
        }
    }
    if !has("session_message", "time_created")? {
        return Ok(None);
    }
    let mut is_completed = false;
    if has("kv", "key")? && has("kv", "value")? {
        db.query(STATE, &[], |row| is_completed = row.text(0).is_some_and(|state| state.contains(COMPLETED)))?;
    }
    let imported_at = if is_completed && has("kv", "time_updated")? {
        "SELECT time_updated FROM kv WHERE key = 'migration.v1-v2'"
    } else {
        "SELECT time_updated FROM session_v2 WHERE id = ?1"
    };
    // The newest message in both tables is the last imported one.
    let newest = "SELECT max(time_created) FROM session_message WHERE session_id = ?1";
    let later = db.prepare(&format!(
        "SELECT rowid FROM message WHERE session_id = ?1 \
         AND (SELECT time_updated FROM session WHERE id = ?1) > ({imported_at}) \
         AND time_created > coalesce(\
             ({newest} AND time_created IN (SELECT time_created FROM message WHERE session_id = ?1)), ({newest}), -1) \
         ORDER BY time_created, id"
    ))?;
    // An incomplete import may still import a session.
    Ok(Some(Older { later, judge: if is_completed { judge } else { |_, _, _| () } }))
}

fn judge(copy: &mut SessionCopy, table: usize, added: u64) {
    let note = match (table, added) {
        (0, 0) => return,
        (0, _) => {
            let messages = count(usize::try_from(added).unwrap_or(usize::MAX), "message");
            format!(
                "version 1 of its agent added {messages} after version 2 had imported it, and version 2 does not show them"
            )
        }
        _ => UNKNOWN.to_owned(),
    };
    copy.health.insert(Health::Unlisted);
    copy.notes.push(note);
}

/// Checks whether version 2 lacks a session completely.
fn is_unknown(copy: &SessionCopy) -> bool {
    copy.notes.iter().any(|note| note == UNKNOWN)
}

/// Checks whether the installed OpenCode has a session.
pub(super) fn check_program(copy: &SessionCopy, env: &Env) -> Result<Option<String>, Unable> {
    if !is_unknown(copy) {
        return Ok(None);
    }
    let older = with_version_1(copy, "--session").unwrap_or_default();
    let package =
        Package::find_on_path("opencode", env).filter(|package| package.has_name(PackageRegistry::Npm, PACKAGE));
    match package.as_ref().and_then(|package| package.is_at_least([2, 0])) {
        Some(false) => Ok(None),
        Some(true) => {
            let why =
                format!("OpenCode {} does not have it", package.map(|package| package.version).unwrap_or_default());
            let id = &copy.place.id;
            let export = with_version_1(copy, "export").unwrap_or_default();
            let hint = format!(
                "continue it in OpenCode 1: `{older}`; or write it to a file with `{export} > {id}.json`, and import that with \
                 `opencode import {id}.json`"
            );
            Err(Unable::from(why).hint(hint))
        }
        None => Ok(Some(format!(
            "only OpenCode 1 has it, and OpenCode 2 answers that there is none: `{older}` starts OpenCode 1"
        ))),
    }
}

/// Returns a command for a session that version 2 lacks completely or in part, and its purpose.
pub(super) fn help(copy: &SessionCopy) -> Option<(String, &'static str)> {
    if is_unknown(copy) {
        return Some((with_version_1(copy, "--session")?, "continues it in OpenCode 1"));
    }
    let name = shell::selector(copy.place.agent(), &copy.place.id);
    Some((format!("rejoin show {name} --transcript"), "shows the messages of both, those of version 1 last"))
}

/// Returns a command of OpenCode 1 for a session, in its directory; `None` if a word of it is not printable.
fn with_version_1(copy: &SessionCopy, verb: &str) -> Option<String> {
    let argv = ["npx", "opencode-ai@1", verb, &copy.place.id].map(str::to_owned);
    let command = shell::command(&[], &copy.place.store.set, &argv)?;
    match &copy.launch_dir {
        Some(dir) => Some(format!("cd {} && {command}", shell::printable_word(dir.value.as_os_str())?)),
        None => Some(command),
    }
}
