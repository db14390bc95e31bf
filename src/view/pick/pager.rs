//! Shows a session in the pager; the picker leaves the screen until the pager ends.

use std::io::{self, Write};

use crate::system::env::Env;
use crate::view::ui::Pager;

/// The flags of less for a text that fits the screen: show it, too.
const FLAGS: &str = "RX";

/// Runs the pager on the output of `write`, and waits until it ends; returns the reason of a failure.
pub(super) fn show_in_pager(env: &Env, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), String> {
    let Some(pager) = Pager::in_any_case(env) else { return Err("There is no pager; name one in PAGER.".to_owned()) };
    let fail = |error: &io::Error| format!("Cannot run {}: {}.", pager.program.display(), crate::error::reason(error));
    let mut child = pager.start(FLAGS).map_err(|error| fail(&error))?;
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| write(&mut io::BufWriter::new(&mut stdin)));
    child.wait().map_err(|error| fail(&error))?;
    match written {
        // The reader may stop before the end.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("Cannot show it: {error}.")),
        _ => Ok(()),
    }
}
