//! The rows of another host's answer: one object per line, the host added as the first field, and the sort key of each.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::session::process::Process;
use crate::session::select::{SortKey, SortRank};
use crate::session::usage::{Cost, Tokens, Usage};
use crate::session::{
    AgentKind, CopyChoice, Fact, Health, HealthSet, Liveness, Located, Session, SessionCopy, SessionKind, Store,
};

/// Evidence source for facts reported by a remote host.
const SOURCE: &str = "host";
/// The evidence sources for which tables have their own words.
const CLOSED_AT: &str = "closed_at";

/// The fields that a listing needs of a session on another host.
#[derive(Debug, Deserialize)]
struct FleetRow<'a> {
    agent: AgentKind,
    id: String,
    #[serde(default = "main")]
    kind: SessionKind,
    title: Option<String>,
    first_prompt: Option<String>,
    launch_dir: Option<RowDir>,
    project: Option<String>,
    created_at: Option<Timestamp>,
    active_at: Option<Timestamp>,
    #[serde(borrow)]
    active_source: Option<Cow<'a, str>>,
    size_bytes: Option<u64>,
    prompts: Option<u64>,
    replies: Option<u64>,
    tokens: Option<Tokens>,
    cost_usd: Option<f64>,
    model: Option<String>,
    git_branch: Option<String>,
    #[serde(borrow)]
    liveness: Option<Cow<'a, str>>,
    #[serde(borrow)]
    process: Option<RowProcess<'a>>,
    #[serde(default)]
    pinned: bool,
    #[serde(default, borrow)]
    tags: Vec<Cow<'a, str>>,
    /// An older rejoin reports no expiry.
    expires_at: Option<Timestamp>,
    /// A newer rejoin may report other problems.
    #[serde(default, borrow)]
    health: Vec<Cow<'a, str>>,
    #[serde(default)]
    copies: Vec<RowTime>,
}

#[derive(Debug, Deserialize)]
struct RowDir {
    path: PathBuf,
    exists: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct RowProcess<'a> {
    pid: Option<u32>,
    started_at: Option<Timestamp>,
    #[serde(borrow)]
    state: Option<Cow<'a, str>>,
}

impl RowProcess<'_> {
    fn process(&self) -> Process {
        // Ignores states of a newer rejoin.
        let state = self.state.as_deref().and_then(|state| state.parse().ok()).unwrap_or_default();
        Process { pid: self.pid, started_at: self.started_at, state }
    }
}

#[derive(Debug, Deserialize)]
struct RowTime {
    path: PathBuf,
}

/// The fields of a row that determine its place, if no other fields are read.
#[derive(Debug, Deserialize)]
struct RowOrderFields<'a> {
    agent: AgentKind,
    #[serde(borrow)]
    id: Cow<'a, str>,
    active_at: Option<Timestamp>,
    created_at: Option<Timestamp>,
    size_bytes: Option<u64>,
    #[serde(default, borrow)]
    health: Vec<Cow<'a, str>>,
}

/// The place of a session in a list: its rank, its agent and its id.
pub(crate) type RowSortKey = (SortRank, AgentKind, String);

/// Returns the place of a line's session; `None` if the line is not understood.
pub(crate) fn place(line: &str, host: &Arc<str>, sort: SortKey) -> Option<RowSortKey> {
    if matches!(sort, SortKey::Title | SortKey::Dir) || sort.needs_usage() {
        return session(line, host).ok().map(|session| place_of(&session, sort));
    }
    let row: RowOrderFields<'_> = serde_json::from_str(line).ok()?;
    let is_dated = !row.health.iter().any(|code| code == <&str>::from(Health::FutureTime));
    let rank = match sort {
        SortKey::Created => SortRank::Time(SortRank::when(is_dated, row.created_at)),
        SortKey::Size => SortRank::Size(Reverse(row.size_bytes.unwrap_or_default())),
        SortKey::Agent => SortRank::Agent(row.agent, SortRank::when(is_dated, row.active_at)),
        _ => SortRank::Time(SortRank::when(is_dated, row.active_at)),
    };
    Some((rank, row.agent, row.id.into_owned()))
}

