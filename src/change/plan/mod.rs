//! Plans of changes, each item with its reason. Pure: no disk, no clock.

pub(crate) mod backfill;
pub(crate) mod change;
mod fingerprint;
pub(crate) mod retention;
