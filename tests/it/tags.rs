//! `tag`: words that the user assigns, by which every command finds sessions.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::contract::DoctorReport;
use crate::contract::changes::{Change, Cleanup, Undo};
use crate::fixtures::{Claude, Codex, age_tree, id, put};
use crate::picker::leaves;
use crate::terminal::{Seat, two_sessions};
use crate::world::World;

fn world() -> World {
    let world = World::new().keeping();
    let app = world.dir("app");
    for (n, prompt) in [(1, "Fix the mailer"), (2, "Fix the parser")] {
        world.add(Claude::session(id(n)).in_dir(&app).turn(prompt, "Done."));
    }
    world.add(Codex::session(id(3)).in_dir(&app).turn("Fix the docs", "Done."));
    world
}

/// Returns the last digits of the ids that `list` prints to a pipe.
fn listed(world: &World, args: &[&str]) -> Vec<String> {
    let sessions = world.rejoin(["list", "--json"].iter().chain(args)).code(0).sessions();
    let mut ids: Vec<String> = sessions.into_iter().map(|session| session.id).collect();
    ids.sort();
    ids
}

fn tags(world: &World, n: u32) -> Vec<String> {
    let sessions = world.rejoin(["list", "--json"]).code(0).sessions();
    sessions.into_iter().find(|session| session.id == id(n)).expect("a session").tags
}

#[test]
fn tag_and_undo_add_and_remove_tag() {
    let world = world();
    world.rejoin(["tag", "--list"]).code(0).stdout_eq("").stderr_eq("Nothing is tagged.\n");
    let plan = world.rejoin(["tag", &id(1), "+Relay", "--dry-run"]).code(0).stdout();
    assert!(plan.contains(&format!("would tag  claude {}  +relay", id(1))), "{plan}");
    assert!(tags(&world, 1).is_empty());
    world.rejoin(["tag", &id(1), "+Relay", "+shop"]).code(0);
    let more: Change = world.rejoin(["tag", &id(1), &id(3), "-shop", "+later", "--json"]).code(0).json();
    assert_eq!((more.verb.as_str(), more.items.len(), more.done), ("tag", 1, 1));
    assert_eq!(more.items[0].reason.as_deref(), Some("+later -shop"));
    assert_eq!(
        (tags(&world, 1), tags(&world, 3)),
        (vec!["later".to_owned(), "relay".to_owned()], vec!["later".into()])
    );

    let again: Change = world.rejoin(["tag", &id(1), "+RELAY", "-nothing", "--json"]).code(0).json();
    assert!(again.items.is_empty(), "it has that tag, and not the other one");
    let list = world.rejoin(["tag", "--list", "--json"]).code(0).sessions();
    let tags_of = |n: u32| list.iter().find(|session| session.id == id(n)).map(|session| session.tags.join(" "));
    assert_eq!((tags_of(1).as_deref(), tags_of(3).as_deref(), list.len()), (Some("later relay"), Some("later"), 2));
    for columns in [60, 80, 120, 200] {
        let table = world.on_terminal(columns, ["tag", "--list", "--agent", "codex"]).code(0).stdout();
        let (head, row) = table.split_once('\n').expect("a head");
        assert!(head.contains("TITLE") && head.contains("TAGS") && row.contains("+later"), "{columns}: {table}");
    }
    let rows = world.rejoin(["tag", "--list"]).code(0).stdout();
    assert!(rows.lines().all(|row| row.split('\t').nth(3).is_some_and(|tags| tags.contains("+later"))), "{rows}");

    world.rejoin(["undo"]).code(0);
    assert_eq!(tags(&world, 1), ["relay", "shop"]);
    world.rejoin(["tag", &id(1), "-relay", "-shop"]).code(0);
    assert!(tags(&world, 1).is_empty());
    world.rejoin(["tag", "--list"]).code(0).stdout_eq("");
}

#[test]
fn undoing_a_tag_does_not_warn_of_deletions() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr/bin").at("2025-11-01T10:00:00Z").turn("x", "y"));
    age_tree(&world.home());
    world.rejoin(["tag", &id(1), "+shop"]).code(0);
    let undone: Undo = world.rejoin(["undo", "--json"]).code(0).json();
    assert_eq!((undone.done, undone.warnings.len()), (1, 0), "{:?}", undone.warnings);
    // Its agent would delete the session if it was restored.
    world.rejoin(["delete", &id(1), "--yes"]).code(0);
    let undone: Undo = world.rejoin(["undo", "--json"]).code(0).json();
    assert_eq!((undone.done, undone.warnings.len()), (1, 1), "{:?}", undone.warnings);
}

#[test]
fn concurrent_runs_keep_every_tag() {
    let world = world();
    std::thread::scope(|scope| {
        for n in 0..6 {
            let world = &world;
            scope.spawn(move || world.rejoin(["tag", &id(1), &format!("+t{n}")]).code(0));
        }
    });
    assert_eq!(tags(&world, 1), ["t0", "t1", "t2", "t3", "t4", "t5"]);
}

