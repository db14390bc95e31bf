//! The files in which Goose kept its sessions before 1.10: `sessions/<id>.jsonl`, a line of metadata and a line for each message.
//!
//! Goose 1.10 and later import them once, when they create `sessions.db`, and leave them where they are. Facts: block/goose,
//! session_manager.rs (01643006) and legacy.rs (decaa9d2).

use std::ops::ControlFlow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{path_in, records};
use crate::agent::{Engine, Found, ReadContext, database, is_there};
use crate::error::PathError;
use crate::format::json::{self, Text};
use crate::format::jsonl::{Jsonl, each_line, each_message};
use crate::format::turn::Turn;
use crate::session::evidence;
use crate::session::{Copy, Fact, Health, Located, Message, SessionKind, Store};

/// A line: the metadata, or a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Line<'a> {
    working_dir: Text<'a>,
    description: Text<'a>,
    role: Text<'a>,
    created: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    metadata: Option<&'a RawValue>,
}

impl Line<'_> {
    fn turn(&self) -> Option<Turn> {
        let (role, content) = (self.role.get()?, self.content?);
        let created = self.created.and_then(|at| at.get().parse().ok());
        Some(records::turn(role, content.get(), created, self.metadata.map(RawValue::get)))
    }
}

fn turn(line: &[u8]) -> Option<Turn> {
    json::record::<Line<'_>>(line)?.turn()
}

/// Returns whether a session is a file.
pub(super) fn is_in(place: &Located) -> bool {
    place.path.extension().is_some_and(|extension| extension == "jsonl")
}

/// Returns whether a line is the metadata, which carries no conversation.
pub(super) fn is_metadata(line: &[u8]) -> bool {
    json::record::<Line<'_>>(line)
        .is_some_and(|line| line.working_dir.get().is_some() && line.role.get().is_none() && line.content.is_none())
}

/// The engine for these files.
pub(super) struct Files;

impl Engine for Files {
    /// Finds the files, or the one of the session that is asked for.
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        let mut found = Found::default();
        for (entry, kind) in found.entries(&store.root.join("sessions")) {
            let (path, name) = (entry.path(), entry.file_name());
            let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".jsonl")) else { continue };
            if only.is_some_and(|only| only != id) {
                continue;
            }
            if !kind.is_file() {
                found.problem(&path, "it is not a regular file");
            } else if database::is_session_id(id) {
                found.places.push(Located::new(store, id, path));
            } else {
                found.problem(&path, "its name cannot be an id that is handed to a program");
            }
        }
        found
    }

    /// Reads the metadata, the first prompt, and the time of the last message.
    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<Copy, PathError> {
        let mut file = Jsonl::open(&place.path)?;
        let mut copy = Copy::new(place);
        let modified = file.modified();
        (copy.size_bytes, copy.transcript_bytes) = (file.len(), file.len());
        let mut has_reply = false;
        let is_whole = file.lines_forward(|line| {
            let Some(line) = json::record::<Line<'_>>(line) else { return false };
            match line.turn() {
                Some(turn) => {
                    has_reply |= turn.is_reply();
                    copy.created_at = copy.created_at.take().or_else(|| turn.at.map(|at| Fact::new(at, "transcript")));
                    copy.first_prompt = turn.prompt().map(|prompt| Fact::new(prompt.to_owned(), "transcript"));
                }
                None if copy.start_dir.is_none() => {
                    copy.title = line.description.filled().map(|title| Fact::new(title.to_owned(), "description"));
                    copy.set_dir(line.working_dir.get(), "working_dir in its file");
                }
                None => {}
            }
            copy.first_prompt.is_some()
        })?;
        file.lines_backward(|line, _| {
            copy.active_at = turn(line).and_then(|turn| turn.at).map(|at| Fact::new(at, "transcript"));
            copy.active_at.is_some()
        })?;
        if is_whole && copy.first_prompt.is_none() && !has_reply {
            copy.kind = SessionKind::Empty;
            copy.health.insert(Health::EmptySession);
        }
        copy.set_active_by_file(modified);
        database::judge_liveness(&mut copy, context.env.clock.now);
        if is_there(&path_in(&copy.place.store)) {
            copy.health.insert(Health::Unlisted);
            copy.notes.push(
                "Goose 1.10 and later import such a file only when they create sessions.db, and that does not hold this one"
                    .to_owned(),
            );
        }
        evidence::decide(&mut copy, |_| true);
        Ok(copy)
    }

    fn count(&self, copy: &mut Copy) -> Result<(), PathError> {
        let (mut prompts, mut replies, mut has_bad_lines) = (0, 0, false);
        each_line(&copy.place.path, &mut |line| {
            match line.map(turn) {
                Some(Some(turn)) => {
                    prompts += u64::from(turn.prompt().is_some());
                    replies += u64::from(turn.is_reply());
                }
                _ => has_bad_lines |= line.is_none_or(|line| json::record::<Line<'_>>(line).is_none()),
            }
            ControlFlow::Continue(())
        })?;
        (copy.prompts, copy.replies) = (Some(prompts), Some(replies));
        copy.note_bad_lines(has_bad_lines);
        Ok(())
    }

    fn messages(&self, copy: &Copy, see: &mut dyn FnMut(Message) -> ControlFlow<()>) -> Result<(), PathError> {
        each_message(&copy.place.path, see, |line| turn(line).map(|turn| turn.messages))
    }
}
