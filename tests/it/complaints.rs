//! Pictures of screens in homes that users complained about: many bad files, many probes, further stores, and a directory with
//! two candidates.

use crate::debris::with_debris;
use crate::fixtures::{Claude, Codex, Pi, age_tree, id, put};
use crate::pictures::{Size, assert_picture, at_terminal, picture};
use crate::world::World;

/// Runs a command at a terminal in a world, types an answer at its question, and compares its screen with a picture. On
/// the page, the home of the world is `/home/ana`.
#[track_caller]
fn assert_screen(world: &World, name: &str, args: &[&str], shown: &str, answer: Option<&str>, code: i32) {
    let size = Size { columns: 110, rows: 40 };
    let mut seat = at_terminal(world, size, args);
    if let Some(answer) = answer {
        seat.sees("[y/N] ");
        seat.types(answer);
    }
    let (status, sent) = seat.ends();
    assert_eq!(status, Some(code), "{sent}");
    let picture = picture(world, size, &format!("$ {shown}\n"), &sent);
    assert_picture(&format!("docs/pictures/{name}.svg"), &picture);
}

#[test]
fn picture_of_4000_bad_files_matches_its_output() {
    let world = World::new();
    with_debris(&world, 4_000);
    assert_screen(&world, "bad-files", &["list"], "rejoin list", None, 0);
}

#[test]
fn picture_of_300_probes_matches_its_output() {
    let world = World::new();
    let app = world.home().join("app");
    std::fs::create_dir(&app).expect("a directory");
    let day = "2026-11-19T12:00:00Z";
    for n in 100..400 {
        world.add(Claude::session(id(n)).in_dir(&app).entrypoint("sdk-cli").at(day).turn(".", "Hello!"));
    }
    for n in 1..=3 {
        let own = Claude::session(id(n)).in_dir(&app).at(day);
        world.add(own.turn(&format!("real work {n}"), "a step").turn("continue", "done"));
    }
    age_tree(&world.home().join(".claude"));
    let args = ["cleanup", "--any-age", "--is", "exec", "--title", ".", "--allow-all"];
    assert_screen(&world, "probes", &args, &format!("rejoin {}", args.join(" ")), Some("n\n"), 1);
}

#[test]
fn picture_of_three_further_stores_matches_its_output() {
    let world = World::new();
    let home = world.home();
    let app = home.join("app");
    std::fs::create_dir(&app).expect("a directory");
    let day = "2026-11-20T12:00:00Z";
    let rename = |from: &str, to: &str| {
        std::fs::create_dir_all(home.join(to).parent().expect("a directory")).expect("a directory");
        std::fs::rename(home.join(from), home.join(to)).expect("a rename");
    };
    world.add(Claude::session(id(2)).in_dir(&app).at(day).turn("the second account", "y"));
    rename(".claude", "work/claude");
    world.add(Codex::session(id(3)).in_dir(&app).turn("a fork of Codex", "y"));
    rename(".codex", ".code");
    world.add(Pi::session(id(4)).in_dir(&app).turn("the home of another machine", "y"));
    rename(".pi", "old/.pi");
    world.add(Claude::session(id(1)).in_dir(&app).at(day).turn("the usual home", "y"));
    age_tree(&home);
    let stores = "[[stores]]\nagent = \"claude\"\nhome = \"~/work/claude\"\n\n[[stores]]\nagent = \"codex\"\nhome = \"~/.code\"\n\
                  program = \"code\"\n\n[[stores]]\nagent = \"pi\"\nhome = \"~/old\"\n";
    put(&home.join(".config/rejoin/config.toml"), stores);
    assert_screen(&world, "stores", &["agents"], "rejoin agents", None, 0);
}

#[test]
fn picture_of_two_candidates_matches_its_output() {
    let world = World::with_agents();
    let (known, other) = (world.home().join("code/shop"), world.home().join("old/shop"));
    for dir in [&known, &other] {
        std::fs::create_dir_all(dir).expect("a directory");
    }
    let at = |n: u32| Claude::session(id(n)).at("2026-11-20T12:00:00Z");
    world.add(at(1).in_dir("/workspaces/shop").turn("made in the container", "y"));
    world.add(at(2).in_dir(&known).turn("made on the host", "y"));
    // Without `--print`, a terminal offers the candidates as a list.
    let args = ["resume", "container", "--print"];
    assert_screen(&world, "candidates", &args, &format!("rejoin {}", args.join(" ")), None, 7);
}
