//! As root in the home of another user: created files belong to that user.

use std::os::unix::fs::{MetadataExt as _, lchown};
use std::path::Path;

use crate::fixtures::{Amplifier, Claude, id, put};
use crate::world::World;

/// The owner of the home.
const ANA: u32 = 4321;

fn entries(dir: &Path) -> impl Iterator<Item = walkdir::DirEntry> {
    walkdir::WalkDir::new(dir).into_iter().map(|entry| entry.expect("an entry"))
}

#[test]
#[expect(clippy::disallowed_macros, reason = "whoever runs the tests should know that this one did nothing")]
fn files_made_by_root_belong_to_the_owner_of_the_home() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can work on somebody else's home");
        return;
    }
    let world = World::with_agents();
    let app = world.dir("home/app");
    world.add(Amplifier::session(id(1)).in_dir(&app).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&app).turn("x", "y").subagent("agent-a1", "look", "ok"));
    world.add(Claude::session(id(3)).in_dir(&app).turn("more", "ok"));
    put(&app.join(".rejoin-abc.tmp"), "{");
    let home = world.home();
    entries(&home).for_each(|entry| lchown(entry.path(), Some(ANA), Some(ANA)).expect("an owner"));
    let roots = world.dir("root");
    let (app_dir, home_dir) = (app.to_str().expect("a path"), home.to_str().expect("a path"));
    for args in [
        &["pin", "00000003"][..],
        &["backfill", "--every"],
        &["archive", "--every"],
        &["delete", "00000002", "--yes"],
        &["undo"],
        &["delete", "00000002", "--yes"],
        &["restore", "00000002"],
        &["doctor", "--fix"],
        &["hook", "install"],
        &["resume", "00000003"],
        &["save", "leo", "--app-dir", app_dir, "--session-id", &id(3)],
        &["save", "session-info", "--session-dir", &format!("{home_dir}/new/dir"), "--working-dir", app_dir],
        &["show", "--archived", "00000003", "--transcript"],
    ] {
        let args: Vec<&str> = ["--home", home_dir].into_iter().chain(args.iter().copied()).collect();
        world.with("HOME", &roots).rejoin(&args).code_is_one_of(&[0, 4]);
        for entry in entries(&home) {
            let metadata = entry.metadata().expect("metadata");
            assert_eq!((metadata.uid(), metadata.gid()), (ANA, ANA), "{args:?} made {}", entry.path().display());
        }
    }
    assert_eq!(entries(&roots).count(), 1, "and nothing is made in root's own");
}
