//! Records that name a missing parent: every command counts the messages that a resume sends, and `doctor --fix` joins
//! the chain.

use std::collections::BTreeSet;
use std::path::PathBuf;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::agent_rules;
use crate::agents::ONLY_READ;
use crate::contract::changes::DoctorFix;
use crate::contract::{Details, DoctorReport, Finding, Severity};
use crate::fixtures::{age_tree, id, lines, put};
use crate::picture::picture_of_stores;
use crate::world::World;

/// The launch directory of the sessions.
const DIR: &str = "/usr/bin";

/// Agents whose records name their parents, with the file of a session.
const TREES: &[(&str, &str)] = &[
    ("claude", ".claude/projects/-usr-bin/ID.jsonl"),
    ("commandcode", ".commandcode/projects/usr-bin/ID.jsonl"),
    ("omp", ".omp/agent/sessions/-usr-bin/2026-02-01T10-00-00-000Z_ID.jsonl"),
    ("pi", ".pi/agent/sessions/--usr-bin--/2026-02-01T10-00-00-000Z_ID.jsonl"),
    ("prime", ".prime/agent/sessions/ID.jsonl"),
    ("qoder", ".qoder/projects/-usr-bin/ID.jsonl"),
    ("qwen", ".qwen/projects/-usr-bin/chats/ID.jsonl"),
];

/// Agents whose resume does not follow parents: they read a log or a list in its order, or rows, or turns that a record
/// rolls back. Copilot CLI records parents, but is not known to follow them.
const IN_ORDER: &[&str] = &[
    "aider",
    "amp",
    "amplifier",
    "antigravity",
    "auggie",
    "cline",
    "codex",
    "continue",
    "copilot",
    "crush",
    "cursor",
    "devin",
    "droid",
    "gemini",
    "goose",
    "gptme",
    "grok",
    "hermes",
    "jido",
    "kilo",
    "kimi",
    "kimicode",
    "kiro",
    "leo",
    "letta",
    "nanocoder",
    "opencode",
    "openhands",
    "roo",
    "vibe",
];

/// The parent of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Parent {
    Root,
    Missing,
    /// The message that is this number of places before.
    Before(usize),
}

/// Writes a session with these messages. The first one is a prompt.
fn write(world: &World, agent: &str, parents: &[Parent]) -> PathBuf {
    let (_, path) = TREES.iter().find(|(name, _)| *name == agent).expect("an agent with a tree");
    let record = |(n, parent): (usize, &Parent)| {
        let parent = match parent {
            Parent::Root => Value::Null,
            Parent::Missing => json!(format!("gone{n}")),
            Parent::Before(places) => n.checked_sub(*places).map_or(Value::Null, |n| json!(format!("m{n}"))),
        };
        let (own, at, text) = (format!("m{n}"), format!("2026-02-01T10:{n:02}:00.000Z"), format!("text {n} ends"));
        let parts = json!([{"type": "text", "text": text}]);
        let role = if n % 2 == 0 { "user" } else { "assistant" };
        match agent {
            "claude" | "qoder" => json!({
                "parentUuid": parent, "isSidechain": false, "type": role, "uuid": own, "timestamp": at, "cwd": DIR,
                "message": {"role": role, "id": own, "content": parts}, "sessionId": id(1), "version": "2.1.332",
            }),
            "qwen" => json!({
                "uuid": own, "parentUuid": parent, "sessionId": id(1), "timestamp": at, "type": role, "cwd": DIR,
                "version": "0.24.4", "message": {"role": role, "parts": [{"text": text}]},
            }),
            _ => json!({
                "type": "message", "id": own, "parentId": parent, "timestamp": at,
                "message": {"role": role, "content": parts, "meta": {"source": "user"}},
            }),
        }
    };
    let header =
        json!({"type": "session", "version": 3, "id": id(1), "timestamp": "2026-02-01T10:00:00.000Z", "cwd": DIR});
    let has_header = is_headed(agent);
    let records: Vec<Value> =
        has_header.then_some(header).into_iter().chain(parents.iter().enumerate().map(record)).collect();
    let path = world.home().join(path.replace("ID", &id(1)));
    put(&path, lines(&records));
    age_tree(&world.home());
    path
}

