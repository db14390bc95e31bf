//! The history of the parent that Codex copies to the start of a fork's or a sub-agent's rollout.
//!
//! Facts: openai/codex agent/control/spawn.rs (37a985e9) and its `subagent_history_start_ordinal`, the first ordinal that is not
//! copied; getagentseal/codeburn#1383 and chattymin/PokeTokenBar#128 on copies: the parent's first record and its
//! `token_count` events with the same `info`, which its totals continue; the fork by reference of 0.169.0, whose totals
//! continue those of the parent without a copy (measured).

use std::collections::HashSet;

use super::meta::Meta;
use super::rollouts::of_thread;
use crate::agent::ids::is_uuid;
use crate::agent::prelude::*;
use crate::format::json::record;
use crate::format::jsonl::each_line;

/// A substring of every record with tokens.
const TOKENS: &[u8] = b"\"total_token_usage\"";
/// The length of the time at the start of an id.
const TIME: usize = 13;

/// Finds the end of a copied history line by line.
pub(super) struct Replay {
    store: Arc<Store>,
    id: String,
    parent: String,
    /// The first ordinal that is not copied, if the first record names it.
    start: Option<u64>,
    lines: u64,
    /// Number of lines at the start that are known to be copied, with the first record.
    pub(super) copied: u64,
    /// Set if the next lines cannot be copied.
    pub(super) is_over: bool,
    has_turns: bool,
    /// The `info` of each `token_count` event of the parent, once it is needed.
    parents: Option<HashSet<String>>,
}

impl Replay {
    /// Creates the state for the rollout with this first record; `None` if the session has no parent.
    ///
    /// `has_start` is false if no record has the first ordinal after the copy, or a later one.
    pub(super) fn after(meta: &Meta, store: &Arc<Store>, has_start: bool) -> Option<Self> {
        let parent = meta.parent_id().or(meta.forked_from.as_deref())?.to_owned();
        Some(Self {
            store: Arc::clone(store),
            id: meta.id.clone()?,
            parent,
            start: meta.own_start.filter(|_| has_start),
            lines: 1,
            copied: 0,
            is_over: false,
            has_turns: false,
            parents: None,
        })
    }

    /// Adds a line after the first record. Returns whether more lines before it, or the line itself, are known to be copied.
    pub(super) fn see(&mut self, line: &[u8]) -> bool {
        let before = self.copied;
        self.lines += 1;
        if !self.is_over {
            self.note(line);
        }
        self.copied > before
    }

    /// Returns whether no record so far has the first ordinal after the copy, or a later one. `codex migrate-rollouts` of
    /// 0.171.0 names the end of the rollout, in which nothing is a copy (measured; openai/codex 38762).
    pub(super) fn lacks_start(&self) -> bool {
        self.start.is_some() && !self.is_over
    }

    /// Returns whether the last line was a copy.
    pub(super) fn is_in_copy(&self) -> bool {
        self.copied == self.lines
    }

    fn note(&mut self, line: &[u8]) {
        let Some(record) = record::<&RawValue>(line) else { return };
        let [ordinal, kind, payload] = members(Some(record), ["ordinal", "type", "payload"]);
        if let Some((start, at)) = self.start.zip(ordinal.and_then(|at| at.get().parse::<u64>().ok())) {
            if at < start {
                self.copied = self.lines
            } else {
                self.is_over = true
            }
            return;
        }
        let [event, id, turn] = texts_in(payload, ["type", "id", "turn_id"]);
        let is_meta = inner::<Text<'_>>(kind).get() == Some("session_meta");
        if is_meta && id.get().is_some_and(|id| id != self.id) {
            self.copied = self.lines;
        } else if let Some(is_own) = turn.get().and_then(|turn| is_later(turn, &self.id)) {
            self.has_turns |= !is_own;
            if !is_own {
                self.copied = self.lines;
            } else {
                self.is_over = true;
                // A turn begins with this event, so that all before it is older.
                if self.copied > 0 && event.get() == Some("task_started") {
                    self.copied = self.lines - 1;
                }
            }
        } else if self.copied > 0 && !self.has_turns && event.get() == Some("token_count") {
            let Some(info) = member(payload, "info").filter(|info| info.get().starts_with('{')) else { return };
            let parents = self.parents.get_or_insert_with(|| infos(&self.store, &self.parent));
            if parents.contains(info.get()) {
                self.copied = self.lines;
            } else {
                self.is_over = !parents.is_empty();
            }
        }
    }
}

/// Returns whether a turn began after a thread; `None` if an id has no time.
fn is_later(turn: &str, thread: &str) -> Option<bool> {
    let time = |id| Some(id).filter(|id: &&str| is_uuid(id) && id.as_bytes()[14] == b'7').map(|id| &id[..TIME]);
    Some(time(turn)? >= time(thread)?)
}

/// Reads the tokens of a thread after each reply.
fn infos(store: &Arc<Store>, thread: &str) -> HashSet<String> {
    let mut infos = HashSet::new();
    for path in of_thread(store, thread) {
        // Without the parent's file, nothing else counts its tokens.
        let _ = each_line(&path, &mut |line| {
            let record = memchr::memmem::find(line, TOKENS).and_then(|_| record::<&RawValue>(line));
            let info = record.and_then(|record| member(member(Some(record), "payload"), "info"));
            infos.extend(info.map(|info| info.get().to_owned()));
            ControlFlow::Continue(())
        });
    }
    infos
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::copy;

    const OWN: &str = "019fb002-0000-7000-8000-00000000000b";

    fn replay(more: &str) -> Replay {
        let line = format!(r#"{{"type":"session_meta","payload":{{"id":"{OWN}","forked_from_id":"p"{more}}}}}"#);
        Replay::after(&Meta::parse(line.as_bytes()).expect("a first record"), &copy("a").place.store, true)
            .expect("a parent")
    }

    #[test]
    fn copied_history_ends_at_the_named_ordinal() {
        let mut replay = replay(r#","subagent_history_start_ordinal":3"#);
        for (ordinal, copied, is_over) in [(1, 2, false), (2, 3, false), (3, 3, true), (4, 3, true)] {
            replay.see(format!(r#"{{"ordinal":{ordinal},"type":"event_msg","payload":{{}}}}"#).as_bytes());
            assert_eq!((replay.copied, replay.is_over), (copied, is_over), "{ordinal}");
        }
    }

    #[test]
    fn copied_history_ends_before_first_own_turn() {
        let mut replay = replay("");
        let turn = |id: &str| format!(r#"{{"type":"event_msg","payload":{{"type":"task_started","turn_id":"{id}"}}}}"#);
        let mut see = |line: &str| {
            replay.see(line.as_bytes());
            (replay.copied, replay.is_over)
        };
        assert_eq!(see(r#"{"type":"session_meta","payload":{"id":"p"}}"#), (2, false));
        assert_eq!(see(&turn("019fb001-0000-7000-8000-00000000000a")), (3, false));
        assert_eq!(see(r#"{"type":"event_msg","payload":{"type":"user_message"}}"#), (3, false));
        assert_eq!(see(&turn("019fb003-0000-7000-8000-00000000000c")), (4, true));
    }

    #[test]
    fn thread_without_a_copy_begins_at_once() {
        let mut replay = replay("");
        replay.see(br#"{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{}}}}"#);
        replay.see(br#"{"type":"turn_context","payload":{"turn_id":"019fb003-0000-7000-8000-00000000000c"}}"#);
        assert_eq!((replay.copied, replay.is_over), (0, true));
    }
}
