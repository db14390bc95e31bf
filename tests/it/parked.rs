//! Transcripts that other programs renamed or moved, such as conflict copies: `doctor` names each with its session, and the
//! command that brings the session back.

use std::path::{Path, PathBuf};

use crate::agent_rules;
use crate::contract::{DoctorReport, Finding, Severity};
use crate::fixtures::{Claude, Pi, age_tree, id, put};
use crate::ordinary;
use crate::world::World;

/// A directory that exists on every machine.
const APP: &str = "/usr/bin";

/// Returns the findings of a check.
#[track_caller]
fn found(world: &World, code: &str) -> Vec<Finding> {
    world.rejoin(["doctor", "--check", code, "--json"]).json::<DoctorReport>().findings
}

#[track_caller]
fn found_one(world: &World, code: &str) -> Finding {
    let findings = found(world, code);
    let [finding] = <[Finding; 1]>::try_from(findings).unwrap_or_else(|found| panic!("{code}: {found:?}"));
    finding
}

/// Returns the path of a transcript under a name of another program, which may be in another directory.
fn renamed(transcript: &Path, name: &str) -> PathBuf {
    let stem = transcript.file_stem().and_then(|stem| stem.to_str()).expect("a name");
    transcript.with_file_name(name.replace("ID", stem))
}

#[track_caller]
fn rename(transcript: &Path, name: &str) -> PathBuf {
    let parked = renamed(transcript, name);
    std::fs::create_dir_all(parked.parent().expect("a directory")).expect("a directory");
    std::fs::rename(transcript, &parked).expect("a new name");
    parked
}

/// The names that other programs give to `ID.jsonl`.
const NAMES: [&str; 7] = [
    "ID.sync-conflict-20260201-101500-ABCDEFG.jsonl",
    "ID (ana's conflicted copy 2026-02-01).jsonl",
    "ID.jsonl.conflict.20260201-101500",
    "ID.jsonl.bak",
    "ID copy.jsonl",
    "backup/ID.jsonl",
    "backup/of/ID.jsonl",
];

#[test]
fn doctor_restores_renamed_transcript_with_its_side_files() {
    for name in NAMES {
        let world = World::new();
        let path = world.add(Claude::session(id(1)).in_dir(APP).turn("x", "y").side_file("tool-results/1.txt", "long"));
        let parked = rename(&path, name);
        age_tree(&world.home());
        for args in [["show", "00000001"], ["resume", &id(1)]] {
            let error = world.rejoin(args).code(1).stderr();
            assert!(error.contains(parked.to_str().expect("a path")), "{name}: {error}");
            assert!(error.contains("doctor --check unread-file`"), "{name}: {error}");
        }
        let (unread, orphan) = (found_one(&world, "unread-file"), found_one(&world, "orphan-belongings"));
        for finding in [&unread, &orphan] {
            assert_eq!((finding.severity, finding.repair.is_none()), (Severity::Warning, true), "{name}: {finding:?}");
            assert!(finding.evidence.contains(parked.to_str().expect("a path")), "{name}: {}", finding.evidence);
            assert!(finding.evidence.contains(&id(1)), "{name}: {}", finding.evidence);
            assert!(!finding.evidence.contains("gone"), "{name}: {}", finding.evidence);
        }
        assert_eq!(unread.remedy, orphan.remedy, "{name}");
        world.rejoin(["doctor", "--fix", "--yes"]);
        assert!(path.with_extension("").join("tool-results/1.txt").is_file(), "{name}");
        let command = unread.remedy;
        world.from("/").run("sh", ["-c", &command]).code(0);
        assert_eq!(world.rejoin(["list", "--json"]).code(0).sessions()[0].id, id(1), "{command}");
        for code in ["unread-file", "orphan-belongings"] {
            assert!(found(&world, code).is_empty(), "{command}");
        }
    }
}

#[test]
fn doctor_keeps_side_files_next_to_compressed_transcript() {
    for name in ["ID.jsonl.gz", "a/b/c/d/e/ID.jsonl", "ID.zip"] {
        let world = World::new();
        let path = world.add(Claude::session(id(1)).in_dir(APP).turn("x", "y").side_file("tool-results/1.txt", "long"));
        let parked = rename(&path, name);
        put(&parked, b"\x1f\x8b\x08\0\0");
        age_tree(&world.home());
        let finding = found_one(&world, "orphan-belongings");
        assert!(finding.evidence.contains(parked.to_str().expect("a path")), "{}", finding.evidence);
        assert_eq!((finding.repair.is_none(), finding.remedy), (true, format!("ls -l {}", parked.display())));
        world.rejoin(["doctor", "--fix", "--yes"]);
        assert!(path.with_extension("").is_dir(), "{name}");
    }
}

