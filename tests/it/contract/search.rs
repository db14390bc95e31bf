//! The answers of `search`.

use serde::Deserialize;

use super::archive::Path;
use super::{Agent, Header, Kind, Problem, Role, SummaryKind, Version, nullable, utc};

words!(SearchKind: Search);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    pub(crate) format_version: Version,
    pub(crate) kind: SearchKind,
    pub(crate) text: String,
    pub(crate) regex: bool,
    pub(crate) case_sensitive: bool,
    pub(crate) sessions: Vec<Match>,
    pub(crate) searched: u64,
    pub(crate) hidden: u64,
    pub(crate) limit_reached: bool,
    pub(crate) problems: Vec<Problem>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Match {
    pub(crate) agent: Agent,
    pub(crate) id: String,
    pub(crate) kind: Kind,
    #[serde(deserialize_with = "nullable")]
    pub(crate) title: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) first_prompt: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) launch_dir: Option<Path>,
    #[serde(deserialize_with = "utc")]
    pub(crate) active_at: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) state: Option<u64>,
    pub(crate) in_title: bool,
    pub(crate) matches: u64,
    pub(crate) messages: Vec<Hit>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hit {
    pub(crate) number: u64,
    pub(crate) role: Role,
    #[serde(deserialize_with = "utc")]
    pub(crate) at: Option<String>,
    pub(crate) excerpt: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchSummary {
    pub(crate) kind: SummaryKind,
    pub(crate) sessions: u64,
    pub(crate) searched: u64,
    pub(crate) hidden: u64,
    pub(crate) limit_reached: bool,
    pub(crate) problems: Vec<Problem>,
}

/// A line of the form for streams.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Line {
    Header(Header<SearchKind>),
    Match(Match),
    Summary(SearchSummary),
}
