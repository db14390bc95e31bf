//! A conversation of Gemini CLI: the sum of the lines of its file.
//!
//! A message is written again when it changes, and a resume writes the whole history once more, so only the sum of all lines is the
//! conversation. Facts: chatRecordingService.ts (016443b5) for the effect of a line on the lines before it.

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::records::{GeminiRecord, record};
use crate::agent::prelude::*;
use crate::format::content::Block;
use crate::format::parts::parts;
use crate::session::branches::{BranchFilter, Branches, Id, Node, Parent, Part, hash};

/// The origin of a message: a line, and the index in it if the line is a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Offset of the line, in bytes.
    pub start: u64,
    /// Length of the line in bytes.
    pub length: u64,
    /// Index in the list of a checkpoint.
    pub nth: Option<usize>,
}

/// A message of the current conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HistoryEntry {
    /// The place of its last version.
    pub place: Place,
    digest: u64,
    id: String,
    /// The calls of tools whose results it has.
    pub answers: Vec<Id>,
    /// The preceding message.
    parent: Option<Id>,
    is_prompt: bool,
    is_reply: bool,
    /// Set if a checkpoint removed it, which may have it again under another id.
    is_replaced: bool,
}

impl HistoryEntry {
    fn is_spoken(&self) -> bool {
        self.is_prompt || self.is_reply
    }
}

/// The sum of the lines read so far.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// The messages, in order.
    pub entries: Vec<HistoryEntry>,
    /// Start time.
    pub created_at: Option<Timestamp>,
    /// Newest time of all records.
    pub newest: Option<Timestamp>,
    /// The title that the program generated.
    pub summary: Option<String>,
    /// The model of the last reply.
    pub model: Option<String>,
    /// Set if the header says that another session created this one.
    pub is_subagent: bool,
    /// Set if a line is not a record.
    pub has_bad_lines: bool,
    /// Set if the end of a text in a line was left out.
    pub lacks_text: bool,
    /// Set if a prompt or a reply was found, even if a later line takes it back.
    pub has_spoken: bool,
    /// Start of the records after which no prompt and no reply is left, in bytes: a checkpoint without any, and the header
    /// directly before it.
    pub buried_at: Option<u64>,
    by_id: HashMap<String, usize>,
    /// The messages that a step back or a checkpoint removed.
    taken_back: Vec<HistoryEntry>,
    /// Start of the last line if it is a header, in bytes.
    header_at: Option<u64>,
    /// Number of messages without an id.
    unnamed: usize,
    /// The first prompt and the first command, each with its index.
    first: [Option<(usize, String)>; 2],
    /// The first prompt that was removed.
    removed_prompt: Option<String>,
}

impl Conversation {
    /// Adds the next line.
    pub(crate) fn see(&mut self, line: &[u8], place: Place) {
        match record(line) {
            Some(record) => self.take(&record, place),
            None => self.has_bad_lines = true,
        }
    }

    fn take(&mut self, record: &GeminiRecord<'_>, place: Place) {
        self.newest = self.newest.max(record.newest_time());
        let header_at = self.header_at.take();
        if let Some(id) = record.rewind_to.get() {
            // If that message does not exist, all messages are removed (chatRecordingService.ts).
            let dropped = self.cut(self.by_id.get(id).copied().unwrap_or_default());
            self.taken_back.extend(dropped);
        } else if record.id.get().is_some() {
            self.take_message(record, place);
        } else if let Some(change) = record.change() {
            self.take_header(&change, place, header_at.unwrap_or(place.start));
        } else {
            self.created_at = self.created_at.or_else(|| record.start_time.instant());
            self.header_at = Some(place.start);
            self.take_header(record, place, place.start);
        }
    }

    /// Adds a header or the change of one; `start` is that of the records that belong together.
    fn take_header(&mut self, header: &GeminiRecord<'_>, place: Place, start: u64) {
        self.newest = self.newest.max(header.newest_time());
        if let Some(kind) = header.kind.get() {
            self.is_subagent = kind == "subagent";
        }
        if let Some(summary) = header.summary.filled() {
            self.summary = Some(summary.to_owned());
        }
        let Some(messages) = header.checkpoint() else { return };
        let removed = self.cut(0);
        for (nth, message) in messages.into_iter().enumerate() {
            if let Some(message) = GeminiRecord::of(message) {
                self.newest = self.newest.max(message.newest_time());
                self.take_message(&message, Place { nth: Some(nth), ..place });
            }
        }
        // A message of an unknown kind may be a prompt.
        if removed.iter().any(HistoryEntry::is_spoken) && header.is_silent() {
            self.buried_at = Some(start);
        }
        self.taken_back.extend(removed.into_iter().map(|entry| HistoryEntry { is_replaced: true, ..entry }));
    }

