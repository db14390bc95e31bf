//! `rejoin --version`

use std::ffi::OsString;

use crate::error::Exit;
use crate::view::ui;

/// Answers where nothing else is asked, and before anything is set up: scripts ask often, and that takes longer than all the
/// rest.
pub(crate) fn answer(args: &[OsString]) -> Option<Exit> {
    let [_, asked] = args else { return None };
    if asked != "--version" && asked != "-V" {
        return None;
    }
    ui::answer_in_a_line(concat!("rejoin ", env!("CARGO_PKG_VERSION"), "\n"));
    Some(Exit::Ok)
}
