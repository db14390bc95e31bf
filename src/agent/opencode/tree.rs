//! The JSON files of OpenCode before 1.2: `storage/{session,message,part}`, one file per record.
//!
//! Facts: anomalyco/opencode 063e8306 (json-migration); sessions that are in a database too are not read from these
//! files.

use std::collections::HashSet;
use std::ffi::OsStr;

use serde_json::Value;

use crate::agent::Depth;
use crate::agent::database;
use crate::agent::ids::is_argument;
use crate::agent::opencode::records as format;
use crate::agent::opencode::records::SessionFile;
use crate::agent::prelude::*;
use crate::format::sqlite;
use crate::session::branches::BranchFilter;
use crate::session::obstacle::Obstacle;

const MAX_SESSION: u64 = 16 * 1024 * 1024;

/// Checks whether a session is a file of an older version, or the folder of its messages if that file is missing.
pub(super) fn is_in(place: &Located) -> bool {
    place.path.extension().is_some_and(|extension| extension == "json") || has_lost_file(place)
}

fn has_lost_file(place: &Located) -> bool {
    *place.path == *messages_of(&place.store, &place.id)
}

/// The engine for the JSON files.
pub(super) struct OpenCodeTree;

impl Engine for OpenCodeTree {
    /// Finds the sessions among the JSON files by their names.
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        let mut storage = Found::default();
        if storage.dirs(&store.root.join("storage")).is_empty() {
            return storage;
        }
        let mut found = Found::in_projects(&store.root.join("storage/session"), |dir, _, found| {
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
        });
        found.problems.append(&mut storage.problems);
        // The messages of a session may remain without its file.
        let known: HashSet<String> = found.places.iter().map(|place| place.id.clone()).collect();
        let messages = store.root.join("storage/message");
        let dirs = only.map_or_else(|| found.dirs(&messages), |id| vec![messages.join(id)]);
        for dir in dirs {
            let Some(id) = dir.file_name().and_then(|name| name.to_str()).filter(|id| is_argument(id)) else {
                continue;
            };
            if !known.contains(id) && !files_in(&dir).is_empty() {
                found.places.push(Located::new(store, id, dir.clone()));
            }
        }
        found
    }

    /// Reads the record of a session and its first prompt.
    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        if has_lost_file(&place) {
            return rest(place, context);
        }
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
        let url = text_in(file.share, "url");
        copy.kept_by = url.filled().map(|url| super::tables::shared(url, &copy).into());
        let mut is_silent = true;
        walk(&copy.place.clone(), &mut |turn| {
            is_silent = false;
            copy.first_prompt = turn.prompt().map(|prompt| Fact::new(prompt.to_owned(), "message"));
            if copy.first_prompt.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if is_silent {
            copy.be_empty();
        }
        if context.sizes || context.depth == Depth::Thorough {
            note_cut_file(&mut copy);
        }
        database::judge_liveness(&mut copy, context.env.clock.now);
        decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn observe(&self, copy: &mut SessionCopy, _observers: &mut Observers) -> Result<(), PathError> {
        let mut tally = database::MessageTally::default();
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
        if has_lost_file(place) { conversation_files(place) } else { vec![place.path.to_path_buf()] }
    }
}

/// Reads the messages of a session whose file is missing.
fn rest(place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
    let mut copy = SessionCopy::new(place);
    copy.size_bytes = context.tree_size(Some(&copy.place.path.clone()));
    let (mut first, mut last) = (None, None);
    walk(&copy.place.clone(), &mut |turn| {
        let prompt = || turn.prompt().map(|prompt| Fact::new(prompt.to_owned(), "message"));
        copy.first_prompt = copy.first_prompt.take().or_else(prompt);
        first = first.into_iter().chain(turn.at).min();
        last = last.max(turn.at);
        ControlFlow::Continue(())
    })?;
    let dir = files_in(&copy.place.path).iter().find_map(|path| {
        let bytes = fsio::read_bounded(path, u64::from(database::MAX_BYTES)).ok()?;
        format::worked_in(std::str::from_utf8(&bytes).ok()?)
    });
    copy.set_dir(dir.as_deref(), "path of a message");
    copy.created_at = first.map(|at| Fact::new(at, "message"));
    copy.active_at = last.map(|at| Fact::new(at, "message"));
    copy.obstruct(Obstacle::damage(
        "its file in storage/session is gone, so OpenCode does not have it; its messages are left",
    ));
    database::judge_liveness(&mut copy, context.env.clock.now);
    decide_launch_dir(&mut copy);
    Ok(copy)
}

/// Records that a file of a conversation is empty, as after a full disk.
fn note_cut_file(copy: &mut SessionCopy) {
    let is_cut = |path: &PathBuf| links::metadata(path).is_ok_and(|metadata| metadata.len() == 0);
    if let Some(path) = conversation_files(&copy.place).into_iter().find(is_cut) {
        copy.obstruct(Obstacle::damage(format!(
            "{} is empty, and OpenCode 1.1 answers: Unexpected end of JSON input",
            path.display()
        )));
    }
}

/// Reads the messages of a session in a database whose parts are only in JSON files: the import of 1.2 left some
/// behind.
pub(super) fn left_behind(place: &Located) -> Vec<Turn> {
    const MESSAGES: &str = "SELECT m.id, m.time_created, m.data FROM message AS m WHERE m.session_id = ?1 AND NOT EXISTS \
                            (SELECT 1 FROM part AS p WHERE p.message_id = m.id) ORDER BY m.time_created, m.id";
    if !is_there(&place.store.root.join("storage/part")) {
        return Vec::new();
    }
    let mut turns = Vec::new();
    let read = sqlite::read(&place.path, |db| {
        turns.clear();
        db.query(MESSAGES, &[&place.id], |row| {
            let Some(id) = row.filled(0).filter(|id| is_argument(id)) else { return };
            let parts = files_in(&parts_of(&place.store, OsStr::new(&id)));
            let mut turn = format::turn(row.int(1), None, &row.text(2).unwrap_or_default());
            for part in parts.iter().filter_map(|path| fsio::read_bounded(path, u64::from(database::MAX_BYTES)).ok()) {
                format::add_part(&mut turn, &String::from_utf8_lossy(&part));
            }
            if !turn.messages.is_empty() && !parts.is_empty() {
                turns.push(turn);
            }
        })
    });
    // Other versions have other tables. A database that cannot be read is reported elsewhere.
    if read.is_ok() { turns } else { Vec::new() }
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
    own.extend(Some(messages_of(&place.store, &place.id)).filter(|messages| *messages != own[0]));
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
