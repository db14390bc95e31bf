//! `rejoin --version`

use std::ffi::OsString;

use crate::error::Exit;
use crate::view::ui;

/// Answers `--version` if nothing else is asked, before any setup, even before the arguments are collected: scripts ask
/// often, and the setup takes longer than all the rest.
pub(crate) fn answer(first_args: &[Option<OsString>; 3]) -> Option<Exit> {
    let [_, Some(asked), None] = first_args else { return None };
    if asked != "--version" && asked != "-V" {
        return None;
    }
    ui::answer_in_a_line(concat!("rejoin ", env!("CARGO_PKG_VERSION"), "\n"));
    Some(Exit::Ok)
}
