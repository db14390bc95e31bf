//! Changes of stores: what is decided (`plan`, pure), what goes (`removal`), where sessions go with their directory
//! (`relocation`), what stays for good (`pins`), the only code that carries it out (`apply`), and what
//! became of it (`outcome`).

pub(crate) mod apply;
pub(crate) mod hindrance;
pub(crate) mod labels;
pub(crate) mod links;
pub(crate) mod outcome;
pub(crate) mod pins;
pub(crate) mod plan;
pub(crate) mod relocation;
pub(crate) mod removal;
pub(crate) mod retitle;
pub(crate) mod state_file;
pub(crate) mod tags;
