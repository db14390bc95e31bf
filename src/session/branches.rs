//! Branches of a conversation whose records form a tree, as after a rewind. Pure.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use jiff::Timestamp;
use serde::Serialize;

use crate::session::Message;

/// A hash of a record's id; a transcript may have very many.
pub(crate) type Id = u64;

/// Returns the hash of an id.
pub(crate) fn hash(id: &str) -> Id {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// A record whose parent may be another one than the record on the line before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// The number of its line, counted from 0.
    pub line: usize,
    pub id: Option<Id>,
    pub parent: Parent,
    pub part: Part,
}

/// The record that another one follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parent {
    None,
    /// The record on the line before.
    Previous,
    Record(Id),
}

/// A record on the active branch whose parent is not in the file, by lines counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Break {
    pub line: usize,
    /// The line of the record before it, which would join both parts of the conversation.
    pub before: usize,
}

/// The role of a record on its branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A record that is not a message.
    Silent,
    Message,
    /// A part of the reply with this id. Parallel tool calls are siblings in the tree, not branches.
    Reply(Id),
    /// The result of a tool.
    Result,
}

/// The branches that are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BranchFilter {
    /// The branch that a resume continues.
    #[default]
    Active,
    All,
    /// The branch with this number, with the messages before its fork.
    Number(u16),
}

/// The number of the branch that a resume continues.
pub(crate) const ACTIVE: u16 = 1;
/// The number of lines that a later one replaces: they have no branch.
const REPLACED: u16 = 0;
/// The largest number of nodes that are distinguished. In a file with more, every line is on the active branch.
pub(crate) const MAX_NODES: usize = 512 * 1024;

/// A branch of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Branch {
    /// Its number, for `--branch`.
    pub number: u16,
    /// Set if a resume continues it.
    #[serde(rename = "active")]
    pub is_active: bool,
    /// Number of messages after its fork.
    pub messages: u64,
    /// Time of its first message.
    pub begun_at: Option<Timestamp>,
    /// Time of its last message.
    pub ended_at: Option<Timestamp>,
    /// Its first message.
    pub first: Option<String>,
    /// The message before its fork; `null` for the active branch, and for a branch with a separate root.
    pub after: Option<String>,
    /// Set if the active branch continued this branch until a record lost its parent.
    #[serde(rename = "cut_off")]
    pub is_cut_off: bool,
}

impl Branch {
    fn new(number: u16, is_cut_off: bool) -> Self {
        Self { number, is_active: number == ACTIVE, is_cut_off, ..Self::default() }
    }

    /// Adds a message.
    pub(crate) fn add(&mut self, message: &Message) {
        self.messages += 1;
        self.begun_at = self.begun_at.into_iter().chain(message.at).min();
        self.ended_at = self.ended_at.max(message.at);
        if self.first.is_none() {
            self.first = Some(message.text.clone());
        }
    }
}

/// The branch of each line. Branches other than the active one are numbered from 2, the last one in the file first.
#[derive(Debug, Default)]
pub(crate) struct Branches {
    /// The line of each node, which includes the lines up to the next node.
    starts: Vec<usize>,
    /// The branch of each node.
    numbers: Vec<u16>,
    /// The node at which each branch from 2 on leaves another one; `None` for a branch with a separate root.
    forks: Vec<Option<usize>>,
    /// Number of lines when the file was read; later ones are on the active branch.
    lines: usize,
    /// The records of the active branch whose parent is missing, the last one first.
    breaks: Vec<Break>,
    /// Number of branches, from 2 on, that the active one would continue if no parent were missing.
    cut_off: u16,
}

impl Branches {
    /// Divides a file with this number of lines. `leaf` is the line at which the active branch ends; the branch begins
    /// at a record whose parent is missing.
    pub(crate) fn divide(nodes: &[Node], leaf: Option<usize>, lines: usize) -> Self {
        let at_line = |line: usize| nodes.partition_point(|node| node.line <= line).checked_sub(1);
        let Some(leaf) = leaf.and_then(at_line).filter(|_| nodes.len() <= MAX_NODES) else { return Self::default() };
        let (parents, orphans) = parents(nodes);
        let numbers = vec![0; nodes.len()];
        let mut dividing = Dividing { nodes, parents, numbers, replies: BTreeSet::new(), forks: Vec::new() };
        let (active, mut end) = dividing.chain(leaf);
        dividing.assign(&active, ACTIVE);
        let (mut root, mut breaks) = (active.last().copied(), Vec::new());
        while let Some(at) = root.filter(|at| end.is_none() && orphans.contains(at))
            && let Some(before) = at.checked_sub(1).filter(|before| dividing.numbers[*before] == 0)
        {
            let part;
            (part, end) = dividing.chain(before);
            root = part.last().copied();
            breaks.push(Break { line: nodes[at].line, before: nodes[before].line });
            dividing.assign_branch(before);
        }
        let cut_off = u16::try_from(dividing.forks.len()).unwrap_or(u16::MAX);
        for at in (0..nodes.len()).rev() {
            dividing.assign_branch(at);
        }
        if dividing.forks.is_empty() {
            return Self { breaks, ..Self::default() };
        }
        let starts = nodes.iter().map(|node| node.line).collect();
        Self { starts, numbers: dividing.numbers, forks: dividing.forks, lines, breaks, cut_off }
    }

