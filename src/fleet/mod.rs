//! Sessions on other hosts: `ssh` is the transport, the `rejoin` there is the only agent, and its JSON is the answer.

mod ask;
pub(crate) mod command;
pub(crate) mod destination;
mod gate;
pub(crate) mod merge;
pub(crate) mod row;
pub(crate) mod rows;
mod talk;

pub(crate) use ask::{Answering, NO_ANSWER, ask_hosts, ourselves, ssh};
pub(crate) use command::{FORM, of_others};
pub(crate) use destination::Host;
