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
#[serde(from = "TagsFile", into = "TagsFile")]
pub(crate) struct Tags(BTreeMap<(AgentKind, String), BTreeSet<Tag>>);

#[derive(Debug, Serialize, Deserialize)]
struct TagsFile {
    tagged: Vec<Tagged>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Tagged {
    agent: AgentKind,
    id: String,
    tags: BTreeSet<Tag>,
}

impl From<TagsFile> for Tags {
    fn from(content: TagsFile) -> Self {
        Self(content.tagged.into_iter().map(|Tagged { agent, id, tags }| ((agent, id), tags)).collect())
    }
}

impl From<Tags> for TagsFile {
    fn from(tags: Tags) -> Self {
        Self { tagged: tags.0.into_iter().map(|((agent, id), tags)| Tagged { agent, id, tags }).collect() }
    }
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
        let tags = if self.0.is_empty() { None } else { self.0.get(&(agent, id.to_owned())) };
        tags.into_iter().flatten()
    }

    /// Returns the sessions that have all of these tags.
    pub(crate) fn with_all(&self, tags: &[Tag]) -> BTreeSet<(AgentKind, String)> {
        let has_all = |own: &BTreeSet<Tag>| tags.iter().all(|tag| own.contains(tag));
        self.0.iter().filter(|(_, own)| has_all(own)).map(|(session, _)| session.clone()).collect()
    }

    /// Returns the number of sessions of each tag.
    pub(crate) fn counts(&self) -> BTreeMap<&Tag, usize> {
        let mut counts = BTreeMap::new();
        self.0.values().flatten().for_each(|tag| *counts.entry(tag).or_default() += 1);
        counts
    }

    /// Adds tags to a session and removes others; returns whether anything changed.
    pub(crate) fn change(&mut self, agent: AgentKind, id: &str, added: &[Tag], removed: &[Tag]) -> bool {
        let key = (agent, id.to_owned());
        let before = self.0.get(&key).cloned().unwrap_or_default();
        let mut tags = before.clone();
        tags.extend(added.iter().cloned());
        tags.retain(|tag| !removed.contains(tag));
        let is_changed = tags != before;
        if tags.is_empty() {
            self.0.remove(&key);
        } else {
            self.0.insert(key, tags);
        }
        is_changed
    }

    /// Returns the tagged sessions in order of agent and id.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = (AgentKind, &str)> {
        self.0.keys().map(|(agent, id)| (*agent, id.as_str()))
    }
}
