//! The words and filters that a user types.

use clap::ValueEnum as _;
use jiff::Timestamp;

use super::{MatchedTexts, Unmatched, Word};
use crate::session::AgentKind;
use crate::session::marks::{self, Mark};
use crate::session::nearly::nearest;
use crate::session::terms::fold::folded;
use crate::session::when::FORMS;

/// Words, quoted phrases, filters, and excluded words and filters (`-word`, `!is:exec`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    pub(super) words: Vec<Word>,
    excluded: Vec<Word>,
    pub(super) agents: Option<Vec<AgentKind>>,
    pub(super) dirs: Vec<String>,
    pub(super) since: Option<Timestamp>,
    pub(super) before: Option<Timestamp>,
    /// Names of marks, as returned by [`marks::name`].
    pub(super) marks: Vec<String>,
    pub(super) tags: Vec<String>,
    /// Titles, folded.
    titles: Vec<String>,
    /// Maximum number of prompts and replies.
    most_messages: Option<u64>,
    /// Filters that a session must not pass: `!is:exec`.
    not: Vec<Self>,
    /// Set while the user types, so that a prefix of a tag is enough.
    is_being_typed: bool,
    /// An invalid filter, for a message to the user; it filters nothing.
    pub problem: Option<Unmatched>,
}

/// Names of filters, such as `agent` in `agent:claude`.
const FILTERS: [&str; 8] = ["agent", "dir", "since", "before", "until", "is", "tag", "title"];

impl Query {
    /// Parses a text; `time` parses an age or a date.
    pub(crate) fn parse(text: &str, time: impl Fn(&str) -> Result<Timestamp, String>) -> Self {
        let mut query = Self::default();
        parts(text).iter().for_each(|part| query.add(part, &time));
        query
    }

    /// Parses the arguments of a command: an argument is a filter, whose value may contain blanks, or a text as for
    /// [`Query::parse`]. `agent:claude fix` is such a text, because no agent has that name.
    pub(crate) fn from_arguments(texts: &[String], time: impl Fn(&str) -> Result<Timestamp, String>) -> Self {
        let mut query = Self::default();
        for text in texts {
            let parts = if is_filter(text, &time) { vec![text.clone()] } else { parts(text) };
            parts.iter().for_each(|part| query.add(part, &time));
        }
        query
    }

    /// Parses the arguments of a command that are filters, and returns the others.
    pub(crate) fn split_filters(
        texts: &[String],
        time: impl Fn(&str) -> Result<Timestamp, String>,
    ) -> (Self, Vec<String>) {
        let (filters, others) = texts.iter().cloned().partition::<Vec<_>, _>(|text| is_filter(text, &time));
        (Self::from_arguments(&filters, time), others)
    }

    fn add(&mut self, part: &str, time: &impl Fn(&str) -> Result<Timestamp, String>) {
        let Some((name, value)) = filter(part) else {
            match part.strip_prefix(['-', '!']).filter(|word| !word.is_empty()) {
                Some(word) if filter(word).is_some() => {
                    let mut not = Self::default();
                    not.add(word, time);
                    self.problem = self.problem.take().or_else(|| not.problem.clone());
                    self.not.extend(Some(not).filter(Self::has_filters));
                }
                Some(word) => self.excluded.push(Word::new(word)),
                None => self.words.push(Word::new(part)),
            }
            return;
        };
        match name {
            // A filter without a value is still being typed and filters nothing.
            _ if value.is_empty() => {}
            "agent" => {
                let mut agents: Vec<AgentKind> = value.split(',').flat_map(agents_called).collect();
                if agents.is_empty() {
                    let near = nearest(value, AgentKind::value_variants().iter().map(|agent| agent.name()));
                    let problem = Unmatched::new(format!("no agent is called {value}"));
                    self.problem = Some(problem.near(near.map(|near| format!("agent:{near}"))));
                }
                self.agents.get_or_insert_default().append(&mut agents);
            }
            "dir" => self.dirs.push(folded(value)),
            "title" => self.titles.push(folded(value.trim())),
            "tag" => self.tags.push(value.trim_start_matches('+').to_lowercase()),
            "is" => {
                // The earlier name of a mark.
                let mark = folded(value).replace(' ', "-").replace("archived", "closed");
                let is_known = |known: &Mark| marks::name(known.word()).starts_with(&mark);
                if !Mark::ALL.iter().any(is_known) {
                    let near = nearest(&mark, Mark::ALL.iter().map(|mark| marks::name(mark.word())));
                    let problem = Unmatched::new(format!("no mark is called {value}; `rejoin help marks` lists them"));
                    self.problem = Some(problem.near(near.map(|near| format!("is:{near}"))));
                }
                self.marks.push(mark);
            }
            _ => match time(value) {
                Ok(at) if name == "since" => self.since = Some(at),
                Ok(at) => self.before = Some(at),
                Err(why) => {
                    let why =
                        if why == FORMS { " is neither an age nor a date".to_owned() } else { format!(": {why}") };
                    self.problem = Some(Unmatched::new(format!("{value}{why}")));
                }
            },
        }
    }

