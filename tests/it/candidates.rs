//! Evidence for the new place of a missing directory: the records of sessions, the projects of agents, and git.

use crate::fixtures::{Claude, claude_slug, id};
use crate::world::World;

#[test]
fn project_renamed_by_hand_names_its_directory() {
    let world = World::with_agents();
    let (old, new) = (world.root().join("hand/a"), world.dir("hand/b"));
    world.add(Claude::session(id(1)).in_dir(&old).turn("x", "y").filed_under(claude_slug(&new)));
    let (gone, new) = (old.display(), new.display());
    let command = format!("`rejoin move {gone} {new}`");
    for from in [world.root(), &world.root().join("hand/b")] {
        let refused = world.from(from).rejoin(["resume", &id(1)]).code(7).stderr();
        let options = [&command, &format!(" --in {new}`")];
        assert!(options.iter().all(|option| refused.contains(*option)) && !refused.contains("--trust"), "{refused}");
        let doctor = world.from(from).rejoin(["doctor", "--all-findings"]).code(4).stdout();
        assert!(doctor.contains(&format!(" {gone} {new}  ")), "{doctor}");
        let detected = world.from(from).rejoin(["move", "--detect"]).code(0).stdout();
        let line = format!("# \"{gone}\" -> \"NEW_DIR\"  # 1 session; {new}: the directory of the project in which");
        assert!(detected.contains(&line), "{detected}");
    }
    let here = || world.from(world.root().join("hand/b"));
    let note = here().rejoin(["resume", "."]).code(5).stderr();
    assert!(note.contains("1 session worked in") && note.contains(&command), "{note}");
    let listed = world.on_terminal(200, ["list", "--dir", &new.to_string()]).stderr();
    assert!(listed.contains(&command), "{listed}");

    world.rejoin(["move", &gone.to_string(), &new.to_string(), "--yes"]).code(0);
    let printed = here().rejoin(["resume", ".", "--print"]).code(0).stdout();
    assert!(printed.starts_with(&format!("cd {new} && ")), "{printed}");
}

#[test]
fn directory_made_again_still_needs_trust() {
    let world = World::with_agents();
    let (old, new) = (world.dir("hand/a"), world.dir("hand/b"));
    world.add(Claude::session(id(1)).in_dir(old).turn("x", "y").filed_under(claude_slug(new)));
    let refused = world.rejoin(["resume", &id(1)]).code(7).stderr();
    assert!(refused.contains(" --trust`"), "{refused}");
}
