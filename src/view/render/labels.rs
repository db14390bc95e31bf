//! The sessions that were just pinned or unpinned.

use std::io::{self, Write};

use serde::Serialize;

use crate::change::outcome::ItemResult;
use crate::session::AgentKind;
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::change::Text;
use crate::view::render::items::List;
use crate::view::render::json::change::{ChangeJson, ItemJson, kind};
use crate::view::ui::Styles;

/// The command that removes pins.
pub(crate) const REMOVE: &str = "pin --remove";

/// The answer of `pin`.
pub(crate) struct Labels<'a> {
    /// The command.
    pub verb: &'static str,
    /// The sessions.
    pub sessions: Vec<Labelled<'a>>,
}

/// A pinned session, or one that was.
pub(crate) struct Labelled<'a> {
    pub agent: AgentKind,
    pub id: &'a str,
    /// `Done` if that is new.
    pub result: ItemResult,
}

impl Answer for Labels<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        (kind(false), self.document())
    }

    /// Writes one line per session, which says it all.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        Text::new(self.document(), false).all(out, env, styles)
    }

    /// A change needs no confirmation on a terminal.
    fn brief(&self, _: &mut impl Write, _: &Env, _: &Styles) -> io::Result<()> {
        Ok(())
    }
}

impl Labels<'_> {
    fn document(&self) -> ChangeJson<'_> {
        let item = |at: usize| {
            let Labelled { agent, id, result } = &self.sessions[at];
            let code = if self.verb == REMOVE { "unpin" } else { self.verb };
            ItemJson::new(Some((*agent, id)), code, result, false)
        };
        let results = self.sessions.iter().map(|session| &session.result);
        ChangeJson::new(self.verb, false, List::counted(self.sessions.len(), item), results)
    }
}
