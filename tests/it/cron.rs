//! `cleanup` and `archive` as cron runs them: no agent, no terminal, almost no environment, and a line only if
//! something happened.

use std::process::{Command, Stdio};

use crate::contract::changes::Cleanup;
use crate::fixtures::{Claude, age_tree, id};
use crate::picture::picture_of_stores;
use crate::undo::assert_same;
use crate::world::{NOW, World};

fn world() -> World {
    let world = World::new();
    for (n, at) in [(1, "2025-11-01T10:00:00Z"), (2, "2026-02-20T10:00:00Z"), (3, "2026-02-21T10:00:00Z")] {
        world.add(Claude::session(id(n)).in_dir("/usr/bin").at(at).turn("x", "y"));
    }
    age_tree(&world.home());
    world
}

/// Returns the command of a crontab line in docs/cleanup.md: the text after the five fields of time.
fn crontab_command(verb: &str) -> String {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/cleanup.md")).expect("a page");
    let program = format!("rejoin {verb}");
    let is_crontab = |line: &&str| line.contains(&program) && line.split_whitespace().nth(2) == Some("*");
    let lines: Vec<&str> = page.lines().filter(is_crontab).collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines[0].split_whitespace().skip(5).collect::<Vec<_>>().join(" ")
}

/// Runs a command as cron does; the clock is the test's own.
fn as_cron(world: &World, command: &str) -> std::process::Output {
    let bin = world.home().join(".cargo/bin");
    std::fs::create_dir_all(&bin).expect("a directory");
    let program = bin.join("rejoin");
    if !program.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_rejoin"), program).expect("a link");
    }
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).env_clear().current_dir(world.home()).stdin(Stdio::null());
    shell.env("HOME", world.home()).env("LOGNAME", "ana").env("SHELL", "/bin/sh").env("PATH", "/usr/bin:/bin");
    shell.env("REJOIN_NOW", NOW).output().expect("a run")
}

#[test]
fn documented_crontab_line_removes_old_sessions() {
    let world = world();
    let command = crontab_command("cleanup");
    let output = as_cron(&world, &command);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    let stdout = String::from_utf8(output.stdout).expect("text");
    assert_eq!(
        stdout,
        "rejoin cleanup: 1 session removed, 697 B to the trash. `rejoin undo 20260301-120000` undoes this.\n"
    );
    assert_eq!(world.rejoin(["list", "--json"]).sessions().len(), 2);
    // Nothing is left to do, so cron sends no mail.
    let output = as_cron(&world, &command);
    assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(0), 0, 0));
}

#[test]
fn documented_crontab_line_archives_expiring_sessions() {
    let world = world();
    // Claude Code deletes by the times of its files.
    let fresh = world.home().join(".claude/projects/-usr-bin").join(format!("{}.jsonl", id(2)));
    let file = std::fs::File::options().append(true).open(fresh).expect("a transcript");
    file.set_modified(NOW.parse::<jiff::Timestamp>().expect("a time").into()).expect("a time");
    let command = crontab_command("archive");
    let output = as_cron(&world, &command);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    let stdout = String::from_utf8(output.stdout).expect("text");
    assert!(
        stdout.starts_with("rejoin archive: 2 sessions archived, 0 unchanged. ") && stdout.lines().count() == 1,
        "{stdout}"
    );
    let output = as_cron(&world, &command);
    assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(0), 0, 0));
}

#[test]
fn systemd_units_run_the_crontab_command() {
    let unit = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/contrib/systemd/rejoin-cleanup.service"));
    let unit = unit.expect("a unit");
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
    // The unit finds the program on its own PATH, wherever a package put it.
    assert_eq!(start.strip_prefix("/usr/bin/env "), crontab_command("cleanup").strip_prefix("~/.cargo/bin/"));
    assert!(unit.contains("\nEnvironment=PATH=%h/.local/bin:%h/.cargo/bin:/usr/local/bin:/usr/bin:/bin\n"), "{unit}");
    let timer = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/contrib/systemd/rejoin-cleanup.timer"));
    let timer = timer.expect("a timer");
    assert!(timer.contains("OnCalendar=daily") && timer.contains("Persistent=true"), "{timer}");
}

#[test]
fn launchd_agent_removes_old_sessions() {
    let world = world();
    let agent = include_str!("../../contrib/launchd/rejoin.cleanup.plist");
    let command = agent.lines().find_map(|line| line.trim().strip_prefix("<string>PATH=")).expect("a command");
    let command = format!("PATH={}", command.trim_end_matches("</string>"));
    let output = as_cron(&world, &command);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let stdout = String::from_utf8(output.stdout).expect("text");
    assert!(stdout.starts_with("rejoin cleanup: 1 session removed, "), "{stdout}");
}

#[test]
fn cron_cleanup_is_silent_during_another_run() {
    let world = world();
    let before = picture_of_stores(&world.home());
    let state = world.home().join(".local/state/rejoin");
    std::fs::create_dir_all(&state).expect("a directory");
    let holder = std::fs::File::create(state.join("lock")).expect("a lock");
    rustix::fs::flock(&holder, rustix::fs::FlockOperation::NonBlockingLockExclusive).expect("the lock");
    let args = ["cleanup", "--yes", "--quiet", "--lock-timeout", "0s"];
    world.rejoin(args).code(0).stdout_eq("").stderr_eq("");
    let answer = world.rejoin(["cleanup", "--yes", "--lock-timeout", "0s"]).code(0);
    assert!(answer.stderr().contains("is changing sessions right now"), "{}", answer.stderr());
    let json: Cleanup = world.rejoin(args.iter().chain(&["--json"])).code(0).json();
    assert!(json.details.locked && json.items.is_empty());
    assert_same(&before, &picture_of_stores(&world.home()), "while the lock was held");
}

#[test]
fn cron_failure_prints_one_line_and_exit_code() {
    let world = world();
    std::fs::create_dir_all(world.home().join(".claude")).expect("a directory");
    let history = world.dir("elsewhere/history");
    std::fs::create_dir_all(history.join(id(1))).expect("a directory");
    crate::fixtures::link(&history, &world.home().join(".claude/file-history"));
    let answer = world.rejoin(["cleanup", "--yes", "--quiet"]).code(3);
    let stdout = answer.stdout();
    assert!(stdout.starts_with("left  claude 00000001-") && stdout.lines().count() == 2, "{stdout}");
    assert!(stdout.ends_with("\nrejoin cleanup: 1 left as it is.\n"), "{stdout}");
    assert_eq!(answer.stderr(), "");
}

#[test]
fn progress_needs_terminal() {
    let world = world();
    let answer = world.rejoin(["cleanup", "--yes"]).code(0);
    assert!(!answer.stdout().contains('\r') && !answer.stderr().contains('\r'), "{}", answer.stderr());
    // Without a pause, a progress line would be shown if there were one.
    for args in [
        &["list"][..],
        &["doctor"],
        &["cleanup", "--any-age", "--allow-all", "--dry-run"],
        &["archive", "--every"],
        &["search", "x"],
    ] {
        let answer = world.with("REJOIN_PAUSE", "0").rejoin(args);
        assert!(!answer.stdout().contains('\r') && answer.stdout().contains("claude"), "{args:?}: {}", answer.stdout());
        assert_eq!(answer.stderr(), "", "{args:?}");
    }
}