    /// Adds a message, which replaces an earlier version of it.
    pub(crate) fn take_message(&mut self, message: &GeminiRecord<'_>, place: Place) {
        if let Some(model) = message.model.filled() {
            self.model = Some(model.to_owned());
        }
        let content = parts(message.content);
        let prompt = message.prompt_in(&content);
        let has_results = content.iter().any(|part| matches!(part, Block::ToolResult(_)));
        self.has_spoken |= prompt.is_some() || message.is_reply_in(&content);
        // A message without an id is never written again.
        let id = message.id.get().map_or_else(|| format!("#{}", self.unnamed), str::to_owned);
        self.unnamed += usize::from(message.id.get().is_none());
        let entry = HistoryEntry {
            place,
            digest: digest(message, &content),
            id: id.clone(),
            answers: if has_results { message.answers().iter().map(|id| hash(id)).collect() } else { Vec::new() },
            parent: self.entries.last().map(|last| hash(&last.id)),
            is_prompt: prompt.is_some(),
            is_reply: message.is_reply_in(&content),
            is_replaced: false,
        };
        self.buried_at.take_if(|_| !message.is_silent());
        let at = match self.by_id.entry(id) {
            Slot::Occupied(slot) => {
                let parent = self.entries[*slot.get()].parent;
                self.entries[*slot.get()] = HistoryEntry { parent, ..entry };
                *slot.get()
            }
            Slot::Vacant(slot) => {
                self.entries.push(entry);
                *slot.insert(self.entries.len() - 1)
            }
        };
        if let Some(text) = prompt.filter(|text| !text.is_empty()) {
            let first = &mut self.first[usize::from(text.starts_with(['/', '?']))];
            if first.as_ref().is_none_or(|(first, _)| *first == at) {
                *first = Some((at, text));
            }
        }
    }

    /// Removes every message from an index on, and returns them.
    fn cut(&mut self, from: usize) -> Vec<HistoryEntry> {
        let dropped = self.entries.split_off(from);
        for entry in &dropped {
            self.by_id.remove(&entry.id);
        }
        for first in &mut self.first {
            let removed = first.take_if(|(at, _)| *at >= from).map(|(_, text)| text);
            self.removed_prompt = self.removed_prompt.take().or(removed);
        }
        dropped
    }

    /// Returns the branches; the line of a message is its index among [`Conversation::all`], counted from 1.
    pub(crate) fn branches(&self) -> Branches {
        if self.taken_back.is_empty() {
            return Branches::default();
        }
        let all = self.all();
        let root = hash("");
        let start = Node { line: 0, id: Some(root), parent: Parent::None, part: Part::Silent };
        // The client sends its messages in their order, also if a parent is missing.
        let known: HashSet<Id> = all.iter().map(|entry| hash(&entry.id)).chain([root]).collect();
        let node = |(entry, line): (&&HistoryEntry, usize)| {
            let part = if entry.is_spoken() { Part::Message } else { Part::Silent };
            let parent = Some(entry.parent.unwrap_or(root)).filter(|parent| known.contains(parent));
            let parent = parent.map_or(Parent::Previous, Parent::Record);
            Node { line, id: Some(hash(&entry.id)), parent, part }
        };
        let nodes: Vec<Node> = [start].into_iter().chain(all.iter().zip(1..).map(node)).collect();
        let last = self.entries.last().and_then(|last| all.iter().position(|entry| entry.id == last.id));
        Branches::divide(&nodes, Some(last.map_or(0, |at| at + 1)), nodes.len())
    }

    /// Returns the messages on some branches, each with the number of its branch, or `None` for the active one.
    pub(crate) fn on(&self, wanted: BranchFilter) -> Vec<(&HistoryEntry, Option<u16>)> {
        let branches = self.branches();
        let all = self.all().into_iter().zip(1..).filter(|(_, line)| branches.has(*line, wanted));
        all.map(|(entry, line)| (entry, branches.other(line))).collect()
    }

