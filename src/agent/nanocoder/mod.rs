//! Nanocoder: `<data>/sessions/<id>.json`, one document per session, and an index that Nanocoder rebuilds if it is missing.
//!
//! Facts: measured on 1.25.2 and 1.30.0; settings by its code.

pub(super) mod about;
mod records;

use jiff::SignedDuration;
use serde_json::Value;

use super::about::FindPackage;
use super::ids::is_uuid;
use super::installed::PackageRegistry;
use crate::agent::document::{Documents, Sum, set_title};
use crate::agent::prelude::*;
use crate::agent::small_file;
use crate::agent::upkeep::Retention;
use records::DOCUMENT;

const PACKAGE: &str = "@nanocollective/nanocoder";
/// The setting with the number of days for which it keeps sessions, and the default.
const DAYS: &str = "nanocoder.sessions.retentionDays";
const DEFAULT_DAYS: i64 = 30;

const DOCUMENTS: Documents = Documents { dir: Some("sessions"), is_id: is_uuid, document: DOCUMENT, fill };

/// Implements [`Agent`](super::Agent) for Nanocoder.
pub(super) struct Nanocoder;

impl Reading for Nanocoder {
    fn engine(&self) -> &'static dyn Engine {
        &DOCUMENTS
    }

    fn observe(&self, copy: &mut SessionCopy, _observers: &mut Observers) -> Result<(), PathError> {
        let sum = DOCUMENT.whole(&copy.place.path, &mut |_| ())?;
        sum.fill_counts(copy);
        // In a long document, the flag of a user-given title may follow the messages.
        entitle(copy, &sum);
        Ok(())
    }
}

impl Resuming for Nanocoder {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        refuse_prompt(prompt, "Nanocoder answers no prompt in a session that it resumes; resume it without --prompt")?;
        let then_type = Some(format!("/resume {}", copy.place.id));
        Ok(Command { argv: vec!["nanocoder".to_owned()], last: Vec::new(), unset: Vec::new(), then_type })
    }
}

impl Moving for Nanocoder {}

impl Housekeeping for Nanocoder {
    fn retention(&self, store: &Store, env: &Env) -> Option<Retention> {
        // A store that Nanocoder does not use by default is not cleaned up either.
        store.is_default.then(|| retention(env))
    }
}

/// Adds the session to the command line, if the installed version supports the option; 1.28.1 does not.
fn fit_command(command: &mut Command, copy: &SessionCopy, find: FindPackage<'_>) {
    let package = find("nanocoder").filter(|package| package.has_name(PackageRegistry::Npm, PACKAGE));
    if package.and_then(|package| package.is_at_least([1, 29])) == Some(true) {
        command.argv.extend(["--resume".to_owned(), copy.place.id.clone()]);
        command.then_type = None;
    }
}

/// Fills in a copy from a document.
fn fill(copy: &mut SessionCopy, sum: &Sum, _context: &ReadContext<'_>) -> Result<(), PathError> {
    entitle(copy, sum);
    copy.model = sum.text("model").filled().map(|model| Fact::new(model, "session"));
    copy.created_at = sum.text("createdAt").instant().map(|at| Fact::new(at, "session"));
    // Nanocoder deletes by the time of the last resume, and since 1.30.0 (by its code) of the last save.
    copy.modified_at = sum.text("lastAccessedAt").instant();
    copy.set_dir(sum.text("workingDirectory").filled(), "its workingDirectory");
    Ok(())
}

/// Sets the title. Unless the user gave it, it is the beginning of the last prompt, and only meaningful if that is not
/// the first one.
fn entitle(copy: &mut SessionCopy, sum: &Sum) {
    let title = sum.text("title");
    if inner::<Flag>(sum.member("titleManuallySet")).0 {
        copy.title = title.filled().map(|title| Fact::new(title, "session"));
    } else {
        set_title(copy, title.filled());
    }
}

/// Reads the number of days for which Nanocoder keeps a session. A file of the same name in its start directory has
/// precedence.
fn retention(env: &Env) -> Retention {
    let usual = if cfg!(target_os = "macos") { env.home.join("Library/Preferences") } else { env.config_dir() };
    let usual = usual.join("nanocoder");
    let dir = env.agent_variable("NANOCODER_CONFIG_DIR").map_or(usual, |dir| env.absolute(Path::new(dir)));
    let path = dir.join("nanocoder-preferences.json");
    // Nanocoder also ignores an unreadable file.
    let settings: Value = serde_json::from_str(&small_file::settings(&path).unwrap_or_default()).unwrap_or_default();
    let set = settings.pointer("/nanocoder/sessions/retentionDays").and_then(Value::as_f64);
    // Less than a day counts as a day. A fraction is truncated, so that no session is assumed to be kept longer than it
    // is.
    #[expect(clippy::cast_possible_truncation, reason = "days beyond the calendar are cut to the most there are")]
    let days = set.map_or(DEFAULT_DAYS, |days| days.clamp(1.0, 1e6) as i64);
    let period = SignedDuration::from_hours(24 * days);
    Retention { is_set: set.is_some(), is_by_record: true, ..Retention::new(period, (path, DAYS)) }
}
