//! Files in the stores that cannot be read, or to which an agent wrote no message: one line for many, and a command
//! that moves them to the trash.

use std::path::{Path, PathBuf};

use crate::contract::DoctorReport;
use crate::fixtures::{Claude, Gemini, age_tree, id, put};
use crate::picture::picture;
use crate::world::World;

/// Writes a session of Gemini CLI, and files next to it that a runaway sub-agent left; returns the session's file.
pub(crate) fn with_debris(world: &World, files: usize) -> PathBuf {
    let session = world.add(Gemini::session(id(1)).in_dir("/usr/bin").turn("the only real one", "Yes."));
    for n in 0..files {
        let head = format!("{{\"sessionId\":\"{}\",\"projectHa", id(n as u32 + 2));
        let contents = if n % 2 == 0 { "" } else { &head };
        put(&session.with_file_name(format!("session-2026-02-01T{:02}-{:02}-{n:08x}.jsonl", n % 24, n % 60)), contents);
    }
    age_tree(&world.home());
    session
}

fn files(session: &Path) -> usize {
    std::fs::read_dir(session.parent().expect("a directory")).expect("a listing").count()
}

#[test]
fn list_groups_unreadable_files_by_reason_and_store() {
    let world = World::new();
    with_debris(&world, 4_000);
    let project = world.add(Claude::session(id(9_000)).turn("x", "y")).parent().expect("a project").to_owned();
    for n in 0..5 {
        std::fs::create_dir(project.join(format!("{}.jsonl", id(9_001 + n)))).expect("a directory");
        std::os::unix::fs::symlink("/dev/null", project.join(format!("{}.jsonl", id(9_010 + n)))).expect("a link");
    }
    std::os::unix::fs::symlink("/dev/null", world.home().join(".gemini/tmp/link.json")).expect("a link");
    let answer = world.rejoin(["list"]).code(0);
    assert_eq!(answer.stdout().lines().count(), 2, "{}", answer.stdout());
    let lines: Vec<String> = answer.stderr().lines().map(str::to_owned).collect();
    assert!(lines.len() <= 2, "{lines:#?}");
    let home = world.home();
    let list = format!("`rejoin --home {0} doctor --check unreadable --all-findings` lists them", home.display());
    let list =
        if lines[0].contains("--home") { list } else { list.replace(&format!("--home {} ", home.display()), "") };
    let gemini = home.join(".gemini");
    let expected = format!(
        "warning: cannot read 4000 files below {}: there is no session id at its start; {list}",
        gemini.display()
    );
    assert!(lines.contains(&expected), "{lines:#?}\n{expected}");
    let listed: DoctorReport = world.rejoin(["doctor", "--check", "unreadable", "--json"]).code(4).json();
    assert!(listed.findings.len() >= 4_000, "{}", listed.findings.len());
}

#[test]
fn doctor_and_cleanup_move_debris_to_the_trash() {
    let world = World::new();
    let session = with_debris(&world, 10);
    // These files may be sessions.
    for (name, contents) in [
        ("session-2026-02-01T10-00-0000a000.jsonl", "{\"new\":1}\n"),
        ("session-2026-02-01T10-00-0000a001.jsonl", "{\"sessionId\":\"x\",\"messages\":[{\"con"),
        ("notes.jsonl", ""),
    ] {
        put(&session.with_file_name(name), contents);
    }
    age_tree(&world.home());
    let before = picture(&world.home().join(".gemini"));
    for args in
        [&["cleanup", "--empty", "--any-age", "--allow-all"][..], &["doctor", "--fix", "--check", "leftover-temp"]]
    {
        world.rejoin([args, &["--dry-run"]].concat()).code_is_one_of(&[0, 4]);
        assert!(before == picture(&world.home().join(".gemini")), "{args:?} --dry-run");
        let answer = world.rejoin([args, &["--yes"]].concat()).code_is_one_of(&[0, 4]);
        assert_eq!(files(&session), 4, "{args:?}: {}", answer.stdout());
        world.rejoin(["undo", "--yes"]).code(0);
        assert!(before == picture(&world.home().join(".gemini")), "{args:?}, undone");
    }
    let answer = world.rejoin(["cleanup", "--empty", "--any-age", "--allow-all", "--yes"]).code(0);
    assert!(
        answer.stdout().contains("0 sessions and 10 files without a session removed, 310 B to the trash"),
        "{}",
        answer.stdout()
    );
}

#[test]
fn cleanup_keeps_recently_created_file() {
    let world = World::new();
    let session = with_debris(&world, 2);
    let new = session.with_file_name("session-2026-02-28T10-00-0000b000.jsonl");
    std::fs::write(&new, "").expect("a file");
    world.rejoin(["cleanup", "--empty", "--any-age", "--allow-all", "--yes"]).code(0);
    world.rejoin(["doctor", "--fix", "--yes"]).code_is_one_of(&[0, 4]);
    assert!(new.exists() && files(&session) == 2);
}
