//! What is pinned, and what was just pinned or let go.

use std::io::{self, Write};

use serde::Serialize;

use crate::change::outcome::ItemResult;
use crate::format::text;
use crate::session::AgentKind;
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::items::List;
use crate::view::render::json::change::{ChangeJson, ItemJson, kind};
use crate::view::ui::Styles;

/// The answer of `pin` and `unpin`.
pub(crate) struct Pins<'a> {
    /// `pin` or `unpin`.
    pub verb: &'static str,
    /// Whether the pinned sessions are only listed.
    pub is_list: bool,
    /// The sessions, each with whether its pin is new or was removed.
    pub sessions: Vec<(AgentKind, &'a str, ItemResult)>,
}

impl Answer for Pins<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        let item = |at: usize| {
            let (agent, id, result) = &self.sessions[at];
            ItemJson::new(Some((*agent, id)), self.verb, result, false)
        };
        let results = self.sessions.iter().map(|(.., result)| result);
        (kind(false), ChangeJson::new(self.verb, false, List::counted(self.sessions.len(), item), results))
    }

    fn is_list(&self) -> bool {
        self.is_list
    }

    fn table(&self, out: &mut impl Write, _: &Env, _: &Styles) -> io::Result<()> {
        let verb = if self.verb == "pin" { "pinned" } else { "unpinned" };
        let mut sessions = self.sessions.iter();
        sessions.try_for_each(|(agent, id, _)| writeln!(out, "{verb}  {agent} {}", text::one_line(id)))
    }

    /// What was asked for is done.
    fn brief(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        if self.is_list { self.table(out, env, styles) } else { Ok(()) }
    }
}
