//! The cost of a history: after each answer, Aider prints the cost of the answer and of all answers since its start, in
//! US dollars (0.86.2, by its `base_coder.py`). It prints none for a model without a price.

use crate::agent::aider::records::{BLANKS, START};
use crate::session::usage::Cost;

/// The costs of the starts so far.
#[derive(Default)]
pub(super) struct AiderCosts {
    earlier: Option<Cost>,
    since_start: Option<Cost>,
    /// Set after a line about tokens; the next line may be about the cost.
    is_of_tokens: bool,
}

impl AiderCosts {
    pub(super) fn line(&mut self, line: &str) {
        let tokens_line = line.strip_prefix("> ").filter(|tokens_line| tokens_line.starts_with("Tokens: "));
        if line.starts_with(START) {
            (self.earlier, self.since_start) = (self.sum(), None);
        } else if let Some(costs_line) = tokens_line.or(Some(line).filter(|_| self.is_of_tokens))
            && let Some(cost) = since_start(costs_line)
        {
            // The printed total only grows, and a sum of the answers has more rounding errors.
            self.since_start = self.since_start.max(Some(cost));
        }
        self.is_of_tokens = tokens_line.is_some();
    }

    pub(super) fn sum(&self) -> Option<Cost> {
        Cost::sum(self.earlier.into_iter().chain(self.since_start))
    }
}

/// Parses the cost since the start: `Cost: $0.01 message, $0.02 session.`
fn since_start(line: &str) -> Option<Cost> {
    let (_, costs) = line.strip_suffix(BLANKS)?.rsplit_once("Cost: $")?;
    let (_, cost) = costs.strip_suffix(" session.")?.split_once(" message, $")?;
    Cost::from_dollars(cost.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(text: &str) -> Option<String> {
        let mut costs = AiderCosts::default();
        text.lines().for_each(|line| costs.line(line));
        costs.sum().map(|cost| cost.dollars().to_string())
    }

    #[test]
    fn usage_adds_last_cost_of_each_start() {
        let text = "# aider chat started at 2026-01-01 10:00:00\n\n\
            > Tokens: 5 sent, 3 received. Cost: $0.01 message, $0.01 session.  \n\
            > Tokens: 5 sent, 3 received. Cost: $0.0012 message, $0.02 session.  \n\
            # aider chat started at 2026-01-02 10:00:00\n\n\
            > Tokens: 5k sent, 4k cache write, 3k cache hit, 3 received.\nCost: $1.20 message, $1.25 session.  \n";
        assert_eq!(cost(text).as_deref(), Some("1.27"));
    }

    #[test]
    fn other_lines_have_no_cost() {
        for line in [
            "> Tokens: 5 sent, 3 received.  ",
            "> Tokens: 5 sent, 3 received. Cost: $0.01 message, $0.02 session.",
            "> Tokens: 5 sent, 3 received. Cost: $0.00 message, $0.00 session.  ",
            "> Tokens: 5 sent, 3 received. Cost: $nan message, $nan session.  ",
            "> Tokens: 5 sent, 3 received. Cost: $-1 message, $-1 session.  ",
            "Cost: $0.01 message, $0.02 session.  ",
            "> Cost: $0.01 message, $0.02 session.  ",
        ] {
            assert_eq!(cost(line), None, "{line}");
        }
    }
}
