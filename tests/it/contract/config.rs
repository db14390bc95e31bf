//! What `config` answers.

use serde::Deserialize;
use serde_json::Value;

use super::{PathOf, Version, nullable};

words!(ConfigKind: Config);
words!(Source: File Environment Default);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) format_version: Version,
    pub(crate) kind: ConfigKind,
    pub(crate) settings: Vec<Setting>,
    pub(crate) file: PathOf,
    pub(crate) exists: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Setting {
    pub(crate) key: String,
    pub(crate) value: Value,
    pub(crate) source: Source,
    #[serde(deserialize_with = "nullable")]
    pub(crate) line: Option<usize>,
}
