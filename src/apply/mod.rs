//! The only code that changes a store: under one lock, with a journal, looking again right before each item.
//!
//! What agents themselves save through this program, and its own log, are written without a journal: they are new, and
//! an agent waits.

pub mod archive;
pub mod backfill;
pub(crate) mod cwd_record;
mod fault;
pub(crate) mod jido;
pub mod journal;
pub(crate) mod launch_log;
mod lock;
pub mod pins;
pub(crate) mod pointer;
pub mod repair;
pub mod restore;
pub mod run;
pub mod session_info;
pub(crate) mod settings;
pub mod shop;
mod step;
pub(crate) mod transcript;
pub mod trash;
mod tree;
pub mod undo;
pub mod unpacked;
