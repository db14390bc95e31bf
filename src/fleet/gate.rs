//! Limits for conversations with many hosts: concurrent connections, and the time until which the caller listens.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::system::deadline;

/// The time when the caller stops listening to a host: at the end of its answer, or earlier.
#[derive(Clone, Debug, Default)]
pub(super) struct Until(Arc<Mutex<Option<Instant>>>);

impl Until {
    /// Ends the conversation within this time.
    pub(super) fn end_within(&self, time: Duration) {
        let mut end = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = deadline::after(time);
        *end = Some(end.map_or(new, |known| known.min(new)));
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|end| Instant::now() >= end)
    }
}

/// A counting semaphore: limits the number of hosts that are connecting.
#[derive(Debug)]
pub(super) struct Semaphore {
    free: Mutex<usize>,
    freed: Condvar,
}

/// A permit for one connection, released on drop.
#[derive(Debug)]
pub(super) struct Permit(Arc<Semaphore>);

impl Semaphore {
    pub(super) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self { free: Mutex::new(places), freed: Condvar::new() })
    }

    /// Returns the number of hosts that may still connect.
    #[cfg(test)]
    pub(super) fn free_places(&self) -> usize {
        *self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place; `None` if the caller stops listening first.
    pub(super) fn enter(self: &Arc<Self>, until: &Until) -> Option<Permit> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            if until.is_over() {
                return None;
            }
            let waited = self.freed.wait_timeout(free, Duration::from_millis(100));
            free = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *free -= 1;
        Some(Permit(Arc::clone(self)))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}
