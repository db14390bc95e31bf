//! What is written for programs that let this one keep their sessions: the contents, not the writing.

pub(crate) mod jido;
pub(crate) mod leo;
pub(crate) mod transcript;
pub(crate) mod write;
