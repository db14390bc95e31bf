//! As root: nothing is written through a link of another user, nor into a state directory of another user.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::path::Path;

use crate::fixtures::{Claude, id, put};
use crate::other_owner::{ANA, is_root};
use crate::world::World;

fn link_of_ana(target: &Path, link: &Path) {
    std::fs::create_dir_all(link.parent().expect("a directory")).expect("a directory");
    symlink(target, link).expect("a link");
    lchown(link, Some(ANA), Some(ANA)).expect("an owner");
}

#[test]
fn no_command_writes_through_link_of_another_user() {
    if !is_root() {
        return;
    }
    let state = "home/.local/state/rejoin";
    let output = |world: &World| world.root().join("out").display().to_string();
    for (link, args) in [
        (state, &["pin", "00000001"][..]),
        (state, &["delete", "00000001", "--yes"]),
        (state, &["resume", "00000001"]),
        ("home/.local/state", &["pin", "00000001"]),
        ("home/.local/state/rejoin/trash", &["delete", "00000001", "--yes"]),
        ("home/.local/state/rejoin/runs", &["delete", "00000001", "--yes"]),
        ("home/.local/state/rejoin/briefings", &["resume", "00000001", "--with", "codex", "--print"]),
        ("home/.local/state/rejoin/links", &["resume", "00000001", "--with", "codex", "--print"]),
        ("home/.local/share/rejoin/archive", &["archive", "00000001"]),
        ("OWN", &["archive", "00000001"]),
        ("OWN/blobs", &["archive", "00000001"]),
        ("OWN/sessions", &["archive", "00000001"]),
        ("out", &["export", "--every", "--output", "OUT"]),
    ] {
        let world = World::with_agents();
        let app = world.dir("app");
        world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y"));
        let victim = world.dir("victim");
        let place = match link.strip_prefix("OWN") {
            Some(rest) => {
                // The machine already has a directory in the archive.
                world.add(Claude::session(id(2)).in_dir(&app).turn("x", "y"));
                world.rejoin(["archive", "00000002"]).code(0);
                let own = crate::archive::own_dir(&world);
                let place = rest.strip_prefix('/').map_or(own.clone(), |rest| own.join(rest));
                std::fs::remove_dir_all(&place).expect("a removal");
                place
            }
            None => world.root().join(link),
        };
        link_of_ana(&victim, &place);
        let args: Vec<String> = args.iter().map(|arg| arg.replace("OUT", &output(&world))).collect();
        let answer = world.rejoin(&args);
        let output = answer.stdout() + &answer.stderr();
        assert!(
            output.contains("belongs to another user") || output.contains("not followed"),
            "{link}: {args:?}: {output}"
        );
        assert_eq!(std::fs::read_dir(&victim).expect("a directory").count(), 0, "{link}: {args:?}");
    }
}

#[test]
fn run_refuses_state_directory_of_another_user() {
    if !is_root() {
        return;
    }
    let world = World::with_agents();
    world.add(Claude::session(id(1)).in_dir(world.dir("app")).turn("x", "y"));
    let state = world.dir("home/.local/state/rejoin");
    lchown(&state, Some(ANA), Some(ANA)).expect("an owner");
    let stderr = world.rejoin(["pin", "00000001"]).code(1).stderr();
    assert!(stderr.contains("it belongs to another user, 4321"), "{stderr}");
    assert_eq!(std::fs::read_dir(&state).expect("a directory").count(), 0);
}

#[test]
fn run_follows_own_links_to_state_directory() {
    let world = World::with_agents();
    world.add(Claude::session(id(1)).in_dir(world.dir("app")).turn("x", "y"));
    let disk = world.dir("other disk/state");
    std::fs::create_dir_all(world.home().join(".local")).expect("a directory");
    symlink(&disk, world.home().join(".local/state")).expect("a link");
    world.rejoin(["pin", "00000001"]).code(0);
    assert!(disk.join("rejoin/pins.json").exists());
}

#[test]
fn rewritten_private_file_has_private_mode() {
    let world = World::with_agents();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y"));
    let state = world.home().join(".local/state/rejoin");
    let files = [state.join("briefings").join(format!("claude-{}.md", id(1))), state.join("pins.json")];
    put(&files[0], "old");
    put(&files[1], "{\"format_version\": 1, \"pins\": []}");
    for file in &files {
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o666)).expect("a mode");
    }
    world.rejoin(["resume", "00000001", "--with", "codex", "--print"]).code(0);
    world.rejoin(["pin", "00000001"]).code(0);
    for file in &files {
        assert_eq!(file.metadata().expect("metadata").mode() & 0o777, 0o600, "{}", file.display());
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn pin_in_place_counts_as_written() {
    let mut unsynced = 0;
    for point in 1..40 {
        let world = World::with_agents();
        world.add(Claude::session(id(1)).in_dir(world.dir("app")).turn("x", "y"));
        let answer = world.with("REJOIN_FAULT", format!("5:{point}")).rejoin(["pin", "00000001"]);
        let is_pinned = world.home().join(".local/state/rejoin/pins.json").exists();
        if is_pinned && answer.exit() != Some(0) {
            assert!(answer.stderr().contains("cannot sync"), "{point}: {}", answer.stderr());
            unsynced += 1;
        }
    }
    assert!(unsynced > 0);
}
