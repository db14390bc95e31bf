//! What holds where the system tells less of its processes, or tells names apart less, than the usual Linux machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::contract::changes::Cleanup;
use crate::contract::{Liveness, ResumePlan, Session};
use crate::fixtures::{Claude, Codex, age_tree, claude_slug, id, put};
use crate::world::{Answer, World, start_of};

/// Runs the program where nothing is mounted at `/proc`; its process ids are the usual ones.
fn without_proc(world: &World, args: &[&str]) -> Answer {
    let empty = world.dir("empty");
    let script = "mount --bind \"$0\" /proc && exec \"$@\"";
    let mut words = vec!["-rm", "sh", "-c", script, empty.to_str().expect("a path"), env!("CARGO_BIN_EXE_rejoin")];
    words.extend(args);
    world.from(world.dir("elsewhere")).run("unshare", words)
}

/// Tells whether this machine lets a test hide `/proc`.
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
fn without_proc_what_may_be_in_use_is_never_idle() {
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
    // No process has this id, whatever the system tells.
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

    // An older Codex takes no lock; only the table of open files tells.
    lock.unlock().expect("no lock");
    let rollout = world.add(Codex::session(id(5)).in_old_words().in_dir(&app).turn("x", "y"));
    assert!(is_doubted(5), "nothing rules it out");
    assert!(!warns(world.rejoin(["resume", &id(5), "--print"])));

    // What some process may have open is not removed.
    age_tree(&world.home());
    let cleanup = ["cleanup", "--older-than", "1d", "--dry-run", "--json"];
    let removed = |answer: Answer| answer.code_is_one_of(&[0, 7]).json::<Cleanup>().planned;
    assert!(removed(world.rejoin(cleanup)) > 0);
    assert_eq!(removed(without_proc(&world, &cleanup)), 0);
    assert!(rollout.exists());
}

/// Returns a directory on a file system that does not tell capitals apart: the usual one on a Mac, or one that is
/// mounted where `REJOIN_CASELESS_DIR` says, such as with `ciopfs`.
#[expect(clippy::disallowed_macros, reason = "whoever runs the tests should know that this one did nothing")]
fn caseless() -> Option<tempfile::TempDir> {
    let named = std::env::var_os("REJOIN_CASELESS_DIR").map(PathBuf::from);
    for dir in named.into_iter().chain([std::env::temp_dir()]) {
        let Ok(dir) = tempfile::Builder::new().prefix("caseless").tempdir_in(dir) else { continue };
        std::fs::write(dir.path().join("probe"), "").expect("a file");
        if dir.path().join("PROBE").exists() {
            return Some(dir);
        }
    }
    println!("skipped: no file system here takes capitals for small letters; REJOIN_CASELESS_DIR names one");
    None
}

fn sessions_in(world: &World, dir: &Path) -> Vec<Session> {
    world.rejoin(["list", "--json", "--dir", dir.to_str().expect("a path")]).code(0).sessions()
}

#[test]
fn one_directory_in_capitals_and_in_small_letters_is_one() {
    let Some(root) = caseless() else { return };
    let world = World::with_agents();
    let root = root.path().canonicalize().expect("a path");
    let [app, other] = ["app", "other"].map(|name| root.join(name));
    std::fs::create_dir(&app).and_then(|()| std::fs::create_dir(&other)).expect("directories");
    let spelled = root.join("App");
    world.add(Claude::session(id(1)).in_dir(&spelled).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(spelled.join("src")).turn("x", "y"));
    world.add(Claude::session(id(3)).in_dir(&other).turn("x", "y"));
    let found = sessions_in(&world, &app);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(sessions_in(&world, &root.join("OTHER")).len(), 1);
    // The client may have noted it as it was typed, and filed it as it is called on disk.
    world.add(Claude::session(id(4)).in_dir(&spelled).filed_under(claude_slug(&app)).turn("x", "y"));
    assert!(world.rejoin(["resume", &id(4), "--json"]).code(0).json::<ResumePlan>().refusals.is_empty());
}

#[test]
fn a_project_is_named_after_composed_accents() {
    let world = World::with_agents();
    // A directory as the Finder, unzip or git may have made it: the accent is a letter of its own.
    let apart = world.dir("cafe\u{301}");
    let composed = world.root().join("caf\u{e9}");
    world.add(Claude::session(id(1)).in_dir(&apart).filed_under(claude_slug(&composed)).turn("x", "y"));
    let plan = world.rejoin(["resume", &id(1), "--json"]).code(0).json::<ResumePlan>();
    assert!(plan.refusals.is_empty(), "{plan:?}");
    world.rejoin(["resume", &id(1)]).code(0);
    let cwd = world.launched().expect("a launch").cwd;
    assert_eq!(cwd, apart.canonicalize().expect("a path"));
    assert_eq!(sessions_in(&world, &apart).len(), 1);
    // Where the file system tells the two apart, they are two directories.
    let both = composed.exists();
    assert_eq!(sessions_in(&world, &composed).len(), usize::from(both));
}

#[test]
fn a_directory_is_found_through_a_link_above_it() {
    let world = World::with_agents();
    // As /tmp and /var lead to /private on a Mac: agents note what the system calls it.
    let real = world.dir("private/tmp/app");
    std::os::unix::fs::symlink(world.root().join("private/tmp"), world.root().join("tmp")).expect("a link");
    let typed = world.root().join("tmp/app");
    world.add(Claude::session(id(1)).in_dir(&real).turn("x", "y"));
    assert_eq!(sessions_in(&world, &typed).len(), 1);
    // What noted the link is filed under what the link leads to.
    world.add(Claude::session(id(2)).in_dir(&typed).filed_under(claude_slug(&real)).turn("x", "y"));
    let plan = world.rejoin(["resume", &id(2), "--json"]).code(0).json::<ResumePlan>();
    assert!(plan.refusals.is_empty(), "{plan:?}");
}
