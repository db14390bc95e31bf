//! Matches sessions with the user's query: words, and filters such as `agent:claude`. Pure.

use jiff::Timestamp;
use memchr::memmem::Finder;
use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::session::terms::fold::{fold, folded};
use crate::session::terms::{self, SearchWords, Term};
use crate::session::{AgentKind, Session, marks};

/// Characters of a first prompt that are searched.
const PROMPT: usize = 2000;
/// Minimum number of letters of a loose match and of a prefix of an id; fewer would match everywhere.
const SHORTEST: usize = 3;
/// Minimum score per letter of a loose match. The matcher gives 16 for a letter, more at the beginning of a word or
/// directly after the previous letter, and subtracts for letters in between.
const LEAST_SCORE: usize = 18;

/// Quality of the match of a session, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MatchRank {
    /// The worst match of a word.
    pub quality: Quality,
    pub place: MatchField,
}

/// Quality of the match of a word, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Quality {
    /// As a whole word.
    Whole,
    /// In another form, or as the beginning of a word.
    Form,
    /// As a part of a word.
    Part,
    /// Its letters occur in order and close together, but with others between them.
    Loose,
}

/// A place in which words match, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MatchField {
    /// Title, directory, agent, id or marks.
    Named,
    /// The first prompt, or any other message.
    Said,
}

impl Quality {
    /// Returns the quality of a match with this weight.
    pub(crate) fn from_weight(weight: f32) -> Self {
        match weight {
            weight if weight >= terms::WORD => Self::Whole,
            weight if weight >= terms::PREFIX => Self::Form,
            _ => Self::Part,
        }
    }
}

/// Folds a text character by character, so that positions in it stay valid.
fn folded_in_place(text: &str) -> String {
    text.chars().map(fold).collect()
}

/// A text that is compared with words.
#[derive(Clone, Debug)]
struct ComparedText {
    text: String,
    folded: String,
}

impl ComparedText {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), folded: folded(text) }
    }
}

/// The texts of a session that are compared with words.
#[derive(Clone, Debug)]
pub(crate) struct MatchedTexts {
    agent: AgentKind,
    /// The agent, and those whose pointers name the session.
    agents: Vec<AgentKind>,
    active_at: Option<Timestamp>,
    title: ComparedText,
    /// The whole title, or else the first prompt, folded.
    label: String,
    /// Number of prompts and replies; `None` if they were not counted.
    messages: Option<u64>,
    dir: ComparedText,
    /// Agent and marks.
    labels: ComparedText,
    /// Names of the marks, for filters.
    marks: Vec<String>,
    tags: Vec<String>,
    id: String,
    /// The first prompt, and the directory from the root.
    prompt: ComparedText,
    /// The directories that the session records, folded.
    dirs: Vec<String>,
}

impl MatchedTexts {
    /// Collects the texts. Title and directory are given as displayed, so that hits can be highlighted in them.
    pub(crate) fn from_session(session: &Session, title: &str, dir: &str, marks: &[String]) -> Self {
        let copy = session.copy();
        let prompt = copy.first_prompt.as_ref().map(|prompt| &*prompt.value).unwrap_or_default();
        let mut prompt: String = prompt.chars().take(PROMPT).collect();
        if let Some(dir) = session.launch_dir() {
            prompt.extend(["\n", &dir.to_string_lossy()]);
        }
        Self {
            agent: session.agent,
            agents: session.pointers.iter().map(|pointer| pointer.agent).collect(),
            active_at: session.active_at(),
            title: ComparedText::new(title),
            label: session.label().map(|label| folded(label.trim())).unwrap_or_default(),
            messages: copy.prompts.zip(copy.replies).map(|(prompts, replies)| prompts + replies),
            dir: ComparedText::new(dir),
            labels: labels(session.agent, marks),
            marks: marks.iter().map(|mark| marks::name(mark)).collect(),
            tags: tags(marks),
            id: folded(session.id()),
            prompt: ComparedText::new(&prompt),
            dirs: copy.directories().map(|dir| folded(&dir.to_string_lossy())).collect(),
        }
    }
}

/// Returns the text of the agent and the marks.
fn labels(agent: AgentKind, marks: &[String]) -> ComparedText {
    ComparedText::new(&format!("{agent} {}", marks.join(" ")))
}

fn tags(marks: &[String]) -> Vec<String> {
    marks.iter().flat_map(|mark| marks::tags(mark)).map(str::to_owned).collect()
}

impl MatchedTexts {
    /// Replaces the marks.
    pub(crate) fn set_marks(&mut self, marks: &[String]) {
        self.labels = labels(self.agent, marks);
        self.marks = marks.iter().map(|mark| marks::name(mark)).collect();
        self.tags = tags(marks);
    }

    /// Returns the texts that name the session.
    fn named(&self) -> [&ComparedText; 3] {
        [&self.title, &self.dir, &self.labels]
    }
}

/// A word, prepared for each kind of match.
#[derive(Clone, Debug)]
struct Word {
    text: String,
    folded: String,
    letters: usize,
    /// The word in any form.
    any_form: SearchWords,
    part: Finder<'static>,
    loose: Atom,
}

impl Word {
    fn new(text: &str) -> Self {
        let folded = folded(text);
        Self {
            text: text.to_owned(),
            letters: folded.chars().count(),
            any_form: SearchWords::all_of(vec![Term::new(text)]),
            part: Finder::new(&folded).into_owned(),
            loose: Atom::new(&folded, CaseMatching::Respect, Normalization::Never, AtomKind::Fuzzy, false),
            folded,
        }
    }

