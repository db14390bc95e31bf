//! The only code that changes a store. Every item is looked at again right before it is changed.

pub mod backfill;
pub(crate) mod launch_log;
pub mod session_info;
