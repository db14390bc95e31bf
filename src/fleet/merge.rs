//! Merges several answers: the rows of all hosts in one order, with at most one row of each host in memory.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Merged rows: always the first of the next rows of all sources.
#[derive(Debug)]
pub(crate) struct Merged<S, K, T> {
    sources: Vec<S>,
    /// The first row of each source that has one.
    heads: BinaryHeap<MergeHead<K, T>>,
    is_begun: bool,
}

#[derive(Debug)]
struct MergeHead<K, T> {
    key: K,
    source: usize,
    row: T,
}

impl<K: Ord, T> PartialEq for MergeHead<K, T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<K: Ord, T> Eq for MergeHead<K, T> {}

impl<K: Ord, T> PartialOrd for MergeHead<K, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord, T> Ord for MergeHead<K, T> {
    /// The heap returns its greatest item first: the first row, and the first source's if two are equal.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key).then_with(|| other.source.cmp(&self.source))
    }
}

impl<S: FnMut() -> Option<(K, T)>, K: Ord, T> Merged<S, K, T> {
    /// Merges sources that each return their rows in order.
    pub(crate) fn new(sources: Vec<S>) -> Self {
        Self { sources, heads: BinaryHeap::new(), is_begun: false }
    }

    fn pull(&mut self, source: usize) {
        if let Some((key, row)) = (self.sources[source])() {
            self.heads.push(MergeHead { key, source, row });
        }
    }
}

impl<S: FnMut() -> Option<(K, T)>, K: Ord, T> Iterator for Merged<S, K, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        if !std::mem::replace(&mut self.is_begun, true) {
            (0..self.sources.len()).for_each(|source| self.pull(source));
        }
        let MergeHead { source, row, .. } = self.heads.pop()?;
        self.pull(source);
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn merge_sorts_rows_by_key_and_source(
            mut lists in proptest::collection::vec(proptest::collection::vec(0_u8..20, 0..20), 0..6)
        ) {
            lists.iter_mut().for_each(|list| list.sort_unstable());
            let numbered = lists.iter().enumerate();
            let mut all: Vec<(u8, usize)> =
                numbered.flat_map(|(at, list)| list.iter().map(move |key| (*key, at))).collect();
            all.sort_unstable();
            let sources = lists.iter().enumerate().map(|(at, list)| {
                let mut rows = list.iter();
                move || rows.next().map(|key| (*key, (*key, at)))
            });
            prop_assert_eq!(Merged::new(sources.collect()).collect::<Vec<_>>(), all);
        }
    }
}
