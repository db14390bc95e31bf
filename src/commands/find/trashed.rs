//! From the text that a user typed to one session in the trash.

use crate::change::apply::history::History;
use crate::change::apply::trash::{self, Entry};
use crate::session::select::{Filter, Selector};
use crate::system::env::Env;

/// Returns the command that puts the session back that a selector means, if it is in the trash and nowhere else.
pub(super) fn command(selector: &Selector, filter: &Filter, env: &Env) -> Option<String> {
    let Selector::Id { agent, text } = selector else { return None };
    // A journal that cannot be read is a matter of `undo` and `doctor`.
    let history = History::read(env).ok()?;
    let is_meant = |entry: &Entry<'_>| {
        let record = &entry.run.items[entry.item].0;
        record.is_whole_session()
            && agent.is_none_or(|agent| record.agent == Some(agent))
            && record.agent.is_some_and(|agent| filter.agents.is_empty() || filter.agents.contains(&agent))
    };
    let entries: Vec<Entry<'_>> = trash::entries(&history).filter(is_meant).collect();
    let record = |entry: &Entry<'_>| entry.run.items[entry.item].0.clone();
    let text = text.to_lowercase();
    let has_id = |entry: &&Entry<'_>| record(entry).id.is_some_and(|id| id.to_lowercase().starts_with(&text));
    let has_title = |entry: &&Entry<'_>| record(entry).title.is_some_and(|title| title.to_lowercase().contains(&text));
    let mut found: Vec<&Entry<'_>> = entries.iter().filter(has_id).collect();
    if found.is_empty() {
        found = entries.iter().filter(has_title).collect();
    }
    // The newest run has the newest state of a session that was removed twice.
    found.dedup_by_key(|entry| record(entry).id);
    match found.as_slice() {
        [] => None,
        [only] if only.run.items.len() == 1 => Some(format!("rejoin undo {}", only.run.id)),
        [only] => Some(format!("rejoin trash restore {}/{}", only.run.id, only.item)),
        _ => Some("rejoin trash list".to_owned()),
    }
}
