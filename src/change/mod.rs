//! Changes of stores: plans (`plan`, pure), the steps for an agent's acts (`acts`), removal of sessions (`removal`), moves of
//! sessions with their directory (`relocation`), pinned sessions (`pins`), the only code that carries changes out (`engine`),
//! and their results (`outcome`).

pub(crate) mod acts;
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
pub(crate) mod rewinds;
pub(crate) mod tags;
