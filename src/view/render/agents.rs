//! The part of docs/agents.md about one agent.

use std::fmt::Write as _;

use crate::agent;
use crate::session::AgentKind;

/// Texts that most agents share. They are in the head of the page, and left out below it.
const USUAL: [&str; 3] = [
    "nothing",
    "it keeps no lock: a record of the last two minutes means maybe",
    "it keeps no lock: a change of the last two minutes means maybe",
];

/// Returns the part about one agent: its title, and a list of facts.
pub(crate) fn markdown(kind: AgentKind) -> String {
    let about = agent::about(kind);
    let mut list = String::new();
    for (head, text) in about.rows().into_iter().filter(|(_, text)| !USUAL.contains(text)) {
        // Deletions by the agent and writes of this program share a line, and the sources end the last one.
        let follows = match head {
            "rejoin writes" => list.lines().last().is_some_and(|line| line.starts_with("* **deletes")),
            _ => head == "known from",
        };
        let start = if follows {
            "; "
        } else if list.is_empty() {
            "* "
        } else {
            "\n* "
        };
        let name = if head == "sessions" { format!("`{kind}` ") } else { String::new() };
        let _ = write!(list, "{start}**{name}{head}**: {text}");
    }
    format!("## {}\n{list}\n", about.title)
}
