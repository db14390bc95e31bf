//! Without a selector: a person picks on the terminal.

use anyhow::Context as _;

use super::{again, listed};
use crate::error::{Exit, Refusal};
use crate::scan::Wanted;
use crate::session::Session;
use crate::session::select::Filter;
use crate::system::env::Env;
use crate::view::picker::{self, Picked};
use crate::view::ui::Ui;

/// What came of asking a person.
#[derive(Debug)]
pub(crate) enum Answer {
    /// This session.
    Session(Box<Session>),
    /// None; the run ends like this.
    Left(Exit),
}

/// Lets a person pick one of the sessions that pass the filters; without a terminal that is wrong usage.
pub(crate) fn picked(filter: &Filter, wanted: Wanted, env: &Env, ui: &mut Ui) -> anyhow::Result<Answer> {
    let is_dumb = env.variable("TERM").is_none_or(|term| term == "dumb");
    if !env.stdin_is_terminal || !env.stderr_is_terminal || is_dumb {
        let why = if is_dumb {
            "this terminal cannot show a list to pick from"
        } else {
            "there is no terminal to pick one from"
        };
        let refusal = Refusal::new(Exit::Usage, "usage", format!("no SESSION was given, and {why}"));
        return Err(refusal
            .hint("name a session, or use `latest` for the newest; run `rejoin list` to see them")
            .into());
    }
    let sessions = listed(filter, env, ui);
    if sessions.is_empty() {
        return Err(super::nothing_passes().into());
    }
    match picker::pick(&sessions, env, ui.err_styles()).context("cannot use the terminal")? {
        Picked::Session(at) => Ok(Answer::Session(Box::new(again(&sessions[at], wanted, env)?))),
        Picked::Left(exit) => Ok(Answer::Left(exit)),
    }
}
