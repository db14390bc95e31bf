//! The branches of a log, from records with parents, or from turns that a later record rolls back.

use crate::session::SessionCopy;
use crate::session::branches::{Branches, Id, MAX_NODES, Node, Parent, Part};

/// A record of a tree.
#[derive(Clone, Copy)]
pub(super) struct ParentLink {
    pub id: Option<Id>,
    pub parent: Parent,
    pub part: Part,
    /// Set if the active branch ends here, unless a later record is a leaf.
    pub is_leaf: bool,
}

/// The records of a log whose active branch ends at the last leaf.
#[derive(Default)]
pub(super) struct Links {
    nodes: Vec<Node>,
    leaf: Option<usize>,
}

impl Links {
    /// Adds the link of a line. A line without a link follows the line before it.
    pub(super) fn add(&mut self, line: usize, link: Option<ParentLink>) {
        let Some(ParentLink { id, parent, part, is_leaf }) = link else { return };
        self.leaf = if is_leaf { Some(line) } else { self.leaf };
        // Most other lines simply follow the line before, and need no node.
        if (id.is_some() || parent != Parent::Previous) && self.nodes.len() <= MAX_NODES {
            self.nodes.push(Node { line, id, parent, part });
        }
    }

    /// Divides a log with this number of lines.
    pub(super) fn branches(&self, lines: usize) -> Branches {
        Branches::divide(&self.nodes, self.leaf, lines)
    }
}

/// The turns of a log, in which a record can roll back the last ones.
pub(super) struct Turns {
    nodes: Vec<Node>,
    /// The first lines of the turns that count.
    live: Vec<usize>,
}

impl Default for Turns {
    fn default() -> Self {
        // The records before the first turn are the common root.
        let root = Node { line: 0, id: Some(0), parent: Parent::None, part: Part::Silent };
        Self { nodes: vec![root], live: Vec::new() }
    }
}

impl Turns {
    /// Begins a turn at a line.
    pub(super) fn begin(&mut self, line: usize) {
        let id = |line: usize| line as Id + 1;
        let parent = self.live.last().map_or(0, |turn| id(*turn));
        if self.nodes.len() <= MAX_NODES {
            self.nodes.push(Node { line, id: Some(id(line)), parent: Parent::Record(parent), part: Part::Message });
        }
        self.live.push(line);
    }

    /// Returns the number of turns that count.
    pub(super) fn count(&self) -> usize {
        self.live.len()
    }

    /// Rolls back all turns but the first `count`.
    pub(super) fn truncate(&mut self, count: usize) {
        self.live.truncate(count);
    }

    /// Rolls back the last `count` turns.
    pub(super) fn take_back(&mut self, count: usize) {
        self.truncate(self.live.len().saturating_sub(count));
    }

    /// Divides a log with this number of lines.
    pub(super) fn branches(&self, lines: usize) -> Branches {
        Branches::divide(&self.nodes, Some(self.live.last().copied().unwrap_or_default()), lines)
    }
}

/// Adds a note with the number of messages on other branches, and the agent's own way to reach them.
pub(super) fn note_branches(copy: &mut SessionCopy, branches: &Branches, hidden: u64, way: Option<&str>) {
    let are = if hidden == 1 { "message is" } else { "messages are" };
    let on = match branches.count() - branches.cut_off() {
        1 => return,
        2 => "another branch",
        _ => "other branches",
    };
    let way = way.map(|way| format!("; {way}")).unwrap_or_default();
    copy.notes.push(format!("{hidden} more {are} on {on}; --branches lists them{way}"));
}

/// Adds a note with the number of messages before a record that has lost its parent.
pub(super) fn note_cut_off(copy: &mut SessionCopy, cut_off: u64) {
    let are = if cut_off == 1 { "message is" } else { "messages are" };
    if cut_off > 0 {
        copy.notes.push(format!(
            "{cut_off} more {are} before a record whose parent is missing, so a resume does not send them; `rejoin doctor \
             --check broken-chain` names the way out"
        ));
    }
}
