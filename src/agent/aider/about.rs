//! The description of Aider.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Aider",
    program: Some("aider"),
    tested_version: Some("0.86.2"),
    root: ".aider",
    needs_own_dir: true,
    keeps_in_projects: true,
    changes_outside: &[super::HISTORY, super::INPUTS],
    decide: |copy| {
        evidence::decide(copy, |_| true);
        // The directory of the start inside the project is not recorded.
        copy.start_dir = None;
    },
    is_anywhere: true,
    // No `new_session`: Aider offers to add the files and addresses that a prompt mentions, and a briefing quotes
    // others.
    usage: Some(UsageAt::NONE),
    ..About::NONE
};
