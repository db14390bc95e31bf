//! Items that need each other are undone together: the sessions of a move with rejoin's record of it and the agent's project.

use std::path::{Path, PathBuf};

use crate::contract::changes::Undo;
use crate::faults::{failing_at_every_point, journal, killed_at_every_point};
use crate::fixtures::{Claude, id};
use crate::move_agents::{everyone, launch_dirs};
use crate::picture::{Picture, picture};
use crate::undo::assert_same;
use crate::world::World;

/// Returns the files of the home, with rejoin's record of moves, but without its other state.
fn files(world: &World) -> Picture {
    let mut files = picture(&world.home());
    let is_state = |path: &PathBuf| path.starts_with(".local/state/rejoin") && !path.ends_with("moves.json");
    files.retain(|path, (mode, ..)| *mode & 0o170_000 != 0o040_000 && !is_state(path));
    files
}

fn moved(world: &World) -> (Vec<(&'static str, String)>, PathBuf) {
    let all = everyone(world, &world.root().join("work/app"));
    (all, move_all(world))
}

fn move_all(world: &World) -> PathBuf {
    let (old, new) = (world.root().join("work/app"), world.dir("moved/app"));
    let dirs = [&old, &new].map(|dir| dir.to_str().expect("a path"));
    world.rejoin(["move", dirs[0], dirs[1], "--yes"]).code(0);
    new
}

#[test]
fn undo_of_move_waits_for_every_session() {
    let world = World::new().with_processes();
    let (all, new) = moved(&world);
    let (mut after, dirs) = (files(&world), launch_dirs(&world));
    let mut tried = 0;
    for (agent, id) in all {
        let path = world.rejoin(["show", "--path", &format!("{agent}:{id}")]).code(0).stdout();
        let Ok(writer) = std::fs::File::options().append(true).open(path.trim_end()) else { continue };
        let undo: Undo = world.rejoin(["undo", "--yes", "--json"]).code_is_one_of(&[0, 3, 7]).json();
        drop(writer);
        if undo.done > 0 && undo.refused == 0 {
            // An open file alone does not show that this agent uses the session.
            move_all(&world);
            after = files(&world);
            continue;
        }
        assert_eq!(undo.done, 0, "{agent}: {undo:?}");
        assert_same(&after, &files(&world), agent);
        assert_eq!(launch_dirs(&world), dirs, "{agent}");
        tried += 1;
    }
    assert!(tried >= 7, "only {tried} agents");
    let is_moved = |dir: &String| Path::new(dir).starts_with(&new);
    assert!(dirs.iter().all(|(_, _, dir)| is_moved(dir)), "{dirs:?}");
    world.rejoin(["undo", "--yes"]).code(0);
    assert!(!launch_dirs(&world).iter().any(|(_, _, dir)| is_moved(dir)));
}

#[test]
fn undo_refuses_single_session_of_move() {
    let world = World::new();
    moved(&world);
    let after = files(&world);
    let plan: Undo = world.rejoin(["undo", "--dry-run", "--json"]).code(0).json();
    assert!(plan.items.len() > 5);
    let run = plan.details.run;
    let sessions = plan.items.iter().filter_map(|item| Some(format!("{}:{}", item.agent?, item.id.as_ref()?)));
    let sessions: Vec<String> = sessions.collect();
    for name in &sessions {
        let answer = world.rejoin(["undo", &run, name]).code(7);
        let stdout = answer.stdout();
        assert!(stdout.contains("only together with") && stdout.contains("`rejoin undo "), "{name}: {stdout}");
        assert_same(&after, &files(&world), name);
    }
    let refused = world.rejoin(["undo", &run, &sessions[0]]).code(7).stdout();
    run_printed(&world, &refused);
    assert!(launch_dirs(&world).iter().all(|(_, _, dir)| dir.ends_with("work/app")));
}

/// Runs the first command between backticks in a text.
#[track_caller]
fn run_printed(world: &World, text: &str) {
    let command = text.split('`').nth(1).unwrap_or_else(|| panic!("no command: {text}"));
    let words: Vec<&str> = command.split(' ').skip(1).chain(["--yes"]).collect();
    world.rejoin(words).code(0);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn reading_commands_name_an_interrupted_run() {
    killed_at_every_point(5, |fault, _| {
        let world = World::with_agents();
        let app = world.dir("app");
        let session = Claude::session(id(1)).in_dir(&app).turn("x", "y").subagent("agent-a1", "look", "ok");
        let path = world.add(session.side_file("tool-results/a.txt", "a"));
        let before = files(&world);
        let is_killed = world.with("REJOIN_FAULT", fault).rejoin(["delete", &id(1), "--yes"]).was_killed();
        if !is_killed || path.exists() {
            return is_killed;
        }
        let journal = std::fs::read_to_string(journal(&world)).expect("a journal");
        if journal.contains(r#""event":"end""#) {
            assert_eq!(world.rejoin(["list"]).code(0).stderr(), "", "{fault}: the run was complete");
            world.rejoin(["undo", "--yes"]).code(0);
            assert_same(&before, &files(&world), fault);
            return true;
        }
        for args in [&["list"][..], &["show", &id(1)], &["resume", &id(1), "--print"]] {
            let stderr = world.rejoin(args).stderr();
            let line = stderr.lines().next().unwrap_or_default();
            assert!(line.contains("(delete) was interrupted") && line.contains("`rejoin undo "), "{args:?}: {stderr}");
        }
        run_printed(&world, &world.rejoin(["list"]).stderr());
        assert_same(&before, &files(&world), fault);
        true
    });
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn printed_restore_works_after_an_interrupted_one() {
    let mut absent = 0;
    killed_at_every_point(5, |fault, _| {
        let world = World::with_agents();
        let (app, archive) = (world.dir("app"), world.dir("archive"));
        let archive = archive.to_str().expect("a path");
        let path = world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y").subagent("agent-a1", "look", "ok"));
        world.add(Claude::session(id(2)).in_dir(&app).turn("x", "y"));
        world.rejoin(["archive", "--every", "--archive-dir", archive]).code(0);
        world.rejoin(["delete", &id(1), &id(2), "--yes"]).code(0);
        assert!(!path.exists());
        let restore = ["restore", &id(1), "--archive-dir", archive];
        let is_killed = world.with("REJOIN_FAULT", fault).rejoin(restore).was_killed();
        if is_killed && !path.exists() {
            let stderr = world.rejoin(["resume", &id(1), "--print"]).code(5).stderr();
            let hint = stderr
                .lines()
                .find(|line| line.starts_with("hint: it is in the trash"))
                .unwrap_or_else(|| panic!("{stderr}"));
            run_printed(&world, hint);
            assert!(path.exists(), "{fault}: {stderr}");
            absent += 1;
        }
        is_killed
    });
    assert!(absent > 3, "{absent}");
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn failed_undo_counts_partly_restored_items() {
    let deleted_world = || {
        let world = World::with_agents();
        let app = world.dir("app");
        let session = Claude::session(id(1)).in_dir(&app).turn("x", "y").subagent("agent-a1", "look", "ok");
        world.add(session.side_file("tool-results/a.txt", "a"));
        world.rejoin(["delete", &id(1), "--yes"]).code(0);
        world
    };
    let mut partial = 0;
    failing_at_every_point(
        "5",
        false,
        |fault| deleted_world().with("REJOIN_FAULT", fault).rejoin(["undo", "--yes"]).was_killed(),
        |fault| {
            let world = deleted_world();
            let names = || files(&world).into_keys().filter(|path| path.is_relative()).collect::<Vec<_>>();
            let deleted = names();
            let stdout = world.with("REJOIN_FAULT", fault).rejoin(["undo", "--yes"]).stdout();
            if names() != deleted && stdout.contains(": 0 ") {
                let is_named = stdout.contains("1 undone in part") && stdout.contains("a part of it is back");
                assert!(is_named, "{fault}: {stdout}");
                partial += 1;
            }
            world.rejoin(["undo", "--yes"]).code_is_one_of(&[0, 5]);
        },
    );
    assert!(partial > 0);
}
