//! Writes what `save` decided: for programs that let this one keep their sessions, without a journal.

pub(crate) mod cwd_record;
pub(crate) mod jido;
pub(crate) mod pointer;
pub(crate) mod session_info;
pub(crate) mod transcript;

#[cfg(test)]
mod tests;
