//! Sessions that are restored with other paths for their directories: another home, a container, another machine.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::contract;
use crate::fixtures::{Amplifier, Claude, Copilot, Fixture, Kimi, Pi, Qwen, id, put};
use crate::world::World;

/// Archives a session in another home, and returns the directory of the archive.
fn archived_in(world: &World, home: &Path, session: &dyn Fn() -> Box<dyn Fixture>) -> String {
    std::fs::create_dir_all(home).expect("a home");
    session().write_to(home);
    let volume = world.dir("volume").join("archive").to_str().expect("a path").to_owned();
    let home = home.to_str().expect("a path");
    world.rejoin(["--home", home, "archive", "--every", "--archive-dir", &volume]).code(0);
    volume
}

fn dir_of(world: &World) -> PathBuf {
    let list: contract::SessionList = world.rejoin(["list", "--json"]).code(0).json();
    list.sessions[0].launch_dir.as_ref().expect("a directory").path.clone().into()
}

#[test]
fn restore_maps_session_of_old_home_to_this() {
    let of_agents: [fn(PathBuf) -> Box<dyn Fixture>; 5] = [
        |dir| Box::new(Claude::session(id(1)).in_dir(dir).turn("look", "ok")),
        |dir| Box::new(Qwen::session(id(1)).in_dir(dir).turn("look", "ok")),
        |dir| Box::new(Pi::session(id(1)).in_dir(dir).turn("look", "ok")),
        |dir| Box::new(Kimi::session(id(1)).in_dir(dir).turn("look", "ok")),
        |dir| Box::new(Copilot::session(id(1)).in_dir(dir).turn("look", "ok")),
    ];
    for session in of_agents {
        let world = World::new();
        let bob = world.root().join("bob");
        let volume = archived_in(&world, &bob, &|| session(bob.join("app")));
        let app = world.home().join("app");
        std::fs::create_dir(&app).expect("a directory");
        let would = world.rejoin(["restore", &id(1), "--archive-dir", &volume, "--dry-run"]).code(0).stderr();
        assert!(would.contains(&format!("Its directory would be ~/app instead of {}", bob.display())), "{would}");
        let restored = world.rejoin(["restore", &id(1), "--archive-dir", &volume]).code(0);
        let note = restored.stderr();
        assert!(note.contains(&format!("Its directory is ~/app here; it was {}", bob.display())), "{note}");
        assert_eq!(dir_of(&world), app);
        let plan: contract::ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
        assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
        // A second copy of its id would make the id ambiguous.
        let again = world.rejoin(["restore", &id(1), "--archive-dir", &volume]).code(7).stderr();
        assert!(again.contains("already exists"), "{again}");
        // The printed commands undo both runs, the move first.
        let undo = restored.stdout();
        let runs: Vec<&str> = undo.split('`').filter_map(|command| command.strip_prefix("rejoin undo ")).collect();
        assert!(undo.ends_with(" undo this.\n") && runs.len() == 2, "{undo}");
        world.rejoin(["undo", runs[0], "--yes"]).code(0);
        assert_eq!(dir_of(&world), bob.join("app"));
        // A restore that was interrupted before the move leaves the same state.
        let again = world.rejoin(["restore", &id(1), "--archive-dir", &volume]).code(7).stderr();
        let command = again.split('`').find(|command| command.starts_with("rejoin move ")).expect("a command");
        world.rejoin(command.split(' ').skip(1).chain(["--yes"])).code(0);
        assert_eq!(dir_of(&world), app);
        world.rejoin(["undo", "--yes"]).code(0);
        world.rejoin(["undo", runs[1], "--yes"]).code(0);
        let list: contract::SessionList = world.rejoin(["list", "--json"]).code(0).json();
        assert!(list.sessions.is_empty());
        let restored: contract::changes::Restored =
            world.rejoin(["restore", &id(1), "--archive-dir", &volume, "--json"]).code(0).json();
        let followed = restored.details.expect("the move").followed;
        world.rejoin(["undo", &followed, "--yes"]).code(0);
        world.rejoin(["undo", &restored.run.expect("a run"), "--yes"]).code(0);
        let brief = world.rejoin(["restore", &id(1), "--archive-dir", &volume, "--quiet"]).code(0).stdout();
        assert!(brief.ends_with(" undo this.\n"), "{brief}");
    }
}

