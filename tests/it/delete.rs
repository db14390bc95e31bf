//! `delete`: removes the named sessions with their sub-agents and belongings, or none of them.

use serde_json::json;

use crate::contract::changes::{Change, ChangeResult, Undo};
use crate::fixtures::{Amplifier, Claude, age_tree, id, put};
use crate::picture::{Picture, picture_of_stores};
use crate::undo::assert_same;
use crate::world::{World, start_of};

const APP: &str = "/usr/bin";

fn world() -> World {
    let world = World::new();
    let session = Claude::session(id(1)).in_dir(APP).title("Dark mode").turn("x", "y");
    world.add(session.subagent("agent-a1", "look", "ok").flat_subagent("agent-f1", "look", "ok"));
    put(&world.home().join(".claude/file-history").join(id(1)).join("a@v1"), "old");
    world.add(Claude::session(id(1)).in_dir(APP).filed_under("-elsewhere").turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(APP).turn("x", "y"));
    world.add(Amplifier::session(id(3)).in_dir(APP).turn("x", "y"));
    let helper = Amplifier::session(format!("{}-1234567890abcdef_helper", id(3))).in_dir(APP);
    world.add(helper.metadata("parent_id", json!(id(3))).metadata("agent_name", json!("helper")).turn("x", "y"));
    age_tree(&world.home());
    world
}

fn stores(world: &World) -> Picture {
    picture_of_stores(&world.home())
}

#[test]
fn delete_removes_whole_session_and_undo_restores_it() {
    let world = world();
    let before = stores(&world);
    let plan: Change = world.rejoin(["delete", &id(1), "--dry-run", "--json"]).code(0).json();
    assert_eq!((plan.planned, plan.items[0].result), (1, ChangeResult::Planned));
    assert_same(&before, &stores(&world), "after a dry run");
    let done: Change = world.rejoin(["delete", "00000001", &id(3), "--yes", "--json"]).code(0).json();
    assert_eq!((done.done, done.failed, done.verb.as_str()), (2, 0, "delete"));
    let left = world.rejoin(["list", "--all", "--json"]).sessions();
    assert_eq!(left.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), [id(2)]);
    let of_one = stores(&world).into_keys().filter(|path| path.to_string_lossy().contains(&id(1))).count();
    assert_eq!(of_one, 0);
    let undone: Undo = world.rejoin(["undo", "--json"]).code(0).json();
    assert_eq!(undone.done, 2);
    assert_same(&before, &stores(&world), "after undo");
}

#[test]
fn delete_removes_session_named_twice_once() {
    let world = world();
    let helper = format!("{}-1234567890abcdef_helper", id(3));
    let args = ["delete", &helper, &id(3), &id(3), "--yes", "--json"];
    let done: Change = world.rejoin(args).code(0).json();
    assert_eq!((done.items.len(), done.done), (1, 1), "{done:#?}");
    world.rejoin(["undo"]).code(0);
    let alone: Change = world.rejoin(["delete", &helper, "--yes", "--json"]).code(0).json();
    assert_eq!(alone.items[0].steps.len(), 1);
    assert_eq!(world.rejoin(["list", "--json"]).sessions().len(), 3);
}

#[test]
fn delete_refuses_ambiguous_and_unremovable_sessions_first() {
    let world = world();
    let before = stores(&world);
    world.rejoin(["delete"]).code(2);
    world.rejoin(["delete", &id(1)]).code(2).stderr_eq(snapbox::str![[r#"
error: removing sessions needs confirmation, but there is no terminal to ask on
hint: see the plan with `rejoin delete 00000001-aaaa-4aaa-8aaa-000000000001 --dry-run`, then run `rejoin delete 00000001-aaaa-4aaa-8aaa-000000000001 --yes`

"#]]);
    world.rejoin(["delete", "1", "--yes"]).code(2);
    world.rejoin(["delete", "0000000", "--yes"]).code(6);
    world.rejoin(["delete", &id(2), "ffffffff", "--yes"]).code(5);
    world.rejoin(["delete", &id(2), "--apply", "000000000000"]).code(7);
    world.rejoin(["pin", &id(2)]).code(0);
    let answer = world.rejoin(["delete", &id(2), "--yes"]).code(7);
    assert!(answer.stderr().contains("it is pinned; run `rejoin pin --remove claude:"), "{}", answer.stderr());
    let pid = std::process::id();
    let ticks = start_of(std::process::id());
    let registration = json!({"pid": pid, "sessionId": id(1), "procStart": ticks});
    let running = world.home().join(".claude/sessions/1.json");
    put(&running, registration.to_string());
    let answer = world.rejoin(["delete", &id(1), "--yes"]).code(7);
    assert!(answer.stderr().contains("it is in use by process"), "{}", answer.stderr());
    std::fs::remove_dir_all(world.home().join(".claude/sessions")).expect("a directory");
    let after = stores(&world);
    let differences = crate::picture::differences(&before, &after);
    // The directory of registrations was removed and created again.
    assert!(differences.iter().all(|line| line == ".claude differs in time"), "{differences:?}");
}

#[test]
fn delete_permanent_cannot_be_undone() {
    let world = world();
    let done: Change = world.rejoin(["delete", &id(2), "--permanent", "--yes", "--json"]).code(0).json();
    assert_eq!((done.done, done.run), (1, None));
    world.rejoin(["undo"]).code(5);
    world.rejoin(["undo", "--purge", "--every", "--dry-run"]).code(0).stdout_eq("Nothing to do.\n");
}

#[test]
fn delete_describes_its_outcome() {
    let world = world();
    world.rejoin(["delete", &id(2), "--yes"]).code(0).stdout_eq(snapbox::str![[r#"
removed  claude 00000002-aaaa-4aaa-8aaa-000000000002  697 B  x
      ~/.claude/projects/-usr-bin/00000002-aaaa-4aaa-8aaa-000000000002.jsonl  (to the trash, 697 B)
1 session removed, 697 B to the trash.
`rejoin undo 20260301-120000` undoes this.
`rejoin cleanup` frees the space after 14 days; `rejoin undo --purge 20260301-120000` frees it now.

"#]]);
}

#[test]
fn refusal_names_open_file_and_process() {
    let world = World::new().with_processes();
    let path = world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("x", "y"));
    let open = std::fs::File::options().append(true).open(&path).expect("a transcript");
    let why = world.rejoin(["delete", &id(1), "--yes"]).code(7).stderr();
    let held = format!("process {} has {} open", std::process::id(), path.display());
    assert!(why.contains(&held), "{why}");
    drop(open);
}
