//! The answers of `hook` and `save`.

use serde::Deserialize;

use super::{Version, nullable};

words!(SavedWhat: SessionInfo Transcript Leo Jido);
words!(SavedResult: Written Kept);
words!(SaveKind: SaveOutcome);
words!(HookResult: Write Remove Keep Written Removed Kept);
words!(HookStatusKind: HookStatus);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Saved {
    pub(crate) format_version: Version,
    pub(crate) kind: SaveKind,
    pub(crate) what: SavedWhat,
    pub(crate) path: String,
    pub(crate) result: SavedResult,
    #[serde(deserialize_with = "nullable")]
    pub(crate) messages: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) left_out: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HookChange {
    pub(crate) format_version: Version,
    pub(crate) kind: String,
    pub(crate) action: String,
    pub(crate) agent: String,
    pub(crate) scope: String,
    pub(crate) path: String,
    pub(crate) result: HookResult,
    #[serde(deserialize_with = "nullable")]
    pub(crate) command: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) run: Option<String>,
    pub(crate) diff: Vec<String>,
}

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
