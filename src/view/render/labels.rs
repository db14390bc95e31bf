//! The sessions that were just pinned or unpinned.

use crate::change::outcome::ItemResult;
use crate::session::AgentKind;
use crate::view::render::change::ChangeText;
use crate::view::render::items::ItemList;
use crate::view::render::json::change::{ChangeJson, ItemJson};

/// The command that removes pins.
pub(crate) const REMOVE: &str = "pin --remove";

/// A session that was pinned or unpinned.
pub(crate) struct Labelled<'a> {
    pub agent: AgentKind,
    pub id: &'a str,
    /// `Done` if this changed.
    pub result: ItemResult,
}

/// Returns the answer of `pin` or of [`REMOVE`]: one line per session, and nothing with `--quiet`.
pub(crate) fn answer<'a>(verb: &'static str, sessions: &'a [Labelled<'a>]) -> ChangeText<'a> {
    let code = if verb == REMOVE { "unpin" } else { verb };
    let item = move |one: &'a Labelled<'a>| ItemJson::new(Some((one.agent, one.id)), code, &one.result, false);
    let results = sessions.iter().map(|session| &session.result);
    let document = ChangeJson::new(verb, false, ItemList::from_items(sessions, item), results);
    ChangeText { is_list: true, is_no_news: true, ..ChangeText::new(document, false) }
}
