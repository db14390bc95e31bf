//! A person picks on the terminal: without a selector, or where a selector means several.

use std::sync::Arc;

use anyhow::Context as _;

use super::desk::Office;
use crate::agent::command::Request;
use crate::error::{Exit, Refusal};
use crate::launch::resume::Options;
use crate::session::Session;
use crate::session::select::{CopySelector, Filter};
use crate::system::env::Env;
use crate::view::pick::{self, Desk, How, Picked, Purpose};
use crate::view::ui::Ui;

/// What is picked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish<'a> {
    pub filter: &'a Filter,
    pub purpose: Purpose,
    /// What is typed at the beginning.
    pub words: &'a str,
    /// How a session would be resumed.
    pub options: &'a Options,
    pub request: &'a Request,
    pub copy: Option<&'a CopySelector>,
    /// Whether its agent is started then.
    pub is_started: bool,
}

/// What came of asking a person.
#[derive(Debug)]
pub(crate) enum Answer {
    /// These sessions, and how they are resumed.
    Sessions(Vec<Arc<Session>>, How),
    /// None; the run ends like this.
    Left(Exit),
}

/// Returns whether a person can be asked to pick: at a terminal that can show a list.
pub(crate) fn can_pick(env: &Env) -> bool {
    env.stdin_is_terminal && env.stderr_is_terminal && !is_dumb(env)
}

fn is_dumb(env: &Env) -> bool {
    env.variable("TERM").is_none_or(|term| term == "dumb")
}

/// Refuses where nobody can pick, which is wrong usage.
pub(crate) fn needs_a_picker(env: &Env) -> Result<(), Refusal> {
    if can_pick(env) {
        return Ok(());
    }
    let why = match env.stdin_is_terminal && env.stderr_is_terminal {
        true => "this terminal cannot show a list to pick from",
        false => "there is no terminal to pick one from",
    };
    let refusal = Refusal::new(Exit::Usage, "usage", format!("no SESSION was given, and {why}"));
    Err(refusal.hint("name a session, or use `latest` for the newest; run `rejoin list` to see them"))
}

/// Lets a person pick from the sessions that pass the filters.
pub(crate) fn picked(wish: Wish<'_>, env: &Env, ui: &mut Ui) -> anyhow::Result<Answer> {
    let desk: Arc<dyn Desk> = Arc::new(Office {
        env: env.clone(),
        filter: wish.filter.clone(),
        options: wish.options.clone(),
        request: wish.request.clone(),
        copy: wish.copy.cloned(),
        is_started: wish.is_started,
    });
    match pick::pick(&desk, wish.purpose, wish.words, env, ui.err_styles()).context("cannot use the terminal")? {
        Picked::Sessions(sessions, how) => Ok(Answer::Sessions(sessions, how)),
        Picked::Left(exit) => Ok(Answer::Left(exit)),
        Picked::Nothing => Err(super::nothing_passes().into()),
    }
}
