//! The unified store: `CURRENT` names a generation, whose manifest names the chunks of the conversation and the journal
//! that continues it. The last turn of a killed client is only in the journal.

use std::io::Read as _;

use super::{complete, locate, read_meta, take_runtime};
use crate::agent::prelude::*;
use crate::agent::vibe::journal::{EntryChange, VibeJournal, changes};
use crate::agent::vibe::records::{Current, STORE_FORMAT, UnifiedEntry, VibeManifest, inline_entries, is_number};
use crate::format::document::{DocumentField, Shape};
use crate::format::jsonl::{Jsonl, each_line};
use crate::session::branches::BranchFilter;

/// A chunk of the conversation: a list of entries.
const CHUNK: Shape = Shape { list: "", members: &[] };
/// The visible part of the session, as the agent stores it.
const PROJECTION: &str = "projection-state.json";
const MAX_CURRENT: u64 = 64 * 1024;
/// Maximum size of manifests and states, which contain names and settings; early versions stored the conversation in
/// one of them.
const MAX_STATE: u64 = 16 * 1024 * 1024;
/// Number of bytes of a conversation that a list searches for its first prompt.
const GLANCE: u64 = 1024 * 1024;
/// Number of records near the end of a journal that are read for a time.
const LAST_RECORDS: u32 = 16;

/// The files of a conversation.
struct ConversationFiles {
    /// The directory of the current generation.
    generation: Option<PathBuf>,
    manifest: VibeManifest,
    chunks: Vec<PathBuf>,
    /// The segments of the journal that no generation includes, in order.
    journal: Vec<PathBuf>,
    /// Set if a newer version wrote it.
    is_newer: bool,
    /// Description of the missing part, if there is one.
    problem: Option<&'static str>,
}

impl ConversationFiles {
    fn in_session_dir(place: &Located) -> Self {
        let dir = &place.path;
        let bytes = fsio::read_bounded(&dir.join("CURRENT"), MAX_CURRENT).unwrap_or_default();
        let current: Current<'_> = serde_json::from_slice(&bytes).unwrap_or_default();
        let mut problem = None;
        let name = current.generation().map(str::to_owned).or_else(|| {
            problem = Some("CURRENT names no generation");
            numbers(&dir.join("generations"), "").pop()
        });
        let generation = name.map(|name| dir.join("generations").join(name));
        let bytes = generation.as_deref().and_then(|generation| state(generation, "manifest.json"));
        let manifest = bytes.as_deref().and_then(VibeManifest::parse).unwrap_or_else(|| {
            problem = problem.or(Some("the manifest of its generation cannot be read"));
            VibeManifest::default()
        });
        let chunk = |name: &String| dir.join("chunks").join(format!("{name}.json"));
        let chunks = manifest.chunks.iter().flatten().map(chunk).collect();
        let first = manifest.journal.clone().unwrap_or_default();
        let segments = numbers(&dir.join("journal"), ".jsonl").into_iter().filter(|name| *name >= first);
        let journal = segments.map(|name| dir.join("journal").join(format!("{name}.jsonl"))).collect();
        let is_newer = current.store_format.filled().is_some_and(|format| format != STORE_FORMAT);
        Self { generation, manifest, chunks, journal, is_newer, problem }
    }

    /// Returns the state that contains the entries itself, which is the case if the manifest names no chunks.
    fn inline(&self) -> Option<PathBuf> {
        let generation = self.generation.as_ref().filter(|_| self.manifest.chunks.is_none())?;
        Some(generation.join(PROJECTION))
    }

