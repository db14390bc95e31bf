//! Cursor CLI: `chats/<md5 of the directory>/<id>/` with `meta.json` about a chat, and its conversation in
//! `projects/<project>/agent-transcripts/<id>/<id>.jsonl`; sub-agents in `subagents` next to that. The chat's `store.db`
//! has blobs of protobuf and is not read.
//!
//! Facts: read in vshulcz/deja-vu #3772 (meta.json of 2026.09.02) and #62, stablyai/orca #11370, tenequm/pond #207,
//! microsoft/AI-Engineering-Coach #264 (sub-agents), kenn-io/agentsview 53860074 internal/parser/cursor.go (messages),
//! xhluca/session-migrate eb6a5e79 docs/cursor-format.md (places and resume, of 2026.03.20); never measured. Its program
//! has no public code.

mod records;

pub(super) mod about;

use std::collections::{BTreeMap, BTreeSet};

use super::as_last_argument;
use super::ids::is_uuid;
use super::lines::{Ends, Lines, Log};
use super::unknown_format::{self, has_any};
use crate::agent::prelude::*;
use crate::format::json::record;
use crate::session::branches::BranchFilter;
use records::{CursorMeta, CursorRecord};

/// The file with the facts about a chat.
const META: &str = "meta.json";
const MAX_META: u64 = 1024 * 1024;
const CHATS: &str = "chats";
const TRANSCRIPTS: &str = "agent-transcripts";

/// Implements [`Agent`](super::Agent) for Cursor CLI.
pub(super) struct Cursor;

impl Reading for Cursor {
    fn engine(&self) -> &'static dyn Engine {
        &Lines(Self)
    }

    fn older_engine(&self, place: &Located) -> Option<&'static dyn Engine> {
        is_chat(&place.path).then_some(&Chat)
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        has_any(record, &[("/type", &["turn_ended"])])
    }
}

impl Resuming for Cursor {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        refuse_subagent(copy)?;
        if !is_chat(&copy.place.path) && copy.place.side_dir.is_none() {
            let why = "its transcript has no chat of Cursor CLI, so Cursor's editor may have written it";
            return Err(Unable::from(why).hint("open its directory in Cursor, and look for it in the history there"));
        }
        let words: &[&str] = if prompt.is_some() { &["cursor-agent", "-p"] } else { &["cursor-agent"] };
        Ok(Command::new(&[words, &["--resume", &copy.place.id]].concat(), as_last_argument(prompt)))
    }
}

impl Moving for Cursor {}

impl Housekeeping for Cursor {
    fn find_belongings(&self, place: &Located, _listings: &Listings) -> Result<Belongings, Unable> {
        Ok(own_files(place, place.side_dir.clone()))
    }
}

impl Log for Cursor {
    type Record<'a> = CursorRecord<'a>;
    type Facts = ();

    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        let is_wanted = |id: &str| is_uuid(id) && only.is_none_or(|only| only == id);
        let mut chats = BTreeMap::new();
        let mut found = Found::default();
        for dir in found.dirs(&store.root.join(CHATS)) {
            for chat in found.dirs(&dir) {
                let id = chat.file_name().and_then(|name| name.to_str()).filter(|id| is_wanted(id)).map(str::to_owned);
                chats.extend(id.map(|id| (id, chat)));
            }
        }
        found.extend(Found::in_projects(&store.root.join("projects"), |dir, project, found| {
            // Those outside of a workspace have no project (getagentseal/codeburn #542).
            let dir = if &**project == TRANSCRIPTS { dir.to_owned() } else { dir.join(TRANSCRIPTS) };
            transcripts(store, &dir, &is_wanted, found);
        }));
        let mut has_transcript = BTreeSet::new();
        // A sub-agent has a chat, too (2026.09.10, by kenn-io/agentsview 1627).
        for place in &mut found.places {
            has_transcript.insert(place.id.clone());
            place.side_dir = chats.get(&place.id).cloned();
        }
        chats.retain(|id, _| !has_transcript.contains(id));
        found.places.extend(chats.into_iter().map(|(id, chat)| Located::new(store, id, chat)));
        found
    }

    fn parse(line: &[u8]) -> Option<CursorRecord<'_>> {
        record(line)
    }

    fn finish(copy: &mut SessionCopy, ends: &Ends, (): (), _context: &ReadContext<'_>) -> Result<(), PathError> {
        let chat = copy.place.side_dir.clone();
        copy.active_at = None;
        chat.iter().for_each(|chat| describe(copy, chat));
        copy.set_active_by_file(ends.modified);
        Ok(())
    }
}

/// Finds the transcripts in a directory of a project: in a folder each, with sub-agents, or without one.
fn transcripts(store: &Arc<Store>, dir: &Path, is_wanted: &(dyn Fn(&str) -> bool + Sync), found: &mut Found) {
    found.add_files(store, dir, None, ".jsonl", None, &is_wanted);
    for folder in found.dirs(dir) {
        let Some(id) = folder.file_name().and_then(|name| name.to_str()).filter(|id| is_uuid(id)) else { continue };
        found.add_files(store, &folder, None, ".jsonl", None, &|name| name == id && is_wanted(id));
        let first = found.places.len();
        found.add_files(store, &folder.join("subagents"), None, ".jsonl", None, &is_wanted);
        for place in &mut found.places[first..] {
            (place.parent_id, place.is_subagent) = (Some(id.to_owned()), true);
        }
    }
}

/// Returns whether a path is the folder of a chat instead of a transcript.
fn is_chat(path: &Path) -> bool {
    path.extension().is_none() && path.ancestors().nth(2).is_some_and(|dir| dir.ends_with(CHATS))
}

/// Adds the facts about a chat.
fn describe(copy: &mut SessionCopy, chat: &Path) {
    let path = chat.join(META);
    let bytes = read_or_note(copy, &path, MAX_META, META).unwrap_or_default();
    let meta: CursorMeta<'_> = record(&bytes).unwrap_or_default();
    copy.title = meta.title.filled().map(|title| Fact::new(title, "title"));
    copy.model = meta.model.filled().map(|model| Fact::new(model, "session"));
    copy.created_at = meta.created_at().map(|at| Fact::new(at, "session"));
    copy.active_at = meta.updated_at().map(|at| Fact::new(at, "session"));
    copy.set_dir(meta.cwd.filled(), "cwd of meta.json");
}

/// The engine for a chat without a transcript.
struct Chat;

impl Engine for Chat {
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        <Cursor as Log>::locate(store, only)
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        let mut copy = SessionCopy::new(place);
        let chat = copy.place.path.to_path_buf();
        copy.size_bytes = context.tree_size(Some(&chat));
        describe(&mut copy, &chat);
        let modified = links::metadata(&chat.join(META)).ok().and_then(|file| file.modified().ok()?.try_into().ok());
        copy.set_active_by_file(modified);
        let last = copy.active_at.as_ref().map(|at| at.value).max(modified);
        super::judge_by_age(&mut copy, last, context.env.clock.now);
        let note = "it has no transcript, and the conversation in its store.db is not read";
        unknown_format::mark(&mut copy, note.to_owned());
        decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn observe(&self, _copy: &mut SessionCopy, _observers: &mut Observers) -> Result<(), PathError> {
        Ok(())
    }

    fn messages_on(&self, _copy: &SessionCopy, _wanted: BranchFilter, _see: &mut Visitor<'_>) -> Result<(), PathError> {
        Ok(())
    }
}
