//! The description of Otter.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Otter",
    root: ".otter",
    ..About::NONE
};
