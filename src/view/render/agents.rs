//! The table of an agent in docs/agents.md.

use crate::agent;
use crate::session::AgentKind;

/// Returns the part about one agent: its name, and a table with a row for each thing that is said.
pub(crate) fn markdown(kind: AgentKind) -> String {
    let about = agent::about(kind);
    let rows = about.rows().map(|(head, text)| format!("| {head} | {text} |\n")).concat();
    format!("## {}\n\n| | `{kind}` |\n| --- | --- |\n{rows}", about.title)
}
