//! The name of this machine in archives, and the sessions that it archived, both stored in the state directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use serde::{Deserialize, Serialize};

use super::chunks::digest;
use super::machine_dir::MachineDir;
use crate::session::AgentKind;
use crate::system::disk::{self, Access, Disk};
use crate::system::env::Env;
use crate::system::state_file;
use changes::path_text::PathText;
use changes::state_dir::StateDir;

/// The file with the name of this machine.
const OWN_NAME: &str = "machine.json";
/// The file with the sessions that this machine archived.
const NOTES: &str = "archives.json";
/// Number of hexadecimal digits at the end of a name.
const DIGITS: usize = 8;
/// Largest number of characters of the host name in a name.
const MAX_HOST: usize = 40;

/// The identity of this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct MachineIdentity {
    name: String,
    hostname: String,
    /// The inode of the state directory.
    inode: u64,
}

/// Checks whether a directory name has the form of a machine's name: a host name and hexadecimal digits.
pub(super) fn is_name(name: &str) -> bool {
    let digits = name.rsplit_once('-').map_or("", |(_, digits)| digits);
    digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Returns the inode of a directory, 0 if it is unknown.
fn inode(disk: &dyn Disk, dir: &Path) -> u64 {
    disk.open_dir(dir).and_then(|open| disk.read_open_metadata(&open)).map_or(0, |look| look.identity.1)
}

/// Returns the name of this machine; `None` if it has no name yet.
///
/// # Errors
///
/// The file with the name cannot be read.
pub(crate) fn own_name(env: &Env) -> Result<Option<String>, String> {
    name_in(&disk::with_faults_of(env), &env.state_dir(), env)
}

pub(super) fn name_in(disk: &dyn Disk, dir: &Path, env: &Env) -> Result<Option<String>, String> {
    let own: MachineIdentity = state_file::read(disk, &dir.join(OWN_NAME))?;
    // A state directory that was copied to another machine has another inode there, and the machine gets a new name.
    let is_copied = own.hostname != env.hostname && own.inode != inode(disk, dir);
    Ok(Some(own.name).filter(|name| is_name(name) && !is_copied))
}

/// Returns the name of this machine; creates one if there is none.
pub(crate) fn name_here(state_dir: &StateDir, env: &Env) -> anyhow::Result<String> {
    let (disk, dir, hostname) = (state_dir.disk(), state_dir.path(), env.hostname.clone());
    if let Some(name) = name_in(disk, dir, env).map_err(anyhow::Error::msg)? {
        return Ok(name);
    }
    let inode = inode(disk, dir);
    let mut random = [0; 16];
    getrandom::fill(&mut random)?;
    let unique = format!("{hostname}\n{}\n{inode}\n{random:?}", dir.display());
    let host: String = hostname.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(MAX_HOST).collect();
    let host = Some(host.trim_matches('-')).filter(|host| !host.is_empty()).unwrap_or("machine");
    let name = format!("{host}-{}", &digest(unique.as_bytes())[..DIGITS]);
    let identity = MachineIdentity { name: name.clone(), hostname, inode };
    disk::save(disk, &dir.join(OWN_NAME), Access::Private, &state_file::to_json(&identity)?)?;
    Ok(name)
}

fn by_name(name: &str) -> Option<AgentKind> {
    AgentKind::value_variants().iter().copied().find(|agent| agent.name() == name)
}

/// A session that this machine archived or is bringing here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Noted {
    /// The number of its newest state in this machine's directory; 0 if it has none.
    pub number: u64,
    /// A digest of the names, sizes and times of its files here, at the last comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<String>,
    /// The states of other machines that these files contain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contained: Vec<String>,
    /// Set while a sync brings a state here, until the session has its directory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_arriving: bool,
    /// A digest of the reason why the session was skipped, when a sync last reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<String>,
}

/// The sessions that this machine archived in one archive, by agent and full id.
///
/// The archive's directory may be unmounted, or incomplete. These notes show what it must contain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct MachineNotes {
    archive: PathText,
    sessions: BTreeMap<String, BTreeMap<String, Noted>>,
}

/// The notes about all archives.
#[derive(Debug, Default, Serialize, Deserialize)]
struct AllNotes {
    archives: Vec<MachineNotes>,
}

impl MachineNotes {
    /// Reads the notes about an archive.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(crate) fn read(root: &Path, env: &Env) -> Result<Self, String> {
        Self::read_in(&disk::with_faults_of(env), &env.state_dir(), root)
    }

    /// Like [`Self::read`], in a state directory on a disk.
    pub(crate) fn read_in(disk: &dyn Disk, dir: &Path, root: &Path) -> Result<Self, String> {
        let all: AllNotes = state_file::read(disk, &dir.join(NOTES))?;
        let none = || Self { archive: PathText(root.to_owned()), sessions: BTreeMap::new() };
        Ok(all.archives.into_iter().find(|notes| notes.archive.0 == *root).unwrap_or_else(none))
    }

    /// Writes the notes if they changed.
    pub(crate) fn save(&self, state_dir: &StateDir) -> anyhow::Result<()> {
        let path = state_dir.path().join(NOTES);
        let mut all: AllNotes = state_file::read(state_dir.disk(), &path).map_err(anyhow::Error::msg)?;
        if all.archives.contains(self) {
            return Ok(());
        }
        all.archives.retain(|notes| notes.archive != self.archive);
        all.archives.push(self.clone());
        Ok(disk::save(state_dir.disk(), &path, Access::Private, &state_file::to_json(&all)?)?)
    }

    /// Returns the note about a session.
    pub(crate) fn get(&self, agent: AgentKind, id: &str) -> Option<&Noted> {
        self.sessions.get(agent.name())?.get(id)
    }

    /// Returns the note about a session, to change it.
    pub(crate) fn entry(&mut self, agent: AgentKind, id: &str) -> &mut Noted {
        self.sessions.entry(agent.name().to_owned()).or_default().entry(id.to_owned()).or_default()
    }

    /// Removes the notes about sessions that `keeps` rejects.
    pub(crate) fn retain(&mut self, keeps: impl Fn(AgentKind, &str, &Noted) -> bool) {
        for (name, sessions) in &mut self.sessions {
            // Keep the notes about agents of a later version.
            let Some(agent) = by_name(name) else { continue };
            sessions.retain(|id, noted| keeps(agent, id, noted));
        }
    }

    /// Checks whether this machine has archived any session.
    pub(crate) fn has_archived(&self) -> bool {
        self.sessions.values().flat_map(BTreeMap::values).any(|noted| noted.number > 0)
    }

    /// Returns every session of an agent that this program knows.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = (AgentKind, &str, &Noted)> {
        let agents = self.sessions.iter().filter_map(|(name, sessions)| Some((by_name(name)?, sessions)));
        agents.flat_map(|(agent, sessions)| sessions.iter().map(move |(id, noted)| (agent, id.as_str(), noted)))
    }

    /// Returns each session whose newest state is missing in the machine's directory: its directory and the number of
    /// that state. `newest` returns the number of the newest existing state.
    pub(super) fn missing(
        &self,
        dir: &MachineDir,
        newest: impl Fn(AgentKind, &str) -> Option<u64>,
    ) -> impl Iterator<Item = (PathBuf, u64)> {
        let lacking = self.sessions().filter(move |(agent, id, noted)| newest(*agent, id).unwrap_or(0) < noted.number);
        lacking.map(|(agent, id, noted)| (dir.session_dir(agent, id), noted.number))
    }
}
