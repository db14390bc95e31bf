//! The hooks are added to Claude Code's settings and removed again, and nothing else changes.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::contract::changes::{ChangeKind, ChangeResult, HookChange, Undo};
use crate::contract::hooks::HookStatus;
use crate::world::World;

const EVENTS: [&str; 5] = ["PostToolUse", "CwdChanged", "PreCompact", "SessionStart", "SessionEnd"];

fn settings(world: &World) -> PathBuf {
    world.home().join(".claude/settings.json")
}

fn write(world: &World, text: &str) {
    std::fs::create_dir_all(world.home().join(".claude")).expect("a directory");
    std::fs::write(settings(world), text).expect("settings");
}

fn read(world: &World) -> String {
    std::fs::read_to_string(settings(world)).expect("settings")
}

/// Everything that users may have in the file.
const OWN: &str = r#"{
	"model" : "opus",
	"cleanupPeriodDays":  30.0,
	"hooks": {
		"PostToolUse": [ { "matcher": "Edit|Write", "hooks": [ { "type": "command", "command": "fmt" } ] } ],
		"Stop": [],
		"SessionEnd": []
	},
	"env": { "A": "\u00e9", "big": 12345678901234567890123 }
}"#;

#[test]
fn uninstall_restores_the_original_settings() {
    for original in [
        OWN.to_owned(),
        OWN.replace('\n', "\r\n"),
        format!("{OWN}\n\n"),
        "{}".to_owned(),
        "{\"model\":\"opus\",\"hooks\":{}}\n".to_owned(),
        "{\n  \"permissions\": {\n    \"allow\": [\"Bash(ls:*)\"]\n  }\n}\n".to_owned(),
        "\u{feff}{\r\n    \"model\": \"opus\"\r\n}".to_owned(),
    ] {
        let world = World::new();
        write(&world, &original);
        world.rejoin(["hook", "install", "--agent", "claude"]).code(0);
        let with = read(&world);
        assert_ne!(with, original);
        let value: Value = serde_json::from_str(with.trim_start_matches('\u{feff}')).expect("JSON");
        for event in EVENTS {
            let groups = value["hooks"][event].as_array().expect("a list");
            let ours = groups.last().expect("a group")["hooks"][0]["command"].as_str().expect("a command");
            assert!(ours.ends_with("rejoin hook claude"), "{ours}");
        }
        world.rejoin(["hook", "install"]).code(0);
        assert_eq!(read(&world), with, "a second time changes nothing");
        world.rejoin(["hook", "uninstall"]).code(0);
        assert_eq!(read(&world), original);
        world.rejoin(["hook", "uninstall"]).code(0);
        assert_eq!(read(&world), original);
    }
}

#[test]
fn uninstall_removes_file_created_by_install() {
    let world = World::new();
    world.rejoin(["hook", "uninstall"]).code(0);
    assert!(!world.home().join(".claude").exists());
    world.rejoin(["hook", "install"]).code(0);
    assert!(serde_json::from_str::<Value>(&read(&world)).is_ok());
    world.rejoin(["hook", "uninstall"]).code(0);
    assert!(!settings(&world).exists());
}

#[test]
fn installed_command_works_for_the_client() {
    let world = World::new();
    let project = world.dir("project");
    let sub = world.dir("project/sub");
    world.rejoin(["hook", "install"]).code(0);
    let value: Value = serde_json::from_str(&read(&world)).expect("JSON");
    let run = |name: &str, source: &str| {
        let group = &value["hooks"][name][0];
        assert_eq!(
            group["matcher"],
            match name {
                "PostToolUse" => json!("Bash"),
                "SessionStart" => json!("compact"),
                _ => Value::Null,
            }
        );
        let command = group["hooks"][0]["command"].as_str().expect("a command").to_owned();
        let event =
            json!({"session_id": "s1", "cwd": sub, "hook_event_name": name, "source": source, "tool_name": "Bash"});
        let line = format!("printf %s \"$EVENT\" | {command}");
        let call = world.from(&sub).with("CLAUDE_PROJECT_DIR", &project).with("EVENT", event.to_string());
        call.run("sh", ["-c", &line]).code(0).stdout()
    };
    let record = project.join(".claude/cat/sessions/s1.cwd");
    for event in ["PostToolUse", "CwdChanged", "PreCompact"] {
        assert_eq!(run(event, ""), "");
        assert_eq!(std::fs::read_to_string(&record).ok().as_deref(), sub.to_str(), "{event}");
        std::fs::remove_file(&record).expect("a record to remove");
    }
    run("CwdChanged", "");
    assert!(run("SessionStart", "compact").contains("additionalContext"));
    run("SessionEnd", "");
    assert!(!record.exists());
}

