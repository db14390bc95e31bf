//! The outcomes of a power loss on the in-memory disk: all of them, or a random sample.

use super::Memory;

/// Simulates a power loss: the digits of `choices` select the outcome of each decision. Returns the number of outcomes
/// per decision.
pub fn crash(memory: &Memory, mut choices: u64) -> Vec<u64> {
    let mut arities = Vec::new();
    memory.crash(|outcomes| {
        let outcomes = outcomes as u64;
        arities.push(outcomes);
        let choice = choices % outcomes;
        choices /= outcomes;
        usize::try_from(choice).unwrap_or_default()
    });
    arities
}

/// Returns the power-loss outcomes to try: all of them, or `limit` including the extremes.
pub fn losses(memory: &Memory, limit: u64, draw: &mut Draw) -> Vec<u64> {
    let arities = crash(&memory.fork(), 0);
    let all = arities.iter().try_fold(1_u64, |all, arity| all.checked_mul(*arity)).unwrap_or(u64::MAX);
    if all <= limit {
        return (0..all).collect();
    }
    // First: nothing lost, everything lost, and each single loss; then random outcomes.
    let (mut place, mut extremes, mut everything) = (1_u64, vec![0], 0_u64);
    for arity in arities {
        extremes.push(place);
        everything = everything.saturating_add(place);
        place = place.saturating_mul(arity);
    }
    extremes.insert(1, everything);
    extremes.truncate(usize::try_from(limit).unwrap_or(usize::MAX) / 2 + 1);
    let drawn = limit - extremes.len() as u64;
    extremes.extend((0..drawn).map(|_| draw.below(all)));
    extremes
}

/// A deterministic random number generator with a seed.
#[derive(Clone, Debug)]
pub struct Draw(pub(crate) u64);

impl Draw {
    /// Draws a number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = self.0;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (drawn ^ (drawn >> 31)) % end.max(1)
    }
}
