//! Searches a home for the queries, and counts how often the right session comes first.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::corpus::{self, Kind, Random};
use super::writers;

/// Counts of queries by the rank of their session.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub queries: usize,
    pub first: usize,
    pub in_ten: usize,
    /// Sum of the reciprocal ranks.
    reciprocal: f64,
}

impl Figures {
    fn add(&mut self, rank: Option<usize>) {
        self.queries += 1;
        self.first += usize::from(rank == Some(0));
        self.in_ten += usize::from(rank.is_some());
        self.reciprocal += rank.map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
    }

    /// Returns the mean reciprocal rank.
    pub(crate) fn mean(&self) -> f64 {
        self.reciprocal / self.queries.max(1) as f64
    }
}

/// Figures by kind of query and by agent.
#[derive(Debug, Default)]
pub(crate) struct Recall {
    pub by_kind: BTreeMap<Kind, Figures>,
    pub by_agent: BTreeMap<&'static str, Figures>,
    /// Queries whose session did not come first.
    pub missed: Vec<String>,
}

impl Recall {
    /// Returns the figures of all queries.
    pub(crate) fn all(&self) -> Figures {
        let add = |all: Figures, one: &Figures| Figures {
            queries: all.queries + one.queries,
            first: all.first + one.first,
            in_ten: all.in_ten + one.in_ten,
            reciprocal: all.reciprocal + one.reciprocal,
        };
        self.by_kind.values().fold(Figures::default(), add)
    }
}

/// Writes sessions into a home and searches for those of some agents, or of all if none is named, with a program.
pub(crate) fn measure(
    program: &Path,
    home: &Path,
    sessions: usize,
    of_each: usize,
    seed: u64,
    agents: &[&str],
) -> Recall {
    let mut random = Random(seed);
    let sessions = corpus::sessions(sessions, &mut random);
    let queries = corpus::queries(&sessions, of_each, &mut random);
    let written: Vec<(&str, String)> =
        sessions.iter().enumerate().map(|(number, session)| writers::write(home, number, session)).collect();
    let mut recall = Recall::default();
    let is_wanted = |query: &corpus::Query| agents.is_empty() || agents.contains(&written[query.session].0);
    for query in queries.into_iter().filter(is_wanted) {
        let found = search(program, home, &query.words);
        let (agent, id) = &written[query.session];
        let rank = found.iter().position(|(other, found)| (other.as_str(), found) == (*agent, id));
        recall.by_kind.entry(query.kind).or_default().add(rank);
        recall.by_agent.entry(agent).or_default().add(rank);
        if rank != Some(0) {
            recall.missed.push(format!("{}: {:?} of {agent} {id}: {rank:?}", query.kind.name(), query.words));
        }
    }
    recall
}

/// Returns agents and ids of the first ten sessions.
fn search(program: &Path, home: &Path, words: &[String]) -> Vec<(String, String)> {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).env("REJOIN_NOW", "2026-03-01T12:00:00Z").arg("--home").arg(home);
    command.args(["search", "--json", "--sessions", "--limit", "10", "--"]).args(words);
    let output = command.output().expect("rejoin");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |session: &serde_json::Value, key: &str| session[key].as_str().unwrap_or_default().to_owned();
    let sessions = answer["sessions"].as_array().into_iter().flatten();
    sessions.map(|session| (text(session, "agent"), text(session, "id"))).collect()
}