#[test]
fn restored_amplifier_session_keeps_directory_of_project() {
    let world = World::new();
    let (app, ops) = (world.dir("app"), world.dir("ops"));
    let without_dir = |n| Amplifier::session(id(n)).metadata("working_dir", Value::Null).turn("look", "ok");
    world.add(Amplifier::session(id(1)).in_dir(&app).session_info(&app).turn("look", "ok"));
    // Only the other session of its project records its directory.
    let info_1 = world.add(without_dir(2).in_dir(&app)).join("session-info.json");
    // Only the server records its directory.
    let info_2 =
        world.add(without_dir(3).in_dir(&ops).file("session-info.json", "{\"working")).join("session-info.json");
    let pointers = json!([{"session_id": id(3), "working_dir": ops}]).to_string();
    put(&world.home().join(".amplifier/server/slack-sessions.json"), pointers);
    // A valid file is kept, even if it names a directory of another project.
    let misfiled = without_dir(5).in_dir(&app).file("session-info.json", r#"{"working_dir": "~/other"}"#);
    let info_3 = world.add(misfiled).join("session-info.json");
    // No evidence names a directory.
    let unknown = world.add(without_dir(4).in_dir(world.root().join("gone"))).join("session-info.json");
    let volume = world.dir("volume").to_str().expect("a path").to_owned();
    world.rejoin(["sync", "--archive-dir", &volume]).code(0);

    for verb in ["restore", "sync"] {
        let other = world.root().join(verb);
        std::fs::create_dir(&other).expect("a home");
        let on_other = |args: &[&str]| world.rejoin(["--home", other.to_str().expect("a path")].iter().chain(args));
        let there = |path: &Path| other.join(path.strip_prefix(world.home()).expect("a path in the home"));
        if verb == "sync" {
            on_other(&["sync", "--archive-dir", &volume]).code(0);
        } else {
            for n in [2, 3, 4, 5] {
                on_other(&["restore", &id(n), "--archive-dir", &volume]).code(0);
            }
        }
        for (n, dir, info) in [(2, &app, &info_1), (3, &ops, &info_2)] {
            on_other(&["resume", &id(n), "--print"]).code(0);
            let info: Value = serde_json::from_slice(&std::fs::read(there(info)).expect("a file")).expect("JSON");
            assert_eq!(info["working_dir"], json!(dir), "{verb} {n}");
        }
        assert!(!there(&unknown).exists());
        assert_eq!(std::fs::read_to_string(there(&info_3)).expect("a file"), r#"{"working_dir": "~/other"}"#);
        on_other(&["resume", &id(4), "--print"]).code(7);
        if verb == "sync" {
            let again = on_other(&["sync", "--archive-dir", &volume, "--json"]).code(0).json::<Value>();
            assert_eq!(again["items"], json!([]), "{again}");
        }
        let undone = if verb == "sync" { 1 } else { 4 };
        for _ in 0..undone {
            on_other(&["undo", "--yes"]).code(0);
        }
        assert!(!there(&info_1).exists() && !there(&info_2).parent().expect("a directory").exists());
    }
}

#[test]
fn restore_maps_container_directory() {
    let world = World::new();
    let volume = archived_in(&world, &world.home(), &|| {
        Box::new(Claude::session(id(1)).in_dir("/workspace/app").turn("look", "ok"))
    });
    world.rejoin(["delete", &id(1), "--yes"]).code(0);
    let here = world.dir("src");
    let map = format!("/workspace={}", here.display());
    world.rejoin(["restore", &id(1), "--archive-dir", &volume, "--map", &map]).code(0);
    assert_eq!(dir_of(&world), here.join("app"));
    let wrong = world.rejoin(["restore", &id(1), "--archive-dir", &volume, "--map", "/workspace"]).code(2).stderr();
    assert!(wrong.contains("--map"), "{wrong}");
}
