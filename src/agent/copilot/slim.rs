//! Writes a copy of a session without its large parts: the same events and the same workspace.yaml in a new directory,
//! both with a new id.
//!
//! Facts: measured on 1.0.102, which sends the messages of such a copy.

use std::io;

use super::flat_yaml;
use super::workspace::MAX_WORKSPACE;
use crate::agent::prelude::*;
use crate::agent::rewind::{self, NewCopy};
use crate::format::slim::{ResultAt, SlimShape};

const SHAPE: SlimShape = SlimShape {
    results: &[ResultAt { mark: ("type", "tool.execution_complete"), members: &["result"], counts: true }],
    repeated: &[],
    images: &[],
};

/// Implements [`Slim`](crate::agent::rewind::Slim).
pub(super) fn slim(copy: &SessionCopy, id: &str) -> Result<NewCopy, PathError> {
    let old = &copy.place.path;
    let headers = ["session.start", "session.resume"];
    let (bytes, removed) = rewind::slim_log(copy, &old.join("events.jsonl"), &headers, &SHAPE, id)?;
    let workspace = old.join("workspace.yaml");
    let fail = |why: &str| PathError::new("copy", &workspace, io::Error::other(why.to_owned()));
    let text = fsio::read_bounded(&workspace, MAX_WORKSPACE)?;
    let mut text = String::from_utf8(text).map_err(|_| fail("it is not UTF-8"))?;
    let line = flat_yaml::line_of(&text, "id").ok_or_else(|| fail("it has no id"))?;
    text.replace_range(line, &format!("id: {id}"));
    let dir = old.with_file_name(id);
    let files = vec![(dir.join("events.jsonl"), bytes), (dir.join("workspace.yaml"), text.into_bytes())];
    Ok(NewCopy { dir: Some(dir), files, removed })
}
