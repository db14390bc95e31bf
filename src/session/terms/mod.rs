//! Words that a conversation must contain, in any form.

use std::ops::{ControlFlow, Range};

use memchr::memmem::Finder;
use rust_stemmers::{Algorithm, Stemmer};

use fold::{folded, is_mark, parts, tokens};

pub(crate) mod fold;

/// Maximum number of words of a search.
pub(crate) const MOST: usize = 32;
/// Weight of the word itself.
pub(crate) const WORD: f32 = 1.0;
/// Weight of a form of the word, or of the word as a part of an identifier.
pub(crate) const FORM: f32 = 0.95;
/// Weight of a longer word that begins with the word.
pub(crate) const PREFIX: f32 = 0.5;
/// Weight of a longer word that contains the word.
const INSIDE: f32 = 0.25;
/// Minimum length of a word that is searched inside other words.
const SHORTEST_INSIDE: usize = 3;

/// English words that a question is made of; they do not count if no session has all words.
const FUNCTION_WORDS: [&str; 69] = [
    "a", "about", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does",
    "for", "from", "had", "has", "have", "he", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "no",
    "not", "of", "on", "or", "our", "out", "she", "should", "so", "some", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "to", "us", "was", "we", "were", "what", "when", "where", "which",
    "who", "why", "will", "with", "would", "you", "your",
];

/// The words of a search.
#[derive(Clone, Debug)]
pub(crate) struct SearchWords {
    /// The word as typed.
    pub text: String,
    pub terms: Vec<Term>,
    excluded: Vec<Term>,
}

/// A word, or a phrase.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    /// The word as typed.
    pub text: String,
    folded: String,
    kind: TermKind,
    /// Finds the beginning that all forms share.
    finder: Finder<'static>,
    /// Other spellings of an identifier: `retryBudget` and `retry-budget` for `retry_budget`. All begin with the same
    /// part.
    joined: Vec<String>,
}

#[derive(Clone, Debug)]
enum TermKind {
    /// A text of letters and digits.
    Word { stem: String, start: usize },
    /// Text that is found literally, ignoring case and accents; all its spellings share the beginning of this length.
    Phrase { start: usize },
}

/// A phrase or an identifier, and its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Phrase {
    /// The word as typed.
    pub text: String,
    pub parts: Vec<String>,
}

/// A place in a text that a term matches.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TermMatch {
    /// Number of the term.
    pub term: usize,
    /// Byte range in the text.
    pub range: Range<usize>,
    /// Weight of the match, 1 for the word itself.
    pub weight: f32,
}

impl SearchWords {
    /// Parses the texts of a command: a text of letters and digits is a word, any other is a phrase, and one after `-`
    /// or `!` is excluded.
    pub(crate) fn parse(texts: &[String]) -> Self {
        let (mut terms, mut excluded): (Vec<Term>, Vec<Term>) = (Vec::new(), Vec::new());
        for text in texts {
            let (list, text) = match text.strip_prefix(['-', '!']).filter(|text| !text.is_empty()) {
                Some(text) => (&mut excluded, text),
                None => (&mut terms, text.as_str()),
            };
            let term = Term::new(text);
            if list.iter().all(|known| known.folded != term.folded) {
                list.push(term);
            }
        }
        Self { text: texts.join(" "), terms, excluded }
    }

    /// Creates words that a session must contain, without excluded ones.
    pub(crate) fn all_of(terms: Vec<Term>) -> Self {
        let text = terms.iter().map(|term| term.text.as_str()).collect::<Vec<_>>().join(" ");
        Self { text, terms, excluded: Vec::new() }
    }

    /// Returns these words with one of them replaced.
    pub(crate) fn with_term(&self, term: usize, text: &str) -> Self {
        let mut words = self.clone();
        words.terms[term] = Term::new(text);
        words
    }

