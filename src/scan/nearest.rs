//! Finds a word that was probably meant, if no conversation has the one that was typed.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::probe::{Probe, Probes};
use super::ranked::weight_of;
use crate::agent::{self, Agent, Interest, Said};
use crate::format::nearly::slips;
use crate::session::Copy;
use crate::session::words::fold::{folded, parts, tokens};
use crate::session::words::stem;

/// A shorter word is near to too many.
const SHORTEST: usize = 4;
/// In a longer word, two letters may be wrong.
const LONG: usize = 8;

/// More candidates are not compared.
const MOST: usize = 16;

/// A word that may have been meant.
#[derive(Debug)]
pub(crate) struct Near {
    pub text: String,
    /// Number of wrong letters.
    pub slips: usize,
    /// Set if it has the same letters in another order, which is the likelier slip of the finger.
    pub is_swapped: bool,
    /// Numbers of the copies that have it, with the weighted count in each.
    pub copies: Vec<(usize, f32)>,
}

impl Near {
    fn of(text: String, typed: &str) -> Self {
        let letters = |word: &str| {
            let mut letters: Vec<char> = word.chars().collect();
            letters.sort_unstable();
            letters
        };
        let (slips, is_swapped) = (slips(&text, typed).unwrap_or(usize::MAX), letters(&text) == letters(typed));
        Self { text, slips, is_swapped, copies: Vec::new() }
    }

    fn order(&self) -> (usize, bool, Reverse<usize>, &str) {
        (self.slips, !self.is_swapped, Reverse(self.copies.len()), &self.text)
    }
}

/// Returns the words in the messages of these copies that are near to one that none of them has, the nearest first. Forms of
/// one word are counted together.
pub(crate) fn nearest(word: &str, copies: &[&Copy]) -> Vec<Near> {
    if word.chars().count() < SHORTEST {
        return Vec::new();
    }
    let pieces = pieces(word);
    let of_copy = |copy: &&Copy| words_near(word, copy, &pieces);
    let mut found: BTreeMap<String, Near> = BTreeMap::new();
    for (number, near) in copies.par_iter().map(of_copy).collect::<Vec<_>>().into_iter().enumerate() {
        for (text, count) in near {
            found.entry(text.clone()).or_insert_with(|| Near::of(text, word)).copies.push((number, count));
        }
    }
    let mut forms: Vec<Near> = found.into_values().collect();
    forms.sort_by(|a, b| a.order().cmp(&b.order()));
    let mut words: Vec<(String, Near)> = Vec::new();
    for form in forms {
        let stem = stem(&form.text);
        match words.iter_mut().find(|(known, _)| *known == stem) {
            Some((_, known)) => form.copies.into_iter().for_each(|(number, count)| known.add(number, count)),
            None => words.push((stem, form)),
        }
    }
    words.sort_by(|(_, a), (_, b)| a.order().cmp(&b.order()));
    words.truncate(MOST);
    words.into_iter().map(|(_, near)| near).collect()
}

impl Near {
    fn add(&mut self, number: usize, count: f32) {
        match self.copies.iter_mut().find(|(known, _)| *known == number) {
            Some((_, known)) => *known += count,
            None => self.copies.push((number, count)),
        }
    }
}

fn words_near(word: &str, copy: &Copy, pieces: &[Probe]) -> BTreeMap<String, f32> {
    let mut near = BTreeMap::new();
    let Some(agent) = agent::by_kind(copy.place.agent()) else { return near };
    let probes = probes(agent, copy, pieces);
    if !probes.any_may_be_in_file(u64::MAX) {
        return near;
    }
    let interest = |record: &[u8]| if probes.any_may_be_in(record) { Interest::Messages } else { Interest::Nothing };
    // The search before reported files that cannot be read.
    let _ = agent.messages_with(copy, &interest, &mut |said| {
        if let Said::Message(message) = said {
            for token in tokens(&message.text).map(|range| &message.text[range]) {
                let all = std::iter::once(token).chain(parts(token).map(|part| &token[part]));
                for token in all.map(folded).filter(|token| slips(token, word).is_some()) {
                    *near.entry(token).or_default() += weight_of(message.role);
                }
            }
        }
        ControlFlow::Continue(())
    });
    near
}

fn probes(agent: &dyn Agent, copy: &Copy, pieces: &[Probe]) -> Probes {
    match agent.verbatim(&copy.place).filter(|_| !pieces.is_empty()) {
        Some(file) => Probes { file: Some(file), all: pieces.to_vec() },
        None => Probes::default(),
    }
}

/// Returns pieces of a word. Each slip leaves one of them whole. Returns nothing if all words must be read.
fn pieces(word: &str) -> Vec<Probe> {
    if !word.is_ascii() {
        return Vec::new();
    }
    let count = if word.len() < LONG { 2 } else { 3 };
    let ends: Vec<usize> = (0..=count).map(|at| word.len() * at / count).collect();
    // Two letters in the wrong order may be on both sides of an end.
    let swapped = ends[1..count].iter().map(|at| {
        let mut swapped = word.as_bytes().to_vec();
        swapped.swap(at - 1, *at);
        swapped[at - 1..=*at].to_vec()
    });
    let whole = ends.windows(2).map(|ends| word.as_bytes()[ends[0]..ends[1]].to_vec());
    whole.chain(swapped).map(|piece| Probe::for_run(&piece)).collect::<Option<_>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slip_leaves_a_piece_whole() {
        for (word, near) in [("realy", "relay"), ("relai", "relay"), ("rlay", "relay"), ("certficaet", "certificate")] {
            let pieces = pieces(word);
            let probes = Probes { file: None, all: pieces };
            assert!(probes.any_may_be_in(format!("the {near} is").as_bytes()), "{word}");
        }
    }
}