    /// Returns the quality of the match in a text; `None` without a match.
    fn quality_in(&self, text: &ComparedText) -> Option<Quality> {
        let weight = self.any_form.weight_in(&text.text, &text.folded);
        let is_part = || self.part.find(text.folded.as_bytes()).is_some();
        weight.map(Quality::from_weight).or_else(|| is_part().then_some(Quality::Part))
    }

    /// Returns the rank of the best match in a session.
    fn best_in(&self, subject: &MatchedTexts) -> Option<MatchRank> {
        let named = subject.named().into_iter().filter_map(|text| self.quality_in(text)).min();
        let named = if self.begins(&subject.id) { Some(Quality::Whole) } else { named };
        let named = named.map(|quality| MatchRank { quality, place: MatchField::Named });
        let in_prompt =
            || self.quality_in(&subject.prompt).map(|quality| MatchRank { quality, place: MatchField::Said });
        match named {
            Some(MatchRank { quality: Quality::Whole, .. }) => named,
            _ => named.into_iter().chain(in_prompt()).min(),
        }
    }

    /// Returns whether a session contains the word in any form.
    fn is_in(&self, subject: &MatchedTexts) -> bool {
        let texts = subject.named().into_iter().chain([&subject.prompt]);
        let mut weights = texts.filter_map(|text| self.any_form.weight_in(&text.text, &text.folded));
        weights.any(|weight| weight >= terms::FORM)
    }

    fn begins(&self, folded: &str) -> bool {
        self.letters >= SHORTEST && folded.as_bytes().starts_with(self.part.needle())
    }
}

/// Returns whether a text contains the letters of a word in order, within `most` characters.
fn are_within(word: &str, text: &str, most: usize) -> bool {
    let mut letters = word.chars();
    let Some(first) = letters.next() else { return true };
    text.match_indices(first).any(|(at, _)| {
        let mut near = text[at..].chars().take(most).skip(1);
        letters.clone().all(|letter| near.any(|c| c == letter))
    })
}

/// A matcher that reuses its memory.
#[derive(Debug)]
pub(crate) struct SessionMatcher {
    matcher: Matcher,
    letters: Vec<char>,
    found: Vec<u32>,
}

impl Default for SessionMatcher {
    fn default() -> Self {
        Self { matcher: Matcher::new(Config::DEFAULT), letters: Vec::new(), found: Vec::new() }
    }
}

impl SessionMatcher {
    /// Returns the rank of a session; `None` if it does not match.
    pub(crate) fn rank(&mut self, query: &Query, subject: &MatchedTexts) -> Option<MatchRank> {
        if !query.lets_pass(subject) {
            return None;
        }
        let best = MatchRank { quality: Quality::Whole, place: MatchField::Named };
        query.words.iter().try_fold(best, |worst, word| {
            let MatchRank { quality, place } = self.rank_of(word, subject)?;
            Some(MatchRank { quality: worst.quality.max(quality), place: worst.place.max(place) })
        })
    }

    fn rank_of(&mut self, word: &Word, subject: &MatchedTexts) -> Option<MatchRank> {
        let loose = MatchRank { quality: Quality::Loose, place: MatchField::Named };
        word.best_in(subject).or_else(|| self.is_loosely_in(word, &subject.title.folded).then_some(loose))
    }

    /// Returns whether a text contains the letters of a word close enough together; their positions are then in
    /// `found`.
    fn is_loosely_in(&mut self, word: &Word, folded: &str) -> bool {
        let most = 2 * word.letters + 4;
        // Check the span first, because the matcher is much slower.
        if word.letters < SHORTEST || !are_within(&word.folded, folded, most) {
            return false;
        }
        let text = Utf32Str::new(folded, &mut self.letters);
        let score = word.loose.score(text, &mut self.matcher).unwrap_or_default();
        if usize::from(score) < word.letters * LEAST_SCORE {
            return false;
        }
        self.found.clear();
        word.loose.indices(text, &mut self.matcher, &mut self.found);
        let span = self.found.last().zip(self.found.first()).map_or(0, |(last, first)| last - first + 1);
        usize::try_from(span).is_ok_and(|span| span <= most)
    }

    /// Returns the positions of the characters of a text that the words match, in order.
    pub(crate) fn places(&mut self, query: &Query, text: &str) -> Vec<usize> {
        let (folded, mut places) = (folded_in_place(text), Vec::new());
        for word in &query.words {
            let parts: Vec<usize> = word.part.find_iter(folded.as_bytes()).collect();
            for start in parts.iter().map(|at| folded[..*at].chars().count()) {
                places.extend(start..start + word.letters);
            }
            let before = places.len();
            if parts.is_empty() {
                word.any_form.each_place(text, &mut |place| {
                    let start = text[..place.range.start].chars().count();
                    places.extend(start..start + text[place.range].chars().count());
                });
            }
            if parts.is_empty() && places.len() == before && self.is_loosely_in(word, &folded) {
                places.extend(self.found.iter().filter_map(|at| usize::try_from(*at).ok()));
            }
        }
        places.sort_unstable();
        places.dedup();
        places
    }
}

pub(crate) use query::{Query, is_filter_name};
pub(crate) use unmatched::{Unmatched, no_tag};

mod missing;
mod query;
#[cfg(test)]
mod tests;
mod unmatched;
