//! Statistics of sessions: numbers, durations and sizes, grouped by a key.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::iter::successors;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Serialize, Serializer};

use crate::session::usage::{Cost, Tokens, Usage};

/// The key that sessions are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub(crate) enum StatsKey {
    /// By agent.
    Agent,
    /// By launch directory.
    Project,
    /// By the model that answered last.
    Model,
    /// By the week of the last activity, named by its Monday.
    Week,
    /// By session, with its sub-agents: highest cost first, then most tokens.
    Session,
}

impl StatsKey {
    /// The keys of `stats` without `--by`, except the session: there may be many.
    pub(crate) const USUAL: [Self; 4] = [Self::Agent, Self::Project, Self::Model, Self::Week];

    /// Returns the word of the JSON contract.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

/// The days with messages, in a time zone.
#[derive(Clone, Debug)]
pub(crate) struct Days {
    /// The days.
    pub dates: BTreeSet<Date>,
    zone: TimeZone,
    latest: Timestamp,
}

impl Days {
    /// Creates an empty set; a time after `latest` is in the future, and adds no day.
    pub(crate) fn new(zone: TimeZone, latest: Timestamp) -> Self {
        Self { dates: BTreeSet::new(), zone, latest }
    }

    /// Adds the day of a time.
    pub(crate) fn add(&mut self, at: Timestamp) {
        if at <= self.latest {
            self.dates.insert(self.date(at));
        }
    }

    /// Returns whether the day of a time would be added and is missing.
    pub(crate) fn lacks(&self, at: Timestamp) -> bool {
        at <= self.latest && !self.dates.contains(&self.date(at))
    }

    fn date(&self, at: Timestamp) -> Date {
        self.zone.to_datetime(at).date()
    }
}

/// One session in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Measured {
    /// The agent and the id, as in a SESSION.
    pub name: String,
    /// The name of the session that started this one, if it is a sub-agent.
    pub parent: Option<String>,
    /// Set for a sub-agent, which is a part of its session: only its tokens and cost are counted.
    pub is_subagent: bool,
    pub agent: &'static str,
    pub project: Option<String>,
    pub model: Option<String>,
    pub prompts: u64,
    pub replies: u64,
    pub size_bytes: u64,
    pub output_bytes: u64,
    /// The days with messages, in the user's time zone.
    pub days: BTreeSet<Date>,
    pub usage: Usage,
}

impl Measured {
    /// Returns the group of the session; `None` if it is unknown. `parents` has the parent of each sub-agent, `None` for a
    /// session.
    fn key(&self, by: StatsKey, parents: &HashMap<&str, Option<&str>>) -> Option<String> {
        match by {
            StatsKey::Agent => Some(self.agent.to_owned()),
            StatsKey::Project => self.project.clone(),
            StatsKey::Model => self.model.clone(),
            StatsKey::Session => {
                // A damaged record may make two sub-agents parents of each other.
                let mut above = successors(Some(self.name.as_str()), |name| parents.get(name).copied().flatten());
                let is_session = |name: &&str| parents.get(name).is_some_and(Option::is_none);
                above.by_ref().take(DEEPEST).find(is_session).map(str::to_owned)
            }
            StatsKey::Week => self.days.last().and_then(|day| monday(*day)).map(|day| day.to_string()),
        }
    }
}

/// Maximum depth of sub-agents whose usage counts for their session.
const DEEPEST: usize = 64;

/// Returns the Monday of a day's week.
fn monday(day: Date) -> Option<Date> {
    let since = i64::from(day.weekday().to_monday_zero_offset());
    day.checked_sub(jiff::Span::new().days(since)).ok()
}

/// Several sessions in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct SessionTally {
    /// Number of sessions without sub-agents.
    pub sessions: u64,
    /// Number of prompts.
    pub prompts: u64,
    /// Number of replies.
    pub replies: u64,
    /// Size of all their files in bytes; a session in a database has none.
    pub size_bytes: u64,
    /// Size of the output of their background tasks outside of their agents' stores in bytes.
    pub output_bytes: u64,
    /// Number of days with messages.
    #[serde(rename = "active_days", serialize_with = "count")]
    pub days: BTreeSet<Date>,
    /// The tokens of their replies and those of their sub-agents, as far as their agents record them; `null` if none does.
    pub tokens: Option<Tokens>,
    /// The cost of their replies and those of their sub-agents in US dollars, as far as their agents record it; `null` if none does.
    #[serde(rename = "cost_usd")]
    pub cost: Option<Cost>,
    /// The number of sessions with a recorded cost.
    pub cost_sessions: u64,
}

fn count<S: Serializer>(days: &BTreeSet<Date>, to: S) -> Result<S::Ok, S::Error> {
    days.len().serialize(to)
}

