//! The archive: sessions copied out of reach of their agents' own deletion, each chunk of content stored once.
//!
//! Reading only; `apply::archive` writes and `apply::restore` puts back. docs/archive.md fixes the format.

pub(crate) mod chunks;
pub(crate) mod held;
mod inventory;
pub(crate) mod manifest;
pub(crate) mod restore;
pub(crate) mod rows;
pub(crate) mod store;
pub(crate) mod sync;
pub(crate) mod unpacked;
pub(crate) mod verify;
pub(crate) mod write;

pub(crate) use manifest::Manifest;
pub(crate) use store::{Archive, Snapshot};
