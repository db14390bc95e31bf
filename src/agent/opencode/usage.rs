//! The tokens and the cost of a session: its row has the sums (OpenCode 1.18.33, Kilo 7.7.9).
//!
//! The cost is in US dollars, by the prices of models.dev or of the user's configuration, or by the credits that Copilot
//! reports; a model without a price adds zero.

use crate::agent::database;
use crate::error::PathError;
use crate::format::sqlite;
use crate::session::Located;
use crate::session::usage::{Tokens, Usage};

/// The columns of the sums; older versions lack all of them.
const SUMS: [&str; 5] =
    ["tokens_input", "tokens_cache_read", "tokens_cache_write", "tokens_output", "tokens_reasoning"];

pub(super) fn usage(place: &Located) -> Result<Usage, PathError> {
    sqlite::read(&place.path, |db| {
        let known = db.columns("session")?;
        let mut tokens = None;
        if SUMS.iter().all(|column| known.contains(*column)) {
            let sql = format!("SELECT {} FROM session WHERE id = ?1", SUMS.join(", "));
            db.query(&sql, &[&place.id], |row| {
                let sum = |at: usize| row.int(at).and_then(|sum| u64::try_from(sum).ok()).unwrap_or(0);
                let [input, cached, made, output, thought] = [0, 1, 2, 3, 4].map(sum);
                tokens = Some(Tokens {
                    input: input.saturating_add(cached).saturating_add(made),
                    cached,
                    output: output.saturating_add(thought),
                });
            })?;
        }
        Ok(Usage { tokens, cost: database::cost_in(db, place, "session", &["cost"])? })
    })
}
