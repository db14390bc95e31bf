//! Suggests a similar word for a word that no conversation has.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use jiff::Timestamp;

use super::ranked::{WordTally, rank, weight_of};
use super::sieve::Sieve;
use super::texts::TextCache;
use crate::agent::{self, Agent, Interest, Said};
use crate::session::nearly::{most_slips, slips};
use crate::session::terms::fold::{folded, parts, tokens};
use crate::session::terms::{Term, stem};
use crate::session::{Role, SessionCopy};
use crate::system::parallel;

/// Bonus for two swapped letters, a likelier typing error than another letter.
const SWAPPED: f64 = 1.5;
/// Maximum number of candidates to compare.
const MOST: usize = 16;

/// Rank of a candidate: the words that a session has with it, its wrong letters, and the best score.
type Worth = (usize, Reverse<usize>, f64);

/// A word that may be the intended one.
#[derive(Debug)]
struct SimilarWord {
    /// The word as a session has it, in lower case.
    text: String,
    /// Number of wrong letters.
    slips: usize,
    /// Set if the letters are the same in another order, which is the likelier typing error.
    is_swapped: bool,
    /// Numbers of the copies that have the word, with the weighted count in each.
    copies: Vec<(usize, f32)>,
}

impl SimilarWord {
    fn from_text(text: String, typed: &str) -> Self {
        let letters = |word: &str| {
            let mut letters: Vec<char> = word.chars().collect();
            letters.sort_unstable();
            letters
        };
        let word = folded(&text);
        let (slips, is_swapped) = (slips(&word, typed).unwrap_or(usize::MAX), letters(&word) == letters(typed));
        Self { text, slips, is_swapped, copies: Vec::new() }
    }

    fn order(&self) -> (usize, bool, Reverse<usize>, &str) {
        (self.slips, !self.is_swapped, Reverse(self.copies.len()), &self.text)
    }
}

/// Finds the likely words for those that no session has: numbers of words, and the other words. `tallies` are the
/// counts in the same copies, and `texts` contains messages that need not be read again. Only messages with one of the
/// `roles` count; an empty list means all.
pub(crate) fn meant(
    sieve: &Sieve<'_>,
    missing: &[usize],
    mut tallies: Vec<WordTally>,
    copies: &[&SessionCopy],
    texts: &TextCache,
    roles: &[Role],
    is_wanted: &(dyn Fn() -> bool + Sync),
) -> Vec<(usize, String)> {
    let mut used = Vec::new();
    let terms: Vec<Typed<'_>> = missing.iter().filter_map(|term| Typed::for_term(sieve, *term)).collect();
    // Each copy is read once for all words.
    let found = parallel::map(copies, |copy| words_near(sieve, &terms, copy, texts, roles, is_wanted));
    for (at, Typed { term, word, .. }) in terms.iter().enumerate() {
        let near = nearest(word, found.iter().map(|near| &near[at]));
        if let Some((text, with)) = best_of(near, *term, &sieve.words.terms, &tallies) {
            tallies = with;
            used.push((*term, text));
        }
    }
    used
}

/// Returns the likeliest word, with its counts: first a word with which a session has most of the words, then one with
/// the fewest wrong letters, then the one with the best match.
fn best_of(
    near: Vec<SimilarWord>,
    term: usize,
    words: &[Term],
    tallies: &[WordTally],
) -> Option<(String, Vec<WordTally>)> {
    let worth = |tallies: &[WordTally], near: &SimilarWord| {
        let ranking = rank(&tallies.iter().collect::<Vec<_>>(), tallies.len(), &[], words, Timestamp::UNIX_EPOCH);
        let score = ranking.order.first().map_or(0.0, |(_, score)| *score);
        (ranking.matched, Reverse(near.slips), if near.is_swapped { score * SWAPPED } else { score })
    };
    let mut best: Option<(Worth, String, Vec<WordTally>)> = None;
    for near in near {
        let mut tallies = tallies.to_vec();
        near.copies.iter().for_each(|(number, count)| tallies[*number] = tallies[*number].with_term(term, *count));
        let worth = worth(&tallies, &near);
        if best.as_ref().is_none_or(|(best, ..)| worth.partial_cmp(best) == Some(Ordering::Greater)) {
            best = Some((worth, near.text, tallies));
        }
    }
    best.map(|(_, text, tallies)| (text, tallies))
}

/// Returns the words in the messages of copies that are near to one that none of them has, the nearest first. Forms of one
/// word are counted together.
fn nearest<'n>(word: &str, in_copies: impl Iterator<Item = &'n BTreeMap<String, f32>>) -> Vec<SimilarWord> {
    let mut found: BTreeMap<&str, SimilarWord> = BTreeMap::new();
    for (number, near) in in_copies.enumerate() {
        for (text, count) in near {
            let near = found.entry(text).or_insert_with(|| SimilarWord::from_text(text.clone(), word));
            near.copies.push((number, *count));
        }
    }
    let mut forms: Vec<SimilarWord> = found.into_values().collect();
    forms.sort_by(|a, b| a.order().cmp(&b.order()));
    let mut words: Vec<(String, SimilarWord)> = Vec::new();
    for form in forms {
        let stem = stem(&folded(&form.text));
        match words.iter_mut().find(|(known, _)| *known == stem) {
            Some((_, known)) => form.copies.into_iter().for_each(|(number, count)| known.add(number, count)),
            None => words.push((stem, form)),
        }
    }
    words.sort_by(|(_, a), (_, b)| a.order().cmp(&b.order()));
    words.truncate(MOST);
    words.into_iter().map(|(_, near)| near).collect()
}

