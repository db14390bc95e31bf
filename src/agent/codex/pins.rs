//! The threads that the user keeps in Codex: the pins of its app, and the threads that automations continue.
//!
//! Facts: `.codex-global-state.json` and `threads.is_pinned` by openai/codex #38015, `automations/<id>/automation.toml`
//! by friuns2/codex-mobile #66; the column measured on 0.171.0.

use crate::agent::kept;
use crate::agent::prelude::*;
use crate::format::json::record;
use crate::format::toml::TomlSettings;
use crate::session::KeptBy;

/// Returns the reason to keep a pinned thread.
pub(super) fn pinned() -> KeptBy {
    KeptBy::new("pinned in Codex", "unpin it there")
}

/// Adds the pins of the app and the targets of automations to the notes on a store.
pub(super) fn add(store: &Store, notes: &mut StoreNotes) {
    let state = store.root.join(".codex-global-state.json");
    notes.add_kept(&state, (pinned(), "maybe pinned in Codex"), |bytes| {
        kept::ids(member(Some(record(bytes)?), "pinned-thread-ids"))
    });
    for folder in Found::default().dirs(&store.root.join("automations")) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let target = KeptBy::new("continued by an automation of Codex", "delete that automation there");
        let unknown = "maybe continued by an automation of Codex";
        notes.add_kept(&folder.join("automation.toml"), (target.with(format!("({name})")), unknown), |bytes| {
            let automation = TomlSettings::read(str::from_utf8(bytes).ok()?)?;
            let is_deleted = automation.top_text("status").is_some_and(|status| status == "DELETED");
            Some(automation.top_text("target_thread_id").filter(|_| !is_deleted).into_iter().collect())
        });
    }
}
