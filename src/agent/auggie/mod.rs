//! Auggie: `~/.augment/sessions/<id>.json`, one document per session, with backups next to it.
//!
//! Facts: read in the package of 0.36.0; not measured.

pub(super) mod about;
mod records;

use std::io::Read as _;

use super::command::as_option;
use crate::agent::document::{Documents, Sum, set_title};
use crate::agent::ids::is_word;
use crate::agent::prelude::*;
use crate::format::document::DocumentField;
use crate::format::jsonl::Jsonl;
use records::{AuggieNames, DOCUMENT, member_of_names, workspace};

/// Number of bytes at the beginning that are searched for the first workspace.
const MAX_HEAD: u64 = 1024 * 1024;
/// Number of bytes at the end that are read for the members after the conversation.
const TAIL: usize = 64 * 1024;
const BACKUP: &str = "-backup";

const DOCUMENTS: Documents = Documents {
    dir: Some("sessions"),
    // A backup is part of its session.
    is_id: |id| is_word(id) && backup_of(id).is_none(),
    document: DOCUMENT,
    fill,
};

/// Implements [`Agent`](super::Agent) for Auggie.
pub(super) struct Auggie;

impl Reading for Auggie {
    fn engine(&self) -> &'static dyn Engine {
        &DOCUMENTS
    }
}

impl Resuming for Auggie {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        // `--print` takes no value; the text is the value of another option.
        let mut last = as_option(prompt, "-i", "--instruction");
        last.splice(..0, prompt.map(|_| "--print".to_owned()));
        Ok(Command::new(&["auggie", "--resume", &copy.place.id], last))
    }
}

impl Moving for Auggie {}

impl Housekeeping for Auggie {
    fn find_belongings(&self, place: &Located, listings: &Listings) -> Result<Belongings, Unable> {
        let is_backup = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".json"));
            name.and_then(backup_of) == Some(place.id.as_str())
        };
        let listed = listings.read_once(&place.store.root.join("sessions"));
        Ok(own_files(place, listed.entries_beginning_with(&format!("{}{BACKUP}", place.id)).filter(is_backup)))
    }
}

/// Fills in a copy from a document.
fn fill(copy: &mut SessionCopy, sum: &Sum, _context: &ReadContext<'_>) -> Result<(), PathError> {
    let behind = if sum.is_whole { String::new() } else { members_behind(&copy.place.path)? };
    let behind: AuggieNames<'_> = serde_json::from_str(&behind).unwrap_or_default();
    let text = |key: &str, behind: &Text<'_>| sum.text(key).filled().or(behind.filled()).map(str::to_owned);
    let title = text("customTitle", &behind.custom_title).or_else(|| text("title", &behind.title));
    set_title(copy, title.as_deref());
    copy.parent_id = text("parentConversationId", &behind.parent_conversation_id);
    if copy.parent_id.is_some() && copy.kind == SessionKind::Main {
        copy.kind = SessionKind::Subagent;
    }
    copy.created_at = sum.text("created").instant().map(|at| Fact::new(at, "session"));
    copy.active_at = sum.text("modified").instant().map(|at| Fact::new(at, "session"));
    let dir = first_workspace(&copy.place.path)?;
    copy.set_dir(dir.as_deref().and_then(Path::to_str), "the workspace of its first message");
    Ok(())
}

/// Returns the id of the session whose backup has the file name.
fn backup_of(name: &str) -> Option<&str> {
    let (id, number) = name.rsplit_once(BACKUP)?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(id)
}

/// Returns the workspace under which Auggie lists a session: the first one that a message names.
fn first_workspace(path: &Path) -> Result<Option<Arc<Path>>, PathError> {
    let (file, _) = fsio::open_regular(path)?;
    let mut first = None;
    DOCUMENT.shape.each(&mut file.take(MAX_HEAD), &mut |field| {
        if let DocumentField::Message(raw) = field {
            first = workspace(raw);
        }
        if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    Ok(first)
}

/// Returns the members after the conversation of a large document, as one object.
fn members_behind(path: &Path) -> Result<String, PathError> {
    let (mut members, mut bytes) = (Vec::new(), 0);
    Jsonl::open(path)?.with_tail(TAIL).lines_backward(&mut |line, _| {
        bytes += line.len();
        members.extend(member_of_names(line).map(str::to_owned));
        bytes >= TAIL
    })?;
    Ok(format!("{{{}}}", members.join(",")))
}
