//! What agents send on standard input when something happens, turned into decisions.
//!
//! Nothing here reads or writes a file: `apply` does, and `commands::hook` puts the two together. An agent waits for
//! its hooks, so an event is answered with as little as possible: no store is read, no other process is started.

pub(crate) mod amplifier;
pub(crate) mod claude;
pub(crate) mod install;
pub(crate) mod settings;
