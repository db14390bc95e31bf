//! The description of Leo.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About =
    About { program: Some("rejoin"), title: "Leo", changes_outside: &[super::FILE_NAME], ..About::NONE };