    /// Returns the words without the filters.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|word| word.text.as_str())
    }

    /// Returns the words, and the excluded ones with a hyphen in front.
    pub(crate) fn texts(&self) -> Vec<String> {
        let excluded = self.excluded.iter().map(|word| format!("-{}", word.text));
        self.words().map(str::to_owned).chain(excluded).collect()
    }

    /// Returns whether the query matches every session.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty() && self.excluded.is_empty() && !self.has_filters()
    }

    /// Returns whether the query only excludes sessions.
    pub(crate) fn only_excludes(&self) -> bool {
        self.words.is_empty() && !self.excluded.is_empty() && !self.has_filters()
    }

    fn has_filters(&self) -> bool {
        let has_times = self.since.is_some() || self.before.is_some();
        let has_texts = !self.dirs.is_empty() || !self.titles.is_empty();
        let has_others = self.most_messages.is_some() || !self.not.is_empty();
        has_times || self.agents.is_some() || has_texts || has_others || self.has_labels()
    }

    /// Returns whether the query filters by marks or tags.
    pub(crate) fn has_labels(&self) -> bool {
        !self.marks.is_empty() || !self.tags.is_empty() || self.not.iter().any(Self::has_labels)
    }

    /// Returns whether the query filters by this mark.
    pub(crate) fn asks_for(&self, mark: Mark) -> bool {
        let name = marks::name(mark.word());
        self.marks.iter().any(|typed| name.starts_with(typed.as_str())) || self.not.iter().any(|not| not.asks_for(mark))
    }

    /// Accepts only sessions with at most this number of prompts and replies, which must have been counted.
    pub(crate) fn with_most_messages(self, most: Option<u64>) -> Self {
        Self { most_messages: most, ..self }
    }

    /// Returns whether the query asks for a kind of session that is hidden by default, such as `is:closed`.
    pub(crate) fn asks_for_hidden(&self) -> bool {
        let hidden = |mark: &&Mark| matches!(mark, Mark::Kind(kind) if !kind.is_listed());
        Mark::ALL.iter().filter(hidden).any(|mark| self.marks.contains(&marks::name(mark.word())))
    }

    /// Accepts a prefix of a tag.
    pub(crate) fn while_typing(self) -> Self {
        Self { is_being_typed: true, ..self }
    }

    /// Returns whether a session passes the filters and contains every word.
    pub(crate) fn is_answered_by(&self, subject: &MatchedTexts) -> bool {
        self.lets_pass(subject) && self.words.iter().all(|word| word.best_in(subject).is_some())
    }

    /// Returns whether a session passes the filters and contains no excluded word; other words are not checked.
    pub(crate) fn lets_pass(&self, subject: &MatchedTexts) -> bool {
        let at = subject.active_at;
        let is_of = |agents: &Vec<AgentKind>| {
            agents.contains(&subject.agent) || subject.agents.iter().any(|agent| agents.contains(agent))
        };
        self.agents.as_ref().is_none_or(is_of)
            && self.dirs.iter().all(|dir| subject.dirs.iter().any(|recorded| recorded.contains(dir)))
            && self.since.is_none_or(|since| at.is_some_and(|at| at >= since))
            && self.before.is_none_or(|before| at.is_some_and(|at| at < before))
            && self.marks.iter().all(|mark| subject.marks.iter().any(|known| known.starts_with(mark)))
            && self.tags.iter().all(|tag| subject.tags.iter().any(|known| self.is_meant(tag, known)))
            && self.titles.iter().all(|title| *title == subject.label)
            && self.most_messages.is_none_or(|most| subject.messages.is_some_and(|messages| messages <= most))
            && !self.excluded.iter().any(|word| word.is_in(subject))
            && !self.not.iter().any(|not| not.lets_pass(subject))
    }

    pub(super) fn is_meant(&self, typed: &str, tag: &str) -> bool {
        if self.is_being_typed { tag.starts_with(typed) } else { tag == typed }
    }
}

/// Returns whether an argument is a single filter, and not a text with blanks that begins with one.
fn is_filter(text: &str, time: &impl Fn(&str) -> Result<Timestamp, String>) -> bool {
    let mut alone = Query::default();
    alone.add(text, time);
    let is_time = |(name, _): (&str, &str)| ["since", "before", "until"].contains(&name);
    filter(text.strip_prefix(['-', '!']).unwrap_or(text))
        .is_some_and(|filter| alone.problem.is_none() || !text.contains(char::is_whitespace) || is_time(filter))
}

/// Returns the name and the value of a filter.
fn filter(text: &str) -> Option<(&str, &str)> {
    text.split_once(':').filter(|(name, _)| is_filter_name(name))
}

/// Returns whether a filter has this name: `agent` in `agent:claude`.
pub(crate) fn is_filter_name(name: &str) -> bool {
    FILTERS.contains(&name)
}

/// Splits at blanks outside of quotation marks; an unclosed quotation ends with the text.
fn parts(text: &str) -> Vec<String> {
    let (mut parts, mut part, mut is_quoted) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '"' | '“' | '”' => is_quoted = !is_quoted,
            c if c.is_whitespace() && !is_quoted => parts.push(std::mem::take(&mut part)),
            c => part.push(c),
        }
    }
    parts.push(part);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Returns the agent with this name, or else those whose names begin with it.
fn agents_called(name: &str) -> Vec<AgentKind> {
    let name = name.to_lowercase();
    let all = AgentKind::value_variants().iter().copied();
    let exact: Vec<AgentKind> = all.clone().filter(|agent| agent.name() == name).collect();
    if exact.is_empty() {
        all.filter(|agent| !name.is_empty() && agent.name().starts_with(&name)).collect()
    } else {
        exact
    }
}
