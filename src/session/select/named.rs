//! Finds what a typed name means: an id, the start of one, or a title.

use crate::session::{Located, Session, SessionKind};

/// A session, or a record of one, that a typed name may mean. The key identifies it to the caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameCandidate<'a, K> {
    /// The result if the name means this session. Candidates with equal keys are one session.
    pub key: K,
    /// The full id.
    pub id: &'a str,
    /// The title that a table shows.
    pub title: Option<&'a str>,
    /// Set for a sub-agent, which the start of an id means only if nothing else matches.
    pub is_subagent: bool,
}

/// The ways in which a name matches a candidate, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NameMatch {
    /// The name is the id, or the directory in an id that is the path of a file.
    WholeId,
    /// The id starts with the name.
    Id,
    /// The id of a sub-agent starts with the name. Older sub-agents have their parent's whole id as a prefix.
    SubagentId,
    /// The id starts with the name, ignoring case, the hyphens of a UUID, or a word such as `session_` in front.
    IdInOtherForm,
    /// The name is the title.
    Title,
    /// The title contains the name, ignoring case.
    PartOfTitle,
}

/// The sessions that a name matches equally well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedSessions<K> {
    /// The way in which the name matches each of them.
    pub by: NameMatch,
    /// Their keys, sorted; at least one.
    pub keys: Vec<K>,
}

impl NameMatch {
    /// Returns whether the name matched an id.
    pub(crate) fn is_of_id(self) -> bool {
        self < Self::Title
    }
}

impl<'a, K> NameCandidate<'a, K> {
    /// Describes a session that was read. Sub-agents and empty sessions have no title.
    pub(crate) fn from_session(key: K, session: &'a Session) -> Self {
        let kind = session.copy().kind;
        let title = session.label().filter(|_| kind.is_listed());
        Self { key, id: session.id(), title, is_subagent: kind == SessionKind::Subagent }
    }

    /// Describes a session by its place alone.
    pub(crate) fn from_place(key: K, place: &'a Located) -> Self {
        Self { key, id: &place.id, title: None, is_subagent: place.is_subagent }
    }

    /// Returns whether the id starts with a typed UUID, with the hyphens of either left out. OpenHands prints the id of a
    /// session with hyphens, and names its directory without them.
    fn starts_as_uuid(&self, typed: &str) -> bool {
        /// Without its first hyphen, a shorter text starts no other id.
        const SHORTEST: usize = 10;
        let digits = |text: &'a str| text.bytes().filter(|byte| *byte != b'-').map(|byte| byte.to_ascii_lowercase());
        if typed.len() < SHORTEST || !is_hexadecimal(typed) || !is_hexadecimal(self.id) {
            return false;
        }
        let mut own = digits(self.id);
        typed.bytes().filter(|byte| *byte != b'-').all(|byte| own.next() == Some(byte.to_ascii_lowercase()))
    }

    /// Returns whether the id, without a word such as `session_` or `ses_` in front, starts with a typed text.
    fn starts_without_word(&self, typed: &str) -> bool {
        /// A shorter text may be a word.
        const SHORTEST: usize = 6;
        // The first digits of a UUID may be letters.
        let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphabetic()) && !is_hexadecimal(self.id);
        let rest = self.id.split_once(['_', '-']).filter(|(word, _)| is_word(word));
        let is_id = typed.len() >= SHORTEST && typed.contains(|c: char| c.is_ascii_digit());
        is_id && rest.is_some_and(|(_, rest)| rest.starts_with(typed))
    }

    fn matches(&self, name: &TypedName<'_>) -> Option<NameMatch> {
        let starts_in_other_case =
            || self.id.get(..name.typed.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.typed));
        let title = || self.title.map(str::trim);
        let is_dir = || name.typed.starts_with('/') && dir_of(self.id) == Some(name.typed.trim_end_matches('/'));
        Some(if self.id == name.typed || is_dir() {
            NameMatch::WholeId
        } else if self.id.starts_with(name.typed) {
            if self.is_subagent { NameMatch::SubagentId } else { NameMatch::Id }
        } else if starts_in_other_case() || self.starts_as_uuid(name.typed) || self.starts_without_word(name.typed) {
            NameMatch::IdInOtherForm
        } else if title().is_some_and(|title| title == name.words) {
            NameMatch::Title
        } else if title().is_some_and(|title| title.to_lowercase().contains(&name.lower)) {
            NameMatch::PartOfTitle
        } else {
            return None;
        })
    }
}

