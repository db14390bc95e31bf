//! The description of Kiro CLI.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    program: Some("kiro-cli"),
    title: "Kiro CLI",
    // Never measured: the newest version whose files the sources describe.
    tested_version: Some("2.20"),
    measured: false,
    root: ".kiro",
    variables: &[("KIRO_HOME", None)],
    is_state: |name| name.ends_with(".json"),
    logs: Some(LogPlaces::named_after_id(&["sessions/cli"])),
    ..About::NONE
};
