//! Runs work in all threads.

use std::sync::{Mutex, PoisonError};

#[expect(clippy::disallowed_types, reason = "the one use of rayon's iterators")]
use rayon::iter::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};

/// Calls `work` for each item in all threads, and returns the results in the order of the items. Uses no other thread for
/// a single item.
///
/// A call from `work` runs in the same threads. If `work` panics, so does the call.
pub(crate) fn map<T: Send, U: Send>(items: impl IntoIterator<Item = T>, work: impl Fn(T) -> U + Sync) -> Vec<U> {
    let items = items.into_iter();
    // Loops and this tuple compile to less code per caller than iterators.
    let mut slots = Vec::with_capacity(items.size_hint().0);
    for item in items {
        slots.push(Mutex::new((Some(item), None)));
    }
    each(slots.len(), &|at| {
        let (item, result) = &mut *slots[at].lock().unwrap_or_else(PoisonError::into_inner);
        *result = item.take().map(&work);
    });
    // Collected in the memory of the slots.
    slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner).1).collect()
}

/// Calls `work` for each number below `count`. Not generic, so that rayon is compiled for one type.
fn each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    match count {
        0 | 1 => (0..count).for_each(work),
        // A few items may take most of the time, so parts are small.
        _ => {
            let part = (count / (rayon::current_num_threads() * 4)).clamp(1, 32);
            (0..count).into_par_iter().with_max_len(part).for_each(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const COUNTS: [usize; 5] = [0, 1, 2, 100, 10_000];

    #[test]
    fn results_have_the_order_of_the_items() {
        for count in COUNTS {
            // The first items take longest.
            let work =
                |at: usize| (0..(count - at) % 500).fold(at, |sum, turn| std::hint::black_box(sum + turn) - turn);
            assert_eq!(map(0..count, work), Vec::from_iter(0..count));
        }
    }

    #[test]
    fn each_item_is_worked_on_once() {
        for count in COUNTS {
            let mut items: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            map(&items, |item| item.fetch_add(1, Ordering::Relaxed));
            map(&mut items, |item| *item.get_mut() += 1);
            assert!(map(items, AtomicUsize::into_inner).into_iter().all(|calls| calls == 2));
        }
    }

    #[test]
    fn panic_in_worker_ends_call() {
        for count in [1, 2, 10_000] {
            assert!(catch_unwind(|| map(0..count, |at| assert_ne!(at, count / 2, "a bug"))).is_err());
        }
    }

    #[test]
    fn nested_calls_run_in_the_threads_of_the_caller() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).thread_name(|_| "own".to_owned()).build();
        let name = |_| std::thread::current().name().map(str::to_owned);
        let names = pool.expect("threads").install(|| map(0..50, |_| map(0..50, name)));
        assert_eq!(names.concat(), vec![Some("own".to_owned()); 2_500]);
    }

    #[test]
    fn single_item_uses_no_other_thread() {
        let thread = |()| std::thread::current().id();
        assert_eq!(map([()], thread), [thread(())]);
    }
}