/// Tests that a transcript with a name of another program is read or restored, for all agents that name transcripts after
/// UUIDs.
#[test]
fn doctor_restores_renamed_log_of_every_agent() {
    let mut agents = Vec::new();
    agent_rules::hold("a renamed log is read, or `doctor` restores it", agent_rules::GUIDE, |agent| {
        for name in NAMES {
            let world = World::new();
            if !ordinary::write(agent, &world) {
                return;
            }
            let listed = |world: &World| {
                let sessions = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
                sessions.into_iter().filter(|session| session.agent.to_string() == agent).collect::<Vec<_>>()
            };
            let Some(own) = listed(&world).pop() else { return };
            let path = Path::new(&own.copies[0].path);
            let is_named = path.file_name().is_some_and(|name| name.to_string_lossy().contains(&own.id));
            if path.extension().is_none_or(|extension| extension != "jsonl") || !is_named || own.id.len() != 36 {
                return;
            }
            rename(path, name);
            let read: Vec<String> = listed(&world).into_iter().map(|session| session.id).collect();
            assert!(read.iter().all(|id| *id == own.id), "{name}: {read:?}");
            if read.is_empty() {
                let finding = found_one(&world, "unread-file");
                assert_eq!(finding.sessions[0].id, own.id, "{name}");
                let command = finding.remedy;
                world.from("/").run("sh", ["-c", &command]).code(0);
                assert_eq!(listed(&world).pop().map(|session| session.id), Some(own.id), "{command}");
                agents.push(agent);
            }
        }
    });
    agents.dedup();
    assert!(agents.len() > 5 || !agent_rules::are_all_chosen(), "{agents:?}");
}

#[test]
fn doctor_counts_messages_of_conflict_copy() {
    for (name, turns, severity) in
        [(NAMES[0], 3, Severity::Warning), (NAMES[2], 3, Severity::Warning), (NAMES[1], 1, Severity::Note)]
    {
        let world = World::new();
        let session = |turns| (0..turns).fold(Claude::session(id(1)).in_dir(APP), |log, _| log.turn("x", "y"));
        let path = world.add(session(turns));
        let parked = rename(&path, name);
        world.add(session(2));
        let finding = found_one(&world, "unread-file");
        assert_eq!((finding.severity, finding.sessions[0].id.as_str()), (severity, id(1).as_str()), "{name}");
        let counts =
            format!("has {} messages of the claude session {}. The session itself has 4 messages", turns * 2, id(1));
        assert!(finding.evidence.contains(&counts), "{name}: {}", finding.evidence);
        let command = finding.remedy;
        let printed = world.from("/").run("sh", ["-c", &command]).code(1).stdout();
        assert!(
            printed.starts_with(['<', '>', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']),
            "{command}: {printed}"
        );
        assert!(parked.is_file() && path.is_file());
    }
}

#[test]
fn doctor_finds_transcripts_outside_their_projects() {
    let world = World::new();
    let path = world.add(Claude::session(id(1)).in_dir(APP).turn("nested", "y"));
    let project = path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).expect("a name");
    let nested = rename(&path, &format!("{project}/ID.jsonl"));
    world.add(Pi::session(id(2)).in_dir(APP).turn("in its place", "y"));
    let path = world.add(Pi::session(id(3)).in_dir(APP).turn("astray", "y"));
    let name = path.file_name().expect("a name");
    let astray = world.home().join(".pi/agent").join(name);
    std::fs::rename(&path, &astray).expect("a new place");
    let findings = found(&world, "unread-file");
    let paths: Vec<&Path> = findings.iter().flat_map(|finding| &finding.paths).map(|it| Path::new(&it.path)).collect();
    assert_eq!(paths, [&*nested, &*astray]);
    for finding in findings {
        world.from("/").run("sh", ["-c", &finding.remedy]).code(0);
    }
    let sessions = world.rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!(sessions.len(), 3);
    assert!(found(&world, "unread-file").is_empty());
}

#[test]
fn doctor_restores_nothing_over_existing_transcript() {
    let world = World::new();
    let path = world.add(Claude::session(id(1)).in_dir(APP).turn("x", "y"));
    rename(&path, "ID.jsonl.bak");
    std::fs::create_dir(&path).expect("a directory with the name of the transcript");
    let finding = found_one(&world, "unread-file");
    assert!(finding.remedies.iter().all(|remedy| remedy.command.starts_with("ls -l ")), "{:?}", finding.remedies);
}

#[test]
fn cleanup_keeps_sub_agents_of_renamed_transcript() {
    for name in [NAMES[0], NAMES[3], NAMES[5]] {
        let world = World::new();
        let path = world.add(Claude::session(id(1)).in_dir(APP).turn("x", "y").subagent("agent-a1", "look", "ok"));
        rename(&path, name);
        let subagent = path.with_extension("").join("subagents/agent-a1.jsonl");
        for age in [["--older-than", "1d"], ["--keep-last", "0"]] {
            world.rejoin(["cleanup", "--allow-all", "--yes"].into_iter().chain(age)).code(0);
            assert!(subagent.is_file(), "{name} {age:?}");
        }
    }
}

#[test]
fn show_of_other_agent_blames_no_transcript() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("x", "y"));
    for args in [&["show", "--agent", "codex", "00000001"][..], &["show", "codex:00000001"], &["show", "0000000a"]] {
        let error = world.rejoin(args).code(5).stderr();
        assert!(!error.contains("another name"), "{args:?}: {error}");
    }
}
