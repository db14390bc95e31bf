//! The description of Amplifier.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Amplifier",
    program: Some("amplifier"),
    tested_version: Some("0.1.1"),
    root: ".amplifier",
    silent: &[
        ("/event", &["session:start", "session:resume", "session:end", "session:fork", "session:config"]),
        ("/role", &["system", "developer"]),
    ],
    // The settings of a session, and the snapshots of older versions, name sources of modules.
    runs: &["settings.yaml", "config.md", "config.md.backup", "profile.md", "profile.toml"],
    is_state: super::upkeep::is_state,
    refuses_bytes: true,
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
