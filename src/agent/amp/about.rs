//! The description of Amp.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    program: Some("amp"),
    title: "Amp",
    measured: false,
    root: ".local/share/amp",
    variables: &[("XDG_DATA_HOME", Some("amp"))],
    ..About::NONE
};
