//! The answers of `search`.

use serde::Deserialize;

use super::archive::Path;
use super::{Agent, Header, Kind, Problem, Role, SummaryKind, Time, Version};

words!(SearchKind: Search);

answer!(Search {
    format_version: Version; kind: SearchKind; text: String; regex: bool; case_sensitive: bool; sessions: Vec<Match>;
    searched: u64; hidden: u64; limit_reached: bool; replaced: Vec<Replaced>; missing: Vec<String>; partial: bool;
    deleted: Vec<Deleted>; problems: Vec<Problem>
});

answer!(Deleted { agent: Agent; id: String; dir: Option<String>; prompts: Vec<Prompt> });

answer!(Prompt { at: Option<Time>; text: String });

answer!(Replaced { typed: String; used: String });

answer!(Match {
    agent: Agent; id: String; kind: Kind; title: Option<String>; first_prompt: Option<String>; launch_dir: Option<Path>;
    active_at: Option<Time>; state: Option<u64>; score: Option<f64>; words: Option<Vec<String>>; in_title: bool; matches: u64;
    copy: Option<u64>; messages: Vec<Hit>
});

answer!(Hit { number: u64; role: Role; at: Option<Time>; excerpt: String; branch: Option<u16> });

answer!(SearchSummary {
    kind: SummaryKind; sessions: u64; searched: u64; hidden: u64; limit_reached: bool; replaced: Vec<Replaced>;
    missing: Vec<String>; partial: bool; deleted: Vec<Deleted>; problems: Vec<Problem>
});

/// A line of an ndjson answer.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Line {
    Header(Header<SearchKind>),
    Match(Match),
    Summary(SearchSummary),
}
