//! The description of JidoCode.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    program: Some("jido_code"),
    title: "JidoCode",
    root: ".jido_code",
    silent: &[("/role", &["system"]), ("/status", &["pending", "in_progress", "completed"])],
    marks_use: true,
    ..About::NONE
};
