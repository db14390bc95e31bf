//! Sessions that the user pinned, starred or shared in the agent: no cleanup and no delete removes them.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cline_tasks;
use crate::contract::changes::{Cleanup, KeptFor};
use crate::contract::{Details, Kind};
use crate::fixtures::{
    Claude, Codex, CodexThreads, OpenCode, Vibe, age_tree, id, lines, opencode_db, opencode_id, put,
};
use crate::omp;
use crate::world::World;

/// Checks that each of these sessions stays for a reason, and that the other one of its agent goes.
fn assert_kept(world: &World, kept: &[(&str, &str)], goes: &str) {
    age_tree(&world.home());
    for filter in [["--older-than", "1d"], ["--max-total", "1"]] {
        let args = ["cleanup", "--dry-run", "--json", "--allow-all", "--via-agent"];
        let plan: Cleanup = world.rejoin(args.iter().chain(&filter)).code(0).json();
        assert_eq!(plan.kept(KeptFor::KeptByAgent), kept.len() as u64, "{plan:#?}");
        let going: Vec<&str> = plan.items.iter().filter_map(|item| item.id.as_deref()).collect();
        // The size of rows in a database counts for none.
        assert!(going.contains(&goes) || filter[0] == "--max-total", "{going:?}");
        assert!(kept.iter().all(|(id, _)| !going.contains(id)), "{going:?}");
    }
    for (id, why) in kept {
        let details: Details = world.rejoin(["show", id, "--json"]).code(0).json();
        assert_eq!(details.session.kept_by.as_deref(), Some(*why));
        assert!(world.rejoin(["show", id]).code(0).stdout().contains(why));
        let refused = world.rejoin(["delete", id, "--yes", "--via-agent"]).code(7).stderr();
        assert!(refused.contains(&format!("cannot be removed: it is {why}; ")), "{refused}");
    }
    let details: Details = world.rejoin(["show", goes, "--json"]).code(0).json();
    assert_eq!(details.session.kept_by, None);
}

fn codex() -> World {
    let world = World::new();
    for n in 1..=5 {
        world.add(Codex::session(id(n)).in_dir("/usr/bin").turn("look", "ok"));
    }
    let row = |n, pinned: &str| vec![Some(id(n)), Some(pinned.to_owned())];
    let (columns, rows) = ("id text, is_pinned integer", vec![row(1, "1"), row(4, "0")]);
    world.add(CodexThreads { name: "state_5.sqlite", columns, rows });
    world
}

fn automation(world: &World, name: &str, status: &str, n: u32) {
    let text = format!("kind = \"heartbeat\"\nstatus = \"{status}\"\ntarget_thread_id = \"{}\"\n", id(n));
    put(&world.home().join(".codex/automations").join(name).join("automation.toml"), text);
}

#[test]
fn cleanup_keeps_pinned_threads_of_codex() {
    let world = codex();
    let state = json!({"pinned-thread-ids": [id(2)], "other": {"x": 1}});
    put(&world.home().join(".codex/.codex-global-state.json"), state.to_string());
    automation(&world, "watch", "PAUSED", 3);
    automation(&world, "former", "DELETED", 5);
    let automation = "continued by an automation of Codex (watch)";
    let kept = [(id(1), "pinned in Codex"), (id(2), "pinned in Codex"), (id(3), automation)];
    assert_kept(&world, &kept.each_ref().map(|(id, why)| (id.as_str(), *why)), &id(4));
    let plan = world.rejoin(["cleanup", "--dry-run", "--allow-all", "--older-than", "1d"]).code(0).stdout();
    assert!(plan.contains("Kept: 1 continued by an automation of Codex, 2 pinned in Codex."), "{plan}");
    assert!(plan.contains(&id(5)), "{plan}");
}

#[test]
fn cleanup_keeps_store_with_unknown_list_of_pins() {
    for state in [r#"{"pinned-thread-ids": {"x": 1}}"#, "{", "[]"] {
        let world = codex();
        put(&world.home().join(".codex/.codex-global-state.json"), state);
        age_tree(&world.home());
        let plan: Cleanup = world.rejoin(["cleanup", "--dry-run", "--json", "--any-age", "--allow-all"]).code(0).json();
        assert_eq!((plan.items.len(), plan.kept(KeptFor::KeptByAgent)), (0, 5), "{state}");
        let refused = world.rejoin(["delete", &id(4), "--yes"]).code(7).stderr();
        assert!(refused.contains("maybe pinned in Codex") && refused.contains("global-state.json"), "{refused}");
    }
    // No pin, or none yet.
    for state in [r#"{"pinned-thread-ids": null}"#, "{}"] {
        let world = codex();
        put(&world.home().join(".codex/.codex-global-state.json"), state);
        assert_kept(&world, &[(&id(1), "pinned in Codex")], &id(4));
    }
}

