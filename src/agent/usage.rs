//! Sums up the tokens and the cost in the records of a log.

use std::collections::HashMap;
use std::path::Path;

use serde_json::value::RawValue;

use crate::error::PathError;
use crate::format::json::{dollars, member, record, text_in};
use crate::format::jsonl::each_line_with;
use crate::session::usage::{Tokens, Usage};

/// The members of a record with the tokens and the cost of a reply. A path is empty if the agent does not write the member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UsageAt {
    /// A substring of every line with these members, to skip other lines without parsing.
    pub mark: &'static str,
    /// The path of the object with the numbers of tokens and the cost.
    pub usage: &'static [&'static str],
    /// The numbers that add up to the input tokens; empty if there are no numbers of tokens.
    pub input: &'static [&'static str],
    /// The number of input tokens from a cache.
    pub cached: &'static str,
    /// The numbers that add up to the output tokens.
    pub output: &'static [&'static str],
    /// The path of the cost in US dollars in that object; a model without a price has none, or zero.
    pub cost: &'static [&'static str],
    /// The id of a reply: if a reply is written again, its last record counts, and without an id none.
    pub id: &'static str,
    /// Set if each record has the total so far.
    pub is_total: bool,
}

impl UsageAt {
    /// The base of a description: no members.
    pub(crate) const NONE: Self =
        Self { mark: "", usage: &[], input: &[], cached: "", output: &[], cost: &[], id: "", is_total: false };

    /// Sums up the records of a log.
    pub(super) fn sum(&self, log: &Path) -> Result<Usage, PathError> {
        let mut sum = Sum::of(self);
        each_line_with(log, self.mark.as_bytes(), &mut |line| sum.see(line))?;
        Ok(sum.finish())
    }

    fn usage(&self, record: &RawValue) -> Usage {
        let usage = at(record, self.usage).filter(|raw| raw.get().starts_with('{'));
        let Some(usage) = usage else { return Usage::default() };
        let number = |name: &str| member(Some(usage), name).map_or(Some(0), |raw| raw.get().parse::<u64>().ok());
        let sum = |names: &[&str]| names.iter().try_fold(0_u64, |sum, name| Some(sum.saturating_add(number(name)?)));
        let tokens =
            || Some(Tokens { input: sum(self.input)?, cached: number(self.cached)?, output: sum(self.output)? });
        let tokens = if self.input.is_empty() { None } else { tokens() };
        Usage { tokens, cost: dollars(at(usage, self.cost)) }
    }
}

/// The sum of the records so far.
pub(super) struct Sum<'a> {
    of: &'a UsageAt,
    sum: Usage,
    by_id: HashMap<String, Usage>,
}

impl<'a> Sum<'a> {
    pub(super) fn of(of: &'a UsageAt) -> Self {
        Self { of, sum: Usage::default(), by_id: HashMap::new() }
    }

    /// Adds a record; a line that is not one has no usage.
    pub(super) fn see(&mut self, line: &[u8]) {
        let Some(record) = record::<&RawValue>(line) else { return };
        let usage = self.of.usage(record);
        if usage.tokens.is_none() && usage.cost.is_none() {
            return;
        }
        if self.of.is_total {
            self.sum = usage;
        } else if self.of.id.is_empty() {
            self.sum.add(usage);
        } else if let Some(id) = text_in(Some(record), self.of.id).filled() {
            self.by_id.insert(id.to_owned(), usage);
        }
    }

    pub(super) fn finish(mut self) -> Usage {
        self.by_id.into_values().for_each(|usage| self.sum.add(usage));
        self.sum
    }
}

/// Returns the value at a path of member names.
fn at<'a>(record: &'a RawValue, path: &[&str]) -> Option<&'a RawValue> {
    path.iter().try_fold(record, |raw, name| member(Some(raw), name))
}
