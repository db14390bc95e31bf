//! What is pinned, and what was just pinned or let go.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;

use crate::format::text;
use crate::session::AgentKind;
use crate::view::render::json::{FORMAT_VERSION, HeaderJson};
use crate::view::render::write_line;

/// A session that is pinned or was.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Pin<'a> {
    /// Whose it is.
    pub agent: AgentKind,
    /// The full id.
    pub id: &'a str,
    /// Whether it is pinned now.
    pub pinned: bool,
    /// Whether that is new.
    pub changed: bool,
}

/// The answer of `pin` and `unpin`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Pins", deny_unknown_fields)]
pub(crate) struct PinsJson<'a> {
    /// The version of the contract.
    pub format_version: &'a str,
    /// `pin-outcome`, or `pin-list` for `--list`.
    pub kind: &'a str,
    /// The sessions.
    pub sessions: &'a [Pin<'a>],
}

/// Writes a line a session.
pub(crate) fn text(out: &mut impl Write, pins: &[Pin<'_>]) -> io::Result<()> {
    for Pin { agent, id, pinned, .. } in pins {
        let what = if *pinned { "pinned" } else { "unpinned" };
        writeln!(out, "{what}  {agent} {}", text::one_line(id))?;
    }
    Ok(())
}

/// Writes one object.
pub(crate) fn json(out: &mut impl Write, kind: &str, pins: &[Pin<'_>]) -> io::Result<()> {
    write_line(out, &PinsJson { format_version: FORMAT_VERSION, kind, sessions: pins })
}

/// Writes a header, a line a session, and a summary.
pub(crate) fn ndjson(out: &mut impl Write, kind: &str, pins: &[Pin<'_>]) -> io::Result<()> {
    #[derive(Serialize)]
    struct Summary {
        kind: &'static str,
        sessions: usize,
    }
    write_line(out, &HeaderJson { format_version: FORMAT_VERSION, kind })?;
    pins.iter().try_for_each(|pin| write_line(out, pin))?;
    write_line(out, &Summary { kind: "summary", sessions: pins.len() })
}
