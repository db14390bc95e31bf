//! Pins, tags and links, as views show them.

use std::path::PathBuf;

use crate::change::links;
use crate::change::pins::Pins;
use crate::change::tags::Tags;
use crate::error::Refusal;
use crate::session::Session;
use crate::system::env::Env;

/// The pins, the tags and the directory of the links.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    pins: Pins,
    tags: Tags,
    links: PathBuf,
}

impl Labels {
    /// Reads pins and tags, and returns the errors of unreadable ones: a view does not fail because of them.
    pub(crate) fn read(env: &Env) -> (Self, Vec<Refusal>) {
        let (pins, tags) = (Pins::read(env), Tags::read(env));
        let problems = [pins.as_ref().err(), tags.as_ref().err()].into_iter().flatten().cloned().collect();
        (Self { pins: pins.unwrap_or_default(), tags: tags.unwrap_or_default(), links: links::dir(env) }, problems)
    }

    /// Sets pins, tags and links of sessions.
    pub(crate) fn mark(&self, sessions: &mut [Session]) {
        for session in sessions {
            session.is_pinned = self.pins.has(session.agent, session.id());
            session.tags = self.tags.of(session.agent, session.id()).cloned().collect();
            session.continues = links::origin_of(session, &self.links).map(Box::new);
        }
    }
}
