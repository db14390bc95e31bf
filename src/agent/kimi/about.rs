//! The description of Kimi CLI.

use crate::agent::prelude::*;
use crate::agent::upkeep::BadLine;

pub(crate) const ABOUT: About = About {
    program: Some("kimi"),
    title: "Kimi CLI",
    tested_version: Some("1.52.0"),
    root: ".kimi",
    variables: &[("KIMI_SHARE_DIR", None)],
    is_state: |name| matches!(name, "state.json" | "metadata.json"),
    needs_own_dir: true,
    decide: |copy| {
        // In a directory that does not hash to the project, Kimi would start a new session.
        evidence::decide(copy, |_| false);
        copy.last_dir = copy.last_dir.take().or_else(|| copy.start_dir.clone());
    },
    // With `-p`, it would answer once and exit, even at a terminal (kimi_cli/ui/shell of 1.45.0).
    new_session: NewSession::NONE.without_terminal(&["kimi", "--print"], &["-p"]),
    bad_line: BadLine::Skipped,
    ..About::NONE
};
