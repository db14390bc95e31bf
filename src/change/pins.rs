//! Sessions that a person pinned: no cleanup takes them. `pins.json` in the state directory; `apply` writes it.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::{Exit, PathError, Refusal, RefusalCode};
use crate::session::{AgentKind, Session};
use crate::system::disk::{self, Disk, SYSTEM};
use crate::system::env::Env;

/// The version of the file that this program writes.
const VERSION: u32 = 1;
/// A pin is about a hundred bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The pins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pins(BTreeMap<(AgentKind, String), Timestamp>);

#[derive(Debug, Serialize, Deserialize)]
struct Document {
    format_version: u32,
    pins: Vec<Pin>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Pin {
    agent: AgentKind,
    id: String,
    pinned_at: Timestamp,
}

/// The file in the state directory that holds the pins.
pub(crate) const FILE_NAME: &str = "pins.json";

impl Pins {
    /// Reads the pins. A file that cannot be understood is an error: what must stay would be unknown.
    pub(crate) fn read(env: &Env) -> anyhow::Result<Self> {
        Self::read_on(&SYSTEM, &env.state_dir().join(FILE_NAME))
    }

    /// Reads the pins in a file on this disk.
    pub(crate) fn read_on(disk: &dyn Disk, path: &Path) -> anyhow::Result<Self> {
        let bytes =
            disk::read_if_present(disk, path, MAX_BYTES).map_err(|error| PathError::new("read", path, error))?;
        let Some(bytes) = bytes else { return Ok(Self::default()) };
        let refuse = |why: String| {
            let message = format!("cannot tell which sessions are pinned: {} {why}", path.display());
            Refusal::new(Exit::Failure, RefusalCode::BadState, message).hint("fix the file or move it away")
        };
        let document: Document =
            serde_json::from_slice(&bytes).map_err(|error| refuse(format!("cannot be read: {error}")))?;
        if document.format_version != VERSION {
            return Err(refuse(format!("has format_version {}, not {VERSION}", document.format_version)).into());
        }
        Ok(Self(document.pins.into_iter().map(|pin| ((pin.agent, pin.id), pin.pinned_at)).collect()))
    }

    /// Returns whether a session is pinned.
    pub(crate) fn has(&self, agent: AgentKind, id: &str) -> bool {
        !self.0.is_empty() && self.0.contains_key(&(agent, id.to_owned()))
    }

    /// Notes in sessions whether they are pinned.
    pub(crate) fn mark(&self, sessions: &mut [Session]) {
        for session in sessions {
            session.is_pinned = self.has(session.agent, session.id());
        }
    }

    /// Pins a session; returns whether it was not pinned before.
    pub(crate) fn add(&mut self, agent: AgentKind, id: &str, at: Timestamp) -> bool {
        let key = (agent, id.to_owned());
        let is_new = !self.0.contains_key(&key);
        self.0.entry(key).or_insert(at);
        is_new
    }

    /// Removes a pin; returns whether there was one.
    pub(crate) fn remove(&mut self, agent: AgentKind, id: &str) -> bool {
        self.0.remove(&(agent, id.to_owned())).is_some()
    }

    /// Returns the pinned sessions in order of agent and id.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = (AgentKind, &str)> + Clone {
        self.0.keys().map(|(agent, id)| (*agent, id.as_str()))
    }

    /// Returns the file's contents.
    pub(crate) fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        let pins = self.0.iter().map(|((agent, id), at)| Pin { agent: *agent, id: id.clone(), pinned_at: *at });
        let mut text = serde_json::to_vec_pretty(&Document { format_version: VERSION, pins: pins.collect() })?;
        text.push(b'\n');
        Ok(text)
    }
}
