//! contrib/skill: the instructions for agents about finding earlier work are correct.

use crate::sample_home::{NOW, sample_home};

const SKILL: &str = include_str!("../../contrib/skill/SKILL.md");
const SNIPPET: &str = include_str!("../../contrib/skill/AGENTS.md");

/// Returns the commands of a page: the lines of its `sh` blocks.
fn commands(page: &str) -> Vec<&str> {
    let mut is_inside = false;
    let mut commands = Vec::new();
    for line in page.lines().map(str::trim) {
        match line {
            "```sh" => is_inside = true,
            "```" => is_inside = false,
            command if is_inside => commands.push(command),
            _ => {}
        }
    }
    commands
}

#[test]
fn every_skill_command_answers_as_documented() {
    for page in [SKILL, SNIPPET] {
        let commands = commands(page);
        for wanted in ["rejoin search --json", "rejoin show --json --messages"] {
            assert!(commands.iter().any(|command| command.starts_with(wanted)), "{wanted}");
        }
        for command in commands {
            let world = sample_home();
            // The directory in which a session of the sample worked.
            let dir = "/usr/local/bin";
            let before = crate::picture::picture(&world.home());
            let words: Vec<&str> = command.split(' ').collect();
            assert_eq!(words[0], "rejoin", "{command}");
            let answer = world.from(dir).with("REJOIN_NOW", NOW).rejoin(&words[1..]).code(0).stderr_eq("");
            if words.contains(&"--json") {
                let json: serde_json::Value = answer.json();
                let found = json["sessions"].as_array().map_or(1, Vec::len);
                assert!(found > 0 && found <= 5, "{command}: {json}");
                let messages = json["messages"].as_array().or(json["sessions"][0]["messages"].as_array());
                assert_eq!(messages.is_some(), words[1] != "list", "{command}");
            } else {
                assert!(answer.stdout().contains("claude --resume "), "{command}");
            }
            let changed = crate::picture::differences(&before, &crate::picture::picture(&world.home()));
            assert_eq!(changed, Vec::<String>::new(), "{command}");
        }
    }
}

#[test]
fn skill_is_short_and_valid_for_claude_code() {
    let head = SKILL.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).expect("a head").0;
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).expect("a field").trim();
    let name = field("name:");
    assert!(!name.is_empty() && name.len() <= 64 && name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
    assert!(field("description:").len() <= 1024);
    assert!(SKILL.lines().count() + SNIPPET.lines().count() < 60);
}