    /// Creates a single branch without the lines in `replaced`, which later lines replace.
    pub(crate) fn without(replaced: &BTreeSet<usize>) -> Self {
        let (mut starts, mut numbers) = (Vec::new(), Vec::new());
        for line in replaced {
            starts.extend([*line, line + 1]);
            numbers.extend([REPLACED, ACTIVE]);
        }
        Self { starts, numbers, lines: usize::MAX, ..Self::default() }
    }

    /// Divides a conversation whose end was removed by a rewind: the messages from `from` on are branch 2.
    pub(crate) fn without_end(from: usize, messages: usize) -> Self {
        if from >= messages {
            return Self::default();
        }
        let (starts, numbers, fork) = if from == 0 {
            (vec![0], vec![ACTIVE + 1], None)
        } else {
            (vec![0, from], vec![ACTIVE, ACTIVE + 1], Some(0))
        };
        Self { starts, numbers, forks: vec![fork], lines: messages, ..Self::default() }
    }

    /// Returns the number of branches.
    pub(crate) fn count(&self) -> u16 {
        u16::try_from(self.forks.len()).unwrap_or(u16::MAX).saturating_add(1)
    }

    /// Returns every branch, without messages.
    pub(crate) fn list(&self) -> Vec<Branch> {
        (ACTIVE..=self.count()).map(|number| Branch::new(number, self.is_cut_off(number))).collect()
    }

    /// Returns the records of the active branch whose parent is missing, the last one first.
    pub(crate) fn breaks(&self) -> &[Break] {
        &self.breaks
    }

    /// Returns the number of branches that the active one would continue if no parent were missing.
    pub(crate) fn cut_off(&self) -> u16 {
        self.cut_off
    }

    /// Returns whether the active branch would continue a branch if no parent were missing.
    pub(crate) fn is_cut_off(&self, number: u16) -> bool {
        number > ACTIVE && number - ACTIVE <= self.cut_off
    }

    /// Returns the number of the branch of a line.
    pub(crate) fn number_of_line(&self, line: usize) -> u16 {
        self.node(line).map_or(ACTIVE, |at| self.numbers[at])
    }

    /// Returns the number of the branch of a line, unless that is the active one.
    pub(crate) fn other(&self, line: usize) -> Option<u16> {
        Some(self.number_of_line(line)).filter(|number| *number != ACTIVE)
    }

    fn node(&self, line: usize) -> Option<usize> {
        if line >= self.lines { None } else { self.starts.partition_point(|start| *start <= line).checked_sub(1) }
    }

    /// Returns whether a line is on the wanted branches.
    pub(crate) fn has(&self, line: usize, branches: BranchFilter) -> bool {
        match branches {
            BranchFilter::All => self.number_of_line(line) != REPLACED,
            BranchFilter::Active => self.number_of_line(line) == ACTIVE,
            BranchFilter::Number(number) => self.is_on(line, number),
        }
    }

    /// Returns whether a line is on a branch, or before its fork on the branch that it leaves.
    fn is_on(&self, line: usize, mut number: u16) -> bool {
        let Some(at) = self.node(line) else { return number == ACTIVE };
        let mut end = usize::MAX;
        loop {
            if self.numbers[at] == number {
                return at <= end;
            }
            let fork = usize::from(number).checked_sub(2).and_then(|place| self.forks.get(place).copied().flatten());
            let Some(fork) = fork else { return false };
            (number, end) = (self.numbers[fork], end.min(fork));
        }
    }
}