impl SimilarWord {
    fn add(&mut self, number: usize, count: f32) {
        match self.copies.iter_mut().find(|(known, _)| *known == number) {
            Some((_, known)) => *known += count,
            None => self.copies.push((number, count)),
        }
    }
}

/// A typed word that no session has.
struct Typed<'w> {
    /// Its number among the words.
    term: usize,
    word: &'w str,
    letters: usize,
    /// The bits of its letters; `None` for a word that is not ASCII.
    bits: Option<u64>,
    /// Maximum number of wrong letters in a near word.
    most: usize,
}

impl<'w> Typed<'w> {
    /// Describes a word; `None` if no other word can be similar to it.
    fn for_term(sieve: &'w Sieve<'_>, term: usize) -> Option<Self> {
        let word = sieve.words.terms[term].word().filter(|_| sieve.has_near(&[term]))?;
        let bits = word.is_ascii().then(|| letter_bits(word));
        Some(Self { term, word, letters: word.chars().count(), bits, most: most_slips(word) })
    }

    fn may_be(&self, token: &str) -> bool {
        !token.is_ascii() || (token.len().abs_diff(self.letters) <= self.most && self.has_letters_of(token))
    }

    /// Returns whether the letters allow few slips: each one adds a letter, removes one, or both.
    fn has_letters_of(&self, token: &str) -> bool {
        let differing = |bits: u64| (bits ^ letter_bits(token)).count_ones() as usize;
        self.bits.is_none_or(|bits| differing(bits) <= 2 * self.most)
    }
}

/// Returns a bit for each letter of an ASCII word in either case; different letters may share one.
fn letter_bits(word: &str) -> u64 {
    word.bytes().fold(0, |bits, byte| bits | 1 << ((byte | 0x20) % 64))
}

/// Returns the words of a copy that are similar to each typed word, with their weighted counts.
fn words_near(
    sieve: &Sieve<'_>,
    typed: &[Typed<'_>],
    copy: &SessionCopy,
    texts: &TextCache,
    roles: &[Role],
    is_wanted: &(dyn Fn() -> bool + Sync),
) -> Vec<BTreeMap<String, f32>> {
    let (place, mut near) = (&copy.place, vec![BTreeMap::new(); typed.len()]);
    let may_be_in_text = |text: &str| typed.iter().any(|typed| sieve.near_may_be_in_text(typed.term, text));
    let mut see = |role: Role, text: &str| {
        let is_searched = roles.is_empty() || roles.contains(&role);
        for token in tokens(text).filter(|_| is_searched).map(|range| &text[range]) {
            let all = std::iter::once(token).chain(parts(token).map(|part| &token[part]));
            for token in all.filter(|token| typed.iter().any(|typed| typed.may_be(token))) {
                let folded = folded(token);
                for (typed, near) in typed.iter().zip(&mut near) {
                    if typed.may_be(token) && slips(&folded, typed.word).is_some() {
                        *near.entry(token.to_lowercase()).or_default() += weight_of(role);
                    }
                }
            }
        }
        if is_wanted() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    if let Some(text) = texts.kept_text(copy) {
        if is_wanted() && may_be_in_text(text.joined()) {
            let _ = text.messages().try_for_each(|(role, _, text)| see(role, text));
        }
        return near;
    }
    let agent = agent::by_kind(place.agent()).filter(|_| is_wanted());
    let is_in_copy =
        |agent: &&dyn Agent| typed.iter().any(|typed| sieve.near_may_be_in_copy(typed.term, *agent, place));
    let Some(agent) = agent.filter(is_in_copy) else { return near };
    let is_verbatim = agent.verbatim(place).is_some();
    let may_be_in_record = |record: &[u8]| typed.iter().any(|typed| sieve.near_may_be_in_record(typed.term, record));
    let may_have = |record: &[u8]| !is_verbatim || may_be_in_record(record);
    let interest = |record: &[u8]| if may_have(record) { Interest::Messages } else { Interest::Nothing };
    // The earlier search has already reported unreadable files.
    let _ = agent.messages_with(copy, &interest, &mut |record_messages| match record_messages {
        Said::Message(message) => see(message.role, &message.text),
        Said::Uninteresting(_) => ControlFlow::Continue(()),
    });
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_exclude_no_near_word() {
        let words =
            ["certificate", "certificates", "cretificate", "Certifikat", "till", "tlil", "Till", "b4c5", "b4d5", "x"];
        for typed in words {
            let typed = typed.to_lowercase();
            let bits = Some(letter_bits(&typed));
            let typed = Typed { term: 0, word: &typed, letters: typed.len(), bits, most: most_slips(&typed) };
            for token in words {
                let is_near = slips(&folded(token), typed.word).is_some();
                assert!(typed.may_be(token) || !is_near, "{} {token}", typed.word);
            }
        }
        let till = Typed { term: 0, word: "till", letters: 4, bits: Some(letter_bits("till")), most: 1 };
        assert!(!till.may_be("read"), "three letters differ");
    }
}