/// Returns the place of a session.
pub(crate) fn place_of(session: &Session, sort: SortKey) -> RowSortKey {
    (SortRank::from_session(session, sort), session.agent, session.id().to_owned())
}

fn main() -> SessionKind {
    SessionKind::Main
}

/// Parses a session from a line of `list` or `search`; the error is the reason for a failure.
pub(crate) fn session(line: &str, host: &Arc<str>) -> Result<Session, String> {
    let row: FleetRow<'_> = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let store = Store { host: Some(Arc::clone(host)), ..Store::usual(row.agent, "/") };
    let store = Arc::new(store);
    let place = |path: &Path| Located {
        project: row.project.as_deref().map(Arc::from),
        is_subagent: row.kind == SessionKind::Subagent,
        ..Located::new(&store, row.id.clone(), path)
    };
    let mut copies: Vec<SessionCopy> = row.copies.iter().map(|copy| SessionCopy::new(place(&copy.path))).collect();
    if copies.is_empty() {
        copies.push(SessionCopy::new(place(Path::new(""))));
    }
    let fact = |value: Option<String>| value.map(|value| Fact::<Arc<str>>::new(value, SOURCE));
    let health = |code: &Cow<'_, str>| serde_json::from_value::<Health>((&**code).into()).ok();
    let health: HealthSet = row.health.iter().filter_map(health).collect();
    let first = &mut copies[0];
    first.kind = row.kind;
    first.title = fact(row.title);
    first.first_prompt = fact(row.first_prompt);
    first.created_at = row.created_at.map(|at| Fact::new(at, SOURCE));
    let is_closed = row.active_source.as_deref() == Some(CLOSED_AT);
    first.active_at = row.active_at.map(|at| Fact::new(at, if is_closed { CLOSED_AT } else { SOURCE }));
    first.size_bytes = row.size_bytes.unwrap_or_default();
    first.is_size_known = row.size_bytes.is_some();
    first.prompts = row.prompts;
    first.replies = row.replies;
    first.usage = Some(Usage { tokens: row.tokens, cost: row.cost_usd.and_then(Cost::from_dollars) });
    first.model = fact(row.model);
    first.git_branch = fact(row.git_branch);
    first.liveness = match row.liveness.as_deref() {
        Some("live") => Liveness::Live { pid: 0 },
        Some("maybe") => Liveness::Maybe { why: format!("{host} says so") },
        _ => Liveness::Idle,
    };
    first.health = health;
    let launch_dir_exists = row.launch_dir.as_ref().and_then(|dir| dir.exists);
    first.launch_dir = row.launch_dir.map(|dir| Fact::new(dir.path, SOURCE));
    Ok(Session {
        launch_dir_exists,
        health,
        is_pinned: row.pinned,
        tags: row.tags.iter().filter_map(|tag| tag.parse().ok()).collect(),
        expires_at: row.expires_at,
        process: row.process.as_ref().map(RowProcess::process),
        ..Session::new(copies, CopyChoice::new(format!("{host} chose it"), true))
    })
}

/// Returns whether a line is a JSON object that every parser accepts. An out-of-range number is valid JSON, but many
/// parsers refuse the whole document for it.
pub(crate) fn is_object(line: &str) -> bool {
    serde_json::from_str::<Value>(line).is_ok_and(|value| value.is_object())
}