#[test]
fn install_uses_bare_name_if_on_path() {
    let world = World::new();
    world.rejoin(["hook", "install"]).code(0);
    assert!(read(&world).contains(&format!("\"{} hook claude\"", env!("CARGO_BIN_EXE_rejoin"))));
    world.install("rejoin", "");
    world.rejoin(["hook", "install"]).code(0);
    assert_eq!(read(&world).matches("\"rejoin hook claude\"").count(), EVENTS.len(), "it is brought up to date");
    assert!(!read(&world).contains("/rejoin"));
    // Shared settings contain no path of this machine.
    let other = World::new();
    let project = other.dir("project");
    other.from(&project).rejoin(["hook", "install", "--scope", "project"]).code(0);
    let text = std::fs::read_to_string(project.join(".claude/settings.json")).expect("settings");
    assert_eq!(text.matches("\"rejoin hook claude\"").count(), EVENTS.len());
}

#[test]
fn status_distinguishes_scopes() {
    let world = World::new();
    let project = world.dir("project");
    let from = || world.from(&project);
    let status = || from().rejoin(["hook", "status", "--json"]).code(0).json::<HookStatus>();
    assert!(!status().installed);
    from().rejoin(["hook", "install", "--scope", "local"]).code(0);
    assert!(project.join(".claude/settings.local.json").exists());
    assert!(!project.join(".claude/settings.json").exists() && !settings(&world).exists());
    let found = status();
    assert!(found.installed);
    let installed: Vec<_> = found.scopes.iter().map(|scope| (scope.scope.as_str(), scope.installed)).collect();
    assert_eq!(installed, [("user", false), ("project", false), ("local", true)]);

    write(
        &world,
        "{\"disableAllHooks\": true, \"hooks\": {\"PreCompact\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"rejoin hook claude\"}]}]}}",
    );
    std::fs::write(project.join(".claude/settings.json"), "{,}").expect("settings");
    let found = status();
    assert_eq!(found.scopes[0].events, ["PreCompact"]);
    assert_eq!(found.scopes[0].missing.len(), 4);
    assert!(found.scopes[0].disabled && !found.scopes[0].installed);
    assert!(found.scopes[1].problem.as_deref().is_some_and(|problem| problem.starts_with("it is not JSON")));
    from().rejoin(["hook", "status"]).code(0).stdout_eq(snapbox::str![[r#"
user     partly set up; missing: PostToolUse, CwdChanged, SessionStart, SessionEnd  (~/.claude/settings.json)                                          disableAllHooks is set
project  unknown: it is not JSON: key must be a string at line 1 column 2           ([ROOT]/project/.claude/settings.json)
local    set up                                                                     ([ROOT]/project/.claude/settings.local.json)

"#]]);
    let one: HookStatus = from().rejoin(["hook", "status", "--scope", "local", "--json"]).code(0).json();
    assert_eq!(one.scopes.len(), 1);
}

#[test]
fn user_settings_follow_claude_config_dir() {
    let world = World::new();
    let config = world.root().join("config");
    world.with("CLAUDE_CONFIG_DIR", &config).rejoin(["hook", "install"]).code(0);
    assert!(config.join("settings.json").exists() && !settings(&world).exists());
    let other = world.dir("other");
    let home = other.to_str().expect("a path in UTF-8");
    world.with("CLAUDE_CONFIG_DIR", &config).rejoin(["--home", home, "hook", "install"]).code(0);
    assert!(other.join(".claude/settings.json").exists());
}

#[test]
fn dry_run_shows_change_and_writes_nothing() {
    let world = World::new();
    write(&world, OWN);
    let plan: HookChange = world.rejoin(["hook", "install", "--dry-run", "--json"]).code(0).json();
    assert_eq!((plan.kind, plan.verb.as_str()), (ChangeKind::ChangePlan, "hook install"));
    assert_eq!((plan.items[0].result, plan.planned), (ChangeResult::Planned, 1));
    assert_eq!(plan.run, None);
    assert!(plan.details.diff.iter().filter(|line| line.starts_with('+')).count() > 30);
    let gone: Vec<_> = plan.details.diff.iter().filter(|line| line.starts_with('-')).collect();
    assert_eq!(gone.len(), 2, "a line is changed where a list goes on in it or a comma is added: {gone:?}");
    let text = world.rejoin(["hook", "install", "--dry-run"]).code(0).stdout();
    assert!(
        plan.details.diff.iter().all(|line| text.contains(&line.replace('\t', "\\t")) || text.contains(line.as_str()))
    );
    assert_eq!(read(&world), OWN);

    let done: HookChange = world.rejoin(["hook", "install", "--json"]).code(0).json();
    assert_eq!((done.kind, done.items[0].result), (ChangeKind::ChangeOutcome, ChangeResult::Done));
    assert_eq!(done.details.diff, plan.details.diff);
    let kept: HookChange = world.rejoin(["hook", "install", "--json"]).code(0).json();
    assert_eq!((kept.items[0].result, kept.run, kept.details.diff.len()), (ChangeResult::Unchanged, None, 0));
    let plan: HookChange = world.rejoin(["hook", "uninstall", "--dry-run", "--json"]).code(0).json();
    assert_eq!((plan.items[0].result, plan.details.command), (ChangeResult::Planned, None));
}

#[test]
fn install_can_be_undone() {
    let world = World::new();
    write(&world, OWN);
    let done: HookChange = world.rejoin(["hook", "install", "--json"]).code(0).json();
    let with = read(&world);
    let run = done.run.expect("a run");
    let undone: Undo = world.rejoin(["undo", &run, "--json"]).code(0).json();
    assert_eq!(undone.done, 1);
    assert_eq!(read(&world), OWN);

    std::fs::remove_file(settings(&world)).expect("settings to remove");
    world.rejoin(["hook", "install"]).code(0);
    let fresh = read(&world);
    world.rejoin(["hook", "uninstall"]).code(0);
    world.rejoin(["undo"]).code(0);
    assert_eq!(read(&world), fresh);
    assert_ne!(fresh, with);
}

#[test]
fn install_changes_target_of_linked_settings() {
    let world = World::new();
    let dotfiles = world.dir("dotfiles");
    let real = dotfiles.join("claude.json");
    std::fs::write(&real, OWN).expect("settings");
    std::fs::create_dir_all(world.home().join(".claude")).expect("a directory");
    std::os::unix::fs::symlink(&real, settings(&world)).expect("a link");
    world.rejoin(["hook", "install"]).code(0);
    assert!(settings(&world).is_symlink());
    assert!(std::fs::read_to_string(&real).expect("settings").contains("hook claude"));
    world.rejoin(["hook", "uninstall"]).code(0);
    assert!(settings(&world).is_symlink());
    assert_eq!(std::fs::read_to_string(&real).expect("settings"), OWN);

    std::fs::remove_file(&real).expect("settings to remove");
    let answer = world.rejoin(["hook", "install"]).code(1);
    assert!(answer.stderr().contains("symbolic link to nothing"), "{}", answer.stderr());
    assert!(!real.exists());
}

#[test]
fn install_refuses_settings_with_unknown_syntax() {
    for text in [
        "",
        " \n",
        "{",
        "{} // mine",
        "[]",
        "null",
        "{\"hooks\": []}",
        "{\"hooks\": {\"PreCompact\": {}}}",
        "{\"hooks\": {}, \"hooks\": {}}",
    ] {
        let world = World::new();
        write(&world, text);
        for verb in ["install", "uninstall"] {
            let answer = world.rejoin(["hook", verb]).code(7);
            assert!(answer.stderr().contains("cannot change"), "{}", answer.stderr());
            let error = world.rejoin(["hook", verb, "--json"]).code(7).error();
            assert_eq!((error.code.as_str(), error.exit), ("settings-not-understood", 7));
            assert_eq!(read(&world), text);
        }
    }
    let world = World::new();
    std::fs::create_dir_all(settings(&world)).expect("a directory");
    world.rejoin(["hook", "install"]).code(1);
    let world = World::new();
    std::fs::create_dir_all(world.home().join(".claude")).expect("a directory");
    std::fs::write(settings(&world), b"{\"a\": \"\xff\"}").expect("settings");
    assert!(world.rejoin(["hook", "install"]).code(1).stderr().contains("UTF-8"));
}

#[test]
fn install_keeps_mode_of_settings() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    write(&world, OWN);
    std::fs::set_permissions(settings(&world), PermissionsExt::from_mode(0o640)).expect("a mode");
    world.rejoin(["hook", "install"]).code(0);
    let mode = |path: &Path| path.metadata().expect("metadata").permissions().mode() & 0o777;
    assert_eq!(mode(&settings(&world)), 0o640);
    assert_eq!(world.home().join(".claude").read_dir().expect("a listing").count(), 1, "nothing else is left there");
}

#[test]
fn concurrent_installs_all_succeed() {
    let world = World::new();
    for _ in 0..5 {
        write(&world, "{}\n");
        let start = |_| {
            let mut command = world.from(world.root()).command(env!("CARGO_BIN_EXE_rejoin"));
            command.args(["hook", "install"]).stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().expect("a running program")
        };
        let running: Vec<_> = (0..6).map(start).collect();
        for child in running {
            let output = child.wait_with_output().expect("an end");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert_eq!(read(&world).matches("hook claude").count(), EVENTS.len());
    }
}

#[test]
fn install_changes_no_settings_outside_project() {
    let world = World::new();
    let outside = world.dir("outside");
    std::fs::write(outside.join("settings.json"), "{}").expect("settings");
    for (number, name) in ["settings.json", "settings.local.json", ""].into_iter().enumerate() {
        let project = world.dir(&format!("cloned-{number}"));
        match name {
            "" => std::os::unix::fs::symlink(&outside, project.join(".claude")).expect("a link"),
            _ => {
                std::fs::create_dir(project.join(".claude")).expect("a directory");
                let link = project.join(".claude").join(name);
                std::os::unix::fs::symlink(outside.join("settings.json"), link).expect("a link");
            }
        }
        let scope = if name == "settings.local.json" { "local" } else { "project" };
        for action in ["install", "uninstall"] {
            for more in [&["--dry-run"][..], &[]] {
                let args = [&["hook", action, "--scope", scope], more].concat();
                let refused = world.from(&project).rejoin(args).code(7).stderr();
                assert!(refused.contains("is a link that leads out of the project"), "{refused}");
            }
        }
        world.from(&project).rejoin(["hook", "status"]).code(0);
        assert_eq!(std::fs::read_to_string(outside.join("settings.json")).expect("settings"), "{}");
        assert!(!outside.join("settings.local.json").exists());
    }
    // The user's own settings are often a link; its target is changed.
    std::fs::create_dir(world.home().join(".claude")).expect("a directory");
    std::os::unix::fs::symlink(outside.join("settings.json"), world.home().join(".claude/settings.json"))
        .expect("a link");
    world.rejoin(["hook", "install"]).code(0);
    assert!(std::fs::read_to_string(outside.join("settings.json")).expect("settings").contains("rejoin hook claude"));
}
