//! The tree of JSON files that OpenCode used before 1.2: `storage/{session,message,part}`, one file per record.
//!
//! Facts: anomalyco/opencode 063e8306 (json-migration); sessions that are in a database too are not read from here.

use std::ffi::OsStr;

use serde_json::Value;

use crate::agent::database;
use crate::agent::ids::is_argument;
use crate::agent::opencode::records as format;
use crate::agent::opencode::records::SessionFile;
use crate::agent::prelude::*;
use crate::session::branches::BranchFilter;

const MAX_SESSION: u64 = 16 * 1024 * 1024;

/// Checks whether a session is a file of the tree.
pub(super) fn is_in(place: &Located) -> bool {
    place.path.extension().is_some_and(|extension| extension == "json")
}

/// The engine for the tree.
pub(super) struct Tree;

impl Engine for Tree {
    /// Finds the sessions of the tree by their names.
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        Found::in_projects(&store.root.join("storage/session"), |dir, _, found| {
            for (entry, kind) in found.entries(dir) {
                let Ok(name) = entry.file_name().into_string() else { continue };
                let Some(id) = name.strip_suffix(".json").filter(|id| is_argument(id)) else { continue };
                if !kind.is_file() || only.is_some_and(|only| only != id) {
                    continue;
                }
                found.places.push(Located {
                    side_dir: Some(messages_of(store, id)).filter(|dir| is_there(dir)),
                    ..Located::new(store, id, entry.path())
                });
            }
        })
    }

    /// Reads the record of a session and its first prompt.
    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        let bytes = fsio::read_bounded(&place.path, MAX_SESSION)?;
        let mut copy = SessionCopy::new(place);
        copy.size_bytes = bytes.len() as u64 + context.tree_size(copy.place.side_dir.as_deref());
        let file: SessionFile<'_> = match serde_json::from_slice(&bytes) {
            Ok(file) => file,
            Err(_) => {
                copy.health.insert(Health::InvalidContent);
                SessionFile::default()
            }
        };
        copy.parent_id = file.parent_id.filled().map(str::to_owned);
        copy.place.is_subagent = copy.parent_id.is_some();
        super::tables::describe(&mut copy, file.title.filled().map(str::to_owned), file.times());
        copy.set_dir(file.directory.get(), "directory in the session's file");
        let mut is_silent = true;
        walk(&copy.place.clone(), &mut |turn| {
            is_silent = false;
            copy.first_prompt = turn.prompt().map(|prompt| Fact::new(prompt.to_owned(), "message"));
            if copy.first_prompt.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if is_silent {
            copy.be_empty();
        }
        database::judge_liveness(&mut copy, context.env.clock.now);
        decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn count(&self, copy: &mut SessionCopy) -> Result<(), PathError> {
        let mut tally = database::Tally::default();
        walk(&copy.place, &mut |turn| {
            tally.add(&turn);
            ControlFlow::Continue(())
        })?;
        tally.note_in(copy);
        Ok(())
    }

    fn messages_on(&self, copy: &SessionCopy, _wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        walk(&copy.place, &mut |turn| turn.messages.into_iter().try_for_each(&mut *see))
    }

    fn written(&self, place: &Located) -> Vec<PathBuf> {
        vec![place.path.to_path_buf()]
    }
}

fn messages_of(store: &Store, id: &str) -> PathBuf {
    store.root.join("storage/message").join(id)
}

/// Returns the session's file, its messages with their parts, and its to-do list.
pub(super) fn belongings(place: &Located) -> Belongings {
    let storage = place.store.root.join("storage");
    let mut own = vec![place.path.to_path_buf()];
    for path in files_in(&messages_of(&place.store, &place.id)) {
        own.extend(path.file_stem().map(|message| parts_of(&place.store, message)));
    }
    own.push(messages_of(&place.store, &place.id));
    own.extend(
        ["todo", "session_share", "session_diff"].map(|name| storage.join(name).join(format!("{}.json", place.id))),
    );
    own.retain(|path| is_there(path));
    Belongings { own, shared: Vec::new() }
}

/// Returns the files of a session's messages and of their parts.
pub(super) fn conversation_files(place: &Located) -> Vec<PathBuf> {
    let mut files = files_in(&messages_of(&place.store, &place.id));
    let dirs: Vec<PathBuf> = files.iter().filter_map(|path| Some(parts_of(&place.store, path.file_stem()?))).collect();
    files.extend(dirs.iter().flat_map(|dir| files_in(dir)));
    files
}

/// Checks whether a record is a failed message without content.
pub(super) fn is_silent(record: &[u8]) -> bool {
    let is_message = |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|value| value.get("role").is_some());
    str::from_utf8(record).is_ok_and(|text| {
        let turn = format::turn(None, None, text);
        is_message(text) && !turn.counts && turn.messages.is_empty()
    })
}

fn parts_of(store: &Store, message: &OsStr) -> PathBuf {
    store.root.join("storage/part").join(message)
}

/// Reads the messages of a session in order, each with its parts; ids begin with the time, so names are in order.
fn walk(place: &Located, see: &mut dyn FnMut(Turn) -> ControlFlow<()>) -> Result<(), PathError> {
    let read = |path: &Path| {
        let bytes = fsio::read_if_present(path, u64::from(database::MAX_BYTES))?;
        Ok::<_, PathError>(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
    };
    for path in files_in(&messages_of(&place.store, &place.id)) {
        let Some(data) = read(&path)? else { continue };
        let mut turn = format::turn(None, None, &data);
        for part in path.file_stem().map(|message| files_in(&parts_of(&place.store, message))).unwrap_or_default() {
            if let Some(part) = read(&part)? {
                format::add_part(&mut turn, &part);
            }
        }
        if see(turn).is_break() {
            break;
        }
    }
    Ok(())
}

/// Returns the JSON files in a directory, by name; none if the directory cannot be read.
fn files_in(dir: &Path) -> Vec<PathBuf> {
    let entries = Found::default().entries(dir).into_iter().filter(|(_, kind)| kind.is_file());
    let mut files: Vec<PathBuf> = entries.map(|(entry, _)| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}
