//! The clock: the current time of a run, and the zone in which times are shown and parsed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use super::Variables;
use crate::error::{Refusal, RefusalCode};
use crate::session::when::When;
use crate::system::reach;

/// The time zone, or its file.
const ZONE: &str = "TZ";
/// Overrides the current time.
const NOW: &str = "REJOIN_NOW";
/// Maximum size in bytes of a time zone file; those of the system have a few KiB.
const MAX_ZONE: u64 = 1 << 20;

/// A zone that is loaded on first use.
pub(crate) type LazyZone = LazyLock<TimeZone, Box<dyn FnOnce() -> TimeZone + Send>>;

/// The time and the zone of a run.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// The current time, fixed for the whole run.
    pub now: Timestamp,
    /// Set if the time comes from `REJOIN_NOW`, so that it cannot be compared with the times of files.
    pub is_set: bool,
    /// The zone in which times are shown, and in which times without a zone are read. Loaded on first use, because the
    /// system's list of zones is long.
    pub zone: Arc<LazyZone>,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "`env` is the one place that reads the clock")]
    pub(super) fn read(variables: &Variables) -> Result<Self, Refusal> {
        check_zone(variables.get(OsStr::new(ZONE)).map(OsString::as_os_str))?;
        // Tests and reproductions need the same answer every day.
        let set = variables.get(OsStr::new(NOW)).map(|now| now.to_string_lossy().parse()).transpose();
        let set = set.map_err(|error| {
            let message = format!("{NOW} is not an RFC 3339 time: {error}");
            Refusal::new(RefusalCode::BadClock, message)
        })?;
        let name = variables.get(OsStr::new(ZONE)).and_then(|name| name.to_str()).map(str::to_owned);
        let zone: Arc<LazyZone> = Arc::new(LazyLock::new(Box::new(move || zone(name.as_deref()))));
        Ok(Self { now: set.unwrap_or_else(Timestamp::now), is_set: set.is_some(), zone })
    }

    /// Returns the time `duration` after now, or the last one of the calendar.
    pub(crate) fn later(&self, duration: SignedDuration) -> Timestamp {
        self.now.checked_add(duration).unwrap_or(Timestamp::MAX)
    }

    /// Returns the time that a user's expression means, relative to now.
    pub(crate) fn before(&self, when: When) -> Timestamp {
        when.before(self.now, &self.zone)
    }

    /// Returns a time in the user's zone.
    pub(crate) fn local(&self, at: Timestamp) -> Zoned {
        at.to_zoned(TimeZone::clone(&self.zone))
    }

    /// Formats a time in the user's zone, to the second.
    pub(crate) fn local_time(&self, at: Timestamp) -> String {
        strtime::format("%Y-%m-%d %H:%M:%S", &self.local(at)).unwrap_or_else(|_| at.to_string())
    }
}

/// Refuses a time zone file that cannot be read to its end, such as a device.
fn check_zone(zone: Option<&OsStr>) -> Result<(), Refusal> {
    let Some(path) = zone.and_then(zone_file) else { return Ok(()) };
    match reach::metadata(path) {
        Ok(found) if !found.is_file() || found.len() > MAX_ZONE => {
            let message = format!("TZ is {}, which is not the file of a time zone", path.display());
            Err(Refusal::new(RefusalCode::BadZone, message).hint("set TZ to a name such as Europe/Berlin, or unset it"))
        }
        _ => Ok(()),
    }
}

/// Returns the file that a value of TZ names.
fn zone_file(zone: &OsStr) -> Option<&Path> {
    let bytes = zone.as_encoded_bytes();
    let path = Path::new(OsStr::from_bytes(bytes.strip_prefix(b":").unwrap_or(bytes)));
    path.is_absolute().then_some(path)
}

/// Returns the zone of TZ, or of the system. A relative value is only a name, never a file in the current directory.
fn zone(zone: Option<&str>) -> TimeZone {
    match zone {
        // The library would list every zone of the system to find this one.
        Some("UTC") => TimeZone::UTC,
        Some(zone) if !zone.is_empty() && zone_file(OsStr::new(zone)).is_none() => {
            let name = zone.strip_prefix(':').unwrap_or(zone);
            let found = TimeZone::posix(name).or_else(|_| TimeZone::get(name));
            found.unwrap_or_else(|_| TimeZone::unknown())
        }
        _ => TimeZone::system(),
    }
}