/// Returns whether a text consists of hexadecimal digits and hyphens, as a UUID does.
fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// A typed name in the forms that are compared.
struct TypedName<'t> {
    typed: &'t str,
    words: &'t str,
    lower: String,
}

/// Finds the candidates that a typed name matches best; `None` if it matches none.
pub(crate) fn named<'a, K: Ord>(
    typed: &str,
    candidates: impl IntoIterator<Item = NameCandidate<'a, K>>,
) -> Option<NamedSessions<K>> {
    let name = TypedName { typed, words: typed.trim(), lower: typed.trim().to_lowercase() };
    let mut best: Option<NamedSessions<K>> = None;
    for candidate in candidates {
        let Some(by) = candidate.matches(&name) else { continue };
        match &mut best {
            Some(best) if best.by < by => {}
            Some(best) if best.by == by => best.keys.push(candidate.key),
            _ => best = Some(NamedSessions { by, keys: vec![candidate.key] }),
        }
    }
    if let Some(best) = &mut best {
        best.keys.sort();
        best.keys.dedup();
    }
    best
}

/// Returns the keys of all candidates whose id is the typed one or starts with it.
pub(crate) fn all_by_id<'a, K>(
    typed: &str,
    candidates: impl IntoIterator<Item = NameCandidate<'a, K>>,
) -> impl Iterator<Item = K> {
    candidates.into_iter().filter(move |candidate| candidate.id.starts_with(typed)).map(|candidate| candidate.key)
}

/// Returns the directory in an id that is the path of a file. The directory names the session as well, and a prefix
/// would end within a name.
pub(crate) fn dir_of(id: &str) -> Option<&str> {
    id.starts_with('/').then(|| id.rsplit_once('/'))?.map(|(dir, _)| dir).filter(|dir| !dir.is_empty())
}