    /// Calls `see` with the entries of the generation until it breaks or the budget is exhausted. Returns also whether
    /// some entries were unreadable.
    fn each_entry(
        &self,
        mut budget: u64,
        see: &mut dyn FnMut(UnifiedEntry) -> ControlFlow<()>,
    ) -> (ControlFlow<()>, bool) {
        let mut has_bad = false;
        if let Some(path) = self.inline() {
            let entries = fsio::read_bounded(&path, MAX_STATE).ok().and_then(|bytes| inline_entries(&bytes));
            has_bad |= entries.is_none();
            if entries.unwrap_or_default().into_iter().try_for_each(&mut *see).is_break() {
                return (ControlFlow::Break(()), has_bad);
            }
        }
        for chunk in &self.chunks {
            // A missing chunk must not hide the others.
            let Ok((file, metadata)) = fsio::open_regular(chunk) else {
                has_bad = true;
                continue;
            };
            let mut flow = ControlFlow::Continue(());
            let is_whole = CHUNK.each(&mut file.take(budget), &mut |field| {
                match field {
                    DocumentField::Message(raw) => match UnifiedEntry::parse(raw.get().as_bytes()) {
                        Some(entry) => flow = see(entry),
                        None => has_bad = true,
                    },
                    DocumentField::Member(..) => {}
                }
                flow
            });
            budget = budget.saturating_sub(metadata.len());
            if flow.is_break() || budget == 0 {
                return (ControlFlow::Break(()), has_bad);
            }
            has_bad |= !is_whole;
        }
        (ControlFlow::Continue(()), has_bad)
    }

