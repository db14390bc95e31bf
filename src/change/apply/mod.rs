//! Changes that are applied at once: pins, and files that agents need to resume.

pub(crate) mod backfill;
pub(crate) mod pins;
