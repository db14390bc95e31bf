//! Makes new sessions from a part of another one: the messages up to some point, or all without their large parts.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::PathError;
use crate::format::jsonl::Jsonl;
use crate::format::slim::{Removed, SlimShape};
use crate::session::branches::BranchFilter;
use crate::session::{SessionCopy, SessionKind};

/// Maximum size in bytes of a new transcript, which is held in memory.
pub(crate) const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// The point up to which messages are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CutPoint {
    pub branch: BranchFilter,
    /// Number of messages of the branch that are kept.
    pub messages: u64,
}

/// A new session that is not written yet.
#[derive(Debug)]
pub(crate) struct NewCopy {
    /// The directory of the session, for an agent whose sessions have one.
    pub dir: Option<PathBuf>,
    /// The files of the session, the transcript first.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// The parts that were removed from it.
    pub removed: Removed,
}

/// Creates a session with a new id from the messages of a copy, in the format of the agent's own fork. Fails if the copy
/// is unreadable or too large.
pub(crate) type Rewind = fn(&SessionCopy, CutPoint, &str) -> Result<NewCopy, PathError>;

/// Makes sessions with all messages of a copy, but without images, files and long results of tools.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slim {
    /// Creates a new session with a new id. Fails as [`Rewind`] does.
    pub write: fn(&SessionCopy, &str) -> Result<NewCopy, PathError>,
    /// Returns whether a copy has a supported format.
    pub is_supported: fn(&SessionCopy) -> bool,
}

impl Slim {
    /// Supports every copy.
    pub(super) const fn new(write: fn(&SessionCopy, &str) -> Result<NewCopy, PathError>) -> Self {
        Self { write, is_supported: |_| true }
    }
}

/// Returns the error about a copy from which no session can be made.
pub(super) fn fails(copy: &SessionCopy, why: &str) -> PathError {
    PathError::new("copy", &copy.place.path, io::Error::other(why.to_owned()))
}

/// Returns an error unless a session can be made from a copy.
pub(super) fn check(copy: &SessionCopy) -> Result<(), PathError> {
    if copy.kind == SessionKind::Subagent { Err(fails(copy, "it is a sub-agent's session")) } else { Ok(()) }
}

/// Copies a log line by line without large parts; the records whose `type` is one of `headers` get the new id.
///
/// Copies a line that is not JSON unchanged: the agent skips it in the old log, too.
pub(super) fn slim_log(
    copy: &SessionCopy,
    log: &Path,
    headers: &[&str],
    shape: &SlimShape,
    id: &str,
) -> Result<(Vec<u8>, Removed), PathError> {
    check(copy)?;
    let (mut bytes, mut removed) = (Vec::new(), Removed::default());
    let (old, new) = (format!("\"{}\"", copy.place.id), format!("\"{id}\""));
    let mut lines = Jsonl::open(log)?.into_lines()?.up_to(usize::MAX);
    while let Some(line) = lines.next_line()? {
        if let Ok(text) = str::from_utf8(line.bytes) {
            let slim = removed.slim(text, shape);
            let text = slim.as_deref().unwrap_or(text);
            let is_header = text.contains(&old) && kind(text).is_some_and(|kind| headers.contains(&kind.as_str()));
            let text = if is_header { text.replace(&old, &new).into() } else { Cow::Borrowed(text) };
            bytes.extend_from_slice(text.as_bytes());
        } else {
            bytes.extend_from_slice(line.bytes);
        }
        bytes.push(b'\n');
        if bytes.len() as u64 > MAX_BYTES {
            return Err(fails(copy, "without large parts, it is still larger than 512 MiB"));
        }
    }
    Ok((bytes, removed))
}

/// Copies a session that is one log, as [`slim_log`] does, into a file next to the old one, whose name has the new id.
pub(super) fn slim_file(
    copy: &SessionCopy,
    headers: &[&str],
    shape: &SlimShape,
    id: &str,
) -> Result<NewCopy, PathError> {
    let path = &copy.place.path;
    let (bytes, removed) = slim_log(copy, path, headers, shape, id)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let file = path.with_file_name(name.trim_end_matches(".zst").replace(&copy.place.id, id));
    Ok(NewCopy { dir: None, files: vec![(file, bytes)], removed })
}

/// Returns the `type` of a record.
fn kind(record: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct RecordType {
        r#type: String,
    }
    serde_json::from_str::<RecordType>(record).ok().map(|record| record.r#type)
}