/// Returns the parent of each node, and the nodes whose parent is not among them.
fn parents(nodes: &[Node]) -> (Vec<Option<usize>>, BTreeSet<usize>) {
    // The last record with an id counts.
    let mut by_id: Vec<(Id, usize)> = nodes.iter().enumerate().filter_map(|(at, node)| Some((node.id?, at))).collect();
    by_id.sort_unstable();
    let place = |id: Id| {
        let (found, at) = *by_id.get(by_id.partition_point(|(other, _)| *other <= id).checked_sub(1)?)?;
        (found == id).then_some(at)
    };
    let mut orphans = BTreeSet::new();
    let parent = |(at, node): (usize, &Node)| match node.parent {
        Parent::None => None,
        Parent::Previous => at.checked_sub(1),
        Parent::Record(id) => {
            let parent = place(id);
            orphans.extend(parent.is_none().then_some(at));
            parent
        }
    };
    let parents = nodes.iter().enumerate().map(parent).collect();
    (parents, orphans)
}

struct Dividing<'n> {
    nodes: &'n [Node],
    parents: Vec<Option<usize>>,
    /// 0 for a node that is not on a branch yet.
    numbers: Vec<u16>,
    /// The replies of each branch.
    replies: BTreeSet<(u16, Id)>,
    forks: Vec<Option<usize>>,
}

