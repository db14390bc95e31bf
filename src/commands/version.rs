//! `rejoin --version`

use std::ffi::OsString;

use crate::error::Exit;
use crate::view::ui;

/// Answers where nothing else is asked, and before anything is set up or even the arguments are collected: scripts ask often,
/// and that takes longer than all the rest.
pub(crate) fn answer(first_args: &[Option<OsString>; 3]) -> Option<Exit> {
    let [_, Some(asked), None] = first_args else { return None };
    if asked != "--version" && asked != "-V" {
        return None;
    }
    ui::answer_in_a_line(concat!("rejoin ", env!("CARGO_PKG_VERSION"), "\n"));
    Some(Exit::Ok)
}
