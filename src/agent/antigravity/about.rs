//! The description of Antigravity CLI.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    program: Some("agy"),
    title: "Antigravity CLI",
    // Never measured: the version whose databases the source describes.
    tested_version: Some("1.1.16"),
    measured: false,
    root: ".gemini/antigravity-cli",
    ..About::NONE
};
