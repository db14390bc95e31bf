//! Measures recall: the rank at which `search` lists the right session, by kind of query and by agent.
//!
//! `cargo bench --bench recall` prints the figures of docs/finding.md. `-- --check FILE` compares the figures with those of a
//! file, which `-- --keep FILE` writes; the same seed always gives the same figures. `-- --program PATH`
//! searches with another program, `-- --agents NAMES` for sessions of these agents, `-- --size N` in N sessions, `-- --queries N` for N queries of each kind, and `-- --missed`
//! prints the queries whose session was not first. Without `--bench`, which only
//! `cargo bench` passes, a small home is searched to see that all works. The sessions and the queries are invented in
//! tests/it/recall, which has a test of a small home.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a benchmark lays out its own files and prints what it found"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

#[path = "../tests/it/recall/corpus.rs"]
mod corpus;
#[path = "../tests/it/recall/figures.rs"]
mod figures;
#[path = "../tests/it/fixtures/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the tests use more of it")]
mod fixtures;
#[path = "../tests/it/recall/texts.rs"]
mod texts;
#[path = "../tests/it/recall/writers.rs"]
mod writers;

use corpus::Kind;
use figures::{Figures, Recall};

const SESSIONS: usize = 400;
const QUERIES_OF_EACH_KIND: usize = 100;
const SEED: u64 = 1;
/// Issue 38 asks for this share of the queries with one letter wrong.
const TYPOS_FIRST: f64 = 0.8;

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| args.iter().any(|arg| arg == name);
    if has("--list") {
        // A test runner asks which tests there are.
        return Ok(());
    }
    let file = |name: &str| args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1)).map(Path::new);
    let is_whole = ["--bench", "--check", "--keep", "--missed"].into_iter().any(has);
    let number = |name: &str, whole: usize, small: usize| {
        let typed = file(name).and_then(|number| number.to_str()?.parse().ok());
        typed.unwrap_or(if is_whole { whole } else { small })
    };
    let (sessions, queries) = (number("--size", SESSIONS, 20), number("--queries", QUERIES_OF_EACH_KIND, 1));
    let home = tempfile::Builder::new().prefix("rejoin-recall-").tempdir()?;
    let program = file("--program").unwrap_or(Path::new(env!("CARGO_BIN_EXE_rejoin")));
    let agents = file("--agents").and_then(Path::to_str).unwrap_or_default();
    let agents: Vec<&str> = agents.split(',').filter(|agent| !agent.is_empty()).collect();
    let recall = figures::measure(program, home.path(), sessions, queries, SEED, &agents);
    print(&recall);
    if has("--missed") {
        recall.missed.iter().for_each(|missed| println!("{missed}"));
    }
    match (file("--check"), file("--keep")) {
        (Some(file), _) => check(&recall, file),
        (None, Some(file)) => fs::write(file, lines(&recall)),
        (None, None) => Ok(()),
    }
}

/// Returns names and figures of the kinds, of the agents, and of all queries.
fn all(recall: &Recall) -> Vec<(&'static str, Figures)> {
    let kinds = recall.by_kind.iter().map(|(kind, figures)| (kind.name(), *figures));
    let agents = recall.by_agent.iter().map(|(agent, figures)| (*agent, *figures));
    kinds.chain(agents).chain([("all", recall.all())]).collect()
}

fn print(recall: &Recall) {
    println!("| queries | number | mean reciprocal rank | first | in the first ten |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    for (name, figures) in all(recall) {
        let Figures { queries, first, in_ten, .. } = figures;
        println!("| {name} | {queries} | {:.2} | {first} | {in_ten} |", figures.mean());
    }
}

fn lines(recall: &Recall) -> String {
    let line = |(name, figures): &(&str, Figures)| {
        format!("{name}\t{:.3}\t{}\t{}\n", figures.mean(), figures.first, figures.in_ten)
    };
    all(recall).iter().map(line).collect()
}

/// Fails if a figure is lower than the stored one.
fn check(recall: &Recall, file: &Path) -> io::Result<()> {
    let kept = fs::read_to_string(file)?;
    let kept: BTreeMap<&str, Vec<f64>> = kept
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(name, figures)| (name, figures.split('\t').filter_map(|figure| figure.parse().ok()).collect()))
        .collect();
    let mut lower = Vec::new();
    for (name, figures) in all(recall) {
        let own = [figures.mean(), figures.first as f64, figures.in_ten as f64];
        // A mean is kept with three digits.
        let is_lower = |(own, kept): (&f64, &f64)| own + 0.0005 < *kept;
        if kept.get(name).is_none_or(|kept| kept.len() != own.len() || own.iter().zip(kept).any(is_lower)) {
            lower.push(name);
        }
    }
    let typos = recall.by_kind.get(&Kind::OneLetterWrong).copied().unwrap_or_default();
    if (typos.first as f64) < TYPOS_FIRST * typos.queries as f64 {
        lower.push("the first place of queries with one letter wrong");
    }
    if lower.is_empty() {
        return Ok(());
    }
    let kept = "if that is intended, `cargo bench --bench recall -- --keep .ci/recall.figures`";
    Err(io::Error::other(format!("lower than in {}: {}; {kept}", file.display(), lower.join(", "))))
}
