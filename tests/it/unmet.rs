//! What the design promises and the program does not keep yet; a test moves to its topic once it passes.

use crate::contract::Details;
use crate::fixtures::{Amplifier, Claude, id, put};
use crate::pipes::leaves_early;
use crate::world::World;

#[test]
fn a_reader_that_leaves_a_long_conversation_in_json_is_a_quiet_success() {
    let world = World::new();
    world.add((0..3000).fold(Claude::session(id(1)), |session, _| session.turn("why?", &"because ".repeat(10))));
    leaves_early(&world, &["show", "latest", "--transcript", "--json"]);
    leaves_early(&world, &["show", "latest", "--transcript", "--format", "ndjson"]);
}

#[test]
fn a_program_on_the_path_that_is_not_executable_is_126() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(world.dir("app")).turn("x", "y"));
    put(&world.root().join("bin/claude"), "#!/bin/sh\n");
    world.rejoin(["resume", &id(1)]).code(126);
}

#[test]
fn the_file_of_a_sub_agent_names_the_sub_agent() {
    let world = World::new();
    let transcript = world.add(Claude::session(id(1)).turn("x", "y").subagent("agent-a", "p", "r"));
    let path = transcript.with_extension("").join("subagents/agent-a.jsonl");
    let shown: Details = world.rejoin(["show", path.to_str().expect("a path"), "--json"]).code(0).json();
    assert_eq!(shown.session.id, "agent-a");
}

#[test]
fn metadata_that_is_too_large_to_read_does_not_hide_its_session() {
    let world = World::new();
    let large = format!("{{\"config\": \"{}\"}}", "x".repeat(17 * 1024 * 1024));
    world.add(Amplifier::session(id(1)).file("metadata.json", large).turn("still here", "y"));
    let sessions = world.rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0].first_prompt.as_deref(), Some("still here"));
}

#[test]
fn identical_copies_that_belong_to_different_directories_are_ambiguous() {
    let world = World::with_agents();
    let (dash, dot) = (world.dir("a/b"), world.dir("a-b"));
    for dir in [&dash, &dot] {
        let name = dir.file_name().and_then(|name| name.to_str()).expect("a name");
        world.add(Amplifier::session(id(1)).in_dir(dir).filed_under(name).turn("x", "y"));
    }
    // The words are the same, but nothing tells in which of the two directories the session belongs.
    world.rejoin(["resume", &id(1)]).code(6);
    assert!(world.launched().is_none());
}
