//! What is pinned, and what was just pinned or let go.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;

use crate::format::text;
use crate::session::AgentKind;
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::ui::Styles;

/// A session that is pinned or was.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Pin<'a> {
    /// The agent that it belongs to.
    pub agent: AgentKind,
    /// The full id.
    pub id: &'a str,
    /// Whether it is pinned now.
    pub pinned: bool,
    /// Whether that is new.
    pub changed: bool,
}

/// The answer of `pin` and `unpin`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Pins", deny_unknown_fields)]
pub(crate) struct Pins<'a> {
    /// `pin-outcome`, or `pin-list` for `--list`.
    #[serde(skip)]
    pub kind: &'static str,
    /// The sessions.
    pub sessions: Vec<Pin<'a>>,
}

impl Answer for Pins<'_> {
    const COUNTS_ITEMS: bool = true;

    fn object(&self) -> (&'static str, impl Serialize) {
        (self.kind, self)
    }

    fn table(&self, out: &mut impl Write, _: &Env, _: &Styles) -> io::Result<()> {
        for Pin { agent, id, pinned, .. } in &self.sessions {
            let what = if *pinned { "pinned" } else { "unpinned" };
            writeln!(out, "{what}  {agent} {}", text::one_line(id))?;
        }
        Ok(())
    }

    /// What was asked for is done.
    fn brief(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        if self.kind == "pin-list" { self.table(out, env, styles) } else { Ok(()) }
    }
}
