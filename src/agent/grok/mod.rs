//! Grok Build: `<home>/sessions/<percent-encoded directory>/<id>/` with `summary.json` about the session and
//! `updates.jsonl`, the log that its own resume reads. `chat_history.jsonl` contains the messages for the model, which
//! a compaction replaces.
//!
//! Facts: `@xai-official/grok` 1.0.41, measured; the rest by xai-org/grok-build 19d42e35, its view.rs, paths.rs and
//! session_startup.rs.

pub(super) mod about;
mod log;

use jiff::SignedDuration;
use serde_json::Value;
use toml::de::DeTable;

use super::LiveRecord;
use super::command::as_option;
use super::ids::is_word as is_id;
use super::lines::Lines;
use crate::agent::installed::{self, Package};
use crate::agent::prelude::*;
use crate::agent::relocation::text;
use crate::agent::upkeep::Retention;
use crate::format::edit::{self, json_string};
use log::Updates;

/// Maximum length of a project name that is not cut and hashed.
const MAX_NAME: usize = 255;
const MAX_SUMMARY: u64 = 4 * 1024 * 1024;

/// Implements [`Agent`](super::Agent) for Grok Build.
pub(super) struct Grok;

impl Reading for Grok {
    fn engine(&self) -> &'static dyn Engine {
        &Lines(Updates)
    }

    fn notes(&self, store: &Store, _env: &Env) -> StoreNotes {
        let mut notes = StoreNotes::default();
        // The program treats an unreadable file as an empty list.
        let bytes = fsio::read_if_present(&store.root.join("active_sessions.json"), MAX_SUMMARY).ok().flatten();
        let active: Vec<Value> = serde_json::from_slice(&bytes.unwrap_or_default()).unwrap_or_default();
        for entry in active {
            let pid = entry.get("pid").and_then(Value::as_u64).and_then(|pid| u32::try_from(pid).ok());
            if let (Some(id), Some(pid)) = (entry.get("session_id").and_then(Value::as_str), pid) {
                notes.live.entry(id.to_owned()).or_default().push(LiveRecord { pid, started: None, state: None });
            }
        }
        notes
    }

    fn conversation_files(&self, place: &Located) -> Vec<PathBuf> {
        vec![place.path.join("updates.jsonl"), place.path.join("chat_history.jsonl")]
    }
}

impl Resuming for Grok {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        refuse_subagent(copy)?;
        Ok(Command::new(&["grok", "--resume", &copy.place.id], as_option(prompt, "-p", "--single")))
    }

    fn changes_to(&self, copy: &SessionCopy) -> Option<Arc<Path>> {
        copy.last_dir.as_ref().map(|own| Arc::clone(&own.value))
    }
}

impl Moving for Grok {
    fn relocation<'a>(&'a self, moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        let sessions = moving.store.root.join("sessions");
        Ok(Relocation::of_each(move |copy, to| {
            let (place, to) = (&copy.place, text(to)?);
            let project = Some(encoded(to)).filter(|name| name.len() <= MAX_NAME);
            let project = project.ok_or("Grok Build names so long a directory by a hash that rejoin does not know")?;
            let target = sessions.join(project).join(&place.id);
            let json = small(&summary(place), MAX_SUMMARY)?.unwrap_or_default();
            let edit = json_string(&json, &["info", "cwd"], &|_| Some(to.to_owned()));
            let edit = edit.ok_or("its summary.json does not name a directory")?;
            let contents = edit::apply(json.as_bytes(), &[edit]);
            let write = Act::Write { path: target.join("summary.json"), contents };
            Ok(Moved::by(vec![Act::Move { from: place.path.to_path_buf(), to: target }, write]))
        }))
    }

    fn is_filed_under(&self, project: &str, dir: &Path) -> Option<bool> {
        let is_its = encodes(dir, |dir| encoded(dir) == project);
        // The hash of a long name cannot be checked.
        let is_hashed = !project.starts_with('%') && encodes(dir, |dir| encoded(dir).len() > MAX_NAME);
        (is_its || !is_hashed).then_some(is_its)
    }
}

impl Housekeeping for Grok {
    /// Grok Build deletes the folders of sessions by the times of their files. 1.0.41 does so only if its config file says so
    /// (measured); 1.0.6 does after 30 days without it (xai-org/grok-build 19d42e35, `DEFAULT_CLEANUP_TTL_DAYS`), and so did
    /// 1.0.24 (phuryn/grok-build-vscode 138).
    fn retention(&self, store: &Store, env: &Env) -> Option<Retention> {
        const DEFAULT_DAYS: i64 = 30;
        let path = store.root.join("config.toml");
        let text = String::from_utf8(fsio::read_if_present(&path, MAX_SUMMARY).ok()?.unwrap_or_default()).ok()?;
        let config = DeTable::parse(&text).ok()?;
        let storage = config.get_ref().get("storage").and_then(|storage| storage.get_ref().as_table());
        let set = storage.and_then(|storage| storage.get("cleanup_ttl_days"));
        let days = match set {
            Some(days) => days.get_ref().as_integer()?.as_str().parse().ok().filter(|days| *days > 0)?,
            None => DEFAULT_DAYS,
        };
        if set.is_none() && !deletes_by_default(env) {
            return None;
        }
        let period = SignedDuration::from_hours(days.min(100_000) * 24);
        Some(Retention { is_set: set.is_some(), ..Retention::new(period, (path, "storage.cleanup_ttl_days")) })
    }
}

/// Returns whether the installed version is known to be older than the one that was measured to delete nothing by default.
fn deletes_by_default(env: &Env) -> bool {
    /// The first version that was measured.
    const MEASURED: [u64; 3] = [1, 0, 41];
    let package = Package::find_on_path("grok", env).map(|package| package.version);
    let version = package.or_else(|| installed::version_in_name("grok", env));
    version.and_then(|version| installed::is_at_least(&version, MEASURED)) == Some(false)
}

fn summary(place: &Located) -> PathBuf {
    place.path.join("summary.json")
}

/// Returns the project name of a directory: every byte except letters, digits and `-_.~` is percent-encoded.
fn encoded(dir: &str) -> String {
    let is_kept = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let encode = |byte: u8| if is_kept(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    dir.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_encoded_directory_is_project_name() {
        assert_eq!(encoded("/home/ana/my app_v1.2~x"), "%2Fhome%2Fana%2Fmy%20app_v1.2~x");
        assert_eq!(Grok.is_filed_under("%2Fw%2F%C3%BC", Path::new("/w/ü")), Some(true));
        assert_eq!(Grok.is_filed_under("%2Fw%2F%C3%BC", Path::new("/w/u")), Some(false));
        let long = format!("/w/{}", "中".repeat(30));
        assert_eq!(Grok.is_filed_under("workspace-0123456789abcdef", Path::new(&long)), None);
        assert_eq!(Grok.is_filed_under("workspace-0123456789abcdef", Path::new("/w")), Some(false));
    }
}
