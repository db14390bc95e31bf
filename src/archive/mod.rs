//! The archive: copies of sessions that their agents do not delete, each chunk of content stored once per machine.
//! Several machines can share an archive: each writes into its own directory, and reads those of the others.
//!
//! `write` archives sessions, and `restore` restores them. docs/archive.md specifies the format.

pub(crate) mod chunks;
pub(crate) mod code;
pub(crate) mod coverage;
mod inventory;
pub(crate) mod machine;
mod machine_dir;
pub(crate) mod manifest;
mod occupancy;
pub(crate) mod restore;
pub(crate) mod rows;
pub(crate) mod store;
pub(crate) mod sync;
pub(crate) mod unpacked;
pub(crate) mod untrusted;
pub(crate) mod verify;
pub(crate) mod write;

pub(crate) use machine_dir::{ArchivedState, MachineDir};
pub(crate) use manifest::Manifest;
pub(crate) use store::Archive;
