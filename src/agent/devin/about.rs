//! The description of Devin CLI.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    program: Some("devin"),
    title: "Devin CLI",
    measured: false,
    root: ".local/share/devin/cli",
    ..About::NONE
};
