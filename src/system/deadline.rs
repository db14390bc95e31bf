//! The deadline of a wait of any duration.

use std::time::{Duration, Instant};

/// The maximum wait: a day, which counts as forever.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the moment `patience` after now, or a day after now if the clock overflows.
pub(crate) fn after(patience: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(patience).or_else(|| now.checked_add(LONGEST)).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadline_of_maximum_duration_does_not_overflow() {
        assert!(after(Duration::MAX) > after(Duration::from_secs(60 * 60)));
        assert!(after(Duration::ZERO) <= Instant::now());
    }
}
