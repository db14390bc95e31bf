//! The copies of a session that its agent may open in place of the chosen one.

use std::path::Path;

use crate::agent;
use crate::error::{Refusal, RefusalCode};
use crate::launch::checks::{name, resume};
use crate::session::{Comparison, Health, Session, SessionCopy};

/// Refuses to start an agent in a directory where it would, or may, continue another copy than the chosen one.
pub(crate) fn check_copy(session: &Session, dir: &Path) -> Result<(), Refusal> {
    let refuse = |other: usize, would: &str, way: &dyn Fn(usize, usize) -> String| {
        let (number, other) = (session.number_of(0), session.number_of(other));
        let (agent, id) = (session.agent, session.id());
        let message =
            format!("in {} {agent} {would} continue copy {other} of session {id}, not copy {number}", dir.display());
        Err(Refusal::new(RefusalCode::OtherCopy, message).hint(way(number, other)))
    };
    let name = name(session);
    if let Some(other) = filed_there(session, dir) {
        let project = session.copy().place.project.as_deref().unwrap_or_default();
        return refuse(other, "would", &|number, _| {
            format!(
                "see both with `rejoin show {name}`; {} opens copy {number} only in the directory of its project {project}: go \
                 there and run `{} --in .`",
                session.agent,
                resume(session)
            )
        });
    }
    let Some((other, is_certain)) = rival(session, dir) else { return Ok(()) };
    refuse(other, if is_certain { "would" } else { "may" }, &|number, other| {
        format!(
            "see both with `rejoin show {name}`; one command starts both, so move copy {other} to the trash with `rejoin \
             delete {name} --copy {other}`, then resume copy {number} with `rejoin resume {name}`"
        )
    })
}

/// Returns a copy that is filed under a directory under which the first one is not.
fn filed_there(session: &Session, dir: &Path) -> Option<usize> {
    let is_there = |at: usize| agent::leads_back(&session.copies[at].place, dir);
    (1..session.copies.len()).find(|at| is_there(*at) == Some(true)).filter(|_| is_there(0) == Some(false))
}

/// Returns a copy with other messages that the agent opens, or may open, with the command of the first one, and whether
/// that is certain.
fn rival(session: &Session, dir: &Path) -> Option<(usize, bool)> {
    let (copy, agent) = (session.copy(), agent::by_kind(session.agent)?);
    let command = agent.command(copy, None).ok()?;
    let leads_back = agent::leads_back(&copy.place, dir);
    let is_found_alike = |other: &SessionCopy| {
        let (own, others) = (&copy.place.store, &other.place.store);
        // An agent that looks in the project of its directory does not mix up copies in several projects.
        let is_alike = leads_back.is_none() || copy.place.project == other.place.project;
        let has_same_start = own.set == others.set && own.unset == others.unset && own.program == others.program;
        is_alike && has_same_start && agent::leads_back(&other.place, dir) == leads_back
    };
    let opens_first = |other: &SessionCopy| {
        let is_listed = |copy: &SessionCopy| !copy.health.contains(Health::Unlisted);
        match (is_listed(copy), is_listed(other)) {
            (own, others) if own != others => Some(own),
            _ => agent.opens_first(copy, other),
        }
    };
    let is_identical = |at: usize| {
        let known = session.choice.comparisons.get(at).copied().flatten();
        known.or_else(|| agent.compare(copy, &session.copies[at])) == Some(Comparison::Identical)
    };
    let rivals = (1..session.copies.len()).filter_map(|at| {
        let other = &session.copies[at];
        let is_found = other.obstacle.is_none() && is_found_alike(other);
        let fits = is_found && agent.command(other, None).is_ok_and(|other| other == command);
        let opens_first = opens_first(other);
        let is_rival = fits && opens_first != Some(true) && !is_identical(at);
        is_rival.then_some((at, opens_first == Some(false)))
    });
    rivals.max_by_key(|(at, is_certain)| (*is_certain, std::cmp::Reverse(*at)))
}
