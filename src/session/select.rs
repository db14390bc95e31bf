//! Which sessions are meant: selectors, prefixes, filters and order. Pure: everything it needs is an argument.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::ValueEnum as _;
use jiff::Timestamp;

use crate::session::{AgentKind, Copy, Kin, Session, SessionKind};

/// How many characters of an id are shown at least.
const SHORTEST_ID: usize = 8;

/// What a user types to mean one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selector {
    /// The one with the newest activity.
    Latest,
    /// A full id or the beginning of one, perhaps of one agent's only.
    Id {
        /// Whose it must be.
        agent: Option<AgentKind>,
        /// The id or its beginning.
        text: String,
    },
    /// A file or directory of a session, or an app's directory with a pointer.
    Path(PathBuf),
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("a selector must not be empty".to_owned());
        }
        if text == "latest" {
            return Ok(Self::Latest);
        }
        if let Some((agent, rest)) = text.split_once(':')
            && let Ok(agent) = AgentKind::from_str(agent, false)
        {
            if rest.is_empty() {
                return Err(format!("the id after '{agent}:' must not be empty"));
            }
            return Ok(Self::Id { agent: Some(agent), text: rest.to_owned() });
        }
        if text.contains('/') || matches!(text, "." | ".." | "~") {
            return Ok(Self::Path(PathBuf::from(text)));
        }
        Ok(Self::Id { agent: None, text: text.to_owned() })
    }
}

/// Which copy of a session a user means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CopySelector {
    /// Its number in the list of candidates, counted from 1.
    Number(usize),
    /// Its file or directory.
    Path(PathBuf),
}

impl FromStr for CopySelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(0) => Err("copies are counted from 1".to_owned()),
            Ok(number) => Ok(Self::Number(number)),
            Err(_) if text.is_empty() => Err("name a copy by its number or its path".to_owned()),
            Err(_) => Ok(Self::Path(PathBuf::from(text))),
        }
    }
}

impl std::fmt::Display for CopySelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

/// What an id or a prefix means among what there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// No session.
    None,
    /// Just one session, which may have several copies.
    One(AgentKind, String),
    /// Several, in order of agent and id.
    Many(Vec<(AgentKind, String)>),
}

/// A session's name, for resolving.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'a> {
    /// The agent that it belongs to.
    pub agent: AgentKind,
    /// The full id.
    pub id: &'a str,
    /// Whether it is a sub-agent's, which a prefix means only when nothing else matches.
    pub is_subagent: bool,
}

/// Resolves an id: the exact one wins, then the unique beginning, sub-agents last.
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
    // Older sub-sessions carry their parent's whole id in front of their own.
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

/// Finds sessions by title, as a table shows it: the exact one wins, then the only one that contains the text.
///
/// Returns the places of all that match equally well. Sub-agents and empty sessions have no title to be meant by.
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

/// Reads a place in a listing, counted from 1: up to three digits, for longer ones are the beginnings of ids.
pub(crate) fn list_number(text: &str) -> Option<usize> {
    let is_number = (1..=3).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten().filter(|number| *number > 0)
}

/// Which sessions a listing shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// Of these agents; of all when empty.
    pub agents: Vec<AgentKind>,
    /// With a recorded directory at or below one of these, which are names of one directory.
    pub dirs: Vec<PathBuf>,
    /// Directories that hold the same work as those, and are asked for with them.
    pub kin: Vec<(PathBuf, Kin)>,
    /// Returns whether a path lies in a directory that is spelled otherwise; without it the spelling decides.
    pub is_respelled: Option<fn(&Path, &Path) -> bool>,
    /// Active at this time or later.
    pub since: Option<Timestamp>,
    /// Last active before this time.
    pub before: Option<Timestamp>,
    /// Sub-agents, archived and empty ones too.
    pub all: bool,
}

impl Filter {
    /// Makes the filter that every session of these agents passes, or of all agents if none is named.
    pub(crate) fn of_agents(agents: &[AgentKind]) -> Self {
        Self { agents: agents.to_vec(), all: true, ..Self::default() }
    }

    /// Returns whether it asks for more than agents, so that a session must be read to know whether it passes.
    pub(crate) fn is_narrow(&self) -> bool {
        !self.dirs.is_empty() || self.since.is_some() || self.before.is_some()
    }

    /// Returns whether a session passes but for its kind.
    pub(crate) fn matches(&self, session: &Session) -> bool {
        let is_of_agent = self.agents.is_empty()
            || self.agents.contains(&session.agent)
            || session.pointers.iter().any(|pointer| self.agents.contains(&pointer.agent));
        let at = session.active_at();
        is_of_agent
            && (self.dirs.is_empty()
                || session.copies.iter().any(|copy| self.is_in_dirs(copy))
                || self.kin_of(session).is_some())
            && self.since.is_none_or(|since| at.is_some_and(|at| at >= since))
            && self.before.is_none_or(|before| at.is_some_and(|at| at < before))
    }

