//! `--quiet`: every command prints its answer, and at most one line about a change.

use crate::sample_home::{NOW, sample_home};
use crate::world::{Answer, World};

fn run(world: &World, args: &[&str]) -> Answer {
    world.from(world.home()).with("REJOIN_NOW", NOW).rejoin(["--quiet"].iter().chain(args))
}

#[test]
fn quiet_change_prints_at_most_one_line() {
    let world = sample_home();
    let out = world.root().join("out.md");
    let out = out.to_str().expect("a path");
    for (args, says) in [
        (&["pin", "8e7d"][..], ""),
        (&["pin", "--remove", "8e7d"], ""),
        (&["delete", "8e7d", "--yes"], "rejoin delete: 1 session removed, 910 B to the trash. `rejoin undo "),
        (&["undo", "--yes"], "rejoin undo: Run "),
        (&["archive", "--every"], "rejoin archive: 16 sessions archived"),
        (&["archive", "--every"], ""),
        (&["delete", "8e7d", "--yes"], "rejoin delete: 1 session removed"),
        (&["restore", "8e7d"], "rejoin restore: 1 session restored"),
        (&["doctor", "--fix", "--check", "duplicate-session"], "rejoin doctor --fix: 1 problem repaired"),
        (&["doctor", "--fix", "--check", "duplicate-session"], ""),
        (&["undo", "--yes"], "rejoin undo: Run "),
        (&["delete", "31c5", "--copy", "2"], "rejoin delete: 1 copy removed"),
        (&["backfill", "--every"], "rejoin backfill: "),
        (&["move", "/opt/shop", "/opt", "--yes"], "rejoin move: 1 session moved. `rejoin undo "),
        (&["cleanup", "--older-than", "100d", "--yes"], "rejoin cleanup: 2 sessions removed, 3.0 KiB to the trash"),
        (&["cleanup", "--older-than", "100d", "--yes"], ""),
        (&["hook", "install"], ""),
        (&["hook", "uninstall"], ""),
        (&["undo", "--purge", "--every", "--yes"], "rejoin undo --purge: The trash of "),
        (&["undo", "--purge", "--every", "--yes"], ""),
        (&["export", "licence", "--output", out], ""),
    ] {
        let answer = run(&world, args).code_is_one_of(&[0, 3]).stderr_eq("");
        let stdout = answer.stdout();
        assert!(stdout.lines().count() == usize::from(!says.is_empty()), "{args:?}:\n{stdout}");
        assert!(stdout.starts_with(says), "{args:?}:\n{stdout}");
    }
}

#[test]
fn quiet_read_prints_answer_without_notes() {
    let world = sample_home();
    let answers: &[&[&str]] = &[
        &["list"],
        &["agents"],
        &["show", "licence"],
        &["search", "relay"],
        &["stats"],
        &["doctor"],
        &["show", "--path", "licence"],
        &["config"],
        &["undo", "--list"],
        &["pin", "--list"],
        &["resume", "licence", "--print"],
        &["cleanup", "--older-than", "100d", "--dry-run"],
        &["delete", "8e7d", "--dry-run"],
    ];
    for args in answers {
        let loud = world.from(world.home()).with("REJOIN_NOW", NOW).rejoin(*args).stdout();
        let quiet = run(&world, args).stderr_eq("").stdout();
        assert_eq!(quiet.replace("rejoin --quiet ", "rejoin "), loud, "{args:?}");
    }
}
