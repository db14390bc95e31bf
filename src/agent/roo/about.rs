//! The description of Roo Code.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    program: Some("roo"),
    title: "Roo Code",
    // Never measured: the version of the extension whose code was read.
    tested_version: Some("3.52.1"),
    measured: false,
    root: ".vscode-mock/global-storage",
    // Roo Code's command line searches only the tasks of the current directory.
    needs_own_dir: true,
    is_state: |name| name == super::HISTORY_ITEM,
    usage: Some(UsageAt::NONE),
    ..About::NONE
};
