//! The description of JidoCode.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "JidoCode",
    root: ".jido_code",
    silent: &[("/role", &["system"]), ("/status", &["pending", "in_progress", "completed"])],
    ..About::NONE
};