/// Writes the object on a line with its host as the first field, which replaces a field with the same name. Returns
/// `None` if the line is not an object.
pub(crate) fn with_host(line: &str, host: &str) -> Option<String> {
    // Parsed, because a key can be escaped and can occur twice.
    let mut fields: IndexMap<String, &RawValue> = serde_json::from_str(line).ok()?;
    let host = to_raw_value(host).ok()?;
    fields.shift_remove("host");
    fields.shift_insert(0, "host".to_owned(), &host);
    serde_json::to_string(&fields).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::process::State;

    #[test]
    fn row_cannot_override_the_host_name() {
        for line in
            [r#"{"host":"evil","id":"a"}"#, r#"{"\u0068ost":"evil","id":"a"}"#, r#"{"id":"a","h\u006fst":"evil"}"#]
        {
            assert_eq!(with_host(line, "box").as_deref(), Some(r#"{"host":"box","id":"a"}"#), "{line}");
        }
        let twice = r#"{"id":"a","host":"evil","h\u006fst":"bad","id":"b"}"#;
        assert_eq!(with_host(twice, "box").as_deref(), Some(r#"{"host":"box","id":"b"}"#));
    }

    #[test]
    fn parser_refuses_row_with_out_of_range_number() {
        let line = r#"{"id":"a","more":1e99999}"#;
        assert!(!is_object(line));
        assert!(is_object(r#"{"id":"a","more":1e99}"#));
    }

    #[test]
    fn fields_missing_from_a_row_are_unknown() {
        let host: Arc<str> = "box".into();
        let line = r#"{"agent":"claude","id":"ab","title":null,"first_prompt":"hi","launch_dir":{"path":"/p","exists":false},
            "active_at":"2026-02-01T00:00:00Z","size_bytes":7,"health":["missing-directory","what-comes-later"],
            "liveness":"maybe","pinned":true,"tags":["shop","not a tag"],"copies":[{"path":"/a"},{"path":"/b"}],"more":1}"#;
        let session = session(line, &host).expect("a session");
        assert_eq!(session.host(), Some("box"));
        assert_eq!(session.label(), Some("hi"));
        assert_eq!(session.launch_dir(), Some(Path::new("/p")));
        assert_eq!(session.launch_dir_exists, Some(false));
        assert_eq!(session.tags.iter().map(ToString::to_string).collect::<Vec<_>>(), ["+shop"]);
        assert_eq!(session.copies.len(), 2);
        assert_eq!(session.health, HealthSet::from_iter([Health::MissingDirectory]));
        let bare = super::session(r#"{"agent":"pi","id":"x"}"#, &host).expect("a session");
        assert_eq!((bare.copy().size(), bare.active_at()), (None, None));
        assert_eq!((session.process, bare.process), (None, None));
        for (state, expected) in [("working", State::Working), ("of the future", State::Unknown)] {
            let line =
                format!(r#"{{"agent":"pi","id":"x","process":{{"pid":7,"started_at":null,"state":"{state}"}}}}"#);
            let process = super::session(&line, &host).expect("a session").process;
            assert_eq!(process, Some(Process { pid: Some(7), started_at: None, state: expected }));
        }
        assert!(super::session(r#"{"agent":"of the future","id":"x"}"#, &host).is_err());
    }

    #[test]
    fn row_has_same_sort_key_as_session() {
        use clap::ValueEnum as _;
        let host: Arc<str> = "box".into();
        for line in [
            r#"{"agent":"claude","id":"a","title":"T","active_at":"2026-02-01T00:00:00Z","created_at":null,"size_bytes":7}"#,
            r#"{"agent":"pi","id":"b","launch_dir":{"path":"/p"},"active_at":"2099-02-01T00:00:00Z","health":["future-time"]}"#,
        ] {
            for sort in SortKey::value_variants() {
                let session = session(line, &host).expect("a session");
                assert_eq!(place(line, &host, *sort), Some(place_of(&session, *sort)), "{sort:?}: {line}");
            }
        }
        assert_eq!(place("[]", &host, SortKey::Active), None);
    }

    #[test]
    fn row_starts_with_escaped_host_name() {
        assert_eq!(with_host(r#"{"a":1}"#, "b\"x").as_deref(), Some(r#"{"host":"b\"x","a":1}"#));
        assert_eq!(with_host("{}", "box").as_deref(), Some(r#"{"host":"box"}"#));
        assert_eq!(with_host("[1]", "box"), None);
        assert_eq!(with_host(r#"{"a":1,"host":"fake"}"#, "box").as_deref(), Some(r#"{"host":"box","a":1}"#));
    }
}
