//! Pinned sessions, which no cleanup removes. `pins.json` in the state directory; `apply` writes it.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::{Refusal, RefusalCode};
use crate::session::AgentKind;
use crate::system::disk::{Disk, SYSTEM};
use crate::system::env::Env;
use crate::system::state_file;

/// The pins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pins {
    #[serde(with = "state_file::by_session")]
    pins: BTreeMap<(AgentKind, String), Pin>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pin {
    pinned_at: Timestamp,
}

/// The file in the state directory that holds the pins.
pub(crate) const FILE_NAME: &str = "pins.json";

impl Pins {
    /// Reads the pins. A file that cannot be read is an error, because then no session may be removed.
    pub(crate) fn read(env: &Env) -> Result<Self, Refusal> {
        Self::read_on(&SYSTEM, &env.state_dir().join(FILE_NAME))
    }

    /// Reads the pins in a file on this disk.
    pub(crate) fn read_on(disk: &dyn Disk, path: &Path) -> Result<Self, Refusal> {
        state_file::read(disk, path).map_err(|why| {
            let message = format!("the pins are unknown: {why}");
            Refusal::new(RefusalCode::BadState, message).hint("fix the file or move it away")
        })
    }

    /// Checks whether a session is pinned.
    pub(crate) fn contains(&self, agent: AgentKind, id: &str) -> bool {
        !self.pins.is_empty() && self.pins.contains_key(&(agent, id.to_owned()))
    }

    /// Pins a session; returns whether it was not pinned before.
    pub(crate) fn add(&mut self, agent: AgentKind, id: &str, at: Timestamp) -> bool {
        let key = (agent, id.to_owned());
        let is_new = !self.pins.contains_key(&key);
        self.pins.entry(key).or_insert(Pin { pinned_at: at });
        is_new
    }

    /// Removes a pin; returns whether there was one.
    pub(crate) fn remove(&mut self, agent: AgentKind, id: &str) -> bool {
        self.pins.remove(&(agent, id.to_owned())).is_some()
    }

    /// Returns the pinned sessions in order of agent and id.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = (AgentKind, &str)> + Clone {
        self.pins.keys().map(|(agent, id)| (*agent, id.as_str()))
    }
}
