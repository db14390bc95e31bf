//! Output of background tasks, which Claude Code writes outside of its store.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::contract::DoctorReport;
use crate::fixtures::{Claude, age_tree, id, put};
use crate::picture::picture;
use crate::world::{Call, World};

/// A world with two old sessions; the first one has output of a background task.
struct Tasks {
    world: World,
    temporary: PathBuf,
}

impl Tasks {
    fn new() -> Self {
        let world = World::new();
        let temporary = world.root().join("tmp");
        let project = world.dir("app");
        for n in 1..=2 {
            world.add(Claude::session(id(n)).in_dir(&project).turn("run it in the background", "Started."));
        }
        let tasks = Self { world, temporary };
        put(&tasks.dir().join("tasks/b1.output"), "a line\n".repeat(1_000));
        age_tree(&tasks.temporary);
        tasks
    }

    /// Returns the directory with all output.
    fn root(&self) -> PathBuf {
        self.temporary.join(format!("claude-{}", rustix::process::getuid().as_raw()))
    }

    /// Returns the directory with the output of the first session.
    fn dir(&self) -> PathBuf {
        self.root().join("-app").join(id(1))
    }

    fn call(&self) -> Call<'_> {
        self.world.with("CLAUDE_CODE_TMPDIR", &self.temporary)
    }

    /// Makes a file so large that its directory counts as large, as a hole that uses no disk space.
    fn grow(&self) -> PathBuf {
        let path = self.dir().join("tasks/b1.output");
        let file = std::fs::File::create(&path).expect("a file");
        file.set_len(3 << 30).expect("a sparse file");
        file.set_modified(now() - std::time::Duration::from_secs(30 * 24 * 3_600)).expect("a time");
        path
    }
}

const OLD: [&str; 4] = ["cleanup", "--older-than", "1s", "--allow-all"];

#[test]
fn show_and_stats_count_output() {
    let tasks = Tasks::new();
    let shown = tasks.call().rejoin(["show", &id(1)]).code(0);
    let note = format!("its background tasks left 6.8 KiB of output in {}", tasks.dir().display());
    assert!(shown.stdout().contains(&note), "{}", shown.stdout());
    let document: Value = tasks.call().rejoin(["show", &id(1), "--json"]).code(0).json();
    assert_eq!(document["notes"][0], note);
    assert!(!tasks.call().rejoin(["show", &id(2)]).code(0).stdout().contains("background tasks"));
    let stats: Value = tasks.call().rejoin(["stats", "--json"]).code(0).json();
    assert_eq!(stats["total"]["output_bytes"], 7_000);
    let stats = tasks.call().types("sh", concat!(env!("CARGO_BIN_EXE_rejoin"), " stats"), 120).code(0);
    assert!(stats.stdout().contains("6.8 KiB of output of background tasks"), "{}", stats.stdout());
}

#[test]
fn cleanup_delete_and_undo_include_output() {
    for args in [OLD.to_vec(), vec!["delete", "claude:00000001-aaaa-4aaa-8aaa-000000000001"]] {
        let tasks = Tasks::new();
        let before = picture(&tasks.temporary);
        let plan = tasks.call().rejoin([args.as_slice(), &["--dry-run"]].concat()).code(0);
        assert!(plan.stdout().contains(&format!("would remove  the output of claude {}", id(1))), "{}", plan.stdout());
        assert_eq!(picture(&tasks.temporary), before);
        let done = tasks.call().rejoin([args.as_slice(), &["--yes"]].concat()).code(0);
        assert!(!tasks.dir().exists(), "{}", done.stdout());
        tasks.call().rejoin(["undo", "--yes"]).code(0);
        assert_eq!(picture(&tasks.temporary), before);
        tasks.call().rejoin(["show", &id(1)]).code(0);
    }
}

#[test]
fn undo_restores_output_after_restart_with_another_tmpdir() {
    let tasks = Tasks::new();
    let before = picture(&tasks.dir());
    tasks.call().rejoin([&OLD[..], &["--yes"]].concat()).code(0);
    std::fs::remove_dir_all(tasks.root()).expect("an empty directory");
    tasks.world.with("TMPDIR", tasks.world.root().join("other")).rejoin(["undo", "--yes"]).code(0);
    assert_eq!(picture(&tasks.dir()), before);
    tasks.call().rejoin(["show", &id(1)]).code(0);
}

#[test]
fn undo_restores_session_without_conflicting_output() {
    for undo in [&["undo"][..], &["restore", "claude:00000001-aaaa-4aaa-8aaa-000000000001"]] {
        let tasks = Tasks::new();
        tasks.call().rejoin(["delete", &id(1), "--yes"]).code(0);
        put(&tasks.dir().join("tasks/b2.output"), "another task");
        let yes: &[&str] = if undo[0] == "undo" { &["--yes"] } else { &[] };
        let answer = tasks.call().rejoin([undo, yes].concat()).code(3);
        assert!(answer.stdout().contains("refused  the output of claude"), "{}", answer.stdout());
        tasks.call().rejoin(["show", &id(1)]).code(0);
        std::fs::remove_dir_all(tasks.dir()).expect("a directory");
        tasks.call().rejoin(["undo", "20260301-120000"]).code(0);
        assert!(tasks.dir().join("tasks/b1.output").is_file());
    }
}

