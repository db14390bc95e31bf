//! Finds a word that was probably meant, if no conversation has the one that was typed.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::near_bytes::NearBytes;
use super::ranked::weight_of;
use crate::agent::{self, Interest, Said};
use crate::format::nearly::slips;
use crate::session::Copy;
use crate::session::words::fold::{folded, parts, tokens};
use crate::session::words::stem;

/// A shorter word is near to too many.
const SHORTEST: usize = 4;

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
    let bytes = NearBytes::of(word);
    let of_copy = |copy: &&Copy| words_near(word, copy, bytes.as_ref());
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

fn words_near(word: &str, copy: &Copy, bytes: Option<&NearBytes<'_>>) -> BTreeMap<String, f32> {
    let mut near = BTreeMap::new();
    let Some(agent) = agent::by_kind(copy.place.agent()) else { return near };
    let filter = agent.verbatim(&copy.place).zip(bytes);
    if filter.as_ref().is_some_and(|(file, bytes)| !bytes.may_be_in_file(file)) {
        return near;
    }
    let is_wanted = |record: &[u8]| filter.as_ref().is_none_or(|(_, bytes)| bytes.may_be_in(record));
    let interest = |record: &[u8]| if is_wanted(record) { Interest::Messages } else { Interest::Nothing };
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
