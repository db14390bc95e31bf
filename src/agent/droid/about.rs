//! The description of Factory's Droid.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    program: Some("droid"),
    title: "Factory Droid",
    tested_version: Some("0.225.2"),
    root: ".factory",
    variables: &[("FACTORY_HOME_OVERRIDE", Some(".factory"))],
    silent: &[("/type", &["session_start"])],
    is_state: |name| name.ends_with(super::SETTINGS),
    // The settings contain the level of autonomy, by the package.
    runs: &[".settings.json"],
    // Source: docs.factory.ai/reference/cli-reference
    new_session: NewSession::NONE.in_terminal(&["droid"], &[]).without_terminal(&["droid", "exec"], &[]),
    logs: Some(LogPlaces::named_after_id(&["sessions", "sessions/*"])),
    ..About::NONE
};
