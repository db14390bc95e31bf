//! Selects sessions: selectors, prefixes, filters and order. Pure: everything needed is an argument.

mod filter;
mod named;
mod order;
mod selector;
mod short;

pub(crate) use filter::Filter;
pub(crate) use named::{NameCandidate, NameMatch, all_by_id, dir_of, list_number, named};
pub(crate) use order::{SortKey, SortRank, newest_first, put_projects_together, reverse, sort};
pub(crate) use selector::{CopySelector, Selector, in_command, takes_id};
pub(crate) use short::{ShortIds, short_among};
