//! The tokens and the cost of a session, on all of its branches (Pi 0.87.1, oh-my-pi 18.2.3).
//!
//! The cost is by pi-ai of Pi 1.5.2: the total that the provider billed, or else the one by the prices of its catalog,
//! in US dollars. For a model without a price it is zero.

use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::PathError;
use crate::format::json::{dollars, member};
use crate::format::jsonl::each_line_with;
use crate::session::usage::{Tokens, Usage};

#[derive(Deserialize)]
struct UsageRecord<'a> {
    #[serde(borrow)]
    message: Message<'a>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    usage: Counts<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"), rename_all = "camelCase")]
struct Counts<'a> {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    cost: Option<&'a RawValue>,
}

pub(in crate::agent) fn usage(path: &Path) -> Result<Usage, PathError> {
    let mut sum = Usage::default();
    each_line_with(path, b"\"usage\"", &mut |line| {
        let Ok(UsageRecord { message: Message { usage } }) = serde_json::from_slice(line) else { return };
        let Counts { input, output, cache_read: cached, cache_write, cost } = usage;
        let tokens = Tokens { input: input.saturating_add(cached).saturating_add(cache_write), cached, output };
        sum.add(Usage { tokens: Some(tokens), cost: dollars(member(cost, "total")) });
    })?;
    Ok(sum)
}
