//! Values to bytes: tables for people, lines for pipes, JSON for scripts.

pub mod backfill;
pub mod hook;
pub mod json;
pub mod list;
pub mod resume;
pub mod save;
pub mod show;
pub mod table;
pub mod text;
