//! The tokens and the cost of a transcript. A reply consists of several records, each with the numbers so far
//! (2.1.330).
//!
//! Costs are by 2.1.332, and by the transcripts that it wrote: it computes them from the prices of the API, also for a
//! subscription. At its end, and at other times, it writes `cost-state` with the total of the session and its
//! sub-agents; at a start it first reads the total of the earlier run. Versions before 1.0 wrote `costUSD` into each
//! reply instead.

use std::collections::HashMap;

use memchr::memmem;

use crate::agent::prelude::*;
use crate::format::json::dollars;
use crate::session::usage::{Cost, Tokens};

/// A substring of each record with tokens, to skip other records without parsing.
const TOKENS: &[u8] = b"\"usage\"";
/// A substring of each record with a cost, to skip other records without parsing.
const COST: &[u8] = b"ostUSD\"";

#[derive(Deserialize)]
struct UsageRecord {
    message: CountedMessage,
}

#[derive(Deserialize)]
struct CountedMessage {
    id: String,
    usage: Counts,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Counts {
    input_tokens: u64,
    output_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
}

/// A record with a cost.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"), rename_all = "camelCase")]
struct Costs<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    session_id: Text<'a>,
    #[serde(rename = "totalCostUSD")]
    total: Option<&'a RawValue>,
    /// Set if a part of the total is a guess, because a price is unknown.
    has_unknown_model_cost: Flag,
    #[serde(rename = "costUSD")]
    of_reply: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
}

/// The tokens and the costs of the lines so far.
pub(super) struct Usages {
    session: String,
    /// By the id of the message.
    tokens: HashMap<String, Tokens>,
    costs: HashMap<String, Cost>,
    /// The last total; `Some(None)` if it is unknown.
    total: Option<Option<Cost>>,
}

impl Usages {
    pub(super) fn of(place: &Located) -> Self {
        Self { session: place.id.clone(), tokens: HashMap::new(), costs: HashMap::new(), total: None }
    }

    /// Adds a line; later numbers of the same reply replace earlier ones.
    pub(super) fn see(&mut self, line: &[u8]) {
        if memmem::find(line, TOKENS).is_some()
            && let Ok(UsageRecord { message: CountedMessage { id, usage } }) = serde_json::from_slice(line)
        {
            let Counts { input_tokens, output_tokens, cache_creation_input_tokens: made, cache_read_input_tokens } =
                usage;
            let cached = cache_read_input_tokens;
            let input = input_tokens.saturating_add(made).saturating_add(cached);
            self.tokens.insert(id, Tokens { input, cached, output: output_tokens });
        }
        if memmem::find(line, COST).is_some() {
            self.see_cost(&serde_json::from_slice(line).unwrap_or_default());
        }
    }

    fn see_cost(&mut self, record: &Costs<'_>) {
        if record.kind.get() == Some("cost-state") {
            // A fork may contain the total of its original session.
            if record.session_id.get() == Some(&self.session) {
                let cost = dollars(record.total).filter(|_| !record.has_unknown_model_cost.0);
                self.total = cost.map(Some).or(record.has_unknown_model_cost.0.then_some(None)).or(self.total);
            }
        } else if let (Some(id), Some(cost)) = (text_in(record.message, "id").filled(), dollars(record.of_reply)) {
            self.costs.insert(id.to_owned(), cost);
        }
    }

    /// Sums up all replies.
    pub(super) fn sum(self) -> Usage {
        let cost = self.total.unwrap_or_else(|| Cost::sum(self.costs.into_values()));
        Usage { tokens: Tokens::sum(self.tokens.into_values()), cost }
    }
}
