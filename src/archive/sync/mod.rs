//! Sessions of several machines that share an archive: the sessions of each, and the relation of two states of one.
//!
//! The archive has a record of each machine, which only that machine writes. It names the state of every session there,
//! as a branch names a commit. So no file has two writers, and a program that copies the archive's directory from
//! machine to machine can deliver its files in any order: a record may name a state that has not arrived yet.

mod content;
pub(crate) mod decide;
pub(crate) mod decision;
pub(crate) mod exchange;
pub(crate) mod machines;
pub(crate) mod relation;
pub(crate) mod state;
