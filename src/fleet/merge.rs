//! Merges several answers: the rows of all hosts in one order, with at most one row of each host in memory.

/// Merged rows: always the first of the next rows of all sources. If rows are equal, the first source is first.
#[derive(Debug)]
pub(crate) struct Merged<S, K, T> {
    sources: Vec<S>,
    /// The next row of each source with its key; empty before the first row is read.
    heads: Vec<Option<(K, T)>>,
}

impl<S: FnMut() -> Option<(K, T)>, K: Ord, T> Merged<S, K, T> {
    /// Merges sources that each return their rows in order.
    pub(crate) fn new(sources: Vec<S>) -> Self {
        Self { sources, heads: Vec::new() }
    }
}

impl<S: FnMut() -> Option<(K, T)>, K: Ord, T> Iterator for Merged<S, K, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        if self.heads.is_empty() {
            self.heads = self.sources.iter_mut().map(|next| next()).collect();
        }
        let keys = self.heads.iter().enumerate().filter_map(|(at, head)| Some((&head.as_ref()?.0, at)));
        let (_, at) = keys.min()?;
        let next = (self.sources[at])();
        std::mem::replace(&mut self.heads[at], next).map(|(_, row)| row)
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
