//! The start of a process, which distinguishes it from a later one with the same id.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Linux counts in `/proc` in units of `USER_HZ`, which is 100 on every processor that Rust supports.
const TICKS_PER_SECOND: u64 = 100;

/// The start of a process, in the unit of its system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StartTime {
    /// Linux: clock ticks since boot, field 22 of `/proc/PID/stat`.
    Ticks(u64),
    /// macOS: seconds since 1970.
    Seconds(i64),
}

impl StartTime {
    /// Parses Claude Code's record: the ticks on Linux, the output of `LC_ALL=C TZ=UTC ps -o lstart=` on macOS.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.parse().ok().map(Self::Ticks);
        }
        // Days below ten are preceded by a second space.
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let at = DateTime::strptime("%a %b %d %H:%M:%S %Y", words.join(" ")).ok()?;
        at.to_zoned(TimeZone::UTC).ok().map(|at| Self::Seconds(at.timestamp().as_second()))
    }

    /// Returns the time, to the second; `booted_at` is the start of the machine in seconds since 1970.
    pub(super) fn instant(self, booted_at: Option<i64>) -> Option<Timestamp> {
        let seconds = match self {
            Self::Ticks(ticks) => booted_at?.checked_add_unsigned(ticks / TICKS_PER_SECOND)?,
            Self::Seconds(seconds) => seconds,
        };
        Timestamp::from_second(seconds).ok()
    }

    fn is_comparable(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// The state of a process that was recorded earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The process still runs.
    Running,
    /// The process has ended; its id may have been reused.
    Ended,
    /// The state cannot be determined.
    Unknown,
}

/// The current information about a process id.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sighting {
    /// Start time of the process, if the system provides it.
    pub started: Option<StartTime>,
    /// Set if the id is in use.
    pub exists: bool,
    /// The start time of the current process: shows whether the system provides start times, and in which unit.
    pub own: Option<StartTime>,
}

impl Sighting {
    /// Compares the process with the recorded start; `None` if no start was recorded.
    pub(super) fn is_of(self, noted: Option<StartTime>) -> Presence {
        match (noted, self.started) {
            (Some(noted), Some(now)) if noted.is_comparable(now) => {
                if noted == now {
                    Presence::Running
                } else {
                    Presence::Ended
                }
            }
            // Recorded on another system, such as in a container on a Mac, whose ids mean nothing here.
            (Some(noted), _) if self.own.is_some_and(|own| !own.is_comparable(noted)) => Presence::Unknown,
            _ if self.exists => Presence::Unknown,
            _ => Presence::Ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_time_parses_linux_and_macos_format() {
        assert_eq!(StartTime::parse("8242109"), Some(StartTime::Ticks(8_242_109)));
        let seconds = "2026-11-02T15:08:03Z".parse::<Timestamp>().expect("a time").as_second();
        for text in ["Mon Nov  2 15:08:03 2026", "Mon Nov  2 15:08:03 2026    ", "Mon Nov 02 15:08:03 2026"] {
            assert_eq!(StartTime::parse(text), Some(StartTime::Seconds(seconds)), "{text}");
        }
        for other in ["", "x", "-1", "Mon Nov 31 15:08:03 2026", "2026-11-02T15:08:03Z", "99999999999999999999"] {
            assert_eq!(StartTime::parse(other), None, "{other}");
        }
    }

    #[test]
    fn ticks_convert_to_time_with_boot_time() {
        let at = |text: &str| Some(text.parse::<Timestamp>().expect("a time"));
        let boot = at("2026-11-02T15:00:00Z").map(Timestamp::as_second);
        assert_eq!(StartTime::Ticks(12_345).instant(boot), at("2026-11-02T15:02:03Z"));
        assert_eq!(StartTime::Ticks(12_345).instant(None), None);
        assert_eq!(StartTime::Ticks(u64::MAX).instant(boot), None);
        assert_eq!(StartTime::Seconds(0).instant(None), at("1970-01-01T00:00:00Z"));
    }

    #[test]
    fn process_identity_needs_equal_start_time() {
        use Presence::{Ended, Running, Unknown};
        let (ticks, seconds) = (|at| Some(StartTime::Ticks(at)), |at| Some(StartTime::Seconds(at)));
        let see = |started, exists, own| Sighting { started, exists, own };
        for (noted, now, expected) in [
            (ticks(7), see(ticks(7), true, ticks(1)), Running),
            (seconds(7), see(seconds(7), true, seconds(1)), Running),
            // The id was given to another process.
            (ticks(7), see(ticks(8), true, ticks(1)), Ended),
            (seconds(7), see(seconds(8), true, seconds(1)), Ended),
            (ticks(7), see(None, false, ticks(1)), Ended),
            // No start was recorded, or none is visible.
            (None, see(ticks(7), true, ticks(1)), Unknown),
            (None, see(None, false, ticks(1)), Ended),
            (ticks(7), see(None, true, ticks(1)), Unknown),
            (ticks(7), see(None, true, None), Unknown),
            (ticks(7), see(None, false, None), Ended),
            // Recorded on another system.
            (ticks(7), see(seconds(7), true, seconds(1)), Unknown),
            (ticks(7), see(None, false, seconds(1)), Unknown),
            (seconds(7), see(None, false, ticks(1)), Unknown),
        ] {
            assert_eq!(now.is_of(noted), expected, "{noted:?} {now:?}");
        }
    }
}