#[test]
fn restore_brings_output_of_one_session() {
    for name in ["claude:00000001-aaaa-4aaa-8aaa-000000000001", "run it in the background and wait"] {
        let tasks = Tasks::new();
        let app = tasks.world.dir("app");
        tasks.world.add(Claude::session(id(1)).in_dir(&app).turn("run it in the background and wait", "Started."));
        age_tree(&tasks.world.home());
        tasks.call().rejoin([&OLD[..], &["--yes"]].concat()).code(0);
        tasks.call().rejoin(["restore", name]).code(0);
        assert!(tasks.dir().join("tasks/b1.output").is_file(), "{name}");
        tasks.call().rejoin(["show", &id(1)]).code(0);
        tasks.call().rejoin(["show", &id(2)]).code(5);
    }
}

#[test]
fn output_stays_with_session_that_cleanup_keeps() {
    let tasks = Tasks::new();
    // The archive cannot be written, so the session is kept.
    let archive = tasks.world.root().join("file");
    put(&archive, "");
    let args = ["--archive", "--archive-dir", archive.to_str().expect("a path"), "--yes"];
    let answer = tasks.call().rejoin([&OLD[..], &args].concat());
    assert_ne!(answer.exit(), Some(0), "{}", answer.stdout());
    tasks.call().rejoin(["show", &id(1)]).code(0);
    assert!(tasks.dir().join("tasks/b1.output").is_file());
}

#[test]
fn output_stays_while_a_process_has_it_open() {
    let tasks = Tasks::new();
    let mut writer = Command::new("sh");
    writer.args(["-c", "exec 8>>\"$0\" && echo open && read line"]).arg(tasks.dir().join("tasks/b1.output"));
    let mut writer = writer.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
    let mut word = [0; 5];
    std::io::Read::read_exact(writer.stdout.as_mut().expect("a pipe"), &mut word).expect("a word");
    tasks.call().rejoin([&OLD[..], &["--yes"]].concat()).code(0);
    assert!(tasks.dir().join("tasks/b1.output").is_file());
    tasks.call().rejoin(["show", &id(1)]).code(5);
    drop(writer.stdin.take());
    writer.wait().expect("an end");
}

#[test]
fn cleanup_keeps_linked_output_directory() {
    let tasks = Tasks::new();
    let elsewhere = tasks.world.root().join("victim");
    std::fs::rename(tasks.root(), &elsewhere).expect("a rename");
    std::os::unix::fs::symlink(&elsewhere, tasks.root()).expect("a link");
    let before = picture(&elsewhere);
    assert!(!tasks.call().rejoin(["show", &id(1)]).code(0).stdout().contains("background tasks"));
    tasks.call().rejoin([&OLD[..], &["--yes"]].concat()).code(0);
    assert_eq!(picture(&elsewhere), before);
}

#[test]
#[expect(clippy::disallowed_macros, reason = "a skipped test says so")]
fn cleanup_keeps_output_of_another_user() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can give a directory to another user");
        return;
    }
    let tasks = Tasks::new();
    std::os::unix::fs::chown(tasks.root(), Some(12_345), None).expect("another owner");
    let before = picture(&tasks.temporary);
    tasks.call().rejoin([&OLD[..], &["--yes"]].concat()).code(0);
    assert_eq!(picture(&tasks.temporary), before);
}

#[test]
fn cleanup_ignores_output_in_another_home() {
    let tasks = Tasks::new();
    let home = tasks.world.home();
    let shown = tasks.call().rejoin(["--home".as_ref(), home.as_os_str(), "show".as_ref(), id(1).as_ref()]).code(0);
    assert!(!shown.stdout().contains("background tasks"), "{}", shown.stdout());
}

/// Returns the findings about output.
fn findings(call: Call<'_>) -> DoctorReport {
    call.rejoin(["doctor", "--check", "large-output", "--json"]).code(0).json()
}

#[test]
fn doctor_names_output_that_is_large_and_old() {
    let tasks = Tasks::new();
    assert!(findings(tasks.call()).findings.is_empty(), "it is small");
    let path = tasks.grow();
    let found = findings(tasks.call()).findings;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].sessions.len(), 1);
    assert!(found[0].evidence.contains("left 3.0 GiB of output"), "{}", found[0].evidence);
    let remove = &found[0].remedies.last().expect("a remedy").command;
    assert_eq!(*remove, format!("rm -r {}", tasks.dir().display()));
    std::fs::File::options().append(true).open(&path).expect("a file").set_modified(now()).expect("a time");
    assert!(findings(tasks.call()).findings.is_empty(), "it is new");
}

/// Returns the time that counts as now.
fn now() -> std::time::SystemTime {
    crate::world::NOW.parse::<jiff::Timestamp>().expect("a time").into()
}

#[test]
fn doctor_reports_and_keeps_output_of_unknown_session() {
    let tasks = Tasks::new();
    tasks.grow();
    let other = tasks.root().join("-app").join(id(9));
    std::fs::rename(tasks.dir(), &other).expect("a rename");
    let found = findings(tasks.call()).findings;
    assert!(found[0].evidence.contains("no session of that id is read here"), "{}", found[0].evidence);
    for args in [&OLD[..], &["cleanup", "--empty", "--any-age", "--allow-all"], &["doctor", "--fix"]] {
        tasks.call().rejoin([args, &["--yes"]].concat()).code_is_one_of(&[0, 4]);
        assert!(Path::new(&other).join("tasks/b1.output").is_file(), "{args:?}");
    }
}
