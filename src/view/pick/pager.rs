//! The pager that a person prefers, fed with text.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use crate::system::env::{Env, Program};

/// Runs the pager on what `write` gives it, and waits until it ends; says why if that fails.
pub(super) fn show(env: &Env, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), String> {
    let own = env.variable("PAGER").map(|pager| pager.to_string_lossy().into_owned());
    let words = own.or_else(|| env.config.pager.clone()).unwrap_or_default();
    let chosen: Vec<&str> = words.split_whitespace().collect();
    let pagers = [chosen.as_slice(), &["less"], &["more"]];
    let found = pagers.iter().find_map(|words| match env.find_program(words.first()?) {
        Program::Found(program) => Some((program, &words[1..])),
        _ => None,
    });
    let Some((program, args)) = found else { return Err("There is no pager; name one in PAGER.".to_owned()) };
    let fail = |error: &io::Error| format!("Cannot run {}: {}.", program.display(), crate::error::reason(error));
    let mut pager = Command::new(&program).args(args).stdin(Stdio::piped()).spawn().map_err(|error| fail(&error))?;
    let written = pager.stdin.take().map_or(Ok(()), |mut stdin| write(&mut io::BufWriter::new(&mut stdin)));
    pager.wait().map_err(|error| fail(&error))?;
    match written {
        // Nobody has to read to the end.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("Cannot show it: {error}.")),
        _ => Ok(()),
    }
}
