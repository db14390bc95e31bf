//! The only code that changes a store. Every item is looked at again right before it is changed.

pub mod backfill;
pub(crate) mod cwd_record;
pub(crate) mod jido;
pub(crate) mod launch_log;
pub(crate) mod pointer;
pub mod session_info;
pub(crate) mod settings;
pub(crate) mod transcript;
