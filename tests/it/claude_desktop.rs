//! Tasks of Claude Desktop's local agent mode, each with a configuration directory for Claude Code.

use std::path::PathBuf;

use serde_json::json;

use crate::contract::{Details, DoctorReport, ResumePlan};
use crate::fixtures::{Claude, age_tree, id, put};
use crate::world::World;

/// Names the folder of a task in the tree of an account, or the folder of agents there.
fn task(world: &World, below: &str, name: &str) -> PathBuf {
    let config = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
    let sessions = world.home().join(config).join("Claude/local-agent-mode-sessions");
    sessions.join(id(8)).join(id(9)).join(below).join(name)
}

#[test]
fn resume_gives_desktop_task_its_config_directory() {
    let world = World::with_agents();
    let app = world.dir("app");
    for (n, folder) in [(1, task(&world, "", "local_a")), (2, task(&world, "agent", "local_b"))] {
        let session = Claude::session(id(n)).in_dir(&app).config_dir(folder.join(".claude"));
        world.add(session.turn("sort the invoices", "Sorted."));
    }
    let record = json!({"sessionId": "local_a", "cliSessionId": id(1), "title": "Invoices of May", "cwd": app});
    put(&task(&world, "", "local_a.json"), record.to_string());
    put(&task(&world, "", "rpm/.claude/projects/-w/notes.jsonl"), "{}\n");
    // Other state of the app is at the same depth.
    let other = task(&world, "", "x").ancestors().nth(3).expect("a path").join("skills-plugin").join(id(7));
    put(&other.join("local_c/.claude/projects/-w").join(format!("{}.jsonl", id(3))), "{}\n");
    age_tree(&world.home());

    let sessions = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
    let mut ids: Vec<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [id(1), id(2)]);
    let details: Details = world.rejoin(["show", &id(1), "--json"]).code(0).json();
    assert_eq!(details.session.title.as_deref(), Some("Invoices of May"));
    assert!(
        world.rejoin(["search", "invoices"]).code(0).stdout().contains("Sorted.") || details.session.prompts == Some(1)
    );
    world.rejoin(["export", &id(1), "--format", "markdown"]).code(0);

    let answer = world.rejoin(["resume", &id(1), "--print"]).code(0).stderr();
    assert!(answer.contains("Claude Desktop started this session"), "{answer}");
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!(plan.resume.argv, ["claude", "--resume", &id(1)]);
    let set = plan.resume.set.get("CLAUDE_CONFIG_DIR").expect("the variable");
    assert_eq!(*set, task(&world, "", "local_a").join(".claude").display().to_string());
}

#[test]
fn doctor_predicts_no_deletion_of_desktop_tasks() {
    let world = World::new();
    let session = Claude::session(id(1)).config_dir(task(&world, "", "local_a").join(".claude"));
    world.add(session.in_dir(world.dir("app")).turn("a", "b"));
    age_tree(&world.home());
    let report: DoctorReport = world.rejoin(["doctor", "--json"]).code_is_one_of(&[0, 4]).json();
    assert!(report.findings.iter().all(|found| !found.code.contains("expir")), "{:?}", report.findings);
}

#[test]
fn agents_table_groups_desktop_tasks() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("a", "b"));
    for (n, name) in [(2, "local_a"), (3, "local_b"), (4, "local_c")] {
        world
            .add(Claude::session(id(n)).in_dir(&app).config_dir(task(&world, "", name).join(".claude")).turn("a", "b"));
    }
    age_tree(&world.home());
    let shown = world.on_terminal(160, ["agents"]).stdout();
    let rows: Vec<&str> = shown.lines().filter(|line| line.starts_with("claude ")).collect();
    assert_eq!(rows.len(), 2, "{shown}");
    let words: Vec<&str> = rows[1].split_whitespace().collect();
    assert_eq!(words[1..4], ["3", "stores", "below"], "{shown}");
    assert!(words[4].ends_with("Claude/local-agent-mode-sessions") && words[5] == "3", "{shown}");
    let listed = world.rejoin(["agents", "--agent", "claude", "--json"]).code(0).stdout();
    assert_eq!(listed.matches(r#""root":"#).count(), 4, "{listed}");
}
