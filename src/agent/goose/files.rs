//! The files in which Goose stored its sessions before 1.10: `sessions/<id>.jsonl`, with a line of metadata and one
//! line per message.
//!
//! Goose 1.10 and later import them once, when they create `sessions.db`, and do not remove them. Facts: block/goose,
//! session_manager.rs (01643006) and legacy.rs (decaa9d2).

use super::{path_in, records};
use crate::agent::ids::is_argument;
use crate::agent::lines::{Ends, Log, Record};
use crate::agent::prelude::*;
use crate::format::json::{self, number};
use crate::format::turn::instant;

/// A line: the metadata, or a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::agent) struct GooseLine<'a> {
    working_dir: Text<'a>,
    description: Text<'a>,
    role: Text<'a>,
    created: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    metadata: Option<&'a RawValue>,
}

impl GooseLine<'_> {
    /// Returns whether the line is the metadata, which carries no conversation.
    fn is_metadata(&self) -> bool {
        self.working_dir.get().is_some() && self.role.get().is_none() && self.content.is_none()
    }
}

impl Record for GooseLine<'_> {
    fn at(&self, _zone: &TimeZone) -> Option<Timestamp> {
        number(self.created).and_then(instant)
    }

    fn turn(&self) -> Option<Turn> {
        let (role, content) = (self.role.get()?, self.content?);
        Some(records::turn(role, content.get(), number(self.created), self.metadata.map(RawValue::get)))
    }
}

/// Returns whether a session is a file.
pub(super) fn is_in(place: &Located) -> bool {
    place.path.extension().is_some_and(|extension| extension == "jsonl")
}

/// Returns whether a line is the metadata.
pub(super) fn is_metadata(line: &[u8]) -> bool {
    json::record::<GooseLine<'_>>(line).is_some_and(|line| line.is_metadata())
}

/// The log of these sessions.
pub(super) struct GooseLog;

impl Log for GooseLog {
    type Record<'a> = GooseLine<'a>;
    type Facts = ();

    /// Finds all files, or the one of the requested session.
    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        let mut found = Found::default();
        for (entry, kind) in found.entries(&store.root.join("sessions")) {
            let (path, name) = (entry.path(), entry.file_name());
            let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".jsonl")) else { continue };
            if only.is_some_and(|only| only != id) {
                continue;
            }
            if !kind.is_file() {
                found.problem(&path, "it is not a regular file");
            } else if is_argument(id) {
                found.places.push(Located::new(store, id, path));
            } else {
                found.problem(&path, "its name cannot be an id that is handed to a program");
            }
        }
        found
    }

    fn parse(line: &[u8]) -> Option<GooseLine<'_>> {
        json::record(line)
    }

    fn see_from_start(line: &GooseLine<'_>, _number: usize, copy: &mut SessionCopy, (): &mut ()) {
        if line.is_metadata() && copy.start_dir.is_none() {
            copy.title = line.description.filled().map(|title| Fact::new(title.to_owned(), "description"));
            copy.set_dir(line.working_dir.get(), "working_dir in its file");
        }
    }

    fn finish(copy: &mut SessionCopy, _ends: &Ends, (): (), _context: &ReadContext<'_>) -> Result<(), PathError> {
        if is_there(&path_in(&copy.place.store)) {
            copy.health.insert(Health::Unlisted);
            copy.notes.push(
                "Goose 1.10 and later import such a file only when they create sessions.db, and that does not hold this one"
                    .to_owned(),
            );
        }
        Ok(())
    }
}
