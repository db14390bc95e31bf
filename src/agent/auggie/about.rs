//! The description of Auggie.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About =
    About { title: "Auggie", program: Some("auggie"), tested_version: Some("0.36.0"), root: ".augment", ..About::NONE };
