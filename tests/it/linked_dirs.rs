//! A project that moved, with a link in its old place: an agent sees only the new place.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::agent_rules;
use crate::agents::NEEDS_SQLITE;
use crate::contract::{DoctorReport, Severity};
use crate::fixtures::{Claude, Pi, Qwen, id};
use crate::ordinary;
use crate::world::World;

/// The agents that find a session only in the directory that it records. Measured: Gemini CLI 0.61.0,
/// Qwen Code 0.24.4, Qoder CLI 1.1.52, Kimi Code 2.1.0 and Command Code 1.64.0 do not find it through a link.
/// These continue: Claude Code 2.1.332, Codex 0.171.0, OpenCode 1.18.33, Copilot CLI 1.0.102, Vibe 3.0.2, gptme 0.35.1,
/// Kilo 7.7.9 and Grok 1.0.41.
const REFUSE_LINK: [&str; 7] = ["amplifier", "commandcode", "gemini", "kimi", "kimicode", "qoder", "qwen"];

/// Agents whose sessions are inside their directories, and one without sessions.
const HAS_DIR: [&str; 3] = ["aider", "crush", "leo"];

/// Moves a directory, and leaves a link in its old place. Returns the new place.
fn move_and_link(world: &World, old: &Path) -> PathBuf {
    let new = world.dir("moved").join("app");
    std::fs::rename(old, &new).expect("a move");
    symlink(&new, old).expect("a link");
    new
}

#[test]
fn resume_of_every_agent_refuses_misleading_link() {
    agent_rules::hold("a link to another directory does not mislead resume", agent_rules::GUIDE, |agent| {
        let world = World::with_agents();
        let old = world.dir("work/app");
        let can_be_read = cfg!(feature = "sqlite") || !NEEDS_SQLITE.contains(&agent);
        let dir = old.to_str().expect("UTF-8");
        if !can_be_read || HAS_DIR.contains(&agent) || !ordinary::write_in(agent, &world, dir) {
            return;
        }
        let session = world.rejoin(["list", "--json"]).sessions().remove(0);
        let resume = || world.rejoin(["resume", &session.id, "--print", "--trust"]);
        if session.launch_path() != Some(dir) || resume().exit() != Some(0) {
            assert!(!REFUSE_LINK.contains(&agent), "it cannot be resumed in its own directory: {}", resume().stderr());
            return;
        }
        let new = move_and_link(&world, &old);
        let resumed = resume();
        if resumed.exit() == Some(0) && !REFUSE_LINK.contains(&agent) {
            return;
        }
        let follow = format!("rejoin move {} {}", old.display(), new.display());
        let refusal = resumed.code(7).stderr().to_owned();
        assert!(refusal.contains(&format!("it leads to {}", new.display())) && refusal.contains(&follow), "{refusal}");
        world.rejoin(["move", dir, new.to_str().expect("UTF-8"), "--yes"]).code(0);
        let print = resume().code(0).stdout().to_owned();
        assert!(print.starts_with(&format!("cd {} && ", new.display())), "{print}");
    });
}

#[test]
fn doctor_and_detect_find_sessions_behind_a_link() {
    let world = World::with_agents();
    let old = world.dir("work/app");
    for n in [1, 2] {
        world.add(Qwen::session(id(n)).in_dir(&old).turn("x", "y"));
    }
    world.rejoin(["doctor", "--check", "linked-directory"]).code(0);
    let new = move_and_link(&world, &old);
    let report: DoctorReport = world.rejoin(["doctor", "--check", "linked-directory", "--json"]).code(4).json();
    let [finding] = report.findings.as_slice() else { panic!("{report:?}") };
    assert_eq!((finding.code.as_str(), finding.severity), ("linked-directory", Severity::Warning));
    let follow = format!("rejoin move {} {}", old.display(), new.display());
    assert_eq!(finding.remedies[0].command, follow);
    let proposed = world.rejoin(["move", "--detect"]).code(0).stdout().to_owned();
    assert!(proposed.contains(&format!("\"{}\" -> \"{}\"", old.display(), new.display())), "{proposed}");
    world.rejoin(follow.split(' ').skip(1).chain(["--yes"])).code(0);
    world.rejoin(["doctor", "--check", "linked-directory"]).code(0);
}

#[test]
fn agent_that_would_ask_gets_the_move_instead() {
    let world = World::with_agents();
    let old = world.dir("work/app");
    world.add(Pi::session(id(1)).in_dir(&old).turn("x", "y"));
    let new = move_and_link(&world, &old);
    let refusal = world.rejoin(["resume", &id(1), "--prompt", "go on"]).code(7).stderr().to_owned();
    let follow = format!("rejoin move {} {}", old.display(), new.display());
    assert!(refusal.contains("asks whether to copy it") && refusal.contains(&follow), "{refusal}");
}

#[test]
fn resume_starts_no_old_claude_code_behind_link() {
    let world = World::new();
    let old = world.dir("work/app");
    world.add(Claude::session(id(1)).in_dir(&old).turn("x", "y"));
    let new = move_and_link(&world, &old);
    let resume = || world.rejoin(["resume", &id(1), "--print"]);
    let follow = format!("rejoin move {} {}", old.display(), new.display());
    for (version, code, is_named) in [("2.1.197", 7, true), ("2.1.223", 0, false), ("2.1.332", 0, false)] {
        let _ = std::fs::remove_file(world.root().join("bin/claude"));
        world.install_npm("claude", "@anthropic-ai/claude-code", version, "exit 0");
        let resumed = resume().code(code);
        assert_eq!(resumed.stderr().contains(&follow), is_named, "{version}: {}", resumed.stderr());
    }
}

#[test]
fn directory_filter_finds_sessions_whose_directory_leads_there() {
    let world = World::with_agents();
    let (old, other) = (world.dir("work/app"), world.dir("work/app2"));
    world.add(Claude::session(id(1)).in_dir(&old).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&other).turn("x", "y"));
    let new = move_and_link(&world, &old);
    let below = world.dir("moved/app/src");
    let ids = |dir: &Path, args: &[&str]| {
        let sessions = world.from(dir).rejoin([&["list", "--json"], args].concat()).sessions();
        sessions.into_iter().map(|session| session.id).collect::<Vec<_>>()
    };
    for dir in [&old, &new] {
        assert_eq!(ids(dir, &["--here"]), [id(1)], "{}", dir.display());
        assert_eq!(ids(&other, &["--dir", dir.to_str().expect("UTF-8")]), [id(1)], "{}", dir.display());
        let print = world.from(dir).rejoin(["resume", ".", "--print"]).code(0).stdout().to_owned();
        assert!(print.contains(&id(1)), "{print}");
    }
    assert!(ids(&below, &["--here"]).is_empty(), "sessions of a parent directory do not match");
}
