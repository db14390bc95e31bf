//! The description of gptme in docs/agents.md.

use crate::agent::prelude::*;
use crate::agent::usage::UsageAt;

pub(crate) const ABOUT: About = About {
    title: "gptme",
    sessions: "`~/.local/share/gptme/logs/<id>/` (macOS: `~/Library/Application Support/gptme/logs/<id>/` too); the same below \
        `$XDG_DATA_HOME` and in `$GPTME_LOGS_HOME`",
    launch_dir: "`workspace` of `config.toml`; a fork that was not resumed yet has none, so the directory that its first \
        records name",
    elsewhere: "works, and goes to the workspace by itself; where that is gone it adds an error to the conversation and ends; \
        an id that it does not know is refused",
    starts: "`gptme --resume --name ID`; with `--prompt` `gptme -n --resume --name ID TEXT`. \
        What was made without a terminal is refused in one, where gptme would only print it; and everything whose workspace \
        is gone",
    in_use: "`.lock` in its directory is locked (`flock`) while a client has it open; a lock of a process that cannot be seen \
        means maybe",
    deletes: "nothing",
    writes: "nothing",
    facts: "measured on 0.35.1; sub-agents, local times and the place on macOS by its code",
    is_state: |name| name == ".lock",
    needs_own_dir: true,
    // No `new_session`: gptme reads the files and addresses that a prompt mentions, and a briefing quotes others.
    api_error: Some("error_class"),
    usage: Some(UsageAt { mark: "\"cost\"", usage: &["metadata"], cost: &["cost"], ..UsageAt::NONE }),
    // Its `env`, and the commands of its MCP servers (its config.py, 02786002).
    runs: &["config.toml"],
    renames: &["gptme-util", "chats", "rename", "ID", "TITLE"],
    marks_use: true,
    ..About::NONE
};
