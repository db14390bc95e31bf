//! `rejoin --version`

use std::ffi::OsString;
use std::io::Write as _;

use crate::cli::ColorWhen;
use crate::error::Exit;
use crate::view::ui::Ui;

/// Answers where nothing else is asked; scripts ask often, and the definition of all commands takes longer than all the rest.
pub(crate) fn answer(args: &[OsString]) -> Option<Exit> {
    let [_, asked] = args else { return None };
    if asked != "--version" && asked != "-V" {
        return None;
    }
    let mut ui = Ui::new(None, false, ColorWhen::Never);
    // A reader that is gone does not want it.
    let _ = writeln!(ui.data(), "rejoin {}", env!("CARGO_PKG_VERSION"));
    let _ = ui.flush();
    Some(Exit::Ok)
}
