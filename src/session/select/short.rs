//! Short ids: the prefix of each id that distinguishes it from every other.

use std::collections::HashMap;

use super::NameCandidate;
use super::named::dir_of;
use crate::session::{AgentKind, Session};

/// Minimum number of characters of a short id.
const SHORTEST_ID: usize = 8;

/// The length of the unique prefix of each id.
#[derive(Debug)]
pub(crate) struct ShortIds(HashMap<(AgentKind, String), usize>);

impl ShortIds {
    /// Computes the prefixes for all sessions, including those that will not be shown.
    pub(crate) fn from_sessions(sessions: &[Session]) -> Self {
        let candidates: Vec<_> = sessions.iter().map(|session| NameCandidate::from_session(session, session)).collect();
        let lengths = candidates.iter().zip(short_lengths(&candidates));
        Self(lengths.map(|(candidate, length)| (candidate.key.key(), length)).collect())
    }

    /// Returns the unique prefix of a session's id.
    pub(crate) fn get<'s>(&self, session: &'s Session) -> &'s str {
        let length = self.0.get(&session.key()).copied();
        &session.id()[..length.unwrap_or(session.id().len())]
    }
}

/// Returns the beginning of an id that distinguishes it from other ids in the same answer.
pub(crate) fn short_among<'i, 'o>(id: &'i str, others: impl IntoIterator<Item = &'o str>) -> &'i str {
    if let Some(dir) = dir_of(id) {
        return dir;
    }
    let needed = others.into_iter().filter(|other| *other != id).map(|other| common(id, other) + 1).max();
    &id[..boundary(id, needed.unwrap_or_default().max(SHORTEST_ID))]
}

/// Returns the number of bytes that two ids share at their beginning.
fn common(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

/// Returns the first character boundary in an id at or after `length`.
fn boundary(id: &str, length: usize) -> usize {
    (length..=id.len()).find(|at| id.is_char_boundary(*at)).unwrap_or(id.len())
}

/// Returns the length of the unique prefix of each id; the ids are in any order.
///
/// Sub-agents do not make the short id of a session longer, because a prefix prefers sessions.
fn short_lengths<K>(names: &[NameCandidate<'_, K>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|at| (names[*at].is_subagent, names[*at].id));
    let mut lengths = vec![SHORTEST_ID; names.len()];
    for pair in order.windows(2) {
        let (a, b) = (&names[pair[0]], &names[pair[1]]);
        if a.id != b.id && a.is_subagent == b.is_subagent {
            let needed = common(a.id, b.id) + 1;
            for at in pair {
                lengths[*at] = lengths[*at].max(needed);
            }
        }
    }
    for (length, name) in lengths.iter_mut().zip(names) {
        *length = dir_of(name.id).map_or_else(|| boundary(name.id, *length), str::len);
    }
    lengths
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::named::tests::{among, candidates};
    use super::*;

    #[test]
    fn short_path_is_its_directory() {
        let ids =
            ["/home/ana/work/has space/.aider.chat.history.md", "/home/ana/h/.aider.chat.history.md", "9f4d0000-1"];
        let list: Vec<_> = candidates(&ids).collect();
        let short: Vec<&str> = list.iter().zip(short_lengths(&list)).map(|(name, length)| &name.id[..length]).collect();
        assert_eq!(short, ["/home/ana/work/has space", "/home/ana/h", "9f4d0000"]);
        assert_eq!(ids.map(|id| short_among(id, ids)), ["/home/ana/work/has space", "/home/ana/h", "9f4d0000"]);
    }

    proptest! {
        #[test]
        fn short_id_resolves_to_its_session(ids in prop::collection::btree_set("[ab]{1,12}(_[ab]{1,3})?", 1..20)) {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let list: Vec<_> = candidates(&ids).collect();
            for (name, length) in list.iter().zip(short_lengths(&list)) {
                let short = &name.id[..length];
                let found = among(&ids, short).map(|(_, keys)| keys);
                // A sub-agent's id that is a prefix of another sub-agent's or a session's id needs its whole length.
                prop_assert!(found == Some(vec![name.id]) || name.is_subagent, "{short} of {ids:?}: {found:?}");
            }
        }
    }
}