    /// Reads the whole journal. Returns also whether it has an unreadable line.
    fn journal(&self) -> Result<(VibeJournal, bool), PathError> {
        let (mut journal, mut has_bad) = (VibeJournal::default(), false);
        for segment in &self.journal {
            each_line(segment, &mut |line| {
                match changes(line) {
                    Some(changes) => changes.into_iter().for_each(|change| journal.apply(change)),
                    None => has_bad = true,
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok((journal, has_bad))
    }

    /// Calls `see` with the current conversation until it breaks. Returns whether a part of it was unreadable.
    fn conversation(&self, see: &mut dyn FnMut(UnifiedEntry) -> ControlFlow<()>) -> Result<bool, PathError> {
        let (mut journal, mut has_bad) = self.journal()?;
        if !journal.is_reset {
            let (flow, has_bad_entries) = self
                .each_entry(u64::MAX, &mut |entry| journal.revise(entry).map_or(ControlFlow::Continue(()), &mut *see));
            has_bad |= has_bad_entries;
            if flow.is_break() {
                return Ok(has_bad);
            }
        }
        let _ = journal.rest().try_for_each(see);
        Ok(has_bad)
    }
}

/// The engine for the unified store.
pub(super) struct Unified;

impl Engine for Unified {
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        locate(store, only)
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        let mut copy = SessionCopy::new(place);
        copy.size_bytes = context.tree_size(Some(&copy.place.path));
        let has_meta = read_meta(&mut copy, context.env);
        let newest = read(&mut copy, has_meta, context.env)?;
        let known = copy.active_at.as_ref().map(|at| at.value);
        copy.active_at = newest.filter(|newest| known.is_none_or(|known| newest.value > known)).or(copy.active_at);
        complete(&mut copy, context);
        decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn observe(&self, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
        observers.has_bad_lines = ConversationFiles::in_session_dir(&copy.place).conversation(&mut |entry| {
            observers.count(entry.prompt().is_some(), entry.is_reply());
            observers.see([entry].into_iter().filter_map(|entry| entry.message()));
            ControlFlow::Continue(())
        })?;
        observers.finish(copy);
        Ok(())
    }

    fn messages_on(&self, copy: &SessionCopy, _wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        let parts = ConversationFiles::in_session_dir(&copy.place);
        parts.conversation(&mut |entry| entry.message().map_or(ControlFlow::Continue(()), &mut *see)).map(drop)
    }

    /// Returns the files that grow or are replaced while a session continues.
    fn written(&self, place: &Located) -> Vec<PathBuf> {
        let segments = numbers(&place.path.join("journal"), ".jsonl").into_iter();
        let segments = segments.map(|name| place.path.join("journal").join(format!("{name}.jsonl")));
        [place.path.join("CURRENT")].into_iter().chain(segments).collect()
    }
}

/// Reads a document of a generation.
fn state(generation: &Path, name: &str) -> Option<Vec<u8>> {
    fsio::read_bounded(&generation.join(name), MAX_STATE).ok()
}

/// Lists the names of 16 digits in a directory, without their ending, in order.
fn numbers(dir: &Path, ending: &str) -> Vec<String> {
    let entries = Found::default().entries(dir).into_iter();
    let names = entries.filter_map(|(entry, _)| entry.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter_map(|name| name.strip_suffix(ending).filter(|name| is_number(name)).map(str::to_owned)).collect();
    names.sort();
    names
}

/// Reads the start of the conversation and the end of the journal. Returns the time of the journal.
fn read(copy: &mut SessionCopy, has_meta: bool, env: &Env) -> Result<Option<Fact<Timestamp>>, PathError> {
    let parts = ConversationFiles::in_session_dir(&copy.place);
    if parts.is_newer {
        copy.health.insert(Health::UnsupportedVersion);
        copy.notes.push("its store has an unknown format".to_owned());
    }
    if let Some(problem) = parts.problem {
        copy.health.insert(Health::InvalidContent);
        copy.notes.push(problem.to_owned());
    }
    if let Some(generation) = parts.generation.as_ref().filter(|_| !has_meta || copy.parent_id.is_some()) {
        let bytes = state(generation, "runtime-state.json");
        take_runtime(copy, &bytes.unwrap_or_default(), has_meta, env);
    }

    let (mut prompt, mut has_reply, mut first_at, mut newest) = (None, false, None, None);
    let (flow, has_bad) = parts.each_entry(GLANCE, &mut |entry| {
        first_at = first_at.or(entry.at);
        newest = newest.max(entry.at);
        has_reply |= entry.is_reply();
        prompt = entry.prompt().map(str::to_owned);
        if prompt.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let mut is_whole = flow.is_continue();
    let mut modified = None;
    for segment in &parts.journal {
        let mut file = match Jsonl::open(segment) {
            Ok(file) => file,
            Err(error) => {
                copy.notes.push(format!("a segment of the journal cannot be read: {}", error.reason()));
                continue;
            }
        };
        copy.transcript_bytes += file.len();
        modified = modified.max(file.modified());
        if prompt.is_none() && is_whole {
            is_whole &= file.lines_forward(&mut |line| {
                for change in changes(line).unwrap_or_default() {
                    match change {
                        EntryChange::Reserved(text) => prompt = prompt.take().or(Some(text)),
                        EntryChange::Append(entry) | EntryChange::Replace(_, entry) => {
                            first_at = first_at.or(entry.at);
                            has_reply |= entry.is_reply();
                            prompt = prompt.take().or_else(|| entry.prompt().map(str::to_owned));
                        }
                        EntryChange::Remove(_) | EntryChange::Reset(_) => {}
                    }
                }
                prompt.is_some()
            })?;
        }
        let mut is_torn = false;
        let (mut at, mut seen) = (None, 0);
        file.lines_backward(&mut |line, is_ended| {
            match changes(line) {
                Some(changes) => {
                    for change in &changes {
                        if let EntryChange::Append(entry) | EntryChange::Replace(_, entry) = change {
                            at = at.max(entry.at);
                        }
                    }
                }
                None => is_torn |= !is_ended,
            }
            seen += 1;
            at.is_some() || seen >= LAST_RECORDS
        })?;
        newest = newest.max(at);
        copy.mark_if(is_torn, Health::TornTranscript);
    }
    let files = parts.chunks.iter().cloned().chain(parts.inline());
    copy.transcript_bytes += files.filter_map(|path| links::metadata(&path).ok()).map(|file| file.len()).sum::<u64>();
    // A lost chunk may have been the conversation.
    copy.note_bad_lines(has_bad);
    if is_whole && !has_bad && prompt.is_none() && !has_reply && copy.kind != SessionKind::Subagent {
        copy.kind = SessionKind::Empty;
    }
    copy.first_prompt = prompt.map(|prompt| Fact::new(prompt, "conversation"));
    copy.created_at = copy.created_at.take().or_else(|| first_at.map(|at| Fact::new(at, "conversation")));
    let newest = newest.map(|at| Fact::new(at, "conversation"));
    Ok(newest.or_else(|| modified.filter(|_| copy.active_at.is_none()).map(|at| Fact::new(at, "mtime"))))
}

/// Returns whether a line of the journal announces a turn that a program started.
pub(super) fn is_injected_turn(line: &[u8]) -> bool {
    let Ok(line) = serde_json::from_slice::<serde_json::Value>(line) else { return false };
    line["type"] == "command_reserved" && line.pointer("/payload/params/injected").is_some_and(|flag| *flag == true)
}

/// Returns the files of the current conversation.
pub(super) fn conversation_files(place: &Located) -> Vec<PathBuf> {
    let parts = ConversationFiles::in_session_dir(place);
    parts.inline().into_iter().chain(parts.chunks).chain(parts.journal).collect()
}
