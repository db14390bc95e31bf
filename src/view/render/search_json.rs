//! The answer of `search` as JSON.

use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;

use crate::scan::search::Hit;
use crate::session::Role;
use crate::view::render::document::{write_header, write_line, write_object, write_summary};
use crate::view::render::json::facts::{FactsJson, Of};
use crate::view::render::search::{MatchingSession, SearchFor, SearchSummary};

const KIND: &str = "search";

/// The answer of `search`.
#[derive(Serialize)]
pub(crate) struct SearchJson<'a> {
    /// The text that was searched for; several texts are joined by blanks.
    pub text: &'a str,
    /// True for a regular expression.
    pub regex: bool,
    /// True if case mattered.
    pub case_sensitive: bool,
    /// The matching sessions, in the requested order.
    pub sessions: Vec<MatchJson<'a>>,
    #[serde(flatten)]
    pub summary: &'a SearchSummary<'a>,
}

/// A session that has the text.
#[derive(Serialize)]
pub(crate) struct MatchJson<'a> {
    #[serde(flatten)]
    pub facts: FactsJson<'a>,
    /// The number of the archived state that was searched; `null` if the session itself was searched.
    pub state: Option<u64>,
    /// Rank within this answer, higher is better; `null` for a literal text.
    pub score: Option<f64>,
    /// The words that the session has; `null` for a literal text.
    pub words: Option<&'a [String]>,
    /// True if the title has the text, or the first prompt of a session without title.
    pub in_title: bool,
    /// Number of messages with the text.
    pub matches: u64,
    /// The number of the copy with these messages; `null` for the one that lists show.
    pub copy: Option<usize>,
    /// The first of these messages.
    pub messages: Vec<HitJson>,
}

/// A message that has the text.
#[derive(Debug, Serialize)]
pub(crate) struct HitJson {
    /// The number of the message, counted from 1.
    pub number: u64,
    /// The role of the speaker.
    pub role: Role,
    /// The time of the message.
    pub at: Option<Timestamp>,
    /// The line of the match, with `--context` also the lines around it; an ellipsis replaces parts of a very long
    /// line.
    pub excerpt: String,
    /// The number of its branch; `null` on the active one.
    pub branch: Option<u16>,
}

impl<'a> From<&'a MatchingSession<'a>> for MatchJson<'a> {
    fn from(one: &'a MatchingSession<'a>) -> Self {
        let MatchingSession { session, state, found, copy, rank } = one;
        Self {
            facts: FactsJson(session, Of::Match),
            state: *state,
            score: rank.as_ref().map(|rank| (rank.score * 1000.0).round() / 1000.0),
            words: rank.as_ref().map(|rank| rank.words.as_slice()),
            in_title: found.in_title,
            matches: found.messages,
            copy: *copy,
            messages: found.hits.iter().map(HitJson::from).collect(),
        }
    }
}

impl From<&Hit> for HitJson {
    fn from(hit: &Hit) -> Self {
        let excerpt = [hit.before.as_str(), &hit.found, &hit.after].concat();
        Self { number: hit.number, role: hit.role, at: hit.at, excerpt, branch: hit.branch }
    }
}

/// Writes one object.
pub(crate) fn json(
    out: &mut impl Write,
    search_for: SearchFor<'_>,
    matches: &[MatchingSession<'_>],
    summary: &SearchSummary<'_>,
) -> io::Result<()> {
    let sessions = matches.iter().map(MatchJson::from).collect();
    let text = search_for.text();
    let (regex, case_sensitive) = match search_for {
        SearchFor::Pattern(pattern) => (pattern.is_regex(), pattern.is_exact),
        SearchFor::Words(_) => (false, false),
    };
    let answer = SearchJson { text, regex, case_sensitive, sessions, summary };
    write_object(out, KIND, answer)
}

/// Writes the first line of an ndjson answer.
pub(crate) fn ndjson_header(out: &mut impl Write) -> io::Result<()> {
    write_header(out, KIND)
}

/// Writes a session as a line of an ndjson answer.
pub(crate) fn ndjson(out: &mut impl Write, one: &MatchingSession<'_>) -> io::Result<()> {
    write_line(out, &MatchJson::from(one))
}

/// Writes the last line of an ndjson answer: the number of matching sessions, and the summary.
pub(crate) fn ndjson_summary(out: &mut impl Write, sessions: usize, summary: &SearchSummary<'_>) -> io::Result<()> {
    #[derive(Serialize)]
    struct SummaryWithSessions<'a> {
        sessions: usize,
        #[serde(flatten)]
        rest: &'a SearchSummary<'a>,
    }
    write_summary(out, SummaryWithSessions { sessions, rest: summary })
}
