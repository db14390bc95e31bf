//! Finds a word that was probably meant, if no conversation has the one that was typed.

use std::collections::HashMap;
use std::collections::HashSet;
use std::ops::ControlFlow;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::probe::{Probe, Probes};
use super::words::fold::{folded, parts, tokens};
use crate::agent::{self, Agent, Interest, Said};
use crate::format::nearly::slips;
use crate::session::Copy;

/// A shorter word is near to too many.
const SHORTEST: usize = 4;
/// In a longer word, two letters may be wrong.
const LONG: usize = 8;

/// Returns the word in the messages of these copies that is nearest to one that none of them has. If several are as near, the
/// one in most copies wins.
pub(crate) fn nearest(word: &str, copies: &[&Copy]) -> Option<String> {
    if word.chars().count() < SHORTEST {
        return None;
    }
    let pieces = pieces(word);
    let of_copy = |copy: &&Copy| words_near(word, copy, &pieces);
    let mut count: HashMap<String, usize> = HashMap::new();
    for near in copies.par_iter().map(of_copy).collect::<Vec<_>>().into_iter().flatten() {
        *count.entry(near).or_default() += 1;
    }
    // Letters in the wrong order are the likelier slip of the finger.
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let typed = letters(word);
    let best = count.into_iter().min_by_key(|(near, copies)| {
        (slips(near, word).unwrap_or(usize::MAX), letters(near) != typed, usize::MAX - copies, near.clone())
    });
    best.map(|(near, _)| near)
}

fn words_near(word: &str, copy: &Copy, pieces: &[Probe]) -> HashSet<String> {
    let mut near = HashSet::new();
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
                near.extend(all.map(folded).filter(|token| slips(token, word).is_some()));
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