impl SessionTally {
    fn add(&mut self, session: &Measured) {
        let mut usage = Usage { tokens: self.tokens, cost: self.cost };
        usage.add(session.usage);
        (self.tokens, self.cost) = (usage.tokens, usage.cost);
        if session.is_subagent {
            return;
        }
        self.sessions += 1;
        self.cost_sessions += u64::from(session.usage.cost.is_some());
        self.prompts += session.prompts;
        self.replies += session.replies;
        self.size_bytes += session.size_bytes;
        self.output_bytes += session.output_bytes;
        self.days.extend(&session.days);
    }
}

/// Counts all sessions together.
pub(crate) fn total(sessions: &[Measured]) -> SessionTally {
    let mut total = SessionTally::default();
    sessions.iter().for_each(|session| total.add(session));
    total
}

/// Counts sessions per group, the largest group first, weeks in their order; the unknown group, `None`, comes last.
pub(crate) fn tallies(sessions: &[Measured], by: StatsKey) -> Vec<(Option<String>, SessionTally)> {
    let mut parents = HashMap::with_capacity(sessions.len());
    for session in sessions {
        let parent = session.parent.as_deref().unwrap_or_default();
        parents.insert(session.name.as_str(), session.is_subagent.then_some(parent));
    }
    let mut tallies: HashMap<Option<String>, SessionTally> = HashMap::new();
    for session in sessions {
        tallies.entry(session.key(by, &parents)).or_default().add(session);
    }
    // Sub-agents without a session have used tokens, too.
    let is_usage = |tally: &SessionTally| by == StatsKey::Session && (tally.tokens.is_some() || tally.cost.is_some());
    let is_shown = |(_, tally): &(Option<String>, SessionTally)| tally.sessions > 0 || is_usage(tally);
    let mut tallies: Vec<_> = tallies.into_iter().filter(is_shown).collect();
    tallies.sort_by(|(key, tally), (other_key, other)| {
        let unknown_last = key.is_none().cmp(&other_key.is_none());
        let by_count = if by == StatsKey::Week { Ordering::Equal } else { other.sessions.cmp(&tally.sessions) };
        let usage = |tally: &SessionTally| (tally.cost, tally.tokens.map(Tokens::total));
        let by_usage = || if by == StatsKey::Session { usage(other).cmp(&usage(tally)) } else { Ordering::Equal };
        unknown_last.then(by_count).then_with(by_usage).then_with(|| key.cmp(other_key))
    });
    tallies
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn session(agent: &'static str, day: Date, prompts: u64) -> Measured {
        Measured { agent, prompts, days: BTreeSet::from([day]), ..Measured::default() }
    }

    #[test]
    fn sub_agent_adds_only_tokens_and_cost() {
        let tokens = Some(Tokens { input: 5, cached: 2, output: 1 });
        let usage = Usage { tokens, cost: Cost::from_dollars(0.25) };
        let sessions = [
            session("claude", date(2026, 11, 22), 2),
            Measured { usage, ..session("codex", date(2026, 11, 23), 3) },
            session("codex", date(2026, 11, 29), 1),
            Measured { is_subagent: true, usage, ..session("codex", date(2026, 11, 29), 100) },
        ];
        let all = total(&sessions);
        assert_eq!((all.sessions, all.prompts, all.days.len()), (3, 6, 3));
        assert_eq!(all.tokens, Some(Tokens { input: 10, cached: 4, output: 2 }));
        assert_eq!((all.cost, all.cost_sessions), (Cost::from_dollars(0.5), 1));
        let counted = |by| -> Vec<(Option<String>, u64)> {
            tallies(&sessions, by).into_iter().map(|(key, tally)| (key, tally.sessions)).collect()
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(counted(StatsKey::Agent), [(text("codex"), 2), (text("claude"), 1)]);
        assert_eq!(counted(StatsKey::Week), [(text("2026-11-16"), 1), (text("2026-11-23"), 2)]);
        assert_eq!(counted(StatsKey::Model), [(None, 3)]);
    }

    #[test]
    fn usage_of_nested_sub_agents_counts_for_root() {
        let usage = |dollars| Usage { tokens: None, cost: Cost::from_dollars(dollars) };
        let named = |name: &str, parent: Option<&str>, dollars| Measured {
            name: name.to_owned(),
            parent: parent.map(str::to_owned),
            is_subagent: parent.is_some(),
            usage: usage(dollars),
            ..session("codex", date(2026, 11, 22), 1)
        };
        let sessions = [
            named("codex:a", None, 0.0),
            named("codex:b", None, 1.0),
            named("codex:c", None, 0.0),
            named("codex:d", Some("codex:c"), 0.5),
            named("codex:e", Some("codex:d"), 1.0),
            named("codex:f", Some("codex:g"), 9.0),
            named("codex:g", Some("codex:f"), 9.0),
        ];
        let costs: Vec<_> = tallies(&sessions, StatsKey::Session).into_iter().map(|(key, it)| (key, it.cost)).collect();
        // The sub-agents that name each other have no session.
        let expected = [(Some("codex:c"), 1.5), (Some("codex:b"), 1.0), (Some("codex:a"), 0.0), (None, 18.0)];
        assert_eq!(costs, expected.map(|(key, dollars)| (key.map(str::to_owned), Cost::from_dollars(dollars))));
    }
}
