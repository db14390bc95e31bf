//! The description of oh-my-pi.

use crate::agent::pi::records::id_of_file;
use crate::agent::prelude::*;
use crate::agent::upkeep;
use crate::agent::upkeep::BadLine;

pub(crate) const ABOUT: About = About {
    program: Some("omp"),
    title: "oh-my-pi",
    has_open_file_only: true,
    tested_version: Some("18.2.3"),
    variables: &[("PI_CODING_AGENT_DIR", None)],
    api_error: Some("errorMessage"),
    new_session: NewSession::NONE.in_terminal(&["omp"], &[]).without_terminal(&["omp", "-p"], &[]),
    usage: Some(crate::agent::pi::about::USAGE),
    decide: evidence::decide_in_project,
    link: upkeep::node,
    parent_at: Some("parentId"),
    marks_use: true,
    logs: Some(LogPlaces { dirs: &["sessions/*"], id_of_file }),
    bad_line: BadLine::Skipped,
    ..About::NONE
};
