//! Reads the files of one session, and `kimi.json` for all of them.

use std::fs::DirEntry;

use crate::agent::kimi::records::{ContextRecord, KimiState, WorkDir, work_dirs};
use crate::agent::lines::Record as _;
use crate::agent::prelude::*;
use crate::format::content::is_beginning_of;
use crate::format::edit::{Edit, json_string};
use crate::format::json;
use crate::format::jsonl::Jsonl;
use crate::session::Problem;

/// Maximum size of `kimi.json`, which has about 150 bytes per directory.
pub(super) const MAX_MAP: u64 = 16 * 1024 * 1024;
/// Maximum size of `state.json`, which contains a task list.
const MAX_STATE: u64 = 4 * 1024 * 1024;

/// The files of one session; not all of them need to exist.
pub(super) struct KimiFiles {
    pub(super) context: PathBuf,
    state: [PathBuf; 2],
    /// The context of older versions, next to the directory.
    pub(super) legacy: Option<PathBuf>,
}

impl KimiFiles {
    pub(super) fn in_session_dir(place: &Located) -> Self {
        let legacy = place.path.with_file_name(format!("{}.jsonl", place.id));
        let dir = place.path.with_file_name(&place.id);
        let legacy = Some(legacy).filter(|legacy| is_file(legacy));
        let context = dir.join("context.jsonl");
        let context = legacy.clone().filter(|_| !is_file(&context)).unwrap_or(context);
        let state = ["state.json", "metadata.json"].map(|name| dir.join(name));
        Self { context, state, legacy }
    }

    /// Calls `read` with the context, then with those that `/clear`, `/compact` and going back renamed to
    /// `context_<n>.jsonl` (context.py of 1.45.0), the newest first, until it returns `true`.
    ///
    /// The renamed ones repeat each other, so only one of them is the conversation.
    pub(super) fn find_context(&self, mut read: impl FnMut(&Path) -> Result<bool, PathError>) -> Result<(), PathError> {
        if is_file(&self.context) && read(&self.context)? {
            return Ok(());
        }
        let renamed = |(entry, _): (DirEntry, _)| {
            let name = entry.file_name();
            let number = name.to_str()?.strip_prefix("context_")?.strip_suffix(".jsonl")?;
            Some((number.parse::<u64>().ok()?, entry.path()))
        };
        let entries = self.context.parent().map(|dir| Found::default().entries(dir));
        let mut contexts: Vec<(u64, PathBuf)> = entries.into_iter().flatten().filter_map(renamed).collect();
        contexts.sort_unstable();
        for (_, path) in contexts.iter().rev() {
            if is_file(path) && read(path)? {
                break;
            }
        }
        Ok(())
    }
}

/// Changes the title in the state, from which Kimi CLI reads it (1.45.0); Kimi writes one there after the first turn.
pub(super) fn retitle(place: &Located, title: &str) -> Result<(PathBuf, Edit), Unable> {
    let [path, _] = KimiFiles::in_session_dir(place).state;
    let state = small(&path, MAX_STATE)?.unwrap_or_default();
    let edit = json_string(&state, &["custom_title"], &|_| Some(title.to_owned()));
    edit.map(|edit| (path, edit))
        .ok_or_else(|| "it has no title yet; Kimi CLI gives it one after its first turn".into())
}

pub(super) fn is_file(path: &Path) -> bool {
    links::is_file(path)
}

/// Reads the directories in `kimi.json`; empty if the file does not exist.
pub(super) fn listed_dirs(root: &Path) -> Result<Vec<WorkDir>, Problem> {
    let path = root.join("kimi.json");
    match fsio::read_if_present(&path, MAX_MAP) {
        Ok(None) => Ok(Vec::new()),
        Ok(Some(bytes)) => {
            work_dirs(&bytes).ok_or_else(|| Problem { path, reason: "it cannot be read as JSON".to_owned() })
        }
        Err(error) => Err(Problem { reason: error.reason(), path }),
    }
}

/// Reads the start of the context: the first prompt, if the log has none. Returns the directory.
pub(super) fn read_context(copy: &mut SessionCopy, path: &Path, has_prompt: bool) -> Result<Option<String>, PathError> {
    let Some(mut file) = Jsonl::open_if_present(path)? else { return Ok(None) };
    let (modified, length) = (file.modified(), file.len());
    let (mut prompt, mut has_reply, mut dir) = (None, false, None);
    let is_whole = file.lines_forward(&mut |line| {
        if let Some(record) = json::record::<ContextRecord<'_>>(line) {
            dir = dir.take().or_else(|| record.directory());
            let turn = record.turn();
            prompt = turn.as_ref().and_then(Turn::prompt).map(str::to_owned);
            has_reply |= turn.is_some_and(|turn| turn.is_reply());
        }
        has_prompt || prompt.is_some()
    })?;
    if !has_prompt {
        copy.first_prompt = prompt.map(|prompt| Fact::new(prompt, "context"));
        copy.transcript_bytes += length;
        if !is_whole || has_reply {
            copy.kind = SessionKind::Main;
        }
    }
    copy.set_active_by_file(modified);
    Ok(dir)
}

/// Reads the title, and whether the session was archived; the second file is that of older versions.
pub(super) fn read_state(copy: &mut SessionCopy, files: &KimiFiles) {
    for path in &files.state {
        let read = fsio::read_if_present(path, MAX_STATE).map_err(|error| error.reason()).and_then(|bytes| {
            let Some(bytes) = bytes else { return Ok(()) };
            let state: KimiState<'_> =
                serde_json::from_slice(&bytes).map_err(|_| "it cannot be read as JSON".to_owned())?;
            if state.archived.0 {
                copy.kind = SessionKind::Archived;
            }
            let prompt = copy.first_prompt.as_ref().map_or("", |prompt| &*prompt.value);
            let title = state.title().filter(|title| !is_beginning_of(title, prompt));
            copy.title = copy.title.take().or_else(|| title.map(|title| Fact::new(title.to_owned(), "state")));
            Ok(())
        });
        if let Err(why) = read {
            // Kimi resumes the session even without the file.
            copy.notes.push(format!("{}: {why}", path.display()));
        }
    }
    copy.mark_if(copy.kind == SessionKind::Empty, Health::EmptySession);
}
