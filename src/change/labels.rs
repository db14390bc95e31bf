//! Pins, tags, links and upcoming deletions, as views show them.

use std::path::PathBuf;

use crate::change::links;
use crate::change::pins::Pins;
use crate::change::rewinds::Rewinds;
use crate::change::tags::Tags;
use crate::error::Refusal;
use crate::scan::expiry::Retentions;
use crate::session::Session;
use crate::system::env::Env;

/// The pins, the tags and the directory of the links.
#[derive(Debug)]
pub(crate) struct Labels<'e> {
    env: &'e Env,
    pins: Pins,
    tags: Tags,
    links: PathBuf,
    rewinds: Rewinds,
}

impl<'e> Labels<'e> {
    /// Reads pins and tags. Returns the errors of unreadable files, which do not prevent a view.
    pub(crate) fn read(env: &'e Env) -> (Self, Vec<Refusal>) {
        let (pins, tags) = (Pins::read(env), Tags::read(env));
        let problems = [pins.as_ref().err(), tags.as_ref().err()].into_iter().flatten().cloned().collect();
        let (pins, tags) = (pins.unwrap_or_default(), tags.unwrap_or_default());
        (Self { env, pins, tags, links: links::dir(env), rewinds: Rewinds::read(env) }, problems)
    }

    /// Sets pins, tags and links of sessions, and notes which their agents will delete soon.
    pub(crate) fn mark(&self, sessions: &mut [Session]) {
        self.mark_archived(sessions);
        Retentions::new(self.env).note_expiries(sessions);
    }

    /// Sets pins, tags and links of archived sessions, which no agent deletes.
    pub(crate) fn mark_archived(&self, sessions: &mut [Session]) {
        for session in sessions {
            session.is_pinned = self.pins.contains(session.agent, session.id());
            session.tags = self.tags.tags_of(session.agent, session.id()).cloned().collect();
            let origin = self.rewinds.origin_of(session).cloned();
            session.continues = origin.or_else(|| links::origin_of(session, &self.links)).map(Box::new);
        }
    }
}
