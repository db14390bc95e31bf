//! Commands that only read leave every byte, mode and time unchanged.

use std::path::Path;

use crate::fixtures::id;
use crate::picture::picture;
use crate::sample;
use crate::world::{World, stride};

/// Returns the commands that only read one session.
pub(crate) fn commands_on(session: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["show", session],
        vec!["show", session, "--messages", "3", "--format", "ndjson"],
        vec!["show", session, "--transcript"],
        vec!["show", session, "--transcript", "--json"],
        vec!["resume", session, "--print"],
        vec!["resume", session, "--json"],
        vec!["show", "--path", session],
        vec!["export", session],
        vec!["export", session, "--format", "html"],
        vec!["export", session, "--json"],
        vec!["rename", session, "title", "--dry-run"],
        vec!["delete", session, "--dry-run"],
    ]
}

/// Returns the commands that only read all sessions.
pub(crate) fn commands_on_all() -> Vec<Vec<&'static str>> {
    let in_format = |format| {
        [
            vec!["list", "--format", format],
            vec!["list", "--all", "--counts", "--format", format],
            vec!["list", "--group", "project", "--wide", "--format", format],
            vec!["agents", "--format", format],
            vec!["show", "latest", "--format", format],
            vec!["backfill", "--every", "--dry-run", "--format", format],
            vec!["doctor", "--deep", "--format", format],
            vec!["doctor", "--list-checks", "--format", format],
            vec!["undo", "--list", "--format", format],
            vec!["undo", "--purge", "--every", "--dry-run", "--format", format],
            vec!["list", "--archived", "--format", format],
            vec!["search", "e", "--all", "--format", format],
            vec!["search", "e", "--archived", "--format", format],
            vec!["archive", "--verify", "--format", format],
            vec!["config", "--format", format],
            vec!["stats", "--format", format],
            vec!["pin", "--list", "--format", format],
            vec!["cleanup", "--dry-run", "--format", format],
            vec!["doctor", "--fix", "--dry-run", "--format", format],
            vec!["undo", "--dry-run", "--format", format],
            vec!["archive", "--every", "--dry-run", "--format", format],
        ]
    };
    ["table", "csv", "json", "ndjson"].into_iter().flat_map(in_format).collect()
}

pub(crate) fn helpful_commands() -> Vec<Vec<&'static str>> {
    vec![
        vec!["help"],
        vec!["help", "list"],
        vec!["help", "exit-codes"],
        vec!["help", "marks"],
        vec!["help", "words"],
        vec!["help", "options"],
        vec!["help", "config"],
        vec!["help", "sessions"],
        vec!["help", "filters"],
        vec!["list", "words"],
        vec!["--version"],
        vec!["completions", "bash"],
    ]
}

#[test]
fn reading_commands_change_nothing_in_full_home() {
    let world = World::with_agents();
    let count = sample::fill(&world);
    let before = picture(world.root());
    let listed = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
    assert_eq!(listed.len(), count, "{:?}", listed.iter().map(|session| &session.id).collect::<Vec<_>>());
    for (at, session) in listed.iter().enumerate() {
        for args in commands_on(&session.id).into_iter().skip(at % stride(6)).step_by(stride(6)) {
            world.rejoin(&args);
        }
    }
    for args in commands_on_all() {
        world.rejoin(&args);
    }
    let pointer = world.root().join("work/leo");
    for args in [["show", pointer.to_str().expect("a path")], ["show", "latest"], ["show", &id(99)]] {
        world.rejoin(args);
    }
    for args in helpful_commands() {
        world.rejoin(&args).code(0);
    }
    let after = picture(world.root());
    for (path, was) in &before {
        assert_eq!(after.get(path), Some(was), "{}", path.display());
    }
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
}

#[test]
#[expect(clippy::disallowed_macros, reason = "whoever runs the tests should know that this one did nothing")]
fn reading_commands_change_nothing_in_sample_home() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
    if !home.is_dir() {
        println!("skipped: there is no examples/home");
        return;
    }
    let world = World::new();
    let before = picture(&home);
    let home_arg = home.to_str().expect("a path");
    let listed = world.rejoin(["--home", home_arg, "list", "--all", "--json"]).code(0).sessions();
    assert!(!listed.is_empty());
    for (at, session) in listed.iter().enumerate() {
        for args in commands_on(&session.id).into_iter().skip(at % stride(6)).step_by(stride(6)) {
            world.rejoin(["--home", home_arg].iter().chain(&args));
        }
    }
    for args in commands_on_all() {
        world.rejoin(["--home", home_arg].iter().chain(&args));
    }
    assert!(before == picture(&home), "examples/home has changed");
}

#[test]
fn commands_create_no_agent_directories() {
    let world = World::new();
    for args in
        [&["list"][..], &["show", "latest"], &["resume", "latest", "--print"], &["backfill", "--every"], &["doctor"]]
    {
        world.rejoin(args);
    }
    assert_eq!(picture(&world.home()).len(), 1);
}
