//! Tests for systems with less information about processes, or less strict file names, than the usual Linux machine.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::agent_rules;
use crate::agents::NEEDS_SQLITE;
use crate::contract::changes::Cleanup;
use crate::contract::{DoctorReport, Liveness, Session};
use crate::fixtures::{Claude, Codex, age_tree, claude_slug, id, put};
use crate::ordinary;
use crate::world::{Answer, World, start_of};

/// Runs the program with nothing mounted at `/proc`; process ids are unchanged.
fn without_proc(world: &World, args: &[&str]) -> Answer {
    let empty = world.dir("empty");
    let script = "mount --bind \"$0\" /proc && exec \"$@\"";
    let mut words = vec!["-rm", "sh", "-c", script, empty.to_str().expect("a path"), env!("CARGO_BIN_EXE_rejoin")];
    words.extend(args);
    world.from(world.dir("elsewhere")).run("unshare", words)
}

/// Returns whether this machine lets a test hide `/proc`.
#[expect(clippy::disallowed_macros, reason = "whoever runs the tests should know that this one did nothing")]
fn can_hide_proc(world: &World) -> bool {
    let script = "mount --bind \"$0\" /proc && test ! -e /proc/self";
    let tried = Command::new("unshare").args(["-rm", "sh", "-c", script]).arg(world.dir("empty")).output();
    let why = match tried {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    println!("skipped: no mount namespace can be made here: {why}");
    false
}

fn liveness(answer: Answer) -> Vec<(String, Liveness)> {
    answer.code(0).sessions().into_iter().map(|session| (session.id.clone(), session.liveness)).collect()
}

#[test]
fn session_is_never_idle_without_proc() {
    let world = World::with_agents();
    if !can_hide_proc(&world) {
        return;
    }
    world.install("codex", "");
    let app = world.dir("app");
    for n in 1..=3 {
        world.add(Claude::session(id(n)).in_dir(&app).turn("x", "y"));
    }
    let register = |n: u32, pid: u32, start: &str| {
        let record = json!({"pid": pid, "sessionId": id(n), "procStart": start});
        put(&world.home().join(format!(".claude/sessions/{pid}.json")), record.to_string());
    };
    let pid = std::process::id();
    register(1, pid, &start_of(pid));
    // No process has this id on any system.
    register(2, 4_000_000_000, "7");
    let lock = world.home().join(format!(".codex/thread-writer-locks/{}.lock", id(4)));
    put(&lock, "");
    let lock = std::fs::File::open(lock).expect("a file");
    lock.lock().expect("a lock that is free");
    world.add(Codex::session(id(4)).in_dir(&app).turn("x", "y"));

    let seen = liveness(world.rejoin(["list", "--json", "--sort", "title"]));
    let blind = liveness(without_proc(&world, &["list", "--json", "--sort", "title"]));
    assert_eq!(seen.len(), 4);
    for ((session, with), (other, without)) in seen.into_iter().zip(blind) {
        assert_eq!(session, other);
        let expected = if with == Liveness::Live { Liveness::Maybe } else { with };
        assert_eq!(without, expected, "{session}");
    }
    let warns = |answer: Answer| answer.code(0).stderr().contains("the session may be in use");
    let is_doubted = |n: u32| warns(without_proc(&world, &["resume", &id(n), "--print"]));
    for n in [1, 4] {
        assert!(world.rejoin(["resume", &id(n)]).code(7).stderr().contains("in use by process"));
        assert!(is_doubted(n), "{n}");
    }
    assert!(!is_doubted(2) && !is_doubted(3));

    // An older Codex takes no lock; only the table of open files shows its use.
    lock.unlock().expect("no lock");
    let rollout = world.add(Codex::session(id(5)).in_old_words().in_dir(&app).turn("x", "y"));
    assert!(is_doubted(5), "nothing rules it out");
    assert!(!warns(world.rejoin(["resume", &id(5), "--print"])));

    // A file that some process may have open is not removed.
    age_tree(&world.home());
    let cleanup = ["cleanup", "--older-than", "1d", "--dry-run", "--json"];
    let removed = |answer: Answer| answer.code_is_one_of(&[0, 7]).json::<Cleanup>().planned;
    assert!(removed(world.rejoin(cleanup)) > 0);
    assert_eq!(removed(without_proc(&world, &cleanup)), 0);
    assert!(rollout.exists());
}

/// Names of tests that must also pass on a disk like that of a Mac: those about names of files, moves, and paths.
#[cfg(target_os = "linux")]
const ON_A_MAC: [&str; 5] =
    ["platforms::", "undo::undo_restores", "undo::undo_keeps_file_changed", "delete::", "kimi::"];

/// Runs tests with their homes, stores, state and trash on another file system, in a separate mount namespace.
#[test]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_macros, reason = "whoever runs the tests should know what was run, or that nothing was")]
fn changes_work_on_case_insensitive_disk() {
    const THIS: &str = "platforms::changes_work_on_case_insensitive_disk";
    const VOLUME: &str = "REJOIN_MAC_DISK";
    let program = std::env::current_exe().expect("this program");
    let Some(volume) = std::env::var_os(VOLUME) else {
        let volume = tempfile::tempdir().expect("a directory");
        let mut inside = Command::new("unshare");
        // The agents that other tests start now must be hidden: the environment of a process outside of the namespace
        // cannot be read, so each of them may use any session.
        let can_hide = Command::new("unshare").args(["-rmpf", "--mount-proc", "true"]).status();
        let hides: &[&str] =
            if can_hide.is_ok_and(|status| status.success()) { &["-rmpf", "--mount-proc"] } else { &["-rm"] };
        inside.args(hides).arg(program).args(["--exact", THIS, "--nocapture"]).env(VOLUME, volume.path());
        let output = inside.output().expect("unshare");
        let stdout = String::from_utf8_lossy(&output.stdout);
        let summary: Vec<_> = stdout.lines().filter(|line| line.starts_with("on a disk like a Mac's: ")).collect();
        println!("{}", summary.join("\n"));
        if summary.is_empty() {
            println!("skipped: no mount namespace can be made here: {}", String::from_utf8_lossy(&output.stderr));
        } else {
            assert!(output.status.success(), "{stdout}");
        }
        return;
    };
    if let Err(error) = crate::mac_disk::mount_at(Path::new(&volume)) {
        println!("on a disk like a Mac's: skipped: none can be mounted here: {error}");
        return;
    }
    let output = Command::new(program)
        .args(ON_A_MAC)
        // On a disk that exchanges messages with another process, times do not grow linearly.
        .args(["--skip", THIS, "--skip", "time_grows_linearly"])
        .env("TMPDIR", &volume)
        .env_remove(VOLUME)
        .output()
        .expect("this program");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let result = stdout.lines().find(|line| line.starts_with("test result: ")).unwrap_or("no result");
    println!("{stdout}on a disk like a Mac's: {result}");
    assert!(output.status.success());
}

/// Returns whether the disk of the tests ignores the case of names, and the form of accents.
#[expect(clippy::disallowed_macros, reason = "whoever runs the tests should know that this one did nothing")]
fn is_mac_disk() -> bool {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("caf\u{e9}"), "").expect("a file");
    let is_one = dir.path().join("CAFE\u{301}").exists();
    if !is_one {
        println!(
            "skipped: this disk tells capitals apart; it is run again on one that does not, or with TMPDIR on one"
        );
    }
    is_one
}

