//! The branches of a conversation.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::format::text;
use crate::session::branches::Branch;
use crate::system::env::Env;
use crate::view::ui::Styles;

/// Maximum columns of a message on a line.
const WIDEST: usize = 60;

/// Writes the branches as text.
pub(crate) fn text(out: &mut impl Write, env: &Env, styles: &Styles, branches: &[Branch]) -> io::Result<()> {
    let Styles { header, faint, .. } = styles;
    for branch in branches {
        let Branch { number, messages, .. } = branch;
        let resumed = if branch.is_active { ", which a resume continues" } else { "" };
        let from = branch.begun_at.map(|at| format!(" from {}", env.clock.shown(at))).unwrap_or_default();
        let to = branch.ended_at.map(|at| format!(" to {}", env.clock.shown(at))).unwrap_or_default();
        let messages = text::count(*messages, "message");
        writeln!(out, "{header}branch {number}{header:#}{resumed}: {messages}{faint}{from}{to}{faint:#}")?;
        let after = branch.after.as_deref().map(|after| ("after", after));
        let first = branch.first.as_deref().map(|first| ("begins", first));
        for (name, said) in after.into_iter().chain(first) {
            writeln!(out, "  {name:<6}  {}", short(said))?;
        }
    }
    Ok(())
}

fn short(said: &str) -> Cow<'_, str> {
    let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    text::truncated(&text::one_line(line), WIDEST).into_owned().into()
}