#[test]
fn cleanup_keeps_pinned_sessions_of_vibe_and_omp() {
    let world = World::new();
    for (n, pinned_at) in [(1, json!("2026-02-02T10:00:00+00:00")), (2, json!(null))] {
        world.add(Vibe::session(id(n)).in_dir("/usr/bin").turn("look", "ok").meta("pinned_at", pinned_at));
    }
    assert_kept(&world, &[(&id(1), "pinned in Vibe")], &id(2));
    let world = World::new();
    for n in [1, 2] {
        omp::add(&world, "-usr-bin", &id(n), &omp::turn(&id(n), "/usr/bin"));
    }
    put(&world.home().join(".omp/agent/session-pins.json"), json!([id(1)]).to_string());
    assert_kept(&world, &[(&id(1), "pinned in oh-my-pi")], &id(2));
}

#[test]
fn cleanup_keeps_favourites_of_droid() {
    let world = World::new();
    for n in [1, 2] {
        let start = json!({"type": "session_start", "id": id(n), "title": "x", "version": 2, "cwd": "/usr/bin"});
        let at = "2026-02-01T10:00:00.000Z";
        let typed = json!({"role": "user", "content": [{"type": "text", "text": "look"}]});
        let message = json!({"type": "message", "id": "m", "timestamp": at, "message": typed});
        let path = world.home().join(".factory/sessions/-usr-bin").join(format!("{}.jsonl", id(n)));
        put(&path, lines(&[start, message]));
    }
    put(&world.home().join(".factory/sessions/.favorites"), json!([id(1)]).to_string());
    assert_kept(&world, &[(&id(1), "pinned in Factory Droid")], &id(2));
}

fn desktop_index(home: &Path) -> PathBuf {
    let config = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
    home.join(config).join("Claude/claude-code-sessions").join(id(8)).join(id(9))
}

#[test]
fn cleanup_keeps_starred_sessions_of_claude_desktop() {
    let world = World::new();
    for n in 1..=3 {
        world.add(Claude::session(id(n)).in_dir("/usr/bin").turn("look", "ok"));
    }
    let entries =
        [(1, json!({"isStarred": true})), (2, json!({"isStarred": false})), (3, json!({"scheduledTaskId": "t"}))];
    for (n, mut entry) in entries {
        entry["cliSessionId"] = json!(id(n));
        put(&desktop_index(&world.home()).join(format!("local_{n}.json")), entry.to_string());
    }
    assert_kept(&world, &[(&id(1), "starred in Claude Desktop")], &id(2));
    let kinds: Vec<Kind> =
        [1, 2, 3].map(|n| world.rejoin(["show", &id(n), "--json"]).code(0).json::<Details>().session.kind).into();
    assert_eq!(kinds, [Kind::Main, Kind::Main, Kind::Exec]);
}

#[test]
fn cleanup_keeps_favourite_tasks_of_cline() {
    let world = World::new();
    let root = cline_tasks::storage(&world.home(), "Code");
    let ids = ["1769940000000", "1769940000001"];
    for id in ids {
        let talk = [cline_tasks::message(0, "say", "task", "count"), cline_tasks::message(1, "say", "text", "Two.")];
        cline_tasks::write(&root, id, Path::new("/usr/bin"), &talk);
    }
    let list = json!([{"id": ids[0], "isFavorited": true}, {"id": ids[1], "isFavorited": false}]);
    put(&root.join("state/taskHistory.json"), list.to_string());
    assert_kept(&world, &[(ids[0], "a favourite in Cline")], ids[1]);
}

#[test]
fn cleanup_keeps_shared_sessions_of_opencode() {
    let world = World::new();
    let url = "https://opncd.ai/s/e001";
    for n in [1, 2] {
        world.add(OpenCode::session(opencode_id(n)).in_dir("/usr/bin").turn("look", "ok"));
    }
    let connection = rusqlite::Connection::open(opencode_db(&world.home())).expect("a database");
    connection.execute_batch("ALTER TABLE session ADD COLUMN share_url text").expect("a column");
    let sql = "UPDATE session SET share_url = ?1 WHERE id = ?2";
    connection.execute(sql, [url, &opencode_id(1)]).expect("a row");
    drop(connection);
    let shared = format!("shared at {url}");
    assert_kept(&world, &[(&opencode_id(1), &shared)], &opencode_id(2));
    let refused = world.rejoin(["delete", &opencode_id(1), "--yes", "--via-agent"]).code(7).stderr();
    assert!(refused.contains(&format!("type /unshare in `opencode --session {}` first", opencode_id(1))), "{refused}");
}
