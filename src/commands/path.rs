//! `rejoin path`

use std::io::Write as _;

use crate::cli::PathArgs;
use crate::commands::find;
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::{shown, text};
use crate::scan::Wanted;
use crate::system::env::Env;
use crate::view::ui::Ui;

pub(crate) fn run(args: &PathArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let filter = super::filter(&args.filter, true, env)?;
    let selector = super::selector(&args.session)?;
    let session = find::Finder::new(&filter, Wanted::RESUME, env, ui).one("print path", &selector)?.session()?;
    let command = "path";
    let session = find::with_a_copy(session, args.copy.as_ref(), command, env, ui)?;
    let path = &session.copy().place.path;
    // Callers take this line for the path itself, so print exactly that or nothing.
    let line = path.to_str().filter(|path| shown::is_harmless(path)).ok_or_else(|| {
        let message =
            format!("the path has characters that no line can hold: {}", text::field(&path.to_string_lossy()));
        Refusal::new(RefusalCode::PathNotText, message)
    })?;
    writeln!(ui.data(), "{line}")?;
    ui.flush()?;
    Ok(Exit::Ok)
}
