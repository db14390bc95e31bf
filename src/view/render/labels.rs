//! The pinned or tagged sessions, and those that were just pinned or unpinned.

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

/// The answer of `pin` and `tag --list`.
pub(crate) struct Labels<'a> {
    /// The command.
    pub verb: &'static str,
    /// Set if the sessions are only listed.
    pub is_list: bool,
    /// The sessions.
    pub sessions: Vec<Labelled<'a>>,
}

/// A pinned or tagged session.
pub(crate) struct Labelled<'a> {
    pub agent: AgentKind,
    pub id: &'a str,
    /// `Done` if that is new.
    pub result: ItemResult,
    /// Its tags, each as `+WORD`; empty for pins.
    pub tags: String,
}

impl Answer for Labels<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        (kind(false), self.document())
    }

    fn is_list(&self) -> bool {
        self.is_list
    }

    /// Writes one line per session, which says it all.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        Text::new(self.document(), false).all(out, env, styles)
    }

    /// A change needs no confirmation on a terminal.
    fn brief(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        if self.is_list { self.table(out, env, styles) } else { Ok(()) }
    }
}

impl Labels<'_> {
    fn document(&self) -> ChangeJson<'_> {
        let item = |at: usize| {
            let Labelled { agent, id, result, tags } = &self.sessions[at];
            let reason = Some(tags.as_str()).filter(|tags| !tags.is_empty());
            let code = if self.verb == REMOVE { "unpin" } else { self.verb };
            ItemJson { reason, ..ItemJson::new(Some((*agent, id)), code, result, false) }
        };
        let results = self.sessions.iter().map(|session| &session.result);
        ChangeJson::new(self.verb, false, List::counted(self.sessions.len(), item), results)
    }
}