fn sessions_in(world: &World, dir: &Path) -> Vec<Session> {
    world.rejoin(["list", "--json", "--dir", dir.to_str().expect("a path")]).code(0).sessions()
}

#[test]
fn directory_matches_in_any_case_on_mac_disk() {
    if !is_mac_disk() {
        return;
    }
    let world = World::with_agents();
    let [app, other] = ["app", "other"].map(|name| world.dir(name));
    let root = world.root();
    let spelled = root.join("App");
    world.add(Claude::session(id(1)).in_dir(&spelled).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(spelled.join("src")).turn("x", "y"));
    world.add(Claude::session(id(3)).in_dir(&other).turn("x", "y"));
    let found = sessions_in(&world, &app);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(sessions_in(&world, &root.join("OTHER")).len(), 1);
    // The client may have recorded the typed path, and filed the session under the name on disk.
    world.add(Claude::session(id(4)).in_dir(&spelled).filed_under(claude_slug(&app)).turn("x", "y"));
    assert!(world.rejoin(["resume", &id(4), "--json"]).plan().refusals.is_empty());
}

#[test]
fn project_matches_composed_accents() {
    let world = World::with_agents();
    // A directory as the Finder, unzip or git may have made it: the accent is a separate letter.
    let apart = world.dir("cafe\u{301}");
    let composed = world.root().join("caf\u{e9}");
    world.add(Claude::session(id(1)).in_dir(&apart).filed_under(claude_slug(&composed)).turn("x", "y"));
    let plan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert!(plan.refusals.is_empty(), "{plan:?}");
    world.rejoin(["resume", &id(1)]).code(0);
    let cwd = world.launched().expect("a launch").cwd;
    assert_eq!(cwd, apart.canonicalize().expect("a path"));
    assert_eq!(sessions_in(&world, &apart).len(), 1);
    // If the file system distinguishes the two, they are two directories.
    let both = composed.exists();
    assert_eq!(sessions_in(&world, &composed).len(), usize::from(both));
}

