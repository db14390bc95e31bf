//! Parses the input that agents send to their hooks on standard input, and decides on it.
//!
//! `save` writes the result, and `commands::hook` connects the two. An agent waits for its hooks, so an event is
//! answered with minimal work: no store is read, no other process is started.

pub(crate) mod amplifier;
pub(crate) mod claude;
pub(crate) mod install;
pub(crate) mod settings;
