//! Checks for `show` whether a session can be resumed as it is.

use super::with_a_chosen_copy;
use crate::agent::command::{Plan, Request};
use crate::error::Refusal;
use crate::launch::resume::{Options, Resume};
use crate::session::Session;
use crate::system::env::Env;

/// Runs every check of `resume` at a terminal; returns the plan, or the refusal with its remedy.
pub(crate) fn ready(session: &Session, request: &Request, env: &Env) -> Result<Plan, Refusal> {
    // The limit on recent resumes is not a property of the session.
    let options = Options { no_limit: true, has_terminal: true, ..Options::default() };
    let session = with_a_chosen_copy(session.clone(), None, env)?;
    let mut resume = Resume::of_session(session, &options, request, env)?;
    match resume.check(&options, env).into_iter().next() {
        Some(refusal) => Err(resume.explain(refusal, env)),
        None => Ok(resume.plan),
    }
}
