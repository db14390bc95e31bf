//! Carries out changes of files: under one lock, with a journal, asking for each item again right before it.
//!
//! Data that agents save through rejoin, and rejoin's own log, are written without a journal: they are new, and an
//! agent waits.

pub(crate) mod bounds;
pub(crate) mod error;
#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "it is told how much to try, and says how much it was"
)]
mod explore;
pub(crate) mod history;
pub(crate) mod journal;
pub(crate) mod lock;
pub(crate) mod outcome;
pub(crate) mod plan;
pub(crate) mod private_dir;
pub(crate) mod run;
#[cfg(test)]
mod scenarios;
pub(crate) mod state_dir;
pub(crate) mod step;
pub(crate) mod trash;
pub(crate) mod tree;
pub(crate) mod undo;
