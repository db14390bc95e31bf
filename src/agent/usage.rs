//! Sums up the tokens and the cost in the records of a log.

use std::collections::HashMap;

use memchr::memmem::Finder;
use serde_json::value::RawValue;

use super::observers::Observers;
use crate::format::json::{dollars, member, record, text_in};
use crate::session::usage::{Tokens, Usage};

/// The members of a record with the tokens and the cost of a reply. A path is empty if the agent does not write the member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UsageAt {
    /// A substring of every record with these members, to skip other records without parsing.
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
    /// The path of the usage of the last reply, next to a total.
    pub last: &'static [&'static str],
}

impl UsageAt {
    /// The base of a description: no members. It is the description of an agent that sums up the usage itself.
    pub(crate) const NONE: Self = Self {
        mark: "",
        usage: &[],
        input: &[],
        cached: "",
        output: &[],
        cost: &[],
        id: "",
        is_total: false,
        last: &[],
    };

    fn usage(&self, record: &RawValue) -> Usage {
        self.usage_at(record, self.usage)
    }

    fn usage_at(&self, record: &RawValue, path: &[&str]) -> Usage {
        let usage = at(record, path).filter(|raw| raw.get().starts_with('{'));
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
pub(super) struct UsageSum {
    of: &'static UsageAt,
    mark: Finder<'static>,
    sum: Usage,
    /// The total before the first reply, which belongs to the session that this one continues.
    inherited: Option<Tokens>,
    by_id: HashMap<String, Usage>,
}

impl UsageSum {
    /// Creates the sum of an agent's records, if it is wanted and they have a usage.
    pub(super) fn wanted(of: &'static Option<UsageAt>, observers: &Observers) -> Option<Self> {
        let of = of.as_ref().filter(|_| observers.usage)?;
        Some(Self { of, mark: Finder::new(of.mark), sum: Usage::default(), inherited: None, by_id: HashMap::new() })
    }

    /// Notes the total before the first reply of a session that continues another one.
    pub(super) fn see_inherited(&mut self, line: &[u8]) {
        let is_first = self.inherited.is_none() && self.has_mark(line);
        let Some(record) = Some(line).filter(|_| is_first).and_then(record::<&RawValue>) else { return };
        let tokens = self.of.usage(record).tokens.zip(self.of.usage_at(record, self.of.last).tokens);
        self.inherited = tokens.map(|(total, last)| total.without(last));
    }

    /// Returns whether a record may have a usage.
    pub(super) fn has_mark(&self, record: &[u8]) -> bool {
        self.mark.find(record).is_some()
    }

    /// Adds a record; a line that is not one has no usage.
    pub(super) fn see(&mut self, line: &[u8]) {
        let Some(record) = Some(line).filter(|line| self.has_mark(line)).and_then(record::<&RawValue>) else { return };
        let usage = self.of.usage(record);
        if usage.tokens.is_none() && usage.cost.is_none() {
            return;
        }
        if self.of.is_total {
            self.sum = usage;
        } else if self.of.id.is_empty() {
            self.add(None, usage);
        } else if let Some(id) = text_in(Some(record), self.of.id).filled() {
            self.add(Some(id.to_owned()), usage);
        }
    }

    /// Adds the usage of a reply, which replaces an earlier one with its id.
    pub(super) fn add(&mut self, id: Option<String>, usage: Usage) {
        match id {
            Some(id) => drop(self.by_id.insert(id, usage)),
            None => self.sum.add(usage),
        }
    }

    pub(super) fn finish(mut self) -> Usage {
        self.by_id.into_values().for_each(|usage| self.sum.add(usage));
        let inherited = self.inherited.unwrap_or_default();
        self.sum.tokens = self.sum.tokens.map(|total| total.without(inherited));
        self.sum
    }
}

/// Returns the value at a path of member names.
fn at<'a>(record: &'a RawValue, path: &[&str]) -> Option<&'a RawValue> {
    path.iter().try_fold(record, |raw, name| member(Some(raw), name))
}
