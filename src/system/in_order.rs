//! Processes items in all threads and delivers the results one by one, in the order of the items.

use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};

/// The progress of a queue.
#[derive(Debug, Default)]
struct QueueProgress {
    /// Index of the first item that no thread has started.
    next: usize,
    /// Number of results delivered.
    taken: usize,
    /// Set if no further items may start.
    is_over: bool,
}

/// The queue that all workers share.
#[derive(Debug)]
struct Queue {
    count: usize,
    ahead: usize,
    place: Mutex<QueueProgress>,
    changed: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, QueueProgress> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next item, as soon as it is at most `ahead` items after the delivered ones; `None` if none is left.
    fn next(&self) -> Option<usize> {
        let is_left = |place: &QueueProgress| !place.is_over && place.next < self.count;
        let waits = |place: &mut QueueProgress| is_left(place) && place.next >= place.taken + self.ahead;
        let mut place = self.changed.wait_while(self.lock(), waits).unwrap_or_else(PoisonError::into_inner);
        let next = Some(place.next).filter(|_| is_left(&place))?;
        place.next += 1;
        Some(next)
    }

    /// Counts a result as delivered.
    fn note_taken(&self) {
        self.lock().taken += 1;
        self.changed.notify_all();
    }
}

/// On drop, stops workers from taking new items: either the queue is empty, or a worker panicked.
struct StopWorkers<'a>(&'a Queue);

impl Drop for StopWorkers<'_> {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.changed.notify_all();
    }
}

/// Calls `work` for each item, and `take` with each result as soon as all earlier ones were taken, until `take` breaks
/// or fails. `arrived` is called for each result, in any order. Workers start at most `ahead` items after the last
/// result taken, because waiting results take memory.
///
/// A slow item does not delay the other threads: they continue with later items. The calling thread only consumes
/// results; it is not one of the workers.
pub(crate) fn in_order<T: Send, E>(
    count: usize,
    ahead: usize,
    work: &(dyn Fn(usize) -> T + Sync),
    arrived: &mut dyn FnMut(),
    take: &mut dyn FnMut(T) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    debug_assert_eq!(rayon::current_thread_index(), None);
    if count <= 1 {
        return (0..count).try_for_each(|at| {
            let result = work(at);
            arrived();
            take(result).map(drop)
        });
    }
    let queue = Queue { count, ahead, place: Mutex::default(), changed: Condvar::new() };
    let (sender, receiver) = mpsc::channel();
    rayon::in_place_scope(|scope| {
        for _ in 0..rayon::current_num_threads().min(count) {
            let (sender, queue) = (sender.clone(), &queue);
            scope.spawn(move |_| {
                let _end = StopWorkers(queue);
                while let Some(at) = queue.next() {
                    if sender.send((at, work(at))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let _end = StopWorkers(&queue);
        // Workers start only items for which the place of an earlier one is free.
        let places = ahead.min(count);
        let mut waiting = Vec::from_iter((0..places).map(|_| None));
        let (mut next, mut taken) = (0, Ok(ControlFlow::Continue(())));
        for (at, result) in receiver {
            arrived();
            waiting[at % places] = Some(result);
            while let (Ok(ControlFlow::Continue(())), Some(result)) = (&taken, waiting[next % places].take()) {
                next += 1;
                queue.note_taken();
                taken = take(result);
            }
            if !matches!(taken, Ok(ControlFlow::Continue(()))) {
                break;
            }
        }
        taken.map(drop)
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const AHEAD: usize = 32;

    #[test]
    fn results_arrive_once_and_in_order() {
        for count in [0, 1, 2, AHEAD, 5 * AHEAD + 1] {
            let (mut taken, mut arrived) = (Vec::new(), 0);
            let work = |at: usize| {
                // The first item finishes last, as far as `ahead` allows.
                let turns = if at == 0 { 200_000 } else { at % 7 * 100 };
                (0..turns).fold(at, |sum, turn| std::hint::black_box(sum + turn) - turn)
            };
            let mut take = |at| {
                taken.push(at);
                Ok::<_, Infallible>(ControlFlow::Continue(()))
            };
            assert_eq!(in_order(count, AHEAD, &work, &mut || arrived += 1, &mut take), Ok(()));
            assert_eq!((taken, arrived), ((0..count).collect(), count));
        }
    }

    #[test]
    fn early_stop_starts_no_more_items() {
        for outcome in [Ok(ControlFlow::Break(())), Err("full")] {
            let begun = AtomicUsize::new(0);
            let mut taken = 0;
            let mut take = |at| {
                taken += 1;
                if at == 9 { outcome } else { Ok(ControlFlow::Continue(())) }
            };
            let work = |at| {
                begun.fetch_add(1, Ordering::Relaxed);
                at
            };
            let done = in_order(10_000, AHEAD, &work, &mut || (), &mut take);
            assert_eq!((done, taken), (outcome.map(drop), 10));
            assert!(begun.into_inner() <= AHEAD + 10);
        }
    }

    #[test]
    fn panic_in_worker_or_consumer_ends_run() {
        for panics in ["work", "take"] {
            let work = |at| {
                assert!(at != 3 || panics != "work", "a bug");
                at
            };
            let mut take = |at: usize| {
                assert!(at != 3 || panics != "take", "a bug");
                Ok::<_, Infallible>(ControlFlow::Continue(()))
            };
            let run = AssertUnwindSafe(|| in_order(10_000, AHEAD, &work, &mut || (), &mut take));
            assert!(catch_unwind(run).is_err(), "{panics}");
        }
    }
}
