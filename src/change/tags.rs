//! Tags of sessions. `tags.json` in the state directory; `apply` writes it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::error::{Refusal, RefusalCode};
use crate::session::AgentKind;
use crate::session::tag::Tag;
use crate::system::disk::SYSTEM;
use crate::system::env::Env;
use crate::system::state_file;

/// The tags of each session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tags {
    #[serde(with = "state_file::by_session")]
    tagged: BTreeMap<(AgentKind, String), Tagged>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Tagged {
    tags: BTreeSet<Tag>,
}

/// The file in the state directory that holds the tags.
pub(crate) const FILE_NAME: &str = "tags.json";

impl Tags {
    /// Reads the tags. A file that cannot be read is an error, so that a new tag does not replace it.
    pub(crate) fn read(env: &Env) -> Result<Self, Refusal> {
        state_file::read(&SYSTEM, &env.state_dir().join(FILE_NAME)).map_err(|why| {
            let message = format!("the tags are unknown: {why}");
            Refusal::new(RefusalCode::BadState, message).hint("fix the file or move it away")
        })
    }

    /// Returns the tags of a session in alphabetical order.
    pub(crate) fn tags_of(&self, agent: AgentKind, id: &str) -> impl Iterator<Item = &Tag> {
        let tagged = if self.tagged.is_empty() { None } else { self.tagged.get(&(agent, id.to_owned())) };
        tagged.into_iter().flat_map(|tagged| &tagged.tags)
    }

    /// Returns the sessions that have all of these tags.
    pub(crate) fn with_all(&self, tags: &[Tag]) -> BTreeSet<(AgentKind, String)> {
        let has_all = |own: &Tagged| tags.iter().all(|tag| own.tags.contains(tag));
        self.tagged.iter().filter(|(_, own)| has_all(own)).map(|(session, _)| session.clone()).collect()
    }

    /// Returns the number of sessions of each tag.
    pub(crate) fn counts(&self) -> BTreeMap<&Tag, usize> {
        let mut counts = BTreeMap::new();
        self.tagged.values().flat_map(|tagged| &tagged.tags).for_each(|tag| *counts.entry(tag).or_default() += 1);
        counts
    }

    /// Adds tags to a session and removes others; returns whether anything changed.
    pub(crate) fn change(&mut self, agent: AgentKind, id: &str, added: &[Tag], removed: &[Tag]) -> bool {
        let key = (agent, id.to_owned());
        let before = self.tagged.get(&key).map(|tagged| tagged.tags.clone()).unwrap_or_default();
        let mut tags = before.clone();
        tags.extend(added.iter().cloned());
        tags.retain(|tag| !removed.contains(tag));
        let is_changed = tags != before;
        if tags.is_empty() {
            self.tagged.remove(&key);
        } else {
            self.tagged.insert(key, Tagged { tags });
        }
        is_changed
    }

    /// Returns the tagged sessions in order of agent and id.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = (AgentKind, &str)> {
        self.tagged.keys().map(|(agent, id)| (*agent, id.as_str()))
    }
}
