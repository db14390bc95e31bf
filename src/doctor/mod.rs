//! Problems of sessions: `survey` collects the facts, `check` finds problems in them (pure), `code` names the findings, and `repair` plans the fixes.

pub(crate) mod accepted;
pub(crate) mod check;
pub(crate) mod code;
pub(crate) mod repair;
pub(crate) mod survey;
