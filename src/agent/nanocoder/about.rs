//! The description of Nanocoder.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    program: Some("nanocoder"),
    title: "Nanocoder",
    tested_version: Some("1.30.0"),
    root: if cfg!(target_os = "macos") { "Library/Application Support/nanocoder" } else { ".local/share/nanocoder" },
    variables: &[("NANOCODER_DATA_DIR", None), ("XDG_DATA_HOME", Some("nanocoder"))],
    silent: &[("/role", &["system"])],
    // By the code of 1.25.2: an entry of `sessions.json` is not compared with the files.
    still_lists: Some("Nanocoder lists removed sessions as long as it would have kept them, and then finds no session"),
    fit_command: super::fit_command,
    // Measured on 1.25.2.
    new_session: NewSession::NONE.without_terminal(&["nanocoder", "run"], &[]),
    ..About::NONE
};
