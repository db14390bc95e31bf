//! Files for programs that let rejoin keep their sessions: the contents, and the writing in `write`.

pub(crate) mod jido;
pub(crate) mod leo;
pub(crate) mod transcript;
pub(crate) mod write;
