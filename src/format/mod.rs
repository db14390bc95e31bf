//! Bytes to values: what the files of the agents contain, without touching a disk.

pub mod jido;
pub mod jido_signature;
