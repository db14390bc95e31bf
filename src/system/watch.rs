//! Somebody who watches how far something long is, and is told so from any thread.

use std::fmt::Debug;
use std::sync::Arc;

/// Is told how far something is. Threads at work call it for each thing that they have done, so it must not keep them.
pub(crate) trait Watch: Debug + Send + Sync {
    /// Something else comes next, and none of it is done yet.
    fn turn_to(&self, what: &'static str);

    /// So many more are going to be done.
    fn begin(&self, count: usize);

    /// So many more are done.
    fn done(&self, count: usize);
}

/// Who watches; by default nobody, and then telling costs nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watcher(Option<Arc<dyn Watch>>);

impl Watcher {
    /// Somebody who is told.
    pub(crate) fn new(watch: Arc<dyn Watch>) -> Self {
        Self(Some(watch))
    }

    /// Tells that something else comes next.
    pub(crate) fn turn_to(&self, what: &'static str) {
        if let Some(watch) = &self.0 {
            watch.turn_to(what);
        }
    }

    /// Reports how many more are going to be done.
    pub(crate) fn begin(&self, count: usize) {
        if let Some(watch) = &self.0 {
            watch.begin(count);
        }
    }

    /// Reports how many more are done.
    pub(crate) fn done(&self, count: usize) {
        if let Some(watch) = &self.0 {
            watch.done(count);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Adds up what it is told.
    #[derive(Debug, Default)]
    pub(crate) struct Sum {
        begun: AtomicUsize,
        done: AtomicUsize,
    }

    impl Sum {
        /// Returns how many were to be done, and how many were.
        pub(crate) fn get(&self) -> (usize, usize) {
            (self.begun.load(Ordering::Relaxed), self.done.load(Ordering::Relaxed))
        }
    }

    impl Watch for Sum {
        fn turn_to(&self, _: &'static str) {}

        fn begin(&self, count: usize) {
            self.begun.fetch_add(count, Ordering::Relaxed);
        }

        fn done(&self, count: usize) {
            let done = self.done.fetch_add(count, Ordering::Relaxed) + count;
            assert!(done <= self.begun.load(Ordering::Relaxed), "more is done than was begun");
        }
    }
}
