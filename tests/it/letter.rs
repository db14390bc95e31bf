//! The `doctor` report for users, and questions with an explanation.

use crate::facts::{copy_tree, corpus};
use crate::fixtures::{Amplifier, Claude, id};
use crate::terminal::Seat;
use crate::world::World;

/// Runs the program at a terminal and answers its question.
fn answering(world: &World, keys: &str, args: &[&str]) -> (Option<i32>, String) {
    let mut command = world.from(world.root().join("elsewhere")).command(env!("CARGO_BIN_EXE_rejoin"));
    command.args(args).args(["--color", "never"]);
    let mut seat = Seat::run(&command, 100, 40);
    seat.sees("[y/N] ");
    seat.types(keys);
    let (status, screen) = seat.ends();
    (status, screen.replace("\r\n", "\n"))
}

#[test]
fn doctor_groups_missing_directories_with_three_examples() {
    let world = World::new();
    for n in 1..=30 {
        world.add(Claude::session(id(n)).in_dir(format!("/gone/{n}")).turn("x", "y"));
    }
    let letter = world.rejoin(["doctor", "--check", "missing-directory", "--json"]).code(4).stdout();
    assert_eq!(letter.matches("\"code\":\"missing-directory\"").count(), 30);
    let letter = world.rejoin(["doctor"]).code(4).stdout();
    let of_dirs = letter.lines().filter(|line| line.contains("/gone/") && line.contains("1 session"));
    assert_eq!(of_dirs.count(), 3, "{letter}");
    assert!(letter.contains("and 27 more (`rejoin doctor --check missing-directory --all-findings`)"), "{letter}");
    assert!(!letter.contains("expected:"), "{letter}");
    let all = world.rejoin(["doctor", "--check", "missing-directory", "--all-findings"]).code(4).stdout();
    assert_eq!(all.lines().filter(|line| line.contains("1 session belongs to /gone/")).count(), 30);
}

#[test]
fn doctor_prints_worst_findings_first() {
    let world = World::new();
    world.add(Amplifier::session(id(1)).in_dir("/gone").session_info("/gone").turn("x", "y"));
    world.add(Amplifier::session(id(2)).in_dir(world.dir("app")).turn("x", "y"));
    let letter = world.rejoin(["doctor"]).code(4).stdout();
    let heads: Vec<&str> = letter.lines().filter(|line| line.starts_with(['e', 'w', 'n'])).collect();
    assert!(heads[0].starts_with("warning missing-directory"), "{letter}");
    assert!(heads[1].ends_with("(`rejoin doctor --check session-info-missing`)"), "{letter}");
    assert!(letter.trim_end().ends_with("`rejoin doctor --fix` fixes 1 without losing anything."), "{letter}");
}

#[test]
fn doctor_checks_only_named_sessions() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/gone/a").title("First of two").turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir("/gone/b").turn("x", "y"));
    for named in [&id(1), "First of two"] {
        let letter = world.rejoin(["doctor", named]).code(4).stdout();
        assert!(letter.contains("/gone/a") && !letter.contains("/gone/b"), "{letter}");
        assert!(letter.ends_with(" in 1 session.\n"), "{letter}");
    }
    world.rejoin(["doctor", &id(9)]).code(5);
    world.add(Amplifier::session(id(3)).in_dir(world.dir("app")).turn("x", "y"));
    for args in [&["doctor", &id(3)][..], &["doctor", "--agent", "amplifier"]] {
        let letter = world.rejoin(args).stdout();
        let fix = format!(" in 1 session. `rejoin {} --fix` fixes 1 without losing anything.\n", args.join(" "));
        assert!(letter.ends_with(&fix), "{letter}");
    }
}

#[test]
#[expect(clippy::disallowed_macros, reason = "whoever runs the tests should know that this one did nothing")]
fn doctor_report_of_ten_agents_fits_50_lines() {
    let world = World::new();
    let agents =
        ["amplifier", "claude", "codex", "codex-old", "gemini", "opencode", "qwen", "copilot", "pi", "vibe", "kimi"];
    for agent in agents {
        let Some(folder) = corpus(agent) else {
            println!("skipped: there is no ../shared/corpus/{agent} beside the checkout");
            return;
        };
        copy_tree(&folder.join("home"), &world.home());
    }
    let letter = world.with("REJOIN_NOW", "2026-11-22T18:00:00Z").rejoin(["doctor"]).code(4).stdout();
    assert!(letter.lines().count() <= 50, "{} lines:\n{letter}", letter.lines().count());
}

#[test]
fn fix_shows_plan_and_asks_on_terminal() {
    let world = World::new();
    let session = world.add(Amplifier::session(id(1)).in_dir(world.dir("app")).turn("x", "y"));
    let (status, screen) = answering(&world, "n\n", &["doctor", "--fix"]);
    assert_eq!(status, Some(1), "{screen}");
    assert!(screen.contains("would repair  amplifier") && screen.contains("session-info.json"), "{screen}");
    assert!(screen.contains("Nothing was changed.") && !screen.contains("error:"), "{screen}");
    assert!(!session.join("session-info.json").exists());
    let (status, screen) = answering(&world, "y\n", &["doctor", "--fix"]);
    assert_eq!(status, Some(0), "{screen}");
    assert!(session.join("session-info.json").exists());
}

#[test]
fn delete_names_the_sessions_before_it_asks() {
    let world = World::new();
    let app = world.dir("app");
    for n in 1..=12 {
        world.add(Claude::session(id(n)).in_dir(&app).title(&format!("Number {n}")).turn("x", "y"));
    }
    let (status, screen) = answering(&world, "n\n", &["delete", &id(3)]);
    assert_eq!(status, Some(1), "{screen}");
    for part in ["claude", "Number 3", "/app", "2026-02-01", "Remove 1 session"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    assert!(screen.contains("Nothing was changed.") && !screen.contains("error:"), "{screen}");
    let (_, screen) = answering(&world, "n\n", &["cleanup", "--any-age", "--allow-all"]);
    assert_eq!(screen.matches("Number ").count(), 10, "{screen}");
    for part in ["and 2 more", "By agent: claude 12 (", "By project: ", "Remove 12 sessions"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    let refused = world.rejoin(["delete", "latest", "--yes"]).code(2).stderr();
    assert!(refused.contains("`rejoin show latest`"), "{refused}");
}

#[test]
fn undo_without_run_names_newest_one_and_asks() {
    let world = World::new();
    let session = world.add(Claude::session(id(1)).in_dir(world.dir("app")).turn("x", "y"));
    world.rejoin(["delete", &id(1), "--yes"]).code(0);
    let (status, screen) = answering(&world, "n\n", &["undo"]);
    assert_eq!(status, Some(1), "{screen}");
    assert!(screen.contains("(rejoin delete)") && screen.contains(&id(1)[..8]), "{screen}");
    assert!(!session.exists());
    let (status, screen) = answering(&world, "y\n", &["undo"]);
    assert_eq!(status, Some(0), "{screen}");
    assert!(session.exists());
}
