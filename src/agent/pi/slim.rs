//! Writes a copy of a session without its large parts: the same tree of records in a new file, whose header has a new id.
//!
//! Facts: measured on 1.5.2, which sends the messages of such a copy.

use crate::agent::prelude::*;
use crate::agent::rewind::{self, NewCopy};
use crate::format::slim::{ResultAt, SlimShape};

const SHAPE: SlimShape = SlimShape {
    results: &[
        ResultAt { mark: ("role", "toolResult"), members: &["content"], counts: true },
        ResultAt { mark: ("role", "bashExecution"), members: &["output"], counts: true },
    ],
    repeated: &[],
    images: &[],
};

/// Implements [`Slim`](crate::agent::rewind::Slim).
pub(super) fn slim(copy: &SessionCopy, id: &str) -> Result<NewCopy, PathError> {
    rewind::slim_file(copy, &["session"], &SHAPE, id)
}