#[test]
fn project_matches_decomposed_accents() {
    let world = World::with_agents();
    let dir = world.dir("caf\u{e9}");
    let apart = world.root().join("cafe\u{301}");
    world.add(Claude::session(id(1)).in_dir(&dir).filed_under(claude_slug(&apart)).turn("x", "y"));
    world.rejoin(["doctor", "--check", "misfiled-session"]).code(0);
    let plan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert!(plan.refusals.is_empty(), "{plan:?}");
    // The notes of the project move with its sessions.
    put(&world.home().join(".claude/projects").join(claude_slug(&apart)).join("memory/MEMORY.md"), "note");
    let moved = world.dir("moved");
    let dirs = [&dir, &moved].map(|dir| dir.to_str().expect("a path"));
    world.rejoin(["move", dirs[0], dirs[1], "--yes"]).code(0);
    assert!(world.home().join(".claude/projects").join(claude_slug(&moved)).join("memory/MEMORY.md").exists());
}

#[test]
fn directory_matches_through_linked_parent() {
    let world = World::with_agents();
    // As /tmp and /var lead to /private on a Mac: agents record the system's path.
    let real = world.dir("private/tmp/app");
    std::os::unix::fs::symlink(world.root().join("private/tmp"), world.root().join("tmp")).expect("a link");
    let typed = world.root().join("tmp/app");
    world.add(Claude::session(id(1)).in_dir(&real).turn("x", "y"));
    assert_eq!(sessions_in(&world, &typed).len(), 1);
    // A session that recorded the link is filed under the target of the link.
    world.add(Claude::session(id(2)).in_dir(&typed).filed_under(claude_slug(&real)).turn("x", "y"));
    let plan = world.rejoin(["resume", &id(2), "--json"]).plan();
    assert!(plan.refusals.is_empty(), "{plan:?}");
}

#[test]
fn list_and_doctor_ignore_mac_attributes_of_every_agent() {
    // The beginning of each file that macOS writes for another one on a disk without its attributes.
    let double = [&[0, 5, 0x16, 7, 0, 2, 0, 0][..], b"Mac OS X        ", &[0; 60]].concat();
    agent_rules::hold("files with the attributes of others are ignored", "src/system/fsio.rs", |agent| {
        if !cfg!(feature = "sqlite") && NEEDS_SQLITE.contains(&agent) {
            return;
        }
        let world = World::new();
        if !ordinary::write(agent, &world) {
            return;
        }
        age_tree(&world.home());
        // The folder of a session grows with them.
        let answers = || {
            let sessions = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions();
            let report: DoctorReport =
                world.rejoin(["doctor", "--all-findings", "--json"]).code_is_one_of(&[0, 4]).json();
            let session = |it: Session| format!("{:?}", Session { size_bytes: None, copies: Vec::new(), ..it });
            (sessions.into_iter().map(session).collect::<Vec<_>>(), format!("{:?}", report.findings))
        };
        let before = answers();
        let entries =
            walkdir::WalkDir::new(world.home()).min_depth(1).into_iter().map(|entry| entry.expect("an entry"));
        for entry in entries
            .filter(|entry| !entry.path().components().any(|part| part.as_os_str() == ".git"))
            .collect::<Vec<_>>()
        {
            let name = format!("._{}", entry.file_name().to_string_lossy());
            std::fs::write(entry.path().with_file_name(name), &double).expect("a file");
        }
        age_tree(&world.home());
        assert_eq!(answers(), before);
    });
}
