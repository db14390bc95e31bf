//! The command that undoes a run, below an answer or at the end of a line.

use std::io::{self, Write};

use crate::format::command_line::in_home;
use crate::system::env::Env;
use crate::view::ui::Styles;

/// Writes the command that undoes a run.
pub(crate) fn write(out: &mut impl Write, run: &str, env: &Env, styles: &Styles) -> io::Result<()> {
    let Styles { faint, .. } = styles;
    writeln!(out, "{faint}{}{faint:#}", sentence(run, env))
}

/// Writes the commands that undo two runs, the later one first.
pub(crate) fn write_both(out: &mut impl Write, later: &str, run: &str, env: &Env, styles: &Styles) -> io::Result<()> {
    let Styles { faint, .. } = styles;
    let command = |run| in_home(&format!("rejoin undo {run}"), &env.invocation.elsewhere).into_owned();
    writeln!(out, "{faint}`{}` and then `{}` undo this.{faint:#}", command(later), command(run))
}

/// Returns the sentence after a blank, or nothing without a run.
pub(crate) fn in_line(run: Option<&str>, env: &Env) -> String {
    run.map(|run| format!(" {}", sentence(run, env))).unwrap_or_default()
}

fn sentence(run: &str, env: &Env) -> String {
    format!("`{}` undoes this.", in_home(&format!("rejoin undo {run}"), &env.invocation.elsewhere))
}
