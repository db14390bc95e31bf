//! The examples of each page: those of the registry, and here those of the program and of parts of a command.

use crate::verbs::{Example, Verb};

/// Returns the examples of a page, such as `rejoin-hook-install`; tests/it/manual.rs runs each of them.
pub(super) fn examples_of_page(page: &str) -> &'static [Example] {
    if let Some(verb) = page.strip_prefix("rejoin-").and_then(Verb::named) {
        return verb.examples();
    }
    match page {
        "rejoin" => &[
            Example { line: "rejoin list --here", meaning: "what was done in this directory" },
            Example {
                line: "rejoin resume licence",
                meaning: "continue the session that has this word in its title, from anywhere",
            },
            Example { line: "rejoin doctor", meaning: "what is wrong, each with the command that helps" },
            Example { line: "rejoin cleanup --older-than 60d --dry-run", meaning: "what a cleanup would remove" },
        ],
        "rejoin-save-session-info" => &[Example {
            line: "rejoin save session-info --session-dir sessions/a --working-dir /opt",
            meaning: "where a session belongs",
        }],
        "rejoin-save-transcript" => &[Example {
            line: "echo '[{\"role\":\"user\",\"content\":\"hi\"}]' | rejoin save transcript --session-dir sessions/a",
            meaning: "its messages",
        }],
        "rejoin-save-leo" => &[Example {
            line: "rejoin save leo --app-dir . --session-id 31c5f2e8-b07a-4d96-8c14-a9e3d0b7f652",
            meaning: "which session built this app",
        }],
        "rejoin-save-jido" => {
            &[Example { line: "rejoin save jido < session.json", meaning: "a session, completed and signed" }]
        }
        "rejoin-hook-install" => &[
            Example { line: "rejoin hook install --dry-run", meaning: "what would be changed" },
            Example { line: "rejoin hook install", meaning: "set the hooks up" },
        ],
        "rejoin-hook-status" => &[Example { line: "rejoin hook status", meaning: "which settings have them" }],
        "rejoin-hook-uninstall" => &[Example { line: "rejoin hook uninstall", meaning: "take them out again" }],
        "rejoin-hook-claude" => &[Example {
            line: "echo '{\"hook_event_name\":\"SessionEnd\",\"session_id\":\"x\"}' | rejoin hook claude",
            meaning: "what Claude Code calls at each event",
        }],
        "rejoin-hook-amplifier" => &[Example {
            line: "echo '{}' | rejoin hook amplifier",
            meaning: "what Amplifier calls after a tool or a turn",
        }],
        _ => &[],
    }
}
