//! What holds for every agent, so that one more needs no test of its own for it.

use std::path::Path;

use crate::generated::assert_part;
use crate::world::World;

/// Files that name an agent because it is what they are for.
const BY_MISSION: [&str; 1] = ["commands/backfill.rs"];

#[test]
fn no_agent_is_named_outside_of_its_folder() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut faults = Vec::new();
    for entry in walkdir::WalkDir::new(&src).sort_by_file_name() {
        let entry = entry.expect("an entry");
        let file = entry.path().strip_prefix(&src).expect("a path below");
        let is_source = file.extension().is_some_and(|extension| extension == "rs");
        if !is_source || file.starts_with("agent") || BY_MISSION.iter().any(|known| file == Path::new(known)) {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("a source file");
        // Unit tests may take any agent as their example.
        let lines = text.lines().enumerate().take_while(|(_, line)| !line.ends_with("mod tests {"));
        for (number, line) in lines {
            let named = line.match_indices("AgentKind::").map(|(at, path)| &line[at + path.len()..]);
            if named.into_iter().any(|name| name.starts_with(|c: char| c.is_ascii_uppercase())) {
                faults.push(format!("src/{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "what is said of an agent is for its folder to tell:\n{}", faults.join("\n"));
}

/// Returns the names of all agents.
fn agents(world: &World) -> Vec<String> {
    world.rejoin(["generate", "agents"]).code(0).stdout().lines().map(str::to_owned).collect()
}

#[test]
fn the_readme_names_every_agent() {
    let world = World::new();
    let title = |agent: String| {
        let part = world.rejoin(["generate", "agents", &agent]).code(0).stdout();
        part.lines().find_map(|line| line.strip_prefix("## ")).expect("a title").to_owned()
    };
    let mut titles: Vec<String> = agents(&world).into_iter().map(title).collect();
    titles.sort();
    let last = titles.pop().expect("an agent");
    assert_part("README.md", "agents", &format!("It knows {} and {last}.", titles.join(", ")));
}
