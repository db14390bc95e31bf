//! The tokens and the cost of a session's replies, as far as its agent records them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Tokens that models read and wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tokens {
    /// Tokens that models read, including those from a cache.
    pub input: u64,
    /// Tokens of these that came from a cache.
    pub cached: u64,
    /// Tokens that models wrote, including their reasoning.
    pub output: u64,
}

impl Tokens {
    /// Returns the number of all tokens.
    pub(crate) fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Adds the tokens of another reply.
    pub(crate) fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
    }

    /// Returns the rest after some of the tokens are taken away.
    pub(crate) fn without(self, some: Self) -> Self {
        Self {
            input: self.input.saturating_sub(some.input),
            cached: self.cached.saturating_sub(some.cached),
            output: self.output.saturating_sub(some.output),
        }
    }

    /// Sums up the tokens of replies; `None` if nothing was recorded.
    pub(crate) fn sum(replies: impl IntoIterator<Item = Self>) -> Option<Self> {
        replies.into_iter().fold(None, |sum: Option<Self>, tokens| {
            let mut sum = sum.unwrap_or_default();
            sum.add(tokens);
            Some(sum)
        })
    }
}

/// Money in US dollars, in whole billionths of a dollar, so that a sum of many small costs does not drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "f64")]
pub(crate) struct Cost(u64);

impl From<Cost> for f64 {
    fn from(cost: Cost) -> Self {
        cost.dollars()
    }
}

impl Cost {
    /// A record of this many dollars or more is damaged. Claude Code 2.1.332 has the same limit.
    const LIMIT: f64 = 1e9;
    const PER_DOLLAR: u64 = 1_000_000_000;
    const PER_CENT: u64 = Self::PER_DOLLAR / 100;

    /// Converts a number of dollars that an agent recorded. Zero is `None`: agents write it both for a model without a
    /// known price and for a free one. A number that cannot be a cost is `None` too.
    pub(crate) fn from_dollars(dollars: f64) -> Option<Self> {
        if !(dollars > 0.0 && dollars < Self::LIMIT) {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the limits are checked above")]
        let parts = (dollars * 1e9).round() as u64;
        (parts > 0).then_some(Self(parts))
    }

    /// Returns the number of dollars.
    #[expect(clippy::cast_precision_loss, reason = "the first 15 digits stay")]
    pub(crate) fn dollars(self) -> f64 {
        self.0 as f64 / Self::PER_DOLLAR as f64
    }

    /// Adds another cost.
    pub(crate) fn add(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }

    /// Adds up costs; `None` if there is none.
    pub(crate) fn sum(costs: impl IntoIterator<Item = Self>) -> Option<Self> {
        costs.into_iter().reduce(|mut sum, cost| {
            sum.add(cost);
            sum
        })
    }
}

/// Formats dollars and cents, rounded: `$12.34`, or `<$0.01`.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cents = self.0.saturating_add(Self::PER_CENT / 2) / Self::PER_CENT;
        if self.0 < Self::PER_CENT { f.pad("<$0.01") } else { f.pad(&format!("${}.{:02}", cents / 100, cents % 100)) }
    }
}

/// All usage of models that an agent records in one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub tokens: Option<Tokens>,
    pub cost: Option<Cost>,
}

impl Usage {
    /// Creates the usage of an agent that records costs, and whose tokens are not read.
    pub(crate) fn from_cost(cost: Option<Cost>) -> Self {
        Self { tokens: None, cost }
    }

    /// Adds the usage of another reply.
    pub(crate) fn add(&mut self, other: Self) {
        if let Some(tokens) = other.tokens {
            self.tokens.get_or_insert_default().add(tokens);
        }
        self.cost = Cost::sum(self.cost.into_iter().chain(other.cost));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_ignores_impossible_cost() {
        for dollars in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e9, 1e300, 1e-300, 4e-10] {
            assert_eq!(Cost::from_dollars(dollars), None, "{dollars}");
        }
        assert_eq!(Cost::from_dollars(1e-9), Some(Cost(1)));
    }

    #[test]
    fn sum_of_costs_has_no_rounding_error() {
        let sum = Cost::sum((0..1_000_000).filter_map(|_| Cost::from_dollars(0.1))).expect("a sum");
        assert_eq!((sum.dollars().to_string(), sum.to_string()), ("100000".to_owned(), "$100000.00".to_owned()));
        let sum = Cost::sum([0.1, 0.2].map(|it| Cost::from_dollars(it).expect("a cost"))).expect("a sum");
        assert_eq!(sum.dollars().to_string(), "0.3");
        assert_eq!(Cost::sum([]), None);
        assert_eq!(Cost::sum([Cost(u64::MAX), Cost(1)]), Some(Cost(u64::MAX)));
    }

    #[test]
    fn cost_has_dollars_and_cents() {
        let shown = |dollars| Cost::from_dollars(dollars).expect("a cost").to_string();
        assert_eq!(
            [1e-6, 0.0099, 0.01, 0.014_9, 0.015, 12.34, 999.999].map(shown),
            ["<$0.01", "<$0.01", "$0.01", "$0.01", "$0.02", "$12.34", "$1000.00"]
        );
        assert_eq!(Cost(u64::MAX).to_string(), "$18446744073.70");
    }
}
