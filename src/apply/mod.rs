//! The only code that changes a store: under one lock, with a journal, looking again right before each item.

pub mod backfill;
mod fault;
pub mod journal;
pub(crate) mod launch_log;
mod lock;
pub mod repair;
pub mod run;
pub mod session_info;
pub mod shop;
mod step;
pub mod trash;
mod tree;
pub mod undo;
