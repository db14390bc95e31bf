//! What a session's replies took: tokens, as far as its agent records them.

use schemars::JsonSchema;
use serde::Serialize;

/// Tokens that models read and wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Tokens {
    /// What models read, that from a cache too.
    pub input: u64,
    /// What of that came from a cache.
    pub cached: u64,
    /// What models wrote, their reasoning too.
    pub output: u64,
}

impl Tokens {
    /// Adds those of another reply.
    pub(crate) fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
    }

    /// Adds them up; `None` where nothing was recorded.
    pub(crate) fn sum(replies: impl IntoIterator<Item = Self>) -> Option<Self> {
        replies.into_iter().fold(None, |sum: Option<Self>, tokens| {
            let mut sum = sum.unwrap_or_default();
            sum.add(tokens);
            Some(sum)
        })
    }
}
