//! Copies of one session in one place, of which the command of the agent opens only one.

use std::path::{Path, PathBuf};

use crate::agent_rules;
use crate::agents::NEEDS_SQLITE;
use crate::facts::copy_tree;
use crate::fixtures::{Codex, Gemini, Pi, age_tree, id, put};
use crate::ordinary;
use crate::world::World;

/// Returns the message of a refused resume of a copy.
fn refusal(world: &World, copy: &str) -> String {
    for format in [&["--print"][..], &[]] {
        world.rejoin([&["resume", &id(1), "--copy", copy], format].concat()).code(7);
    }
    let plan = world.rejoin(["resume", &id(1), "--copy", copy, "--json"]).code(7).plan();
    assert_eq!(plan.refusals[0].code, "other-copy");
    world.rejoin(["resume", &id(1), "--copy", copy]).code(7).stderr()
}

#[test]
fn gemini_opens_the_copy_updated_last() {
    let world = World::with_agents();
    world.install("gemini", "");
    let app = world.dir("app");
    let real = Gemini::session(id(1)).in_dir(&app).turn("configure the proxy", "done").turn("and the cache", "done");
    let real = world.add(real);
    let stub = Gemini::session(id(1)).in_dir(&app).at("2026-02-01T11:00:00Z").turn("give a summary", "of nothing");
    let stub = world.add(stub);
    let answer = world.rejoin(["resume", &id(1)]).code(6).stderr();
    assert!(answer.contains(&format!("resume one with `rejoin resume gemini:{} --copy 1`", id(1))), "{answer}");
    let opened = world.rejoin(["resume", &id(1), "--copy", "1", "--json"]).plan();
    assert_eq!((opened.path.as_deref(), opened.refusals.len()), (stub.to_str(), 0));
    let why = refusal(&world, "2");
    assert!(why.contains("gemini would continue copy 1 of session"), "{why}");
    let way = format!("rejoin delete gemini:{} --copy 1", id(1));
    assert!(why.contains(&format!("`{way}`")) && why.contains(&format!("`rejoin resume gemini:{}`", id(1))), "{why}");
    world.rejoin(way.split(' ').skip(1).chain(["--yes"])).code(0);
    assert_eq!(world.rejoin(["resume", &id(1), "--json"]).plan().path.as_deref(), real.to_str());
}

#[test]
fn copies_that_agent_confuses_are_not_resumed() {
    let world = World::with_agents();
    let app = world.dir("app");
    let one = world.add(Pi::session(id(1)).in_dir(&app).turn("wren", "ok").turn("more", "ok"));
    world.add(Pi::session(id(1)).in_dir(&app).at("2026-02-02T10:00:00Z").turn("finch", "ok"));
    let answer = world.rejoin(["resume", &id(1)]).code(6).stderr();
    assert!(answer.contains(&format!("then resume the other with `rejoin resume pi:{}`", id(1))), "{answer}");
    for (copy, other) in [("1", "2"), ("2", "1")] {
        let why = refusal(&world, copy);
        assert!(why.contains(&format!("pi may continue copy {other} of session {}, not copy {copy}", id(1))), "{why}");
    }
    // A copy of the same messages is no other conversation.
    let text = std::fs::read_to_string(&one).expect("a file");
    world.rejoin(["delete", &id(1), "--copy", "1", "--yes"]).code(0);
    let left = world.rejoin(["show", &id(1), "--path"]).code(0).stdout();
    let left = Path::new(left.trim());
    let text = if left == one { text } else { std::fs::read_to_string(left).expect("a file") };
    put(&left.with_file_name(format!("2026-02-03T10-00-00-000Z_{}.jsonl", id(1))), text);
    age_tree(&world.home());
    world.rejoin(["resume", &id(1), "--print"]).code(0);
}

#[test]
fn codex_opens_the_listed_copy_alone() {
    let world = World::with_agents();
    let app = world.dir("app");
    let folders = ["sessions/2026/02/01", "sessions/2027/01/05"];
    let [one, _] =
        folders.map(|folder| world.add(Codex::session(id(1)).in_dir(&app).turn(folder, "1").in_folder(folder)));
    for copy in ["1", "2"] {
        assert!(refusal(&world, copy).contains("codex may continue"), "nothing names one of them");
    }
    #[cfg(feature = "sqlite")]
    {
        world.add(crate::fixtures::CodexThreads::naming(&id(1), &one));
        let opened = world.rejoin(["resume", &id(1), "--json"]).plan();
        assert_eq!((opened.path.as_deref(), opened.refusals.len()), (one.to_str(), 0));
        assert!(refusal(&world, "2").contains("codex would continue copy 1"));
    }
    assert!(one.exists());
}

/// Returns names for a second file of a session: the name, then that of its folder, with another digit that is not in
/// the id.
fn other_paths(path: &Path, id: &str) -> Vec<PathBuf> {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let at_of = |name: &str| {
        let own = name.find(id).map_or(name.len()..name.len(), |at| at..at + id.len());
        name.char_indices().rev().find(|(at, digit)| !own.contains(at) && digit.is_ascii_digit()).map(|(at, _)| at)
    };
    let changed = (1..=2).filter_map(|back| {
        let mut parts = parts.clone();
        let name = parts.iter_mut().nth_back(back - 1)?;
        let at = at_of(name)?;
        let digit = if name[at..].starts_with('4') { "5" } else { "4" };
        name.replace_range(at..=at, digit);
        Some(parts.iter().collect())
    });
    changed.collect()
}

#[test]
fn no_command_resumes_two_copies_of_every_agent() {
    let mut tested = Vec::new();
    agent_rules::hold("each copy has its own command, or none", agent_rules::GUIDE, |agent| {
        let world = World::with_agents();
        if (!cfg!(feature = "sqlite") && NEEDS_SQLITE.contains(&agent)) || !ordinary::write(agent, &world) {
            return;
        }
        let session = || world.rejoin(["list", "--agent", agent, "--all", "--json"]).code(0).sessions().remove(0);
        let first = session();
        let (path, asked) = (PathBuf::from(&first.copies[0].path), first.first_prompt.expect("a prompt"));
        for copy in other_paths(&path, &first.id) {
            if path.is_dir() {
                copy_tree(&path, &copy);
            } else {
                put(&copy, std::fs::read(&path).expect("a file"));
            }
            for entry in walkdir::WalkDir::new(&copy).into_iter().filter_map(Result::ok) {
                let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
                if text.contains(&asked) {
                    std::fs::write(entry.path(), text.replace(&asked, &"x".repeat(asked.len()))).expect("a file");
                }
            }
            age_tree(&world.home());
            if session().copies.len() == 2 {
                tested.push(agent);
                let commands = ["1", "2"].map(|copy| {
                    let answer = world.rejoin(["resume", &first.id, "--agent", agent, "--copy", copy, "--print"]);
                    (answer.exit() == Some(0)).then(|| answer.stdout())
                });
                assert!(commands[0] != commands[1] || commands[0].is_none(), "{commands:?}");
            }
            let _ = std::fs::remove_file(&copy);
            let _ = std::fs::remove_dir_all(&copy);
        }
    });
    assert!(!agent_rules::are_all_chosen() || tested.len() > 4, "only {tested:?} have two copies");
}
