//! Forged journals: only paths that rejoin itself changes are touched.

use std::path::Path;

use serde_json::json;

use crate::fixtures::{Claude, id, lines, put};
use crate::picture::{differences, picture};
use crate::world::World;

const RUN: &str = "20260301-110000";

/// Plants an interrupted run whose recovery puts a file at `target`.
pub(crate) fn forge(home: &Path, target: &Path, text: &str) {
    let stamp = json!({
        "parent": [1, 1], "device": 1, "inode": 1, "is_dir": false, "size": text.len(), "modified": [0, 0], "tree": "",
    });
    let step = json!({"do": "trash", "path": target, "kept": "0-0", "stamp": stamp});
    forge_steps(home, &[step]);
    put(&home.join(".local/state/rejoin/trash").join(RUN).join("0-0"), text);
}

fn forge_steps(home: &Path, steps: &[serde_json::Value]) {
    let at = "2026-03-01T11:00:00Z";
    let events = [
        json!({"event": "begin", "format_version": 1, "run": RUN, "verb": "delete", "at": at, "pid": 1, "links": true}),
        json!({
            "event": "item", "item": 0, "label": "claude x", "agent": null, "id": null, "code": "old", "reason": "x",
            "steps": steps,
        }),
        json!({"event": "start", "item": 0, "step": steps.len() - 1, "dir_times": null}),
    ];
    put(&home.join(".local/state/rejoin/runs").join(format!("{RUN}.jsonl")), lines(&events));
}

/// Runs the commands that carry out or preview a run, and checks that they refuse it and change nothing outside.
fn is_refused(world: &World, named: &str) {
    put(&world.home().join(".local/state/rejoin/lock"), "");
    std::fs::create_dir_all(world.home().join(".local/state/rejoin/trash")).expect("a directory");
    let before = picture(&world.home());
    for args in [&["backfill", "--every"][..], &["undo", RUN, "--yes"], &["undo", RUN, "--dry-run"]] {
        let answer = world.rejoin(args).code_is_one_of(&[0, 1]);
        let stderr = answer.stderr();
        assert!(stderr.contains(named) && stderr.contains("in no store"), "{args:?}: {stderr}");
        let changed = differences(&before, &picture(&world.home()));
        assert!(changed.iter().all(|line| line.contains("rejoin/lock differs")), "{args:?}: {changed:?}");
    }
}

#[test]
fn forged_journal_puts_nothing_outside_the_stores() {
    for target in [".bashrc", ".config/autostart/evil.desktop", ".claude/../.profile", "linked/evil.sh"] {
        let world = World::new();
        world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("x", "y"));
        std::fs::create_dir_all(world.home().join(".config/autostart")).expect("a directory");
        std::os::unix::fs::symlink(world.dir("outside"), world.home().join("linked")).expect("a link");
        let target = world.home().join(target);
        forge(&world.home(), &target, "evil\n");
        is_refused(&world, target.to_str().expect("a path"));
        assert!(!target.exists(), "{}", target.display());
    }
}

#[test]
fn forged_journal_takes_nothing_outside_the_stores() {
    use std::os::unix::fs::MetadataExt as _;
    let world = World::new();
    let (target, inside) = (world.home().join(".bashrc"), world.home().join(".claude/x"));
    put(&target, "mine\n");
    let metadata = target.metadata().expect("metadata");
    let stamp = json!({
        "parent": [1, 1], "device": metadata.dev(), "inode": metadata.ino(), "is_dir": false, "size": 5,
        "modified": [metadata.mtime(), metadata.mtime_nsec()], "tree": "",
    });
    let made = json!({"event": "made", "kept": "0-0", "device": metadata.dev(), "inode": metadata.ino()});
    for step in [
        json!({"do": "put", "path": target, "from": inside, "kept": "0-0", "stamp": stamp}),
        json!({"do": "move", "path": target, "from": inside, "kept": "0-0", "stamp": stamp, "from_times": null}),
        json!({"do": "move", "path": inside, "from": target, "kept": "0-0", "stamp": stamp, "from_times": null}),
    ] {
        forge_steps(&world.home(), std::slice::from_ref(&step));
        let journal = world.home().join(".local/state/rejoin/runs").join(format!("{RUN}.jsonl"));
        let text = std::fs::read_to_string(&journal).expect("a journal");
        put(&journal, text + &lines(std::slice::from_ref(&made)));
        is_refused(&world, ".bashrc");
        assert_eq!(std::fs::read_to_string(&target).expect("the file"), "mine\n", "{step}");
    }
}

#[test]
fn undo_takes_back_changes_outside_the_stores() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y"));
    let dotfiles = world.dir("dotfiles").join("claude.json");
    put(&dotfiles, "{}\n");
    std::os::unix::fs::symlink(&dotfiles, world.home().join(".claude/settings.json")).expect("a link");
    for scope in ["user", "project", "local"] {
        let before = (picture(&app), picture(&world.home().join(".claude")), std::fs::read(&dotfiles).expect("a file"));
        world.from(&app).rejoin(["hook", "install", "--scope", scope]).code(0);
        world.rejoin(["undo", "--yes"]).code(0);
        let after = (picture(&app), picture(&world.home().join(".claude")), std::fs::read(&dotfiles).expect("a file"));
        assert!(before == after, "{scope}");
    }
}
