//! The description of Amplifier in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Amplifier",
    sessions: "`~/.amplifier/projects/<slug>/sessions/<id>/`",
    launch_dir: "`working_dir` of `session-info.json`; else what `metadata.json`, `events.jsonl`, the chat servers' lists \
        or the other sessions of the project record, if it encodes to the slug",
    elsewhere: "it looks only in the project of the current directory: \"No session found matching\"; a server that \
        resumes elsewhere starts a second directory for the same id",
    starts: "`amplifier session resume ID`, after it wrote a missing or unusable `session-info.json`",
    in_use: "it keeps no lock: a record of the last two minutes means maybe",
    deletes: "nothing",
    writes: "`session-info.json` (`backfill`, `doctor --fix`, `resume`, `save session-info`) and `transcript.jsonl` \
        (`hook amplifier`, `save transcript`)",
    facts: "measured on 0.1.1; microsoft/amplifier-app-cli f16375fc, amplifier-foundation d0d96f70, \
        ramparte/amplifier-distro 17dd3e00",
    root: ".amplifier",
    silent: &[
        ("/event", &["session:start", "session:resume", "session:end", "session:fork", "session:config"]),
        ("/role", &["system", "developer"]),
    ],
    // Sources of modules in the settings of one session, and in the snapshots of older versions.
    runs: &["settings.yaml", "config.md", "config.md.backup", "profile.md", "profile.toml"],
    is_state: super::upkeep::is_state,
    needs_own_dir: true,
    needs_session_info: true,
    // On exit, the client prints its own resume command with this prefix of the id.
    printed_id: Some(super::PRINTED_ID),
    fold: super::upkeep::fold,
    // Source: a public copy of the page "CLI Reference" in the documentation; not measured.
    new_session: NewSession::NONE.without_terminal(&["amplifier", "run"], &[]),
    decide: |copy| evidence::decide(copy, |evidence| evidence.source == "session-info"),
    ..About::NONE
};