    /// Returns the words with the parts of phrases and identifiers in place of those that are `missing`, and each of these
    /// with its parts, such as `mail` of `mail?`; `None` if none has parts, or there would be too many.
    pub(crate) fn in_parts(&self, missing: &[usize]) -> Option<(Self, Vec<Phrase>)> {
        let (mut texts, mut phrases) = (Vec::new(), Vec::new());
        for (number, term) in self.terms.iter().enumerate() {
            let is_phrase = missing.contains(&number) && term.word().is_none();
            let parts = tokens(&term.text).filter(|_| is_phrase);
            let parts: Vec<String> = parts.map(|range| term.text[range].to_owned()).collect();
            // A single letter would match everywhere.
            if !parts.is_empty() && parts.iter().all(|part| part.len() > 1) {
                texts.extend(parts.iter().cloned());
                phrases.push(Phrase { text: term.text.clone(), parts });
            } else {
                texts.push(term.text.clone());
            }
        }
        let Self { terms, .. } = Self::parse(&texts);
        let is_possible = !phrases.is_empty() && terms.len() <= MOST;
        is_possible.then(|| (Self { text: self.text.clone(), terms, excluded: self.excluded.clone() }, phrases))
    }

    /// Returns the weight of the best match of a single word in a text, if any; `folded` is the folded text.
    pub(crate) fn weight_in(&self, text: &str, folded: &str) -> Option<f32> {
        let mut best: Option<f32> = None;
        let _ = places(&self.terms, text, folded, &mut |place| {
            best = Some(best.map_or(place.weight, |best| best.max(place.weight)));
            if place.weight < WORD { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        best
    }

    /// Calls `see` with every match of a term in a text, in no particular order.
    pub(crate) fn each_place(&self, text: &str, see: &mut dyn FnMut(TermMatch)) {
        let _ = places(&self.terms, text, &folded(text), &mut |place| {
            see(place);
            ControlFlow::Continue(())
        });
    }

    /// Returns whether a text contains an excluded term.
    pub(crate) fn excludes(&self, text: &str) -> bool {
        let mut is_there =
            |place: TermMatch| if place.weight >= FORM { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        self.has_excluded() && places(&self.excluded, text, &folded(text), &mut is_there).is_break()
    }

    /// Returns whether there are excluded terms.
    pub(crate) fn has_excluded(&self) -> bool {
        !self.excluded.is_empty()
    }
}

impl Term {
    /// Parses a word, or a phrase.
    pub(crate) fn new(text: &str) -> Self {
        let folded = folded(text);
        let (joined, first) = joined(text);
        let kind = if text.chars().all(|c| c.is_alphanumeric() || is_mark(c)) && !text.is_empty() {
            let stem = stem(&folded);
            let start = common_start(&stem, &folded).min(first.unwrap_or(usize::MAX));
            TermKind::Word { stem, start }
        } else {
            TermKind::Phrase { start: first.unwrap_or(folded.len()) }
        };
        let (TermKind::Word { start, .. } | TermKind::Phrase { start }) = &kind;
        let finder = Finder::new(&folded[..*start]).into_owned();
        Self { text: text.to_owned(), folded, kind, finder, joined }
    }

    /// Returns the beginning that all forms of the word share, or the whole phrase.
    pub(crate) fn start(&self) -> &str {
        let (TermKind::Word { start, .. } | TermKind::Phrase { start }) = &self.kind;
        &self.folded[..*start]
    }

    /// Returns the word, folded; `None` for a phrase.
    pub(crate) fn word(&self) -> Option<&str> {
        matches!(self.kind, TermKind::Word { .. }).then_some(self.folded.as_str())
    }

    /// Returns whether the word says nothing about the subject of a sentence, such as `the` and `what`.
    pub(crate) fn is_function_word(&self) -> bool {
        self.word().is_some_and(|word| FUNCTION_WORDS.binary_search(&word).is_ok())
    }

    /// Returns the match in a word of a text; `token` is the folded word.
    fn place_in(&self, number: usize, text: &str, range: Range<usize>, token: &str) -> Option<TermMatch> {
        let TermKind::Word { stem, .. } = &self.kind else { return None };
        let (weight, within) = self.weigh(stem, &text[range.clone()], token)?;
        Some(TermMatch { term: number, range: range.start + within.start..range.start + within.end, weight })
    }

    /// Returns the weight of a match in a word of a text, and the byte range of the match in the word.
    fn weigh(&self, stem: &str, original: &str, token: &str) -> Option<(f32, Range<usize>)> {
        let whole = 0..original.len();
        if token == self.folded {
            return Some((WORD, whole));
        }
        let is_form = |word: &str| word == self.folded || word.starts_with(self.start()) && self::stem(word) == stem;
        if is_form(token) {
            return Some((FORM, whole));
        }
        if let Some(part) = parts(original).find(|part| is_form(&folded(&original[part.clone()]))) {
            return Some((FORM, part));
        }
        if token.starts_with(&self.folded) {
            return Some((PREFIX, whole));
        }
        let is_long = self.folded.chars().count() >= SHORTEST_INSIDE || !self.folded.is_ascii();
        (is_long && token.contains(&self.folded)).then_some((INSIDE, whole))
    }
}

/// Calls `see` with every match of the terms in a text, whose folded text is `whole`, until it breaks.
fn places(
    terms: &[Term],
    text: &str,
    whole: &str,
    see: &mut dyn FnMut(TermMatch) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let starts = terms.iter().enumerate();
    let found = starts.filter_map(|(number, term)| Some((number, term, term.finder.find(whole.as_bytes())?)));
    let found: Vec<(usize, &Term, usize)> = found.collect();
    // Folding keeps the positions in ASCII text, so only the words around the matches are compared.
    let is_ascii = text.is_ascii();
    let is_quick = |term: &Term| is_ascii && !term.start().is_empty();
    let words = || found.iter().filter(|(_, term, _)| term.word().is_some());
    for (number, term, first) in words().filter(|(_, term, _)| is_quick(term)) {
        let mut next = Some(*first);
        while let Some(at) = next {
            let range = token_around(whole.as_bytes(), at);
            next = term.finder.find(&whole.as_bytes()[range.end..]).map(|at| range.end + at);
            let token = &whole[range.clone()];
            term.place_in(*number, text, range, token).map_or(ControlFlow::Continue(()), &mut *see)?;
        }
    }
    if words().any(|(_, term, _)| !is_quick(term)) {
        for range in tokens(text) {
            let token = folded(&text[range.clone()]);
            let with_start = words().filter(|(_, term, _)| !is_quick(term) && token.contains(term.start()));
            for (number, term, _) in with_start {
                let place = term.place_in(*number, text, range.clone(), &token);
                place.map_or(ControlFlow::Continue(()), &mut *see)?;
            }
        }
    }
    for (number, term, _) in found {
        let phrase = term.word().is_none().then_some(&term.folded);
        for phrase in phrase.into_iter().chain(&term.joined) {
            fold::find(text, whole, phrase)
                .try_for_each(|range| see(TermMatch { term: number, range, weight: WORD }))?;
        }
    }
    ControlFlow::Continue(())
}

/// Returns the word around a letter in ASCII text.
fn token_around(text: &[u8], at: usize) -> Range<usize> {
    let is_joint = |byte: &u8| !byte.is_ascii_alphanumeric();
    let start = text[..at].iter().rposition(is_joint).map_or(0, |at| at + 1);
    let end = text[at..].iter().position(is_joint).map_or(text.len(), |end| at + end);
    start..end
}

/// Returns the other spellings of an identifier, folded, and the length of its first part.
fn joined(text: &str) -> (Vec<String>, Option<usize>) {
    let is_name = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_joint(byte));
    let parts: Vec<&str> = if !is_name {
        Vec::new()
    } else if text.bytes().any(is_joint) {
        text.split(|c: char| c.is_ascii() && is_joint(c as u8)).collect()
    } else {
        parts(text).map(|part| &text[part]).collect()
    };
    if parts.len() < 2 || parts[0].len() < SHORTEST_INSIDE || parts.iter().any(|part| part.is_empty()) {
        return (Vec::new(), None);
    }
    let typed = folded(text);
    let ways = ["", "_", "-"].map(|joint| folded(&parts.join(joint)));
    (ways.into_iter().filter(|way| *way != typed).collect(), Some(parts[0].len()))
}

/// Returns whether a byte joins the parts of an identifier.
fn is_joint(byte: u8) -> bool {
    matches!(byte, b'_' | b'-')
}

/// Returns the stem that the forms of an English word share; any other word is its own stem.
pub(crate) fn stem(word: &str) -> String {
    if word.is_ascii() { Stemmer::create(Algorithm::English).stem(word).into_owned() } else { word.to_owned() }
}

/// Returns the length of the beginning that all words with a stem share. The stemmer changes final letters, such as `y`
/// to `i`.
fn common_start(stem: &str, word: &str) -> usize {
    let stem = if word.is_ascii() { stem.trim_end_matches(['e', 'i', 'y']) } else { stem };
    stem.char_indices()
        .zip(word.chars())
        .take_while(|((_, a), b)| a == b)
        .map(|((at, a), _)| at + a.len_utf8())
        .last()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
