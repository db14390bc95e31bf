//! Whether a session is resumed as it is, as `show` tells.

use super::with_a_chosen_copy;
use crate::agent::command::{Plan, Request};
use crate::error::Refusal;
use crate::launch::resume::{Options, Resume};
use crate::session::Session;
use crate::system::env::Env;

/// Makes every check that `resume` makes at a terminal; returns what is started, or the refusal with its way out.
pub(crate) fn ready(session: &Session, request: &Request, env: &Env) -> Result<Plan, Refusal> {
    // How often it was resumed a moment ago says nothing of the session.
    let options = Options { no_limit: true, has_terminal: true, ..Options::default() };
    let session = with_a_chosen_copy(session.clone(), None, env)?;
    let mut resume = Resume::of_session(session, &options, request, env)?;
    match resume.check(&options, env).into_iter().next() {
        Some(refusal) => Err(resume.explain(refusal, env)),
        None => Ok(resume.plan),
    }
}
