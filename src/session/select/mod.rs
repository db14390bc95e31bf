//! Selects sessions: selectors, prefixes, filters and order. Pure: everything needed is an argument.

mod filter;
mod id;
mod order;
mod selector;
mod short;

pub(crate) use filter::Filter;
pub(crate) use id::{Name, Resolution, by_title, list_number, resolve};
pub(crate) use order::{Rank, SortKey, put_projects_together, sort};
pub(crate) use selector::{CopySelector, Selector};
pub(crate) use short::{ShortIds, short_id};
