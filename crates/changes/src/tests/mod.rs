//! Whole runs, on the disk of the system and in memory: done, undone, interrupted anywhere, failing anywhere.

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a variable sets the number of schedules, and the test prints how many it played"
)]
mod explore;
mod following;
mod scenarios;

use crate::disk::System;

/// The disk of the system. Tests may touch every path.
pub(crate) static SYSTEM: System = System::new(|_| Ok(()));
