//! One archived session, with every file of it.

use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;

use crate::archive::manifest::{EntryContent, ManifestEntry};
use crate::archive::{Archive, ArchivedState, Manifest};
use crate::format::command_line::in_home;
use crate::format::path_json::PathJson;
use crate::format::{shell, text};
use crate::session::Session;
use crate::session::fields::Field;
use crate::system::env::Env;
use crate::view::render::archive::list::{ArchivedJson, archived, paths};
use crate::view::render::document::{write_line, write_object, write_summary};
use crate::view::render::show::words;
use crate::view::ui::Styles;

const KIND: &str = "archived-session";

/// The answer of `show` for an archived session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArchivedSession<'a> {
    /// The archive.
    pub archive: &'a Archive,
    /// The session in the state that is shown.
    pub session: &'a Session,
    /// Every state of the session, the oldest first.
    pub states: &'a [ArchivedState],
    /// The shown state.
    pub state: &'a Manifest,
}

/// The answer of `show` for an archived session.
#[derive(Serialize)]
pub(crate) struct ArchivedSessionJson<'a, M> {
    /// The archive's directory.
    pub archive: PathJson<'a>,
    /// The session, as it was in the state that is shown.
    pub session: ArchivedJson<'a>,
    /// All entries of the archived state.
    pub entries: Vec<EntryJson<'a>>,
    /// The requested messages, in order; `null` if none were requested.
    pub messages: M,
}

/// A file, a directory or a link of an archived session.
#[derive(Debug, Serialize)]
pub(crate) struct EntryJson<'a> {
    /// The original path.
    pub path: String,
    /// `own`, `shared` (by all copies of the session) or `companion` (used by other sessions too).
    pub role: &'a str,
    /// `file`, `dir`, `link`, or `rows` of a database.
    #[serde(rename = "type")]
    pub node: &'a str,
    /// The size in bytes; `null` unless it is a file.
    pub size_bytes: Option<u64>,
    /// The SHA-256 of its content; `null` unless it is a file.
    pub sha256: Option<&'a str>,
    /// Its permissions.
    pub mode: u32,
    /// The time of modification.
    pub modified_at: Option<Timestamp>,
}

fn entry<'a>(manifest: &Manifest, entry: &'a ManifestEntry) -> EntryJson<'a> {
    let (node, size_bytes, sha256) = match &entry.node {
        EntryContent::File { size, sha256, .. } => ("file", Some(*size), Some(sha256.as_str())),
        EntryContent::Rows { size, sha256, .. } => ("rows", Some(*size), Some(sha256.as_str())),
        EntryContent::Dir => ("dir", None, None),
        EntryContent::Link { .. } => ("link", None, None),
    };
    let (seconds, nanoseconds) = entry.modified;
    EntryJson {
        path: manifest.original(entry).to_string_lossy().into_owned(),
        role: entry.role.into(),
        node,
        size_bytes,
        sha256,
        mode: entry.mode,
        modified_at: i32::try_from(nanoseconds).ok().and_then(|nano| Timestamp::new(seconds, nano).ok()),
    }
}

/// Writes the contents of the manifest.
pub(crate) fn show_text(
    out: &mut impl Write,
    env: &Env,
    styles: &Styles,
    shown: &ArchivedSession<'_>,
) -> io::Result<()> {
    let ArchivedSession { session, states, .. } = shown;
    let Styles { strong, header, .. } = styles;
    writeln!(out, "{} {strong}{}{strong:#}", session.agent, text::one_line(session.id()))?;
    let mut line = |name: &str, value: &str| writeln!(out, "  {header}{name:<12}{header:#}  {}", text::one_line(value));
    let fact = |field: Field| Some(words(&field.value(session)?, env));
    let messages = session
        .copy()
        .prompts
        .zip(session.copy().replies)
        .map(|(prompts, replies)| format!("{}, {}", text::count(prompts, "prompt"), text::count(replies, "reply")));
    let fields = [
        ("title", fact(Field::OwnTitle)),
        ("first prompt", fact(Field::FirstPrompt)),
        ("kind", fact(Field::Kind)),
        ("parent", fact(Field::ParentId)),
        ("launch dir", fact(Field::Dir)),
        ("started in", fact(Field::StartDir)),
        ("last in", fact(Field::LastDir)),
        ("created", fact(Field::Created)),
        ("active", fact(Field::Active)),
        ("messages", messages),
        ("model", fact(Field::Model)),
        ("git branch", fact(Field::Branch)),
    ];
    line("archived in", &env.tilde(shown.archive.root()))?;
    for (name, value) in fields {
        if let Some(value) = value {
            line(name, &value)?;
        }
    }
    for path in &paths(shown.state) {
        line("was in", path)?;
    }
    let is_that = |state: &Manifest| (state.number, &state.machine) == (shown.state.number, &shown.state.machine);
    for ArchivedState { manifest, .. } in *states {
        let at = env.clock.local_time(manifest.archived_at);
        let (files, size) = (text::count(manifest.files().count(), "file"), text::size(manifest.size_bytes()));
        let (hostname, is_shown) = (&manifest.hostname, states.len() > 1 && is_that(manifest));
        let state = shown.archive.state_name(manifest);
        let mark = if is_shown { "; shown here" } else { "" };
        line("state", &format!("{state}: archived at {at} on {hostname}, {files}, {size}{mark}"))?;
    }
    // Without --state, `restore` takes the newest.
    let is_newest = shown.states.last().is_none_or(|newest| is_that(&newest.manifest));
    let state = if is_newest { String::new() } else { format!(" --state {}", shown.archive.state_name(shown.state)) };
    let selector = shell::selector(session.agent, session.id());
    let dir = Archive::option(shown.archive.root(), env);
    let command = format!("rejoin restore {selector}{state}{dir}");
    line("restore", &in_home(&command, &env.invocation.elsewhere))
}

/// Writes one object.
pub(crate) fn show_json(out: &mut impl Write, shown: &ArchivedSession<'_>, messages: impl Serialize) -> io::Result<()> {
    let entries = shown.state.entries.iter().map(|at| entry(shown.state, at)).collect();
    write_object(out, KIND, ArchivedSessionJson { entries, ..answer(shown, messages) })
}

/// Writes the answer without its entries, one line per entry, and a summary.
pub(crate) fn show_ndjson(out: &mut impl Write, shown: &ArchivedSession<'_>) -> io::Result<()> {
    #[derive(Serialize)]
    struct EntryCount {
        entries: usize,
    }
    let entries = &shown.state.entries;
    show_head(out, shown)?;
    entries.iter().try_for_each(|at| write_line(out, &entry(shown.state, at)))?;
    write_summary(out, EntryCount { entries: entries.len() })
}

/// Writes the answer without its entries and messages, as the first of several lines.
pub(crate) fn show_head(out: &mut impl Write, shown: &ArchivedSession<'_>) -> io::Result<()> {
    write_object(out, KIND, answer(shown, ()))
}

fn answer<'a, M>(shown: &ArchivedSession<'a>, messages: M) -> ArchivedSessionJson<'a, M> {
    ArchivedSessionJson {
        archive: PathJson::from(shown.archive.root()),
        session: archived(shown.session, shown.states, shown.state),
        entries: Vec::new(),
        messages,
    }
}
