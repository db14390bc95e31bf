//! Data of real clients is listed with the known facts.
//!
//! The data belongs to others and is next to the checkout, if it exists; without it these tests print that they are
//! skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::agents::NEEDS_SQLITE;
use crate::contract::{Kind, Session, names};
use crate::world::World;

/// Returns the folder of a client's data, if it exists.
pub(crate) fn corpus(agent: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus").join(agent);
    folder.join("facts.jsonl").is_file().then_some(folder)
}

/// Returns the agents with data of their clients, each with its folder, and prints those left out.
#[expect(clippy::disallowed_macros, reason = "a test run reports what it skipped")]
pub(crate) fn corpora() -> Vec<(&'static str, PathBuf)> {
    // Aider's histories are in projects, and its ids are paths: aider.rs has its facts.
    let in_stores = names().iter().filter(|name| **name != "aider");
    let (with, without): (Vec<_>, Vec<_>) =
        in_stores.map(|name| (*name, corpus(name))).partition(|(_, folder)| folder.is_some());
    for (agent, _) in without {
        println!("skipped: there is no ../shared/corpus/{agent} beside the checkout");
    }
    with.into_iter().filter_map(|(agent, folder)| Some((agent, folder?))).collect()
}

/// Copies a tree, links as links.
pub(crate) fn copy_tree(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.expect("an entry");
        let target = to.join(entry.path().strip_prefix(from).expect("a path below"));
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(target).expect("a directory");
        } else if entry.file_type().is_symlink() {
            let link = std::fs::read_link(entry.path()).expect("a link");
            std::os::unix::fs::symlink(link, target).expect("a link");
        } else {
            std::fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// Returns the stems of all files and the names of all directories below a home.
fn names_below(home: &Path) -> BTreeSet<String> {
    let entries = walkdir::WalkDir::new(home).into_iter().filter_map(Result::ok);
    entries.filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned())).collect()
}

fn as_json(session: &Session, key: &str) -> Value {
    let text = |text: Option<&str>| text.map_or(Value::Null, Value::from);
    match key {
        "kind" => format!("{:?}", session.kind).to_lowercase().into(),
        "start_dir" => text(session.start_dir.as_deref()),
        "last_dir" => text(session.last_dir.as_deref()),
        "launch_dir" => text(session.launch_path()),
        "git_branch" => text(session.git_branch.as_deref()),
        "title" => text(session.title.as_deref()),
        "first_prompt" => text(session.first_prompt.as_deref()),
        "prompts" => session.prompts.map_or(Value::Null, Value::from),
        "replies" => session.replies.map_or(Value::Null, Value::from),
        "parent_id" => text(session.parent_id.as_deref()),
        "copies" => session.copies.len().into(),
        _ => panic!("no fact {key}"),
    }
}

const KEYS: &[&str] = &[
    "kind",
    "start_dir",
    "last_dir",
    "launch_dir",
    "git_branch",
    "title",
    "first_prompt",
    "prompts",
    "replies",
    "parent_id",
    "copies",
];

#[expect(clippy::disallowed_macros, reason = "whoever runs the tests should know that this one did nothing")]
fn the_facts_hold(agent: &str) {
    let Some(folder) = corpus(agent) else {
        println!("skipped: there is no ../shared/corpus/{agent} beside the checkout");
        return;
    };
    let world = World::new();
    copy_tree(&folder.join("home"), &world.home());
    let sessions = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions();
    let mut by_id: BTreeMap<&str, Vec<&Session>> = BTreeMap::new();
    sessions.iter().for_each(|session| by_id.entry(&session.id).or_default().push(session));

    let facts = std::fs::read_to_string(folder.join("facts.jsonl")).expect("facts");
    let facts: Vec<Value> = facts.lines().map(|line| serde_json::from_str(line).expect("a fact")).collect();
    assert!(!facts.is_empty());
    let on_disk = names_below(&world.home());
    let mut faults = Vec::new();
    for fact in &facts {
        let id = fact["id"].as_str().expect("an id");
        match by_id.get(id).map(Vec::as_slice) {
            Some([session]) => {
                for key in KEYS.iter().filter(|key| fact.get(**key).is_some()) {
                    let (expected, found) = (&fact[key], as_json(session, key));
                    if *expected != found {
                        faults.push(format!("{id} {key}: expected {expected}, found {found}"));
                    }
                }
            }
            Some(several) => faults.push(format!("{id} is listed {} times", several.len())),
            // The facts also include sub-agents whose file was not kept.
            None if fact["kind"] == "subagent" && !on_disk.contains(id) => {}
            None => faults.push(format!("{id} is missing")),
        }
    }
    let known: BTreeSet<&str> = facts.iter().filter_map(|fact| fact["id"].as_str()).collect();
    let extra = sessions.iter().filter(|session| matches!(session.kind, Kind::Main | Kind::Fork | Kind::Exec));
    let extra = extra.filter(|session| !known.contains(session.id.as_str()));
    faults.extend(extra.map(|session| format!("{} is in no fact", session.id)));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn real_sessions_match_recorded_facts() {
    std::thread::scope(|scope| {
        for (agent, _) in corpora() {
            if cfg!(feature = "sqlite") || !NEEDS_SQLITE.contains(&agent) {
                scope.spawn(|| the_facts_hold(agent));
            }
        }
    });
}

#[test]
fn real_sessions_of_old_codex_match_recorded_facts() {
    the_facts_hold("codex-old");
}