    /// Returns the number of prompts and replies on other branches.
    pub(crate) fn hidden(&self) -> u64 {
        self.on(BranchFilter::All).iter().filter(|(entry, branch)| branch.is_some() && entry.is_spoken()).count() as u64
    }

    /// Returns all messages: those of the conversation in its order, those that were taken back after the message before them.
    fn all(&self) -> Vec<&HistoryEntry> {
        if self.taken_back.is_empty() {
            return self.entries.iter().collect();
        }
        // A checkpoint may restore a message, and a message may be taken back twice.
        let mut seen: HashSet<&str> = HashSet::new();
        let mut gone: Vec<&HistoryEntry> = self.taken_back.iter().rev().collect();
        let again: HashSet<u64> = self.entries.iter().map(|entry| entry.digest).collect();
        let is_again = |entry: &HistoryEntry| {
            self.by_id.contains_key(&entry.id) || entry.is_replaced && again.contains(&entry.digest)
        };
        gone.retain(|entry| !is_again(entry) && seen.insert(&entry.id));
        let known: HashSet<Id> = gone.iter().copied().chain(&self.entries).map(|entry| hash(&entry.id)).collect();
        let mut after: BTreeMap<Option<Id>, Vec<&HistoryEntry>> = BTreeMap::new();
        for entry in gone {
            after.entry(entry.parent.filter(|parent| known.contains(parent))).or_default().push(entry);
        }
        let mut all = Vec::with_capacity(self.entries.len());
        let mut waiting = after.remove(&None).unwrap_or_default();
        let mut entries = self.entries.iter();
        while let Some(entry) = waiting.pop().or_else(|| entries.next()) {
            all.push(entry);
            waiting.extend(after.remove(&Some(hash(&entry.id))).unwrap_or_default());
        }
        // Messages that follow each other in a circle.
        all.extend(after.into_values().flatten());
        all
    }

    /// Adds a field of a document outside of its messages.
    pub(crate) fn take_field(&mut self, key: &str, value: &str) {
        match key {
            "startTime" => self.created_at = Text::from(value).instant(),
            "summary" if !value.trim().is_empty() => self.summary = Some(value.to_owned()),
            "kind" => self.is_subagent = value == "subagent",
            _ => {}
        }
        if matches!(key, "startTime" | "lastUpdated") {
            self.newest = self.newest.max(Text::from(value).instant());
        }
    }

    /// Returns the first prompt; commands are skipped if there is anything else, as the client's picker does
    /// (sessionUtils.ts). If none is left, the first one that was removed identifies the conversation.
    pub(crate) fn first_prompt(&self) -> Option<&str> {
        let left = self.first.iter().flatten().next().map(|(_, text)| text.as_str());
        left.or(self.removed_prompt.as_deref())
    }

    /// Returns a digest of each prompt and each reply on any branch, to compare the conversation with that of another copy;
    /// `None` without the whole text of each.
    pub(crate) fn said(&self) -> Option<Vec<u64>> {
        let digests = self.all().into_iter().filter(|entry| entry.is_spoken()).map(|entry| entry.digest);
        (!self.lacks_text).then(|| digests.collect())
    }

    /// Returns the number of prompts.
    pub(crate) fn prompts(&self) -> u64 {
        self.entries.iter().filter(|entry| entry.is_prompt).count() as u64
    }

    /// Returns the number of replies.
    pub(crate) fn replies(&self) -> u64 {
        self.entries.iter().filter(|entry| entry.is_reply).count() as u64
    }
}

