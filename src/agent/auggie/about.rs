//! The description of Auggie.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About =
    About { title: "Auggie", tested_version: Some("0.36.0"), root: ".augment", ..About::NONE };
