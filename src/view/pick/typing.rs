//! Decodes keys as their bytes arrive, with a time limit for an unfinished one.

use std::time::Instant;

use super::keys::{Key, Keys};
use crate::system::deadline;

#[derive(Default)]
pub(super) struct Typing {
    keys: Keys,
    until: Option<Instant>,
}

impl Typing {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.keys.push(bytes);
    }

    /// Returns the time at which the bytes of an unfinished key are decoded as they are.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Returns the keys that are complete.
    pub(super) fn pressed(&mut self, now: Instant) -> Vec<Key> {
        let before = self.keys.patience();
        let is_due = self.until.is_some_and(|until| until <= now);
        let mut pressed: Vec<Key> = is_due.then(|| self.keys.finish()).flatten().into_iter().collect();
        pressed.extend(&mut self.keys);
        self.until = match self.keys.patience() {
            None => None,
            // The time counts from the last byte of a key.
            Some(patience) if !pressed.is_empty() || self.until.is_none() || before != Some(patience) => {
                Some(deadline::after(patience))
            }
            Some(_) => self.until,
        };
        pressed
    }
}