/// Returns a digest of role and content. A resume may rewrite a message in another form; the digest stays the same.
fn digest(message: &GeminiRecord<'_>, content: &[Block<'_>]) -> u64 {
    let mut hasher = DefaultHasher::new();
    message.speaker.get().hash(&mut hasher);
    for part in content {
        if let Block::Text(text) = part {
            text.hash(&mut hasher);
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(lines: &[&str]) -> Conversation {
        let mut conversation = Conversation::default();
        lines.iter().for_each(|line| conversation.see(line.as_bytes(), Place::default()));
        conversation
    }

    fn user(id: &str, text: &str) -> String {
        format!(r#"{{"id":"{id}","type":"user","content":[{{"text":"{text}"}}]}}"#)
    }

    fn counted(lines: &[&str]) -> (u64, u64, Option<String>) {
        let conversation = conversation(lines);
        (conversation.prompts(), conversation.replies(), conversation.first_prompt().map(str::to_owned))
    }

    #[test]
    fn rewritten_message_keeps_its_first_position() {
        let early = r#"{"id":"b","type":"gemini","content":"","model":"m1"}"#;
        let late = r#"{"id":"b","type":"gemini","content":"","model":"m2","toolCalls":[{"name":"sh","args":{}}]}"#;
        let lines = [user("a", "one"), early.to_owned(), user("c", "two"), late.to_owned()];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let sum = conversation(&lines);
        assert_eq!((sum.prompts(), sum.replies(), sum.model.as_deref()), (2, 1, Some("m2")));
        assert_eq!(sum.entries.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    #[test]
    fn rewind_drops_message_and_later_ones() {
        let (a, b, c) = (user("a", "one"), user("b", "two"), user("c", "three"));
        assert_eq!(counted(&[&a, &b, &c, r#"{"$rewindTo":"b"}"#]), (1, 0, Some("one".to_owned())));
        assert_eq!(counted(&[&a, &b, r#"{"$rewindTo":"x"}"#, &c]), (1, 0, Some("three".to_owned())));
        assert_eq!(counted(&[&a, r#"{"$rewindTo":"a"}"#, &b]), (1, 0, Some("two".to_owned())));
    }

    #[test]
    fn rewound_messages_are_another_branch() {
        let (a, b, c, d) = (user("a", "one"), user("b", "two"), user("c", "three"), user("d", "four"));
        let on = |lines: &[&str], wanted| {
            let sum = conversation(lines);
            let on = sum.on(wanted);
            on.iter().map(|(entry, branch)| format!("{}{}", entry.id, branch.unwrap_or(1))).collect::<Vec<_>>()
        };
        let lines = [&a, &b, r#"{"$rewindTo":"b"}"#, &c, r#"{"$rewindTo":"c"}"#, &d];
        assert_eq!(on(&lines, BranchFilter::All), ["a1", "b3", "c2", "d1"]);
        assert_eq!(on(&lines, BranchFilter::Active), ["a1", "d1"]);
        assert_eq!(on(&lines, BranchFilter::Number(3)), ["a1", "b3"]);
        assert_eq!(conversation(&lines).hidden(), 2);
        let all_taken_back = [a.as_str(), &b, r#"{"$rewindTo":"x"}"#];
        assert_eq!(on(&all_taken_back, BranchFilter::All), ["a2", "b2"]);
        assert!(on(&all_taken_back, BranchFilter::Active).is_empty());
        // A resume writes the history once more, which does not make a branch.
        let again = format!(r#"{{"$set":{{"messages":[{a},{c}]}}}}"#);
        assert_eq!(on(&[&a, &b, r#"{"$rewindTo":"b"}"#, &c, &again, &d], BranchFilter::All), ["a1", "b2", "c1", "d1"]);
        // A compaction puts its summary before messages that were written earlier.
        let summary = user("s", "summary");
        let compacted = format!(r#"{{"$set":{{"messages":[{summary},{a}]}}}}"#);
        assert_eq!(on(&[&a, &compacted, &c], BranchFilter::Active), ["s1", "a1", "c1"]);
        let lines = [&a, &b, r#"{"$rewindTo":"b"}"#, &compacted, &c];
        assert_eq!(on(&lines, BranchFilter::All), ["s1", "a1", "b2", "c1"]);
        // A message before the one that it followed.
        let lines = [&a, &b, r#"{"$rewindTo":"a"}"#, &b, &a, r#"{"$rewindTo":"b"}"#, &c];
        assert_eq!(on(&lines, BranchFilter::Active), ["c1"]);
        assert_eq!(on(&lines, BranchFilter::All).len(), 3);
        let restored = format!(r#"{{"$set":{{"messages":[{a},{b}]}}}}"#);
        assert_eq!(on(&[&a, &b, r#"{"$rewindTo":"b"}"#, &restored], BranchFilter::All), ["a1", "b1"]);
    }

    #[test]
    fn checkpoint_replaces_earlier_messages() {
        let (a, b) = (user("a", "one"), user("b", "two"));
        let checkpoint =
            format!(r#"{{"$set":{{"messages":[{b},7,{{"type":"gemini","id":"g","content":[{{"text":"x"}}]}}]}}}}"#);
        assert_eq!(counted(&[&a, &checkpoint]), (1, 1, Some("two".to_owned())));
        let in_header = format!(r#"{{"sessionId":"s","messages":[{a}]}}"#);
        assert_eq!(counted(&[&in_header, &b]), (2, 0, Some("one".to_owned())));
    }

    #[test]
    fn messages_before_a_checkpoint_are_another_branch() {
        let (a, b, c) = (user("a", "one"), user("b", "two"), user("c", "three"));
        let checkpoint =
            |messages: &str| format!(r#"{{"$set":{{"messages":[{messages}],"lastUpdated":"2026-02-01T10:00:00Z"}}}}"#);
        let context = checkpoint(r#"{"id":"x","type":"user","content":[{"text":"<session_context>\nx"}]}"#);
        let header = r#"{"sessionId":"s","kind":"main"}"#;
        let placed = |lines: &[&str]| {
            let mut sum = Conversation::default();
            for (line, start) in lines.iter().zip((0..).step_by(10)) {
                sum.see(line.as_bytes(), Place { start, ..Place::default() });
            }
            sum
        };
        let buried = placed(&[header, &context, &a, &b, header, &context]);
        assert_eq!((buried.prompts(), buried.hidden(), buried.buried_at), (0, 2, Some(40)));
        assert_eq!(buried.first_prompt(), Some("one"));
        assert_eq!(buried.said().map(|said| said.len()), Some(2), "a copy without these messages is shorter");
        assert_eq!(placed(&[header, &a, &context]).buried_at, Some(20), "a checkpoint without a header");
        let unknown = r#"{"id":"n","type":"question","content":"x"}"#;
        assert_eq!(placed(&[header, &a, &checkpoint(unknown)]).buried_at, None, "it may be a prompt");
        assert_eq!(placed(&[header, &a, &context, unknown]).buried_at, None, "so may a later one");
        // A resume writes context first, then the history, also with other ids.
        for again in [user("a", "one"), user("other", "one")] {
            let lines = [header, &a, header, &context, &checkpoint(&again), &c];
            assert_eq!((placed(&lines).buried_at, placed(&lines).hidden()), (None, 0), "{again}");
        }
        let compressed = placed(&[header, &a, &b, &checkpoint(&user("s", "a summary")), &c]);
        assert_eq!((compressed.prompts(), compressed.hidden(), compressed.buried_at), (2, 2, None));
    }

    #[test]
    fn slash_command_is_first_prompt_only_if_alone() {
        let (command, help, text) = (user("a", "/help"), user("b", "?"), user("c", "fix it"));
        assert_eq!(counted(&[&command, &help]).2.as_deref(), Some("/help"));
        assert_eq!(counted(&[&command, &help, &text, &user("d", "more")]).2.as_deref(), Some("fix it"));
    }

    #[test]
    fn injected_text_is_not_a_prompt() {
        for other in [
            r#"{"id":"a","type":"user","content":[{"text":"<session_context>\nx"}]}"#,
            r#"{"id":"a","type":"user","content":[{"functionResponse":{"response":{"output":"x"}}}]}"#,
            r#"{"id":"a","type":"user","content":"  "}"#,
            r#"{"id":"a","type":"user"}"#,
            r#"{"id":"a","type":"info","content":"x"}"#,
            r#"{"id":7,"type":"user","content":"x"}"#,
        ] {
            assert_eq!(counted(&[other]), (0, 0, None), "{other}");
        }
        let files = r#"{"id":"a","type":"user","content":[{"text":"look at f\n--- Content"}],"displayContent":[{"text":"look at @f"}]}"#;
        assert_eq!(counted(&[files]).2.as_deref(), Some("look at @f"));
        let image = r#"{"id":"a","type":"user","content":[{"inlineData":{}}]}"#;
        assert_eq!(counted(&[image]), (1, 0, None));
    }
}
