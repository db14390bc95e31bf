//! What holds for every agent, so that one more needs no test of its own for it.

use std::path::Path;

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
