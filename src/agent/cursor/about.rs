//! The description of Cursor CLI.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    program: Some("cursor-agent"),
    title: "Cursor CLI",
    // Never measured: the version whose files the sources describe.
    tested_version: Some("2026.09.02"),
    measured: false,
    root: ".cursor",
    variables: &[("CURSOR_CONFIG_DIR", None), ("XDG_CONFIG_HOME", Some("cursor"))],
    // A chat is filed under the MD5 of its directory.
    needs_own_dir: true,
    is_state: |name| name == super::META,
    logs: Some(LogPlaces::named_after_id(&["projects/*/agent-transcripts", "projects/*/agent-transcripts/*"])),
    ..About::NONE
};
