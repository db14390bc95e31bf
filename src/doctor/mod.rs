//! What is wrong with sessions: what is looked at (`survey`), what is found (`check`, pure), under which codes (`code`), and what repairs it (`repair`).

pub(crate) mod check;
pub(crate) mod code;
pub(crate) mod repair;
pub(crate) mod survey;