impl Dividing<'_> {
    /// Returns the nodes from `from` up to the first one that is already on a branch, and that one.
    fn chain(&self, from: usize) -> (Vec<usize>, Option<usize>) {
        let (mut chain, mut next, mut passed) = (Vec::new(), Some(from), BTreeSet::new());
        while let Some(at) = next.filter(|at| self.numbers[*at] == 0) {
            // Records may form a cycle.
            if !passed.insert(at) {
                return (chain, None);
            }
            chain.push(at);
            next = self.parents[at];
        }
        (chain, next)
    }

    fn assign(&mut self, chain: &[usize], number: u16) {
        for at in chain {
            self.numbers[*at] = number;
            if let Part::Reply(reply) = self.nodes[*at].part {
                self.replies.insert((number, reply));
            }
        }
    }

    /// Assigns a node and its ancestors without a branch to a branch: to a new one if they have separate messages.
    fn assign_branch(&mut self, from: usize) {
        if self.numbers[from] != 0 {
            return;
        }
        let (chain, fork) = self.chain(from);
        let number = fork.map_or(ACTIVE, |fork| self.numbers[fork]);
        let is_own = |at: &usize| match self.nodes[*at].part {
            Part::Silent => false,
            Part::Message => true,
            Part::Reply(reply) => !self.replies.contains(&(number, reply)),
            Part::Result => fork.is_none(),
        };
        let is_new = chain.iter().any(is_own) && self.forks.len() < usize::from(u16::MAX) - 2;
        if is_new {
            self.forks.push(fork);
        }
        let new = u16::try_from(self.forks.len()).unwrap_or(u16::MAX) + 1;
        self.assign(&chain, if is_new { new } else { number });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses nodes from words such as `b<a`: an id, its parent, and a suffix. The suffix is `*` for a silent node, `=x`
    /// for a part of reply `x`, and `>` for a result.
    fn nodes(text: &str) -> Vec<Node> {
        let id = |text: &str| text.bytes().map(u64::from).sum::<u64>();
        let node = |(line, word): (usize, &str)| {
            let (own, rest) = word.split_at(1);
            let (parent, rest) = match rest.strip_prefix('<') {
                Some(rest) => (Parent::Record(id(&rest[..1])), &rest[1..]),
                None => (Parent::None, rest),
            };
            let part = match rest {
                "" => Part::Message,
                "*" => Part::Silent,
                ">" => Part::Result,
                reply => Part::Reply(id(&reply[1..])),
            };
            Node { line, id: Some(id(own)), parent, part }
        };
        text.split(' ').enumerate().map(node).collect()
    }

    fn divided(text: &str, leaf: usize) -> Branches {
        let nodes = nodes(text);
        Branches::divide(&nodes, Some(leaf), nodes.len())
    }

    fn numbers(text: &str, leaf: usize) -> Vec<u16> {
        let branches = divided(text, leaf);
        (0..text.split(' ').count()).map(|line| branches.number_of_line(line)).collect()
    }

    #[test]
    fn each_leaf_has_branch_and_active_is_1() {
        assert_eq!(numbers("a b<a c<b", 2), [1, 1, 1]);
        assert_eq!(numbers("a b<a c<b d<a e<d", 4), [1, 2, 2, 1, 1]);
        assert_eq!(numbers("a b<a c<b d<a e<d", 2), [1, 1, 1, 2, 2]);
        assert_eq!(numbers("a b<a c<a d<a", 3), [1, 3, 2, 1]);
        // An edited first prompt has a separate root.
        assert_eq!(numbers("a b<a c d<c", 3), [2, 2, 1, 1]);
        assert_eq!(numbers("a b<a c<b", 1), [1, 1, 2], "messages after the leaf are another branch");
    }

    #[test]
    fn parallel_tool_calls_share_a_branch() {
        assert_eq!(numbers("a b<a=m c<b=m d<b> e<c> f<e", 5), [1; 6]);
        assert_eq!(numbers("a b<a=m c<b=m d<c> e<b> f<e", 5), [1; 6]);
        assert_eq!(numbers("a b<a=m c<a=n", 2), [1, 2, 1], "another reply to one prompt is one");
        assert_eq!(numbers("a b<a c<a* d<b", 3), [1; 4]);
    }

    #[test]
    fn branch_has_the_messages_before_its_fork() {
        let branches = divided("a b<a c<b d<c e<b f<a", 5);
        assert_eq!(branches.count(), 3);
        let on = |number| (0..6).filter(|line| branches.has(*line, BranchFilter::Number(number))).collect::<Vec<_>>();
        assert_eq!((on(1), on(2), on(3)), (vec![0, 5], vec![0, 1, 4], vec![0, 1, 2, 3]));
        assert!((0..6).all(|line| branches.has(line, BranchFilter::All)));
        assert!(branches.has(6, BranchFilter::Active), "a line that was written since");
    }

    #[test]
    fn replaced_lines_have_no_branch() {
        let branches = Branches::without(&BTreeSet::from([1, 2, 5]));
        for wanted in [BranchFilter::All, BranchFilter::Active, BranchFilter::Number(1)] {
            assert_eq!((0..7).filter(|line| branches.has(*line, wanted)).collect::<Vec<_>>(), [0, 3, 4, 6]);
        }
        assert_eq!(branches.count(), 1);
    }

    #[test]
    fn rewound_end_is_branch_2() {
        let branches = Branches::without_end(2, 4);
        let on =
            |branches: &Branches, requested| (0..4).filter(|line| branches.has(*line, requested)).collect::<Vec<_>>();
        assert_eq!(on(&branches, BranchFilter::Active), [0, 1]);
        assert_eq!(on(&branches, BranchFilter::Number(2)), [0, 1, 2, 3]);
        assert_eq!((branches.other(1), branches.other(2), branches.count()), (None, Some(2), 2));
        let whole = Branches::without_end(0, 4);
        assert!(on(&whole, BranchFilter::Active).is_empty() && on(&whole, BranchFilter::Number(2)).len() == 4);
        assert_eq!(Branches::without_end(4, 4).count(), 1);
    }

    #[test]
    fn cyclic_tree_falls_back_to_one_branch() {
        assert_eq!(numbers("a b<b", 1), [2, 1]);
        assert_eq!(numbers("a<b b<a", 1), [1, 1]);
        let divide = |nodes: &[Node], leaf| Branches::divide(nodes, leaf, nodes.len());
        assert_eq!(divide(&[], Some(0)).count(), 1);
        assert_eq!(divide(&nodes("a b<a"), None).number_of_line(1), ACTIVE);
    }

    #[test]
    fn missing_parent_cuts_off_the_messages_before() {
        let text = "a b<a c<x d<c e<y f<e";
        assert_eq!(numbers(text, 5), [3, 3, 2, 2, 1, 1]);
        let branches = divided(text, 5);
        let breaks = [Break { line: 4, before: 3 }, Break { line: 2, before: 1 }];
        assert_eq!((branches.breaks(), branches.count()), (&breaks[..], 3));
        assert_eq!([1, 2, 3, 4].map(|number| branches.is_cut_off(number)), [false, true, true, false]);
        assert_eq!(divided("a<x b<a", 1).breaks(), [], "no record is before the first one");
        assert_eq!(divided("a* b<x", 1).count(), 1, "no message is cut off");
    }

    #[test]
    fn missing_parent_does_not_cut_off_rewound_branch() {
        // A rewind from c to b, then a break after d.
        let branches = divided("a b<a c<b d<b e<x f<c", 4);
        assert_eq!((0..6).map(|line| branches.number_of_line(line)).collect::<Vec<_>>(), [2, 2, 3, 2, 1, 3]);
        assert_eq!([2, 3].map(|number| branches.is_cut_off(number)), [true, false]);
        assert_eq!(branches.breaks(), [Break { line: 4, before: 3 }]);
        let other = divided("a b<a c<x d<b", 3);
        assert_eq!((other.breaks(), other.count()), (&[][..], 2), "the break is on another branch");
    }
}
