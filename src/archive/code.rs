//! The files of an archived session that its agent executes, sources or loads as settings.
//!
//! Anyone who can write to the archive can write them, so they are restored only if the user trusts it.

use std::path::Path;

use crate::agent;
use crate::archive::manifest::CopyAt;
use crate::session::AgentKind;

/// Returns whether the agent of a session with these copies runs the file at a path in a store, as
/// [`About::runs`](agent::about::About::runs) says.
pub(crate) fn is_code(agent: AgentKind, copies: &[CopyAt], store: usize, path: &Path) -> bool {
    let copies = copies.iter().filter(|copy| copy.store == store);
    // The directory above a copy may be named after a project, so others can choose its name.
    let mut below = copies.filter_map(|copy| path.strip_prefix(copy.path.parent()?).ok());
    is_run(agent::about(agent).runs, below.next().unwrap_or(path))
}

/// Returns whether a name in `path` is one of `runs`, or has an ending that is. On some file systems, case is ignored.
fn is_run(runs: &[&str], path: &Path) -> bool {
    let mut names = path.iter().map(|name| name.to_string_lossy().to_ascii_lowercase());
    names.any(|name| runs.iter().any(|run| name == *run || run.starts_with('.') && name.ends_with(run)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_identifies_executable_files() {
        for (agent, path, expected) in [
            (AgentKind::Claude, "session-env/ID/hook-0.sh", true),
            (AgentKind::Claude, "Session-Env", true),
            (AgentKind::Claude, "projects/-a-session-env/ID.jsonl", false),
            (AgentKind::Codex, "shell_snapshots/ID.1.sh", true),
            (AgentKind::Droid, "ID.settings.json", true),
            (AgentKind::Gptme, "ID/config.toml", true),
            (AgentKind::Gptme, "ID/conversation.jsonl", false),
            (AgentKind::Cline, "ID/settings.json", true),
            (AgentKind::Copilot, "ID/extensions/x/extension.mjs", true),
            (AgentKind::Amplifier, "ID/settings.yaml", true),
            (AgentKind::Amplifier, "ID/session-info.json", false),
        ] {
            assert_eq!(is_run(agent::about(agent).runs, Path::new(path)), expected, "{agent} {path}");
        }
    }
}
