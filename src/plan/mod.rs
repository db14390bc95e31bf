//! What a change would do, each item with its reason. Pure: no disk, no clock.

pub mod backfill;
pub mod change;
pub mod retention;