/// Parses a position in a listing, counted from 1: up to three digits, because longer numbers are prefixes of ids.
pub(crate) fn list_number(text: &str) -> Option<usize> {
    let is_number = (1..=3).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten().filter(|number| *number > 0)
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::session::AgentKind;

    /// Returns candidates with these ids; those with an underscore are sub-agents.
    pub(in crate::session::select) fn candidates<'i>(
        ids: &[&'i str],
    ) -> impl Iterator<Item = NameCandidate<'i, &'i str>> {
        ids.iter().map(|id| NameCandidate { key: *id, id, title: None, is_subagent: id.contains('_') })
    }

    pub(in crate::session::select) fn among<'i>(ids: &[&'i str], typed: &str) -> Option<(NameMatch, Vec<&'i str>)> {
        named(typed, candidates(ids)).map(|found| (found.by, found.keys))
    }

    #[test]
    fn whole_id_beats_longer_ids() {
        assert_eq!(among(&["abc", "abcd"], "abc"), Some((NameMatch::WholeId, vec!["abc"])));
        assert_eq!(among(&["abc", "abcd"], "ab"), Some((NameMatch::Id, vec!["abc", "abcd"])));
        assert_eq!(among(&["abc"], "x"), None);
    }

    #[test]
    fn directory_in_a_path_id_beats_ids_below_it() {
        let ids =
            ["/w/two/.aider.chat.history.md", "/w/two-b/.aider.chat.history.md", "/w/two/x/.aider.chat.history.md"];
        assert_eq!(among(&ids, "/w/two"), Some((NameMatch::WholeId, vec![ids[0]])));
        assert_eq!(among(&ids, "/w/two-b/"), Some((NameMatch::WholeId, vec![ids[1]])));
        assert_eq!(among(&ids, "/w/t").map(|(by, keys)| (by, keys.len())), Some((NameMatch::Id, 3)));
    }

    #[test]
    fn id_prefix_prefers_sessions_to_subagents() {
        assert_eq!(among(&["abc", "abc-1_explorer"], "ab"), Some((NameMatch::Id, vec!["abc"])));
        assert_eq!(among(&["abc", "abc-1_explorer"], "abc-"), Some((NameMatch::SubagentId, vec!["abc-1_explorer"])));
    }

    #[test]
    fn exact_prefix_beats_id_in_other_form() {
        assert_eq!(among(&["c-aB1", "c-ab2"], "c-ab"), Some((NameMatch::Id, vec!["c-ab2"])));
        assert_eq!(among(&["31c5f2e8", "9f4d"], "31C5"), Some((NameMatch::IdInOtherForm, vec!["31c5f2e8"])));
        let uuid = "088bbf1f-c4d6-4b77-bbf9-db79a25ab440";
        let digits = "088bbf1fc4d64b77bbf9db79a25ab440";
        for (id, typed) in [(digits, uuid), (uuid, digits), (digits, "088BBF1F-C4"), ("session_eaea0003-1", "eaea0003")]
        {
            assert_eq!(among(&[id], typed), Some((NameMatch::IdInOtherForm, vec![id])), "{typed}");
        }
        for (id, typed) in [
            (digits, "088bbf1f-d"),
            (digits, "08-8"),
            ("deadbeef-1234-5", "1234-5"),
            ("abc-1_explorer", "explorer"),
            ("ses_a", "a"),
        ] {
            assert_eq!(among(&[id], typed), None, "{typed}");
        }
        assert_eq!(among(&["日本"], "日"), Some((NameMatch::Id, vec!["日本"])));
        assert_eq!(among(&["日本"], "ab"), None);
    }

    #[test]
    fn selector_matches_whole_title_or_part() {
        let titles = ["Fix the parser", "Fix the parser again", "Deploy"];
        let by_title = |typed: &str| {
            let candidates = titles.iter().enumerate();
            let candidates =
                candidates.map(|(key, title)| NameCandidate { key, id: "0", title: Some(title), is_subagent: false });
            named(typed, candidates).map(|found| (found.by, found.keys))
        };
        assert_eq!(by_title("Fix the parser"), Some((NameMatch::Title, vec![0])));
        assert_eq!(by_title("fix the parser"), Some((NameMatch::PartOfTitle, vec![0, 1])));
        assert_eq!(by_title("ploy"), Some((NameMatch::PartOfTitle, vec![2])));
        assert_eq!(by_title("nothing"), None);
    }

    #[test]
    fn id_prefix_beats_a_title() {
        let candidates = [
            NameCandidate { key: 1, id: "c0ffee", title: Some("Tea"), is_subagent: false },
            NameCandidate { key: 2, id: "beef", title: Some("c0ff"), is_subagent: false },
        ];
        assert_eq!(named("c0ff", candidates), Some(NamedSessions { by: NameMatch::Id, keys: vec![1] }));
    }

    #[test]
    fn list_numbers_have_up_to_three_digits() {
        assert_eq!(list_number("1"), Some(1));
        assert_eq!(list_number("120"), Some(120));
        for other in ["0", "0000", "12345678", "1a", "-1", "", "٣"] {
            assert_eq!(list_number(other), None, "{other}");
        }
    }

    #[test]
    fn id_of_two_agents_has_two_keys() {
        let both = [AgentKind::Claude, AgentKind::Amplifier];
        let found = named("abc", both.map(|key| NameCandidate { key, id: "abc", title: None, is_subagent: false }));
        assert_eq!(found.map(|found| found.keys.len()), Some(2));
    }

    proptest! {
        #[test]
        fn prefix_means_one_session_or_all_candidates(
            ids in prop::collection::vec("[ab]{1,6}", 0..12),
            text in "[ab]{1,4}",
        ) {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let mut expected: Vec<&str> = ids.iter().copied().filter(|id| id.starts_with(&text)).collect();
            expected.sort_unstable();
            expected.dedup();
            match among(&ids, &text) {
                None => prop_assert!(expected.is_empty()),
                Some((NameMatch::WholeId, keys)) => prop_assert_eq!(keys, [text.as_str()]),
                Some((_, keys)) => prop_assert_eq!(keys, expected),
            }
        }
    }
}
