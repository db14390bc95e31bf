//! A progress observer that any thread can report to.

use std::fmt::Debug;
use std::sync::Arc;

/// An observer of progress. Worker threads call it for each item they finish, so it must return quickly.
pub(crate) trait ProgressObserver: Debug + Send + Sync {
    /// Begins a new phase, with no items done.
    fn turn_to(&self, what: &'static str);

    /// Adds items to the total.
    fn begin(&self, count: usize);

    /// Adds finished items.
    fn done(&self, count: usize);

    /// Adds a result with its worth; the observer may show the title of the best one.
    fn found(&self, worth: f32, title: &dyn Fn() -> String);
}

/// An optional observer. The default has none, and reporting then costs nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watcher(Option<Arc<dyn ProgressObserver>>);

impl Watcher {
    /// Reports to this observer.
    pub(crate) fn new(watch: Arc<dyn ProgressObserver>) -> Self {
        Self(Some(watch))
    }

    /// Reports that a new phase begins.
    pub(crate) fn turn_to(&self, what: &'static str) {
        if let Some(watch) = &self.0 {
            watch.turn_to(what);
        }
    }

    /// Reports items that are added to the total.
    pub(crate) fn begin(&self, count: usize) {
        if let Some(watch) = &self.0 {
            watch.begin(count);
        }
    }

    /// Reports finished items.
    pub(crate) fn done(&self, count: usize) {
        if let Some(watch) = &self.0 {
            watch.done(count);
        }
    }

    /// Reports a result with its worth.
    pub(crate) fn found(&self, worth: f32, title: &dyn Fn() -> String) {
        if let Some(watch) = &self.0 {
            watch.found(worth, title);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Sums up the reports.
    #[derive(Debug, Default)]
    pub(crate) struct WatchSum {
        begun: AtomicUsize,
        done: AtomicUsize,
    }

    impl WatchSum {
        /// Returns the total number of items, and the number of finished ones.
        pub(crate) fn get(&self) -> (usize, usize) {
            (self.begun.load(Ordering::Relaxed), self.done.load(Ordering::Relaxed))
        }
    }

    impl ProgressObserver for WatchSum {
        fn turn_to(&self, _: &'static str) {}

        fn begin(&self, count: usize) {
            self.begun.fetch_add(count, Ordering::Relaxed);
        }

        fn done(&self, count: usize) {
            let done = self.done.fetch_add(count, Ordering::Relaxed) + count;
            assert!(done <= self.begun.load(Ordering::Relaxed), "more is done than was begun");
        }

        fn found(&self, _: f32, _: &dyn Fn() -> String) {}
    }
}
