//! As root: the home of another user is not changed, and a new file in a directory of another user belongs to that
//! user.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt, lchown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use crate::fixtures::{Amplifier, Claude, id};
use crate::forged_journal::forge;
use crate::picture::{differences, picture};
use crate::world::World;

/// The id of the other user.
pub(crate) const ANA: u32 = 4321;

fn entries(dir: &Path) -> impl Iterator<Item = walkdir::DirEntry> {
    walkdir::WalkDir::new(dir).into_iter().map(|entry| entry.expect("an entry"))
}

fn give_to_ana(dir: &Path) {
    entries(dir).for_each(|entry| lchown(entry.path(), Some(ANA), Some(ANA)).expect("an owner"));
}

#[expect(clippy::disallowed_macros, reason = "a skipped test says so")]
pub(crate) fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("skipped: only root can give files to another user");
    }
    is_root
}

#[test]
fn root_changes_nothing_in_home_of_another_user() {
    if !is_root() {
        return;
    }
    let world = World::with_agents();
    let app = world.dir("home/app");
    world.add(Amplifier::session(id(1)).in_dir(&app).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&app).turn("x", "y").subagent("agent-a1", "look", "ok"));
    world.add(Claude::session(id(3)).in_dir(&app).turn("more", "ok"));
    world.rejoin(["archive", "--every"]).code(0);
    world.rejoin(["delete", &id(2), "--yes"]).code(0);
    let (home, victim) = (world.home(), world.dir("scripts-of-every-login").join("evil.sh"));
    forge(&home, &victim, "touch /owned\n");
    give_to_ana(&home);
    let (roots, before) = (world.dir("root"), picture(&home));
    let (app_dir, home_dir) = (app.to_str().expect("a path"), home.to_str().expect("a path"));
    let rejoin = |args: &[&str]| {
        let args: Vec<&str> = ["--home", home_dir].into_iter().chain(args.iter().copied()).collect();
        let answer = world.with("HOME", &roots).rejoin(&args);
        assert_eq!(differences(&before, &picture(&home)), [""; 0], "{args:?}");
        assert!(!victim.exists(), "{args:?} ran a journal of another user");
        answer
    };
    for args in [
        &["pin", "00000003"][..],
        &["backfill", "--every"],
        &["archive", "--every"],
        &["cleanup", "--yes"],
        &["delete", "00000003", "--yes"],
        &["undo", "--yes"],
        &["undo", "--dry-run", "--yes"],
        &["restore", "00000002"],
        &["doctor", "--fix"],
        &["hook", "install"],
        &["move", app_dir, "/usr/bin"],
        &["resume", "00000003"],
        &["resume", "00000003", "--with", "codex", "--print"],
        &["save", "leo", "--app-dir", app_dir, "--session-id", &id(3)],
        &["save", "session-info", "--session-dir", &format!("{home_dir}/new/dir"), "--working-dir", app_dir],
    ] {
        let error = rejoin(args).code(7).stderr();
        let command = format!("sudo -u '#{ANA}' rejoin --home {home_dir} {}", args[0]);
        assert!(error.contains("belongs to another user, 4321") && error.contains(&command), "{args:?}: {error}");
    }
    for args in [&["list"][..], &["show", "00000003"], &["resume", "00000003", "--print"], &["undo", "--list"]] {
        rejoin(args).code(0);
    }
    rejoin(&["show", "--archived", "00000003", "--transcript"]).code(0);
    assert_eq!(entries(&roots).count(), 1, "and nothing is made in root's own");
}

#[test]
fn root_creates_files_as_owner_of_directory() {
    if !is_root() {
        return;
    }
    let world = World::with_agents();
    let app = world.dir("app");
    give_to_ana(&app);
    let (app_dir, session_dir) = (app.to_str().expect("a path"), app.join("new/dir"));
    world.rejoin(["save", "leo", "--app-dir", app_dir, "--session-id", &id(3)]).code(0);
    let session_dir = session_dir.to_str().expect("a path");
    world.rejoin(["save", "session-info", "--session-dir", session_dir, "--working-dir", app_dir]).code(0);
    world.from(&app).rejoin(["hook", "install", "--scope", "project"]).code(0);
    assert!(entries(&app).count() > 5);
    for entry in entries(&app) {
        let metadata = entry.metadata().expect("metadata");
        assert_eq!((metadata.uid(), metadata.gid()), (ANA, ANA), "{}", entry.path().display());
    }
}

#[test]
fn permission_errors_name_chown_of_root_owned_files() {
    if !is_root() {
        return;
    }
    let world = World::new();
    let session = |n: u32| Claude::session(id(n)).turn("x", "y");
    world.add(session(1).in_dir("/usr/bin"));
    let file = world.add(session(2).in_dir("/usr/lib"));
    let project = world.add(session(3).in_dir("/usr/share")).parent().expect("a project").to_owned();
    give_to_ana(&world.home());
    for (path, mode) in [(world.root(), 0o755), (&file, 0o600), (&project, 0o700)] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("permissions");
    }
    for path in [&file, &project] {
        lchown(path, Some(0), Some(0)).expect("an owner");
    }
    let of_file =
        format!("permission denied; it belongs to root: `sudo chown {ANA} {}` makes it yours", file.display());
    let of_project = format!("`sudo chown -R {ANA} {}` makes it yours", project.display());
    let program = world.dir("home/bin").join("rejoin");
    std::fs::copy(env!("CARGO_BIN_EXE_rejoin"), &program).expect("a program that the other user may start");
    let printed = |args: &[&str]| {
        let output = world.from("/").command(&program).args(args).uid(ANA).gid(ANA).output().expect("a run");
        String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
    };
    for args in [&["show", &id(2)][..], &["resume", &id(2), "--print"]] {
        let printed = printed(args);
        assert!(printed.contains("error: ") && printed.contains(&of_file), "{args:?}: {printed}");
    }
    for args in [&["list"][..], &["doctor", "--check", "unreadable", "--all-findings"], &["show", &id(3)]] {
        let printed = printed(args);
        assert!(printed.contains(&of_file) && printed.contains(&of_project), "{args:?}: {printed}");
    }
    let printed = printed(&["doctor", "--check", "unread-file"]);
    assert!(printed.contains("No problems found"), "{printed}");
}
