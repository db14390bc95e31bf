//! The end of a wait, however long somebody is ready to wait.

use std::time::{Duration, Instant};

/// What counts as for ever: a day.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the moment this long after now, or a day after it if the clock does not reach that far.
pub(crate) fn after(patience: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(patience).or_else(|| now.checked_add(LONGEST)).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_patience_is_too_long() {
        assert!(after(Duration::MAX) > after(Duration::from_secs(60 * 60)));
        assert!(after(Duration::ZERO) <= Instant::now());
    }
}