    /// Returns whether a pointer of this agent is shown if its session cannot be found, and so has no place and no time.
    pub(crate) fn shows_dangling(&self, agent: AgentKind) -> bool {
        let is_of_agent = self.agents.is_empty() || self.agents.contains(&agent);
        is_of_agent && self.dirs.is_empty() && self.since.is_none() && self.before.is_none()
    }

    /// Returns whether a session's kind is shown.
    pub(crate) fn shows_kind(&self, session: &Session) -> bool {
        self.all || session.copy().kind.is_listed()
    }

    /// Returns whether a path is at or below one of the directories.
    pub(crate) fn is_below(&self, path: &Path) -> bool {
        let is_respelled = |dir| self.is_respelled.is_some_and(|is_respelled| is_respelled(path, dir));
        self.dirs.iter().any(|dir| path.starts_with(dir) || is_respelled(dir))
    }

    /// Returns what the directory of a session is to those that were asked for, where it is at or below none of them.
    pub(crate) fn kin_of(&self, session: &Session) -> Option<Kin> {
        if self.kin.is_empty() || session.copies.iter().any(|copy| self.is_in_dirs(copy)) {
            return None;
        }
        let of = |path: &Path| self.kin.iter().find(|(dir, _)| path.starts_with(dir)).map(|(_, kin)| *kin);
        session.copies.iter().flat_map(Copy::directories).find_map(of)
    }

    fn is_in_dirs(&self, copy: &Copy) -> bool {
        copy.directories().any(|recorded| self.is_below(recorded))
    }
}

/// What a listing is ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SortKey {
    /// Newest activity first; a time that is still to come is no activity.
    #[default]
    Active,
    /// Newest first.
    Created,
    /// Largest first.
    Size,
    /// By title, or else by first prompt.
    Title,
    /// By launch directory.
    Dir,
    /// By agent, then newest activity first.
    Agent,
}

/// A session's place in an order: the lowest comes first. Only those of one key can be compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// By a time, where it can be true; none comes with the oldest that there are.
    Time(Reverse<(bool, Timestamp)>),
    /// By size.
    Size(Reverse<u64>),
    /// By title.
    Title(Box<str>),
    /// By directory.
    Dir(Option<Box<Path>>),
    /// By agent and time.
    Agent(AgentKind, Reverse<(bool, Timestamp)>),
}

impl Rank {
    /// Ranks a session by a key.
    pub(crate) fn of(session: &Session, key: SortKey) -> Self {
        let copy = session.copy();
        let (is_dated, active_at) = session.recency();
        match key {
            SortKey::Active => Self::Time(Self::when(is_dated, active_at)),
            SortKey::Created => Self::Time(Self::when(is_dated, copy.created_at.as_ref().map(|created| created.value))),
            SortKey::Size => Self::Size(Reverse(copy.size_bytes)),
            SortKey::Title => Self::Title(session.label().unwrap_or_default().to_lowercase().into()),
            SortKey::Dir => Self::Dir(session.launch_dir().map(Into::into)),
            SortKey::Agent => Self::Agent(session.agent, Self::when(is_dated, active_at)),
        }
    }
}

impl Rank {
    /// Ranks by a time, and by whether that can be true; it takes as few bytes as can be, for there may be very many.
    pub(crate) fn when(is_dated: bool, at: Option<Timestamp>) -> Reverse<(bool, Timestamp)> {
        Reverse((is_dated, at.unwrap_or(Timestamp::MIN)))
    }

    /// Returns the time that it is by, if that can be true.
    pub(crate) fn believable_time(&self) -> Option<Timestamp> {
        match self {
            Self::Time(Reverse((true, at))) => Some(*at).filter(|at| *at > Timestamp::MIN),
            _ => None,
        }
    }
}

/// Orders sessions; equal ones keep the order of agent and id, so the order is the same every time.
pub(crate) fn sort(sessions: &mut [Session], key: SortKey, reverse: bool) {
    sessions.sort_by_cached_key(|session| Rank::of(session, key));
    if reverse {
        sessions.reverse();
    }
}

/// Puts the sessions of one launch directory together; the projects come in the order of their first sessions.
pub(crate) fn put_projects_together<S>(sessions: &mut [S], dir: impl Fn(&S) -> Option<PathBuf>) {
    let mut places: HashMap<Option<PathBuf>, usize> = HashMap::new();
    for session in sessions.iter() {
        let next = places.len();
        places.entry(dir(session)).or_insert(next);
    }
    sessions.sort_by_cached_key(|session| places[&dir(session)]);
}

/// How much of each id tells it from every other there is.
#[derive(Debug)]
pub(crate) struct ShortIds(HashMap<(AgentKind, String), usize>);

