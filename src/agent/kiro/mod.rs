//! Kiro CLI: `sessions/cli/<id>.jsonl` with `<id>.json` about the session, and since 2.20 the folders
//! `sessions/<project>/sess_<id>/` with `messages.jsonl` and `session.json`, without `sess_` for sessions that Kiro 1
//! migrated (kirodotdev/Kiro #9519, #9472). Its database of older versions is not read.
//!
//! Facts: read in Dicklesworthstone/cross_agent_session_resumer eb1e4a73 src/providers/kiro.rs (the first layout),
//! junhoyeo/tokscale 04e55344 crates/tokscale-core/src/sessions/kiro.rs and kenn-io/agentsview #1499 (the second one),
//! kirodotdev/Kiro #9968 (its resume); never measured. Its program has no public code.

mod records;

pub(super) mod about;

use super::ids::is_uuid;
use super::lines::{Ends, Lines, Log};
use super::unknown_format::has_any;
use crate::agent::prelude::*;
use crate::format::json::record;
use records::{CliFile, KiroRecord, WorkspaceFile};

/// Maximum size of the file about a session, which may contain its permissions.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// The log in a folder of the second layout.
const MESSAGES: &str = "messages.jsonl";
/// The project of the sessions in the first layout.
const CLI: &str = "cli";

/// Implements [`Agent`](super::Agent) for Kiro CLI, and the log of its first layout.
pub(super) struct Kiro;

/// The log of Kiro CLI's second layout.
struct WorkspaceLog;

impl Reading for Kiro {
    fn engine(&self) -> &'static dyn Engine {
        &Lines(Self)
    }

    fn older_engine(&self, place: &Located) -> Option<&'static dyn Engine> {
        is_workspace(place).then_some(&Lines(WorkspaceLog))
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        has_any(record, &[("/payload/type", &["session_metadata", "usage_summary", "turn_end"])])
    }
}

impl Resuming for Kiro {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        refuse_subagent(copy)?;
        if is_workspace(&copy.place) {
            let why = "it is not known how Kiro CLI resumes a session of 2.20 and later by its id";
            return Err(Unable::from(why).hint("start `kiro-cli` in its directory, and type /chat there"));
        }
        refuse_prompt(
            prompt,
            "it is not known how Kiro CLI answers one prompt in a session; resume it without --prompt",
        )?;
        Ok(Command::new(&["kiro-cli", "chat", "--resume-id", &copy.place.id], Vec::new()))
    }
}

impl Moving for Kiro {}

impl Housekeeping for Kiro {
    fn find_belongings(&self, place: &Located, _listings: &Listings) -> Result<Belongings, Unable> {
        if is_workspace(place) {
            // Its prompts, next to the sessions of the first layout (kenn-io/agentsview #1499).
            let prompts = place.store.root.join("sessions").join(CLI).join(format!("{}.history", place.id));
            return Ok(own_files(place, [prompts]));
        }
        Ok(own_files(place, ["json", "history"].map(|ending| place.path.with_extension(ending))))
    }
}

impl Log for Kiro {
    type Record<'a> = KiroRecord<'a>;
    type Facts = ();

    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        Found::in_projects(&store.root.join("sessions"), |dir, project, found| {
            if &**project == CLI {
                found.add_files(store, dir, None, ".jsonl", only, &is_uuid);
            } else {
                let is_migrated = |id: &str| is_uuid(id) && is_there(&dir.join(id).join(MESSAGES));
                found.add_folders(store, dir, None, only, &|id| is_workspace_id(id) || is_migrated(id));
            }
        })
    }

    fn parse(line: &[u8]) -> Option<KiroRecord<'_>> {
        record(line)
    }

    fn finish(copy: &mut SessionCopy, ends: &Ends, (): (), context: &ReadContext<'_>) -> Result<(), PathError> {
        let path = copy.place.path.with_extension("json");
        copy.size_bytes += links::metadata(&path).ok().filter(|_| context.sizes).map_or(0, |file| file.len());
        let bytes = read_or_note(copy, &path, MAX_FILE, path.display()).unwrap_or_default();
        record::<CliFile<'_>>(&bytes).unwrap_or_default().describe(copy, ends.modified);
        Ok(())
    }
}

impl Log for WorkspaceLog {
    type Record<'a> = KiroRecord<'a>;
    type Facts = ();

    const FILE: Option<&'static str> = Some(MESSAGES);

    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        <Kiro as Log>::locate(store, only)
    }

    fn parse(line: &[u8]) -> Option<KiroRecord<'_>> {
        record(line)
    }

    fn finish(copy: &mut SessionCopy, ends: &Ends, (): (), _context: &ReadContext<'_>) -> Result<(), PathError> {
        let path = copy.place.path.join("session.json");
        let bytes = read_or_note(copy, &path, MAX_FILE, path.display()).unwrap_or_default();
        record::<WorkspaceFile<'_>>(&bytes).unwrap_or_default().describe(copy, ends.modified);
        Ok(())
    }
}

/// Returns whether a name is that of a session's folder in the second layout that was not migrated.
fn is_workspace_id(name: &str) -> bool {
    name.strip_prefix("sess_").is_some_and(is_uuid)
}

fn is_workspace(place: &Located) -> bool {
    // A log of the first layout has the ending `.jsonl`, also under another name.
    place.path.file_name().is_some_and(|name| name == place.id.as_str())
}
