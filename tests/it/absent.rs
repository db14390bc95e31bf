//! Missing agents cause few system calls, and a broken store hides no sessions of others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::agents::NEEDS_SQLITE;
use crate::fixtures::{Claude, id, put};
use crate::ordinary;
use crate::world::{World, is_tried, stride};

/// Maximum system calls that may name files of a missing agent.
const MOST_CALLS: usize = 3;

fn names() -> Vec<&'static str> {
    let left_out = |name: &&str| {
        // Sessions of these agents are in the directories of other sessions, not in a separate store.
        ["aider", "leo"].contains(name) || (!cfg!(feature = "sqlite") && NEEDS_SQLITE.contains(name))
    };
    crate::contract::names().iter().copied().filter(|name| !left_out(name)).collect()
}

#[test]
#[expect(clippy::disallowed_macros, reason = "a test run reports what it skipped")]
fn missing_agent_costs_at_most_three_system_calls() {
    let probe = std::process::Command::new("strace").args(["-qq", "-e", "trace=%file", "true"]).output();
    if !probe.is_ok_and(|answer| answer.status.success()) {
        println!("skipped: there is no strace that works here");
        return;
    }
    let one = World::new();
    one.add(Claude::session(id(1)).in_dir("/usr/bin").turn("x", "y"));
    assert_cheap(&one, 1);
    assert_cheap(&World::new(), 0);
}

/// Asserts that a listing of `sessions` sessions makes few system calls for each agent except Claude Code.
fn assert_cheap(world: &World, sessions: usize) {
    let log = world.root().join("strace.log");
    let fixed = ["-f", "-qq", "-s", "4096", "-e", "trace=%file,fstat,newfstatat", "-o", log.to_str().expect("a path")];
    let list = [env!("CARGO_BIN_EXE_rejoin"), "list", "--json"];
    let listed = world.from(world.root()).run("strace", fixed.iter().chain(&list)).code(0).sessions();
    assert_eq!(listed.len(), sessions);
    let log = std::fs::read_to_string(&log).expect("a log");
    let home = format!("\"{}/", world.home().display());
    let mut calls: BTreeMap<PathBuf, Vec<&str>> = BTreeMap::new();
    for line in log.lines() {
        let Some((_, rest)) = line.split_once(&home) else { continue };
        // Links are read only while a remote file system is mounted, possibly by another test.
        if line.contains("readlink") {
            continue;
        }
        let path = Path::new(rest.split('"').next().unwrap_or_default());
        // Several agents share a parent directory.
        let depth = if path.starts_with(".local") { 3 } else { 1 };
        calls.entry(path.components().take(depth).collect()).or_default().push(line);
    }
    let own = [".claude", ".local/state/rejoin", ".local/share/rejoin", ".config"].map(PathBuf::from);
    calls.retain(|path, _| !own.contains(path));
    assert!(calls.len() > names().len() / 2, "{:?}", calls.keys());
    for (path, lines) in calls {
        assert!(lines.len() <= MOST_CALLS, "{}:\n{}", path.display(), lines.join("\n"));
    }
}

/// Lists every session with its agent.
fn listed(world: &World) -> BTreeSet<(String, String)> {
    let list: serde_json::Value = world.rejoin(["list", "--all", "--json"]).code(0).json();
    let sessions = list["sessions"].as_array().expect("sessions");
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    sessions.iter().map(|session| (text(&session["agent"]), text(&session["id"]))).collect()
}

#[test]
fn broken_store_hides_no_other_agent() {
    let world = World::new();
    for name in names() {
        assert!(ordinary::write(name, &world), "{name}");
    }
    let all = listed(&world);
    let agents: serde_json::Value = world.rejoin(["agents", "--json"]).code(0).json();
    let stores = agents["stores"].as_array().expect("stores").iter().map(|store| {
        let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
        (text(&store["agent"]), PathBuf::from(text(&store["root"]["path"])))
    });
    let stores: Vec<(String, PathBuf)> = stores.collect();
    let mut broken = 0;
    for (number, (agent, root)) in stores.iter().enumerate() {
        let aside = world.root().join("aside");
        if !root.exists() {
            continue;
        }
        // Antigravity CLI keeps its sessions below the directory of Gemini CLI.
        let is_inside = |of: &str| stores.iter().any(|(other, path)| other == of && path.starts_with(root));
        let others: BTreeSet<_> = all.iter().filter(|(of, _)| of != agent && !is_inside(of)).cloned().collect();
        assert!(others.len() < all.len(), "{agent} has a session");
        std::fs::rename(root, &aside).expect("a store less");
        for (at, how) in ["a file", "a link to itself", "garbage"].into_iter().enumerate() {
            if !is_tried(number + at, 2) {
                continue;
            }
            match how {
                "a file" => put(root, "not a directory"),
                "a link to itself" => std::os::unix::fs::symlink(root, root).expect("a link"),
                _ => {
                    crate::facts::copy_tree(&aside, root);
                    let files = walkdir::WalkDir::new(root).into_iter().map(|entry| entry.expect("an entry"));
                    for file in files.filter(|entry| entry.file_type().is_file()) {
                        std::fs::write(file.path(), b"\0\xff{\"garbage\n").expect("garbage");
                    }
                }
            }
            let left = listed(&world);
            assert!(left.is_superset(&others), "{agent} is {how}: {:?} is missing", others.difference(&left));
            if root.symlink_metadata().expect("a store").is_dir() {
                std::fs::remove_dir_all(root).expect("no store")
            } else {
                std::fs::remove_file(root).expect("no store")
            }
            broken += 1;
        }
        std::fs::rename(&aside, root).expect("a store");
    }
    assert_eq!(listed(&world), all);
    assert!(stride(2) * (broken + 1) >= 3 * names().len(), "{broken}");
}
