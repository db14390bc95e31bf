//! What is written for programs that let this one keep their sessions: the contents, not the writing.

pub mod jido;
pub mod leo;
pub mod transcript;
