//! Evidence for the new place of a missing directory: the records of sessions, the projects of agents, and git.

use crate::fixtures::{Claude, Codex, claude_slug, id};
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

#[test]
fn recorded_directories_are_first_candidates() {
    let world = World::with_agents();
    let (started, last) = (world.dir("A"), world.dir("work/dir2"));
    let (left, gone) = (world.root().join("work/dir1"), world.root().join("B/gone"));
    world.dir("B");
    let codex = Codex::session(id(1)).in_dir(&started).cd(&gone);
    world.add(codex.turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&left).turn("x", "y").cd(&last).turn("z", "a"));
    for (n, gone, dir, why) in
        [(1, gone, started, "a session from there was started"), (2, left, last, "a session from there worked last")]
    {
        let refused = world.rejoin(["resume", &id(n)]).code(7).stderr();
        let first = refused.lines().nth(2).expect("a candidate");
        assert!(first.contains(&format!(" --in {}`", dir.display())) && first.contains(why), "{refused}");
        let detected = world.rejoin(["move", "--detect"]).code(0).stdout();
        let line = format!("# \"{}\" -> \"NEW_DIR\"  # 1 session; {}: ", gone.display(), dir.display());
        assert!(detected.contains(&line), "{detected}");
        let doctor = world.rejoin(["doctor", "--all-findings"]).code(4).stdout();
        assert!(doctor.contains(&format!(" --in {}  resumes", dir.display())), "{doctor}");
        // A session's first directory existed together with the missing one.
        let moves = format!("move {} {}", gone.display(), dir.display());
        assert_eq!(doctor.contains(&moves), n == 2, "{doctor}");
        assert_eq!(refused.contains(&moves), n == 2, "{refused}");
    }
}

#[test]
fn name_with_other_encoding_of_accents_is_a_candidate() {
    let world = World::with_agents();
    // A home that was copied from macOS: the folder has decomposed accents, and the agent recorded composed ones.
    let (on_disk, recorded) = (world.dir("work/re\u{301}sume\u{301}"), world.root().join("work/r\u{e9}sum\u{e9}"));
    if recorded.exists() {
        return;
    }
    world.add(Claude::session(id(1)).in_dir(&recorded).turn("x", "y"));
    let command = format!("rejoin move '{}' '{}'", recorded.display(), on_disk.display());
    let refused = world.rejoin(["resume", &id(1)]).code(7).stderr();
    assert!(refused.contains(&command), "{refused}");
    let doctor = world.rejoin(["doctor", "--all-findings"]).code(4).stdout();
    assert!(doctor.contains(&command) && !doctor.contains("mkdir"), "{doctor}");
}
