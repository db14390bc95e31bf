//! The description of Otter.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About { program: Some("otter"), title: "Otter", root: ".otter", ..About::NONE };
