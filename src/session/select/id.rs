//! Resolves an id, a prefix of one, a title or a number to sessions.

use crate::session::{AgentKind, Session};

/// The result of resolving an id or a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// No session matches.
    None,
    /// Exactly one session, which may have several copies.
    One(AgentKind, String),
    /// Several sessions, ordered by agent and id.
    Many(Vec<(AgentKind, String)>),
}

/// The name of a session, for resolving.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'a> {
    /// The agent that it belongs to.
    pub agent: AgentKind,
    /// The full id.
    pub id: &'a str,
    /// Set for a sub-agent, which a prefix resolves to only if nothing else matches.
    pub is_subagent: bool,
}

/// Resolves an id: an exact match wins, then a unique prefix, sub-agents last.
pub(crate) fn resolve<'a>(
    agent: Option<AgentKind>,
    text: &str,
    names: impl Iterator<Item = Name<'a>> + Clone,
) -> Resolution {
    let names = names.filter(|name| agent.is_none_or(|agent| agent == name.agent));
    let exact = distinct(names.clone().filter(|name| name.id == text));
    if !exact.is_empty() {
        return from_matches(exact);
    }
    let beginning = names.filter(|name| name.id.starts_with(text));
    // Older sub-sessions have their parent's whole id as a prefix.
    let sessions = distinct(beginning.clone().filter(|name| !name.is_subagent));
    from_matches(if sessions.is_empty() { distinct(beginning) } else { sessions })
}

fn distinct<'a>(names: impl Iterator<Item = Name<'a>>) -> Vec<(AgentKind, String)> {
    let mut keys: Vec<_> = names.map(|name| (name.agent, name.id.to_owned())).collect();
    keys.sort();
    keys.dedup();
    keys
}

fn from_matches(mut keys: Vec<(AgentKind, String)>) -> Resolution {
    match keys.len() {
        0 => Resolution::None,
        1 => keys.pop().map_or(Resolution::None, |(agent, id)| Resolution::One(agent, id)),
        _ => Resolution::Many(keys),
    }
}

/// Finds sessions by the title that a table shows: an exact match wins, then the only title that contains the text.
///
/// Returns the indices of all equally good matches. Sub-agents and empty sessions have no title and never match.
pub(crate) fn by_title(text: &str, sessions: &[Session]) -> Vec<usize> {
    let titled = |is_match: &dyn Fn(&str) -> bool| -> Vec<usize> {
        let is_meant = |session: &Session| {
            session.copy().kind.is_listed() && session.label().is_some_and(|label| is_match(label.trim()))
        };
        sessions.iter().enumerate().filter(|(_, session)| is_meant(session)).map(|(at, _)| at).collect()
    };
    let exact = titled(&|label| label == text.trim());
    if !exact.is_empty() {
        return exact;
    }
    let lower = text.trim().to_lowercase();
    titled(&|label| label.to_lowercase().contains(&lower))
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

    pub(in crate::session::select) fn names<'a>(ids: &'a [&'a str]) -> impl Iterator<Item = Name<'a>> + Clone {
        ids.iter().map(|id| Name { agent: AgentKind::Claude, id, is_subagent: id.contains('_') })
    }

    pub(in crate::session::select) fn one(id: &str) -> Resolution {
        Resolution::One(AgentKind::Claude, id.to_owned())
    }

    #[test]
    fn the_exact_id_wins_over_longer_ids() {
        assert_eq!(resolve(None, "abc", names(&["abc", "abcd"])), one("abc"));
        assert!(matches!(resolve(None, "ab", names(&["abc", "abcd"])), Resolution::Many(both) if both.len() == 2));
        assert_eq!(resolve(None, "abcd", names(&["abc", "abcd"])), one("abcd"));
        assert_eq!(resolve(None, "x", names(&["abc"])), Resolution::None);
    }

    #[test]
    fn a_title_resolves_by_its_whole_text_or_a_unique_part() {
        let titled = |id: &str, title: &str| {
            let mut copy = crate::session::tests::copy(id);
            copy.title = Some(crate::session::Fact::new(title.to_owned(), "custom-title"));
            crate::session::tests::session(vec![copy])
        };
        let sessions = [titled("a", "Fix the parser"), titled("b", "Fix the parser again"), titled("c", "Deploy")];
        assert_eq!(by_title("Fix the parser", &sessions), [0]);
        assert_eq!(by_title("fix the parser", &sessions), [0, 1]);
        assert_eq!(by_title("ploy", &sessions), [2]);
        assert!(by_title("nothing", &sessions).is_empty());
    }

    #[test]
    fn short_numbers_are_list_positions_and_long_ones_are_prefixes() {
        assert_eq!(list_number("1"), Some(1));
        assert_eq!(list_number("120"), Some(120));
        for other in ["0", "0000", "12345678", "1a", "-1", "", "٣"] {
            assert_eq!(list_number(other), None, "{other}");
        }
    }

    #[test]
    fn a_prefix_prefers_sessions_to_their_sub_agents() {
        assert_eq!(resolve(None, "ab", names(&["abc", "abc-1_explorer"])), one("abc"));
        assert_eq!(resolve(None, "abc-", names(&["abc", "abc-1_explorer"])), one("abc-1_explorer"));
    }

    #[test]
    fn an_id_of_two_agents_is_ambiguous_without_an_agent() {
        let both = [
            Name { agent: AgentKind::Claude, id: "abc", is_subagent: false },
            Name { agent: AgentKind::Amplifier, id: "abc", is_subagent: false },
        ];
        assert!(matches!(resolve(None, "abc", both.into_iter()), Resolution::Many(_)));
        assert_eq!(resolve(Some(AgentKind::Claude), "abc", both.into_iter()), one("abc"));
    }

    proptest! {
        #[test]
        fn a_prefix_means_one_session_all_candidates_or_none(
            ids in prop::collection::vec("[ab]{1,6}", 0..12),
            text in "[ab]{1,4}",
        ) {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let mut expected: Vec<&str> = ids.iter().copied().filter(|id| id.starts_with(&text)).collect();
            expected.sort_unstable();
            expected.dedup();
            match resolve(None, &text, names(&ids)) {
                Resolution::None => prop_assert!(expected.is_empty()),
                Resolution::One(_, id) => prop_assert!(id == text || expected == [id.as_str()]),
                Resolution::Many(keys) => {
                    let keys: Vec<&str> = keys.iter().map(|(_, id)| id.as_str()).collect();
                    prop_assert_eq!(keys, expected);
                }
            }
        }
    }
}
