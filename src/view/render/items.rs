//! The items of an answer: formatted by all threads, and written one after the other, so that many items need little
//! memory.

use std::ops::ControlFlow;

use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize, Serializer};

use super::serializer::JsonItems;
use crate::system::in_order::in_order;

/// The items of an answer. They are written by a serializer whose formatter writes bytes as they are.
pub(crate) struct ItemList<'a, T> {
    count: usize,
    item: Box<dyn Fn(usize) -> T + Sync + 'a>,
}

impl<'a, T> ItemList<'a, T> {
    /// Creates an item from each element.
    pub(crate) fn from_items<S: Sync>(items: &'a [S], item: impl Fn(&'a S) -> T + Sync + 'a) -> Self {
        Self::counted(items.len(), move |at| item(&items[at]))
    }

    /// Creates a list of `count` items.
    pub(crate) fn counted(count: usize, item: impl Fn(usize) -> T + Sync + 'a) -> Self {
        Self { count, item: Box::new(item) }
    }
}

impl<T> ItemList<'_, T> {
    /// Returns the number of items.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Makes one item.
    pub(crate) fn item(&self, at: usize) -> T {
        (self.item)(at)
    }
}

impl<T: Serialize> Serialize for ItemList<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        /// Number of items that one thread formats at a time; fewer are not worth another thread.
        const CHUNK: usize = 32;
        /// Number of formatted chunks that may wait to be written.
        const AHEAD: usize = 16;
        if self.count <= CHUNK {
            return to.collect_seq((0..self.count).map(&self.item));
        }
        let mut list = to.serialize_seq(Some(self.count))?;
        let words = |chunk: usize| {
            let start = chunk * CHUNK;
            JsonItems::serialize((start..self.count.min(start + CHUNK)).map(&self.item))
        };
        in_order(self.count.div_ceil(CHUNK), AHEAD, &words, &mut || (), &mut |words| {
            let words = words.map_err(S::Error::custom)?;
            words.items().try_for_each(|item| list.serialize_element(&InWords(item)))?;
            Ok::<_, S::Error>(ControlFlow::Continue(()))
        })?;
        list.end()
    }
}

/// An item that is already JSON.
struct InWords<'a>(&'a [u8]);

impl Serialize for InWords<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(self.0)
    }
}
