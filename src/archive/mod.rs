//! The archive: sessions copied out of reach of their agents' own deletion, each chunk of content stored once.
//!
//! Reading only; `apply::archive` writes and `apply::restore` puts back. docs/archive.md fixes the format.

pub mod chunks;
pub mod held;
pub mod manifest;
pub mod store;
pub mod verify;

pub use manifest::Manifest;
pub use store::{Archive, Snapshot};
