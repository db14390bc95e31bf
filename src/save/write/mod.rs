//! Writes the files of `save`, for programs that let rejoin keep their sessions, without a journal.

pub(crate) mod cwd_record;
pub(crate) mod jido;
pub(crate) mod pointer;
pub(crate) mod session_info;
pub(crate) mod transcript;

#[cfg(test)]
mod tests;
