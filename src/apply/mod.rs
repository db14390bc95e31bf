//! The only code that changes a store. Every item is looked at again right before it is changed.

pub mod backfill;
pub mod session_info;
