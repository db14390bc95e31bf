//! Recent launches: read for the limit on resumes and for `--last-launch`.
//!
//! One JSON object per line in `launches.jsonl` of the state directory; `append` writes it.

pub(crate) mod append;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::PathError;
use crate::format::jsonl::{Jsonl, each_line};
use crate::session::AgentKind;
use crate::system::env::Env;

/// Time span in which launches count towards a limit.
const WINDOW: SignedDuration = SignedDuration::from_secs(60);
/// Maximum resumes of one session within [`WINDOW`], and of all sessions: JidoCode's own limits.
const MAX_OF_ONE: usize = 5;
const MAX_IN_ALL: usize = 20;

/// One launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Launch {
    /// The version of the line's format; the first format had none.
    #[serde(default)]
    pub format_version: u32,
    /// The time of the launch.
    pub at: Timestamp,
    /// The agent.
    pub agent: AgentKind,
    /// The session; `None` for a new one.
    pub id: Option<String>,
    /// The copy that was resumed.
    pub path: Option<PathBuf>,
    /// The directory in which the agent was started.
    pub dir: PathBuf,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The git remote of the directory, to find it again after a move.
    #[serde(default)]
    pub git_remote: Option<String>,
}

/// The version that this program writes.
pub(crate) const VERSION: u32 = 1;

impl Launch {
    /// Reads a line. An older one is converted to this version; in a newer one, unknown fields are ignored.
    fn read(line: &[u8]) -> Option<Self> {
        let launch: Self = serde_json::from_slice(line).ok()?;
        Some(Self { format_version: launch.format_version.max(VERSION), ..launch })
    }
}

/// Returns whether a newer version of rejoin wrote a line, which must then be kept unchanged.
pub(crate) fn is_newer(line: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct LogVersion {
        format_version: u32,
    }
    serde_json::from_slice::<LogVersion>(line).is_ok_and(|version| version.format_version > VERSION)
}

/// Returns the log's file.
pub(crate) fn file(env: &Env) -> PathBuf {
    env.state_dir().join("launches.jsonl")
}

/// Reads the newest launches, the newest first.
pub(crate) fn read(path: &Path) -> Result<Vec<Launch>, PathError> {
    let Some(file) = Jsonl::open_if_present(path)? else { return Ok(Vec::new()) };
    let mut launches = Vec::new();
    file.lines_backward(&mut |line, _| {
        // Skips torn lines, and lines that only a newer version can read.
        launches.extend(Launch::read(line));
        launches.len() > MAX_IN_ALL
    })?;
    Ok(launches)
}

/// Returns the git remote that a directory had at its last launch.
pub(crate) fn remote_of(path: &Path, dir: &Path) -> Result<Option<String>, PathError> {
    Ok(remotes(path)?.remove(dir))
}

/// Returns the git remotes that directories had at their last launch.
pub(crate) fn remotes(path: &Path) -> Result<HashMap<PathBuf, String>, PathError> {
    let mut remotes = HashMap::new();
    each_line(path, &mut |line| {
        let launch = Launch::read(line);
        remotes.extend(launch.and_then(|launch| Some((launch.dir, launch.git_remote?))));
        ControlFlow::Continue(())
    })?;
    Ok(remotes)
}

/// The reason why a session must not be resumed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany {
    /// Number of launches in the last minute.
    pub count: usize,
    /// Set if all of these launches were of this session.
    pub of_one: bool,
    /// The time until the next launch is allowed, in full seconds.
    pub wait: Duration,
}

/// Checks whether one more launch of a session in this minute exceeds a limit; `None` if not.
pub(crate) fn limit(launches: &[Launch], agent: AgentKind, id: &str, now: Timestamp) -> Option<TooMany> {
    // A launch that waited for the lock may have a time later than `now`; after a clock was set back, times may be
    // further in the future.
    let age = |launch: &&Launch| now.duration_since(launch.at);
    let is_recent = |age: &SignedDuration| age.abs() < WINDOW;
    let recent = |is_meant: &dyn Fn(&Launch) -> bool| -> Vec<SignedDuration> {
        let mut ages: Vec<_> = launches
            .iter()
            .filter(|launch| is_meant(launch))
            .map(|launch| age(&launch))
            .filter(is_recent)
            .map(|age| age.max(SignedDuration::ZERO))
            .collect();
        ages.sort();
        ages
    };
    let too_many = |ages: &[SignedDuration], most: usize, of_one| {
        // The next launch is allowed when the oldest of the newest `most` is older than the window.
        let oldest = ages.get(most - 1)?;
        let wait = WINDOW.saturating_sub(*oldest).unsigned_abs();
        let wait = Duration::from_secs(wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
        Some(TooMany { count: ages.len(), of_one, wait })
    };
    let of_one = recent(&|launch| launch.agent == agent && launch.id.as_deref() == Some(id));
    too_many(&of_one, MAX_OF_ONE, true).or_else(|| too_many(&recent(&|_| true), MAX_IN_ALL, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launches(ids_and_ages: &[(&str, i64)], now: Timestamp) -> Vec<Launch> {
        let launch = |(id, age): &(&str, i64)| Launch {
            format_version: VERSION,
            at: now - SignedDuration::from_secs(*age),
            agent: AgentKind::Claude,
            id: Some((*id).to_owned()),
            path: None,
            dir: "/x".into(),
            argv: vec!["claude".to_owned()],
            git_remote: None,
        };
        ids_and_ages.iter().map(launch).collect()
    }

    #[test]
    fn log_limits_session_to_five_resumes_per_minute() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
        let five = launches(&[("a", 1), ("a", 10), ("a", 20), ("a", 30), ("a", 45)], now);
        assert_eq!(
            limit(&five, AgentKind::Claude, "a", now),
            Some(TooMany { count: 5, of_one: true, wait: Duration::from_secs(15) })
        );
        assert_eq!(limit(&five, AgentKind::Claude, "b", now), None);
        assert_eq!(limit(&five, AgentKind::Amplifier, "a", now), None);
        assert_eq!(limit(&five[..4], AgentKind::Claude, "a", now), None);
        let old = launches(&[("a", 1), ("a", 10), ("a", 20), ("a", 30), ("a", 60)], now);
        assert_eq!(limit(&old, AgentKind::Claude, "a", now), None);
        let at_once = launches(&[("a", -1), ("a", 10), ("a", 20), ("a", 30), ("a", 40)], now);
        assert!(limit(&at_once, AgentKind::Claude, "a", now).is_some(), "another began a moment later and was faster");
        let future = launches(&[("a", -60), ("a", 10), ("a", 20), ("a", 30), ("a", 40)], now);
        assert_eq!(limit(&future, AgentKind::Claude, "a", now), None);
    }

    #[test]
    fn log_limits_resumes_to_20_per_minute() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
        let ids: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        let many: Vec<(&str, i64)> = ids.iter().map(|id| (id.as_str(), 50)).collect();
        let found = limit(&launches(&many, now), AgentKind::Claude, "new", now);
        assert_eq!(found, Some(TooMany { count: 20, of_one: false, wait: Duration::from_secs(10) }));
    }
}