/// Follows the parents from the last message; `joins` follows the message before one whose parent is missing.
fn chain(parents: &[Parent], joins: bool) -> BTreeSet<usize> {
    let (mut chain, mut next) = (BTreeSet::new(), parents.len().checked_sub(1));
    while let Some(at) = next {
        chain.insert(at);
        next = match parents[at] {
            Parent::Root => None,
            Parent::Missing => at.checked_sub(1).filter(|_| joins),
            Parent::Before(places) => at.checked_sub(places),
        };
    }
    chain
}

fn details(world: &World, args: &[&str]) -> Details {
    world.rejoin(["show", &id(1), "--json"].iter().chain(args)).code(0).json()
}

/// Returns the messages in an answer, by their numbers.
fn numbers(details: Details) -> BTreeSet<usize> {
    let number = |text: &str| text.split(' ').nth(1).and_then(|number| number.parse().ok());
    let messages = details.messages.expect("messages");
    messages.iter().map(|message| number(&message.text).expect("a number")).collect()
}

fn shown(world: &World, args: &[&str]) -> BTreeSet<usize> {
    numbers(details(world, args))
}

fn exported(world: &World) -> Details {
    world.rejoin(["export", &id(1), "--json"]).code(0).json()
}

fn findings(world: &World) -> Vec<Finding> {
    let args = ["doctor", "--check", "broken-chain", "--check", "other-branches", "--json"];
    let report: DoctorReport = world.rejoin(args).code_is_one_of(&[0, 4]).json();
    report.findings
}

#[test]
fn every_agent_declares_whether_records_have_parents() {
    let known: BTreeSet<&str> = TREES.iter().map(|(name, _)| *name).chain(IN_ORDER.iter().copied()).collect();
    agent_rules::hold("it is known whether its resume follows parents", "tests/it/broken_chain.rs", |agent| {
        assert!(known.contains(agent), "add it to IN_ORDER, or its records to TREES");
    });
}

#[test]
fn doctor_joins_broken_chain_of_every_agent() {
    use Parent::{Before, Missing, Root};
    let parents = [Root, Before(1), Missing, Before(1), Before(2), Missing, Before(1)];
    for (agent, _) in TREES.iter().copied() {
        let world = World::new();
        let path = write(&world, agent, &parents);
        let before = picture_of_stores(&world.home());
        let [broken, ..] = &findings(&world)[..] else { panic!("{agent}: no finding") };
        assert_eq!(broken.code, "broken-chain", "{agent}");
        let expected = (Severity::Warning, "4 of 6 messages cut off");
        assert_eq!((broken.severity, broken.measured.as_str()), expected, "{agent}");
        let lines: Vec<String> = [3, 6].iter().map(|line| (line + usize::from(is_headed(agent))).to_string()).collect();
        assert!(broken.evidence.contains(&format!("in lines {}", lines.join(", "))), "{}", broken.evidence);
        let warned = world.rejoin(["resume", &id(1), "--print"]).stderr();
        assert!(warned.contains("a resume sends 2 of its 6 messages"), "{agent}: {warned}");
        let bad = world.rejoin(["doctor", "--check", "bad-lines"]).code(0).stdout();
        assert!(!bad.contains(&id(1)), "{agent}: {bad}");
        if ONLY_READ.contains(&agent) {
            assert!(broken.evidence.ends_with("so rejoin only reads its sessions."), "{}", broken.evidence);
            world.rejoin(["doctor", "--fix", "--check", "broken-chain"]).code(4);
            assert!(before == picture_of_stores(&world.home()), "{agent}");
            continue;
        }
        let fix: DoctorFix = world.rejoin(["doctor", "--fix", "--check", "broken-chain", "--json"]).code(0).json();
        assert_eq!(fix.items.len(), 1, "{agent}");
        assert_eq!(shown(&world, &["-t"]), chain(&parents, true), "{agent}");
        let text = std::fs::read_to_string(&path).expect("a transcript");
        assert!(!text.contains("gone"), "{text}");
        assert!(findings(&world).iter().all(|finding| finding.code != "broken-chain"), "{agent}");
        world.rejoin(["undo"]).code(0);
        assert!(before == picture_of_stores(&world.home()), "{agent}");
    }
}

fn is_headed(agent: &str) -> bool {
    ["commandcode", "omp", "pi", "prime"].contains(&agent)
}

