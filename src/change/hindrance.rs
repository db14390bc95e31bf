//! Why a copy must not be changed: a link leads out of its store to it, or some process holds it.

use std::path::Path;

use crate::session::{Copy, Liveness, Located, Store};
use crate::system::links;

/// Says why a copy must be left alone: it lies behind a link out of its store, or some process holds it, or may.
pub(crate) fn left_alone(copy: &Copy) -> Option<String> {
    out_of_store(&copy.place).or_else(|| in_use(copy))
}

/// Says that a link leads out of the store of a copy to it: what is behind that is read, but belongs to more than the store.
pub(crate) fn out_of_store(place: &Located) -> Option<String> {
    behind_link(&place.store, &place.path)
}

/// Says the same of any path below the root of a store.
pub(crate) fn behind_link(store: &Store, path: &Path) -> Option<String> {
    let link = links::out_of(&store.root, path)?;
    Some(format!("{} is a link that leads out of the store, so what is behind it is not changed", link.display()))
}

/// Says that some process holds a copy, or may.
pub(crate) fn in_use(copy: &Copy) -> Option<String> {
    match &copy.liveness {
        Liveness::Live { pid } => Some(format!("it is in use by process {pid}")),
        Liveness::Maybe { why } => Some(format!("it may be in use: {why}")),
        Liveness::Idle => None,
    }
}