#[test]
fn every_command_finds_sessions_by_tag() {
    let world = world();
    world.rejoin(["tag", &id(1), "+relay", "+shop"]).code(0);
    world.rejoin(["tag", &id(3), "+relay"]).code(0);
    assert_eq!(listed(&world, &["tag:relay"]), [id(1), id(3)]);
    assert_eq!(listed(&world, &["tag:Relay", "tag:shop"]), [id(1)]);
    assert_eq!(listed(&world, &["--tag", "relay", "--tag", "shop"]), [id(1)]);
    assert_eq!(listed(&world, &["is:tagged"]), [id(1), id(3)]);
    assert_eq!(listed(&world, &["shop"]), [id(1)], "a tag is a word of the session");
    assert!(listed(&world, &["tag:rel"]).is_empty(), "the beginning of a tag is another tag");
    assert_eq!(world.rejoin(["search", "fix", "tag:shop"]).code(0).stdout().matches(&id(1)).count(), 1);
    assert_eq!(world.rejoin(["search", "fix", "--tag", "shop"]).code(0).stdout().lines().count(), 1);
    assert!(world.rejoin(["show", "--path", "tag:shop"]).code(0).stdout().contains(&id(1)));
    world.rejoin(["show", "--path", "tag:relay"]).code(6);
    world.rejoin(["show", "--path", "latest", "--tag", "shop"]).code(0);
    world.rejoin(["show", "--path", "is:nothing"]).code(5);
    let stats: Value = world.rejoin(["stats", "--tag", "relay", "--json"]).code(0).json();
    assert_eq!(stats["total"]["sessions"], 2);
    let shown = world.rejoin(["show", &id(1)]).code(0).stdout();
    assert!(shown.contains("  tags          relay, shop"), "{shown}");
    for (columns, expected) in [(120, "+relay +shop"), (80, " B  +\n")] {
        let table = world.on_terminal(columns, ["list"]).code(0).stdout();
        assert!(table.contains(expected), "{table}");
    }

    let plan: Cleanup = world.rejoin(["cleanup", "--tag", "shop", "--any-age", "--dry-run", "--json"]).code(0).json();
    assert_eq!(plan.ids(), [id(1)], "{plan:?}");
    world.rejoin(["cleanup", "--tag", "nothing", "--any-age", "--yes"]).code(0);
    world.add(Claude::session(id(4)).in_dir("/gone").turn("x", "y"));
    world.add(Claude::session(id(5)).in_dir("/gone/too").turn("x", "y"));
    world.rejoin(["tag", &id(4), "+gone"]).code(0);
    let findings = |args: &[&str]| {
        let report: DoctorReport =
            world.rejoin(["doctor", "--check", "missing-directory", "--json"].iter().chain(args)).json();
        report
            .findings
            .into_iter()
            .flat_map(|finding| finding.sessions)
            .map(|session| session.id)
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(findings(&["--tag", "gone"]), BTreeSet::from([id(4)]));
    assert_eq!(findings(&[]), BTreeSet::from([id(4), id(5)]));
    world.rejoin(["delete", "--tag", "shop", &id(2), "--yes"]).code(5);
    assert_eq!(listed(&world, &[]).len(), 5);
}

#[test]
fn tag_errors_show_an_example() {
    let world = world();
    for (args, expected) in [
        (&["tag"] as &[&str], "the following required arguments were not provided"),
        (&["tag", "+x"], "no session is named"),
        (&["tag", "x"], "name a tag: +WORD adds one, and -WORD removes it"),
        (&["tag", "x", "+b", "-b"], "the tag b is added and removed"),
        (&["tag", "x", "+a b"], "a tag is a word of letters, digits"),
        (&["tag", "1", "+a"], "1 is a number in the list"),
        (&["tag", "x", "--jsn"], "unexpected argument '--jsn'"),
        (&["list", "--tag", ""], "a tag must not be empty"),
    ] {
        let error = world.rejoin(args).code(2).stderr();
        assert!(error.contains(expected), "{args:?}: {error}");
    }
    world.rejoin(["tag", "ffffffff", "+a"]).code(5);
}

#[test]
fn tag_never_replaces_unreadable_tags() {
    let world = world();
    world.rejoin(["tag", &id(1), "+relay"]).code(0);
    let file = world.home().join(".local/state/rejoin/tags.json");
    for text in [
        "{",
        r#"{"format_version": 2, "tagged": []}"#,
        r#"{"format_version": 1, "tagged": [{"agent": "new", "id": "x", "tags": []}]}"#,
    ] {
        put(&file, text);
        let warned = world.rejoin(["list"]).code(0).stderr();
        assert!(warned.contains("the tags are unknown"), "{warned}");
        for args in [
            &["tag", &id(2), "+relay"] as &[&str],
            &["tag", "--list"],
            &["list", "--tag", "relay"],
            &["cleanup", "--tag", "relay", "--yes"],
        ] {
            let error = world.rejoin(args.iter().copied().chain(["--json"])).code(1).error();
            assert_eq!(error.code, "bad-state", "{args:?}");
        }
        assert_eq!(std::fs::read_to_string(&file).expect("a file"), text);
    }
}

#[test]
fn picker_filters_by_typed_tag() {
    let world = two_sessions();
    world.rejoin(["tag", &id(1), "+relay"]).code(0);
    let mut command = world.from(world.dir("elsewhere")).command(env!("CARGO_BIN_EXE_rejoin"));
    command.arg("resume");
    let mut seat = Seat::run(&command, 100, 24);
    seat.shows("2 of 2 sessions");
    seat.shows("Fix the parser  +relay");
    seat.types("tag:re");
    seat.shows("1 of 2 sessions");
    seat.types("x");
    seat.shows("0 of 2 sessions");
    leaves(seat, "\x1b", 130);
}
