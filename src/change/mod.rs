//! Changes of stores: what is decided (`plan`, pure), what goes (`removal`), where sessions go with their directory
//! (`relocation`), what stays for good (`pins`), and the only code that carries it out (`apply`).

pub(crate) mod apply;
pub(crate) mod hindrance;
pub(crate) mod pins;
pub(crate) mod plan;
pub(crate) mod relocation;
pub(crate) mod removal;
pub(crate) mod retitle;
