//! The branches of a conversation.

use std::borrow::Cow;
use std::io::{self, Write};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::format::text;
use crate::session::branches::{ACTIVE, Branch};
use crate::system::env::Env;
use crate::view::ui::Styles;

/// Maximum columns of a message on a line.
const WIDEST: usize = 60;

/// A branch of a conversation.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Branch", deny_unknown_fields)]
pub(crate) struct BranchJson<'a> {
    /// Its number, for `--branch`.
    pub number: u16,
    /// Set if a resume continues it.
    pub active: bool,
    /// Number of messages after its fork.
    pub messages: u64,
    /// When the first and the last of them were written.
    pub begun_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// The first of them.
    pub first: Option<&'a str>,
    /// The message before its fork; `null` for the active branch, and for a branch with a separate root.
    pub after: Option<&'a str>,
}

impl<'a> BranchJson<'a> {
    /// Puts a branch into the contract's form.
    pub(crate) fn new(branch: &'a Branch) -> Self {
        Self {
            number: branch.number,
            active: branch.number == ACTIVE,
            messages: branch.messages,
            begun_at: branch.begun_at,
            ended_at: branch.ended_at,
            first: branch.first.as_deref(),
            after: branch.after.as_deref(),
        }
    }
}

/// Writes the branches as text.
pub(crate) fn text(out: &mut impl Write, env: &Env, styles: &Styles, branches: &[Branch]) -> io::Result<()> {
    let Styles { header, faint, .. } = styles;
    for branch in branches {
        let Branch { number, messages, .. } = branch;
        let resumed = if *number == ACTIVE { ", which a resume continues" } else { "" };
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
