//! The branches of a transcript: the one that a resume continues, and those that a rewind or a second client left.
//!
//! Facts: measured on Claude Code 2.1.332 and 2.1.197, from the request of a resume of each shape (2.1.332 for missing
//! parents). The `active-leaf` of Qoder CLI, and the record that it takes for a missing parent, are from its bundle
//! (1.1.52).

use std::collections::HashMap;

use jiff::SignedDuration;
use memchr::{memchr, memmem};

use super::records::ClaudeRecord;
use crate::agent::prelude::*;
use crate::format::json::last_object;
use crate::format::jsonl::each_line;
use crate::session::branches::{Branches, Id, MAX_NODES, Node, Parent, hash};

/// Reads the branches of a copy's conversation.
pub(super) fn read(copy: &SessionCopy) -> Result<Branches, PathError> {
    if is_chain(&copy.place.path)? {
        return Ok(Branches::default());
    }
    let mut tree = Tree::of(copy);
    each_line(&copy.place.path, &mut |line| {
        let whole = || ClaudeRecord::of_line(last_object(line)?);
        tree.see(ClaudeRecord::of_line(line).or_else(whole).as_ref());
        ControlFlow::Continue(())
    })?;
    Ok(tree.branches())
}

/// Returns whether each record follows the one before it, and each `last-prompt` names the one before it. Most
/// transcripts are such a chain, and comparing bytes is faster than parsing.
fn is_chain(path: &Path) -> Result<bool, PathError> {
    let (mut last, mut is_chain): (Vec<u8>, bool) = (Vec::new(), true);
    each_line(path, &mut |line| {
        let member = |name: &[u8]| -> Option<Vec<u8>> {
            let value = &line[memmem::rfind(line, name)? + name.len()..];
            Some(value[..memchr(b'"', value)?].to_vec())
        };
        if line.starts_with(PARENT) {
            let rest = &line[PARENT.len()..];
            let parent = rest.strip_prefix(b"\"").and_then(|rest| rest.split(|byte| *byte == b'"').next());
            let uuid = member(b"\"uuid\":\"");
            is_chain = parent.unwrap_or_default() == last && uuid.is_some();
            last = uuid.unwrap_or_default();
        } else if memmem::find(line, b"\"uuid\"").is_some() || memmem::find(line, b"\"parentUuid\"").is_some() {
            // The members are in another order, or it is another type of record.
            is_chain = false;
        } else if memmem::find(line, b"\"leafUuid\"").is_some() {
            is_chain = member(b"\"leafUuid\":\"").is_some_and(|leaf| leaf == last);
        }
        if is_chain { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(is_chain)
}

/// The beginning of a record of a conversation, as the client writes it.
const PARENT: &[u8] = b"{\"parentUuid\":";

/// The records of a file so far.
pub(super) struct Tree {
    counts_sidechains: bool,
    nodes: Vec<Node>,
    /// The first node with each id, because a file may be concatenated with itself; `None` for a sub-agent's record.
    places: HashMap<Id, Option<usize>>,
    /// The node that the last `last-prompt` names, if known, and the number of nodes at that time.
    named: Option<(usize, usize)>,
    lines: usize,
    bridges: Option<SignedDuration>,
    /// The times of the nodes, if the agent bridges a gap.
    times: Vec<(Id, Option<Timestamp>)>,
}

impl Tree {
    pub(super) fn of(copy: &SessionCopy) -> Self {
        let (nodes, places, times) = Default::default();
        let counts_sidechains = copy.kind == SessionKind::Subagent;
        let bridges = crate::agent::about(copy.place.agent()).bridges;
        Self { counts_sidechains, nodes, places, named: None, lines: 0, bridges, times }
    }

    /// Returns the record that the agent substitutes for a missing parent: the nearest earlier one.
    fn substitute(&self, record: &ClaudeRecord<'_>) -> Option<Id> {
        let (longest, at) = (self.bridges?, record.at()?);
        let ages = self.times.iter().filter_map(|(id, time)| Some((at.duration_since((*time)?), *id)));
        ages.filter(|(age, _)| !age.is_negative() && *age <= longest).min_by_key(|(age, _)| *age).map(|(_, id)| id)
    }

    /// Adds the next line; `None` for one that is not a record. Returns whether its id is new.
    pub(super) fn see(&mut self, record: Option<&ClaudeRecord<'_>>) -> bool {
        let line = self.lines;
        self.lines += 1;
        let Some(record) = record else { return true };
        if record.kind.is("last-prompt") || record.kind.is("active-leaf") {
            let place = record.leaf_uuid.filled().and_then(|leaf| self.places.get(&hash(&leaf)).copied().flatten());
            self.named = place.map(|place| (place, self.nodes.len())).or(self.named);
            return true;
        }
        let Some(id) = record.uuid.filled().map(|uuid| hash(&uuid)) else { return true };
        if self.places.contains_key(&id) {
            return false;
        }
        let is_node = self.nodes.len() <= MAX_NODES && (!record.is_sidechain.0 || self.counts_sidechains);
        self.places.insert(id, is_node.then_some(self.nodes.len()));
        if !is_node {
            return true;
        }
        let hashed = |id: Option<String>| id.map(|id| hash(&id));
        let (parent, logical) = (hashed(record.parent_uuid.filled()), hashed(record.logical_parent_uuid.filled()));
        let parent = match parent.or(logical) {
            Some(parent) if self.places.get(&parent) == Some(&None) => Parent::Previous,
            // The records before a compaction belong to the same conversation.
            Some(id) if parent.is_none() && !self.places.contains_key(&id) => Parent::Previous,
            None if record.subtype.is("compact_boundary") => Parent::Previous,
            Some(parent) if self.places.contains_key(&parent) => Parent::Record(parent),
            Some(parent) => Parent::Record(self.substitute(record).unwrap_or(parent)),
            None => Parent::None,
        };
        if self.bridges.is_some() {
            self.times.push((id, record.at()));
        }
        self.nodes.push(Node { line, id: Some(id), parent, part: record.part() });
        true
    }

    /// Returns whether a record has this id.
    pub(super) fn has(&self, uuid: &str) -> bool {
        self.places.contains_key(&hash(uuid))
    }

    /// Divides the file. The active branch ends at the last record that follows from the one that the last
    /// `last-prompt` names; without a `last-prompt`, at the last record.
    pub(super) fn branches(&self) -> Branches {
        // If no record refers to another one, the file is read in its order.
        if !self.nodes.iter().any(|node| matches!(node.parent, Parent::Record(_))) {
            return Branches::default();
        }
        let named = self.named.filter(|(named, _)| *named < self.nodes.len());
        let leaf = match named {
            Some((named, seen)) => Some(self.last_after(named, seen)),
            None => self.nodes.len().checked_sub(1),
        };
        Branches::divide(&self.nodes, leaf.map(|at| self.nodes[at].line), self.lines)
    }

    /// Returns the last node that follows from `named`, among those from index `seen` on.
    fn last_after(&self, named: usize, seen: usize) -> usize {
        let mut follows = vec![false; self.nodes.len()];
        follows[named] = true;
        let mut last = named;
        for at in seen..self.nodes.len() {
            let parent = match self.nodes[at].parent {
                Parent::None => None,
                Parent::Previous => at.checked_sub(1),
                Parent::Record(id) => self.places.get(&id).copied().flatten(),
            };
            if parent.and_then(|parent| follows.get(parent)) == Some(&true) {
                follows[at] = true;
                last = at;
            }
        }
        last
    }
}

/// The last records of a file, the last one first.
#[derive(Default)]
pub(super) struct End {
    /// Ids and parents.
    links: Vec<(Id, Option<Id>)>,
    /// The record that the last `last-prompt` names, if one was seen.
    named: Option<Id>,
}

impl End {
    /// Adds the previous line of the file.
    pub(super) fn see(&mut self, line: &[u8]) {
        let Some(record) = ClaudeRecord::of_line(line) else { return };
        if record.kind.is("last-prompt") {
            self.named = self.named.or_else(|| record.leaf_uuid.filled().map(|leaf| hash(&leaf)));
        } else if let Some(uuid) = record.uuid.filled() {
            self.links.push((hash(&uuid), record.parent_uuid.filled().map(|parent| hash(&parent))));
        }
    }

    /// Returns whether each record follows the one before it, and the active branch ends here. Otherwise, or if the
    /// last `last-prompt` is farther up, only the whole file shows which records are on it.
    pub(super) fn is_on_one_branch(&self) -> bool {
        let follows = |pair: &[(Id, Option<Id>)]| pair[0].1.is_none_or(|parent| parent == pair[1].0);
        let has_named = |named: Id| self.links.iter().any(|(id, _)| *id == named);
        self.links.windows(2).all(follows) && self.named.is_some_and(has_named)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
mod tests {
    use super::*;

    /// Parses records from words such as `b<a`: a user record with an id and a parent; `!a` is a `last-prompt` that
    /// names one, and `b<a=m` a reply with the id `m`. Returns the branch of each line.
    fn numbers(text: &str) -> Vec<u16> {
        let record = |word: &str| {
            if let Some(leaf) = word.strip_prefix('!') {
                return format!(r#"{{"type":"last-prompt","leafUuid":"{leaf}"}}"#);
            }
            let (word, reply) = word.split_once('=').unwrap_or((word, ""));
            let (id, parent) = word.split_once('<').unwrap_or((word, ""));
            let (kind, message) = match reply {
                "" => ("user", r#"{"content":"x"}"#.to_owned()),
                ">" => ("user", r#"{"content":[{"type":"tool_result","content":"x"}]}"#.to_owned()),
                reply => ("assistant", format!(r#"{{"id":"{reply}","content":[{{"type":"text","text":"x"}}]}}"#)),
            };
            let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
            format!(r#"{{"parentUuid":{parent},"type":"{kind}","message":{message},"uuid":"{id}"}}"#)
        };
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.jsonl");
        let lines: Vec<String> = text.split(' ').map(record).collect();
        std::fs::write(&path, lines.join("\n")).expect("a file");
        let mut copy = crate::session::tests::copy("a");
        copy.place.path = path.into();
        let branches = read(&copy).expect("branches");
        if is_chain(&copy.place.path).expect("a file") {
            let mut tree = Tree::of(&copy);
            lines.iter().for_each(|line| _ = tree.see(ClaudeRecord::of_line(line.as_bytes()).as_ref()));
            assert_eq!(tree.branches().count(), 1, "{text}");
        }
        (0..lines.len()).map(|line| branches.number_of_line(line)).collect()
    }

    #[test]
    fn resume_sends_the_active_branch() {
        for (text, expected) in [
            ("a b<a c<a", [1, 2, 1].as_slice()),
            ("a b<a c<a !c", &[1, 2, 1, 1]),
            ("a b<a c<a !b", &[1, 1, 2, 2]),
            ("a b<a c<b d<c e<a !b", &[1, 1, 3, 3, 2, 2]),
            ("a b<a c<a !c d<c", &[1, 2, 1, 1, 1]),
            ("a b<a c<a !c d<b", &[1, 2, 1, 1, 2]),
            ("a b<a c<a !b d<c", &[1, 1, 2, 2, 2]),
            ("a b<a c<a !z", &[1, 2, 1, 1]),
            ("a b<a c<a !c !b", &[1, 1, 2, 2, 2]),
            ("a b<a !b c<a", &[1, 1, 1, 2]),
            ("a b<a=m c<b=m d<b=> e<c=> f<e", &[1; 6]),
            ("a b<a=m c<b=m d<c=> e<b=> f<e", &[1; 6]),
            ("a b<a=m c<a=n", &[1, 2, 1]),
            ("a b<a a b<a c<b", &[1; 5]),
            ("a b<a=m c<b !c d<c", &[1; 5]),
            ("a b<a c<x d<c e<y f<e", &[3, 3, 2, 2, 1, 1]),
            ("a b<a c<x !c d<c", &[2, 2, 1, 1, 1]),
        ] {
            let found = numbers(text);
            let of_messages: Vec<(u16, u16)> = text
                .split(' ')
                .zip(found.into_iter().zip(expected.iter().copied()))
                .filter(|(word, _)| !word.starts_with('!'))
                .map(|(_, numbers)| numbers)
                .collect();
            assert!(of_messages.iter().all(|(found, expected)| found == expected), "{text}: {of_messages:?}");
        }
    }
}
