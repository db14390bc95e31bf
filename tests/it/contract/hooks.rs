//! The answer of `hook status`.

use serde::Deserialize;

use super::{Version, nullable};

words!(HookStatusKind: HookStatus);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HookStatus {
    pub(crate) format_version: Version,
    pub(crate) kind: HookStatusKind,
    pub(crate) agent: String,
    pub(crate) installed: bool,
    pub(crate) scopes: Vec<HookScope>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HookScope {
    pub(crate) scope: String,
    pub(crate) path: String,
    pub(crate) exists: bool,
    pub(crate) installed: bool,
    pub(crate) events: Vec<String>,
    pub(crate) missing: Vec<String>,
    pub(crate) disabled: bool,
    #[serde(deserialize_with = "nullable")]
    pub(crate) problem: Option<String>,
}