#[test]
fn record_longer_than_8_mib_can_be_parent() {
    use Parent::{Before, Missing, Root};
    let world = World::new();
    let path = write(&world, "claude", &[Root, Before(1), Missing, Before(1)]);
    let text = std::fs::read_to_string(&path).expect("a transcript");
    let (start, end) = text.split_at(text.match_indices('\n').nth(1).expect("a line").0 + 1);
    let long = json!({"uuid": "gone2", "parentUuid": "m1", "type": "attachment", "data": "x".repeat(9 << 20)});
    put(&path, format!("{start}{long}\n{end}"));
    let messages = details(&world, &["-t"]).messages.expect("messages");
    assert_eq!(messages.iter().filter(|message| message.text.starts_with("text ")).count(), 4);
}

#[test]
fn qoder_joins_records_of_nearly_the_same_time() {
    use Parent::{Before, Missing, Root};
    for (agent, expected) in [("qoder", 4), ("claude", 2)] {
        let world = World::new();
        let path = write(&world, agent, &[Root, Before(1), Missing, Before(1)]);
        let text = std::fs::read_to_string(&path).expect("a transcript");
        let text =
            (0..4).fold(text, |text, n| text.replace(&format!("T10:{n:02}:00"), &format!("T10:00:{:02}", 4 * n)));
        put(&path, text);
        assert_eq!(shown(&world, &["-t"]).len(), expected, "{agent}");
    }
}

#[test]
fn compaction_with_missing_logical_parent_is_not_broken() {
    let world = World::new();
    let path = write(&world, "claude", &[Parent::Root, Parent::Before(1), Parent::Root, Parent::Before(1)]);
    let text = std::fs::read_to_string(&path).expect("a transcript");
    let line = text.lines().nth(2).expect("a line");
    let boundary = line.replace("\"parentUuid\":null", "\"parentUuid\":null,\"logicalParentUuid\":\"gone\"");
    put(&path, text.replace(line, &boundary));
    assert_eq!(shown(&world, &["-t"]).len(), 4);
    assert!(findings(&world).is_empty());
}

#[test]
fn all_commands_agree_on_the_active_branch() {
    let default = Config::default();
    let mut runner = TestRunner::new(Config { cases: default.cases / 8, failure_persistence: None, ..default });
    let parent = prop_oneof![
        1 => Just(Parent::Root),
        2 => Just(Parent::Missing),
        6 => Just(Parent::Before(1)),
        3 => (2..6_usize).prop_map(Parent::Before),
    ];
    let forests = (prop::collection::vec(parent, 2..24), 0..TREES.len());
    let outcome = runner.run(&forests, |(mut parents, agent)| {
        // Without parents, the records are in the order of the file.
        parents[0] = Parent::Root;
        parents[1] = Parent::Before(1);
        for (at, parent) in parents.iter_mut().enumerate() {
            if matches!(parent, Parent::Before(places) if *places > at) {
                *parent = Parent::Root;
            }
        }
        let (agent, _) = TREES[agent];
        let world = World::new();
        write(&world, agent, &parents);
        let (active, joined) = (chain(&parents, false), chain(&parents, true));
        prop_assert_eq!(&shown(&world, &["-t"]), &active);
        prop_assert_eq!(&numbers(exported(&world)), &active);
        prop_assert_eq!(shown(&world, &["-t", "--all-branches"]).len(), parents.len());
        let details = details(&world, &["--branches", "--counts"]);
        let counted = details.session.prompts.zip(details.session.replies).map(|(prompts, replies)| prompts + replies);
        prop_assert_eq!(counted, Some(active.len() as u64));
        let branches = details.branches.expect("branches");
        let sum = |is_counted: fn(&crate::contract::Branch) -> bool| {
            branches.iter().filter(|branch| is_counted(branch)).map(|branch| branch.messages).sum::<u64>()
        };
        let (cut_off, others) = (joined.len() - active.len(), parents.len() - joined.len());
        prop_assert_eq!(sum(|branch| branch.active), active.len() as u64);
        prop_assert_eq!(sum(|branch| branch.cut_off), cut_off as u64);
        prop_assert_eq!(sum(|branch| !branch.active && !branch.cut_off), others as u64);
        let measured = |code: &str| {
            let found = findings(&world).into_iter().find(|finding| finding.code == code);
            found.and_then(|finding| finding.measured.split(' ').next().map(str::to_owned)).unwrap_or_default()
        };
        if cut_off > 0 {
            prop_assert_eq!(measured("broken-chain"), cut_off.to_string());
            let start = format!("{cut_off} more ");
            prop_assert!(details.notes.iter().any(|note| note.starts_with(&start)));
        }
        prop_assert_eq!(measured("other-branches"), if others > 0 { others.to_string() } else { String::new() });
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
