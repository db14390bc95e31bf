//! Values to bytes: tables for people, lines for pipes, JSON for scripts.

pub mod archive;
pub mod backfill;
pub mod change;
pub mod cleanup;
pub mod doctor;
pub mod hook;
pub mod json;
pub mod list;
pub mod pins;
pub mod resume;
pub mod save;
pub mod show;
pub mod table;
pub mod text;
pub mod trash;
pub mod undo;

use std::io::{self, Write};

/// Writes a value as one line of JSON.
pub(crate) fn write_line(out: &mut impl Write, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}
