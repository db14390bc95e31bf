//! The description of Qoder CLI.

use jiff::SignedDuration;

use crate::agent::claude;
use crate::agent::prelude::*;
use crate::agent::relocation::is_relocated;

pub(crate) const ABOUT: About = About {
    program: Some("qodercli"),
    title: "Qoder CLI",
    tested_version: Some("1.1.52"),
    root: ".qoder",
    variables: &[("QODER_CONFIG_DIR", None)],
    version_at: Some("/version"),
    api_error: Some("isApiErrorMessage"),
    // And in worktrees of the same repository (1.1.52).
    needs_own_dir: true,
    new_session: NewSession::NONE.in_terminal(&["qodercli"], &["-i"]).without_terminal(&["qodercli", "-p"], &[]),
    decide: claude::decide_again,
    link: claude::link,
    parent_at: Some("parentUuid"),
    // Measured from its bundle.
    bridges: Some(SignedDuration::from_secs(5)),
    is_move_record: Some(is_relocated),
    logs: Some(LogPlaces::named_after_id(&["projects/*"])),
    ..About::NONE
};
