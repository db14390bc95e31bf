//! Access to the machine: the environment, files, processes, signals and the terminal.

pub(crate) mod deadline;
pub(crate) mod disk;
pub(crate) mod env;
pub(crate) mod fault;
pub(crate) mod fsio;
pub(crate) mod in_order;
pub(crate) mod links;
pub(crate) mod names;
pub(crate) mod own_program;
pub(crate) mod parallel;
pub(crate) mod process;
pub(crate) mod reach;
pub(crate) mod signals;
pub(crate) mod stamp;
pub(crate) mod state_file;
pub(crate) mod terminal;
pub(crate) mod trusted_file;
pub(crate) mod watch;