impl ShortIds {
    /// Learns the ids of all sessions, whether they will be shown or not.
    pub(crate) fn of(sessions: &[Session]) -> Self {
        let names = sessions.iter().map(|session| {
            let is_subagent = session.copy().kind == SessionKind::Subagent;
            Name { agent: session.agent, id: &session.id, is_subagent }
        });
        Self::of_names(&names.collect::<Vec<_>>())
    }

    /// Does the same by names alone.
    pub(crate) fn of_names(names: &[Name<'_>]) -> Self {
        let lengths = short_lengths(names);
        Self(names.iter().zip(lengths).map(|(name, length)| ((name.agent, name.id.to_owned()), length)).collect())
    }

    /// Returns the beginning of a session's id that is enough to mean it.
    pub(crate) fn get<'s>(&self, session: &'s Session) -> &'s str {
        let length = self.0.get(&(session.agent, session.id.clone())).copied();
        &session.id[..length.unwrap_or(session.id.len())]
    }
}

/// Returns how many characters of each id tell it from every other; the ids come in any order.
///
/// Sub-agents do not make a session's own short id longer, since a prefix prefers sessions.
fn short_lengths(names: &[Name<'_>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|at| (names[*at].is_subagent, names[*at].id));
    let mut lengths = vec![SHORTEST_ID; names.len()];
    let common = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    for pair in order.windows(2) {
        let (a, b) = (names[pair[0]], names[pair[1]]);
        if a.id != b.id && a.is_subagent == b.is_subagent {
            let needed = common(a.id, b.id) + 1;
            for at in pair {
                lengths[*at] = lengths[*at].max(needed);
            }
        }
    }
    for (length, name) in lengths.iter_mut().zip(names) {
        *length = (*length..=name.id.len()).find(|at| name.id.is_char_boundary(*at)).unwrap_or(name.id.len());
    }
    lengths
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names<'a>(ids: &'a [&'a str]) -> impl Iterator<Item = Name<'a>> + Clone {
        ids.iter().map(|id| Name { agent: AgentKind::Claude, id, is_subagent: id.contains('_') })
    }

    fn one(id: &str) -> Resolution {
        Resolution::One(AgentKind::Claude, id.to_owned())
    }

    #[test]
    fn selectors_are_told_apart() {
        let id = |agent, text: &str| Selector::Id { agent, text: text.to_owned() };
        for (text, expected) in [
            ("latest", Selector::Latest),
            ("5d1f", id(None, "5d1f")),
            ("claude:5d1f", id(Some(AgentKind::Claude), "5d1f")),
            ("other:5d1f", id(None, "other:5d1f")),
            ("./latest", Selector::Path("./latest".into())),
            ("~", Selector::Path("~".into())),
            ("/x/y.jsonl", Selector::Path("/x/y.jsonl".into())),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        assert!("".parse::<Selector>().is_err());
        assert!("claude:".parse::<Selector>().is_err());
    }

    #[test]
    fn the_exact_id_wins_over_longer_ones_that_begin_with_it() {
        assert_eq!(resolve(None, "abc", names(&["abc", "abcd"])), one("abc"));
        assert!(matches!(resolve(None, "ab", names(&["abc", "abcd"])), Resolution::Many(both) if both.len() == 2));
        assert_eq!(resolve(None, "abcd", names(&["abc", "abcd"])), one("abcd"));
        assert_eq!(resolve(None, "x", names(&["abc"])), Resolution::None);
    }

    #[test]
    fn a_title_is_meant_by_all_of_it_or_by_a_part_that_no_other_has() {
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
    fn short_numbers_are_places_in_the_list_and_long_ones_beginnings_of_ids() {
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
    fn one_id_of_two_agents_is_several_sessions_until_an_agent_is_named() {
        let both = [
            Name { agent: AgentKind::Claude, id: "abc", is_subagent: false },
            Name { agent: AgentKind::Amplifier, id: "abc", is_subagent: false },
        ];
        assert!(matches!(resolve(None, "abc", both.into_iter()), Resolution::Many(_)));
        assert_eq!(resolve(Some(AgentKind::Claude), "abc", both.into_iter()), one("abc"));
    }

    proptest! {
        #[test]
        fn a_short_id_resolves_to_its_session(ids in prop::collection::btree_set("[ab]{1,12}(_[ab]{1,3})?", 1..20)) {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let list: Vec<Name<'_>> = names(&ids).collect();
            for (name, length) in list.iter().zip(short_lengths(&list)) {
                let short = &name.id[..length];
                let resolution = resolve(None, short, list.iter().copied());
                // A sub-agent's id that is the beginning of another's, or a session's, needs its whole length.
                prop_assert!(resolution == one(name.id) || name.is_subagent, "{short} of {ids:?}: {resolution:?}");
            }
        }

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
