//! The record of a machine in a shared archive.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::archive::Archive;
use crate::archive::chunks::{digest, is_digest};
use crate::change::apply::state_dir::StateDir;
use crate::change::state_file;
use crate::error::{PathError, reason};
use crate::format::path_text::PathText;
use crate::session::{AgentKind, Problem};
use crate::system::disk::{self, Access, System};
use crate::system::env::Env;
use crate::system::fsio::Kind;

/// The directory of the records in an archive.
const DIR: &str = "machines";
/// The version of the records that this program writes; records of another major version are not read.
const FORMAT_VERSION: &str = "1.0";
/// The kind that every record names.
const KIND: &str = "machine";
/// Upper bound on the size of a record; that of a million sessions is smaller.
const MAX_RECORD: u64 = 512 * 1024 * 1024;
/// The file in the state directory with the name of this machine.
const OWN_NAME: &str = "machine.json";
/// Number of digits of a machine's name.
const NAME_DIGITS: usize = 16;

/// One machine's sessions at its last sync.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    format_version: String,
    kind: String,
    /// The name of its record: 16 hexadecimal digits.
    pub id: String,
    /// Its host name.
    pub hostname: String,
    /// The home directory of the sessions.
    pub home: PathText,
    /// Time of the last change.
    pub written_at: Timestamp,
    /// Each session, by agent and full id; keeps agents of a later version.
    sessions: BTreeMap<String, BTreeMap<String, Held>>,
}

/// A session on a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Held {
    /// The current state: the SHA-256 of its manifest.
    pub state: String,
    /// A digest of the names, sizes and times of its files there; `None` if that state was being written there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<String>,
    /// Time since which the session is gone from the machine; `None` if it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Timestamp>,
}

impl Machine {
    /// Makes the record of this machine, without sessions.
    pub(crate) fn new(id: String, env: &Env) -> Self {
        Self {
            format_version: FORMAT_VERSION.to_owned(),
            kind: KIND.to_owned(),
            id,
            hostname: env.hostname.clone(),
            home: PathText(env.home.clone()),
            written_at: env.clock.now,
            sessions: BTreeMap::new(),
        }
    }

    /// Returns the host name, with the home if the other machine has the same host name.
    pub(crate) fn label(&self, other: &Self) -> String {
        let home = self.home.0.display();
        if self.hostname == other.hostname { format!("{} ({home})", self.hostname) } else { self.hostname.clone() }
    }

    /// Returns a session.
    pub(crate) fn session(&self, agent: AgentKind, id: &str) -> Option<&Held> {
        self.sessions.get(agent.name())?.get(id)
    }

    /// Adds or replaces the entry of a session.
    pub(crate) fn set(&mut self, agent: AgentKind, id: &str, held: Held) {
        self.sessions.entry(agent.name().to_owned()).or_default().insert(id.to_owned(), held);
    }

    /// Removes the entry of a session.
    pub(crate) fn forget(&mut self, agent: AgentKind, id: &str) {
        if let Some(sessions) = self.sessions.get_mut(agent.name()) {
            sessions.remove(id);
        }
    }

    /// Returns every session of an agent that this program knows.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = (AgentKind, &str, &Held)> {
        let of_agent = |(name, of): (&'_ String, _)| Some((by_name(name)?, of));
        let agents = self.sessions.iter().filter_map(of_agent);
        agents.flat_map(|(agent, of): (_, &BTreeMap<String, Held>)| {
            of.iter().map(move |(id, held)| (agent, id.as_str(), held))
        })
    }

    /// Returns every current state of the machine.
    pub(crate) fn states(&self) -> impl Iterator<Item = &str> {
        self.sessions
            .values()
            .flat_map(BTreeMap::values)
            .filter(|held| held.deleted_at.is_none())
            .map(|it| it.state.as_str())
    }

    pub(super) fn parse(bytes: &[u8], name: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            format_version: String,
            kind: String,
        }
        let head: Head = serde_json::from_slice(bytes).map_err(|_| "it is not the record of a machine".to_owned())?;
        if head.kind != KIND {
            return Err("it is not the record of a machine".to_owned());
        }
        if head.format_version.split('.').next() != FORMAT_VERSION.split('.').next() {
            return Err(format!("its version is {}, which this rejoin does not know", head.format_version));
        }
        let machine: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if machine.id != name {
            return Err("it is the record of another machine".to_owned());
        }
        if !machine.sessions.values().flat_map(BTreeMap::values).all(|held| is_digest(&held.state)) {
            return Err("the name of a state is not valid".to_owned());
        }
        Ok(machine)
    }
}

impl Archive {
    /// Reads the record of every machine; a damaged one, or one of a later version, is a problem.
    pub(crate) fn machines(&self) -> (Vec<Machine>, Vec<Problem>) {
        let (mut machines, mut problems) = (Vec::new(), Vec::new());
        for (path, kind) in self.entries(&self.root().join(DIR), &mut problems) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with('.') || name.ends_with(".tmp") {
                continue;
            }
            match record_name(name).filter(|_| kind == Kind::File) {
                Some(name) => match self.machine(&path, name) {
                    Ok(machine) => machines.extend(machine),
                    Err(reason) => problems.push(Problem { path, reason }),
                },
                None => {
                    problems.push(Problem { path, reason: "its name is not that of a machine's record".to_owned() })
                }
            }
        }
        machines.sort_by(|a, b| (&a.hostname, &a.id).cmp(&(&b.hostname, &b.id)));
        (machines, problems)
    }

    pub(super) fn machine(&self, path: &Path, name: &str) -> Result<Option<Machine>, String> {
        let bytes = disk::read_if_present(self.disk(), path, MAX_RECORD).map_err(|error| reason(&error))?;
        bytes.map(|bytes| Machine::parse(&bytes, name)).transpose()
    }

    /// Returns the path of a machine's record.
    pub(crate) fn record_of(&self, id: &str) -> PathBuf {
        self.root().join(DIR).join(format!("{id}.json"))
    }

    /// Writes the record of this machine.
    pub(crate) fn write_machine(&self, machine: &Machine) -> Result<(), PathError> {
        let path = self.record_of(&machine.id);
        let fail = |error| PathError::new("write", &path, error);
        disk::make_dirs(self.disk(), &self.root().join(DIR), Access::Private).map_err(fail)?;
        let mut bytes = serde_json::to_vec_pretty(machine).map_err(|error| fail(error.into()))?;
        bytes.push(b'\n');
        disk::save(self.disk(), &path, Access::Private, &bytes)
    }
}

fn by_name(name: &str) -> Option<AgentKind> {
    AgentKind::value_variants().iter().copied().find(|agent| agent.name() == name)
}

/// Returns the machine's name from the file name of its record.
pub(super) fn record_name(file: &str) -> Option<&str> {
    file.strip_suffix(".json").filter(|name| is_name(name))
}

fn is_name(name: &str) -> bool {
    name.len() == NAME_DIGITS && name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// This machine's entry in the state directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct OwnName {
    id: String,
    hostname: String,
    /// The inode of the state directory.
    inode: u64,
    /// The archives with a record of this machine.
    archives: BTreeSet<PathText>,
}

impl OwnName {
    fn read(env: &Env) -> Result<Option<Self>, String> {
        let dir = env.state_dir();
        let own: Self = state_file::read(&System::new(env), &dir.join(OWN_NAME))?;
        // A state directory that was copied to another machine has another inode there, and the machine gets a new
        // name.
        let is_copied = own.inode != inode(&dir) && own.hostname != env.hostname;
        Ok(Some(own).filter(|own| is_name(&own.id) && !is_copied))
    }

    fn save(&self, state_dir: &StateDir, env: &Env) -> anyhow::Result<()> {
        let path = env.state_dir().join(OWN_NAME);
        Ok(disk::save(state_dir.disk(), &path, Access::Private, &state_file::to_json(self)?)?)
    }
}

fn inode(dir: &Path) -> u64 {
    dir.metadata().map_or(0, |metadata| metadata.ino())
}

/// Returns the name of this machine; `None` if it has no name yet.
///
/// # Errors
///
/// The file with the name cannot be read.
pub(crate) fn own_name(env: &Env) -> Result<Option<String>, String> {
    Ok(OwnName::read(env)?.map(|own| own.id))
}

/// Returns the name of this machine; creates one if there is none.
pub(crate) fn name_here(state_dir: &StateDir, env: &Env) -> anyhow::Result<String> {
    if let Some(own) = OwnName::read(env).map_err(anyhow::Error::msg)? {
        return Ok(own.id);
    }
    let (dir, hostname) = (env.state_dir(), env.hostname.clone());
    let inode = inode(&dir);
    let unique = format!("{hostname}\n{}\n{inode}\n{}", dir.display(), env.clock.now);
    let id = digest(unique.as_bytes())[..NAME_DIGITS].to_owned();
    OwnName { id: id.clone(), hostname, inode, archives: BTreeSet::new() }.save(state_dir, env)?;
    Ok(id)
}

/// Checks whether this machine has written its record into an archive before.
pub(crate) fn has_synced(root: &Path, env: &Env) -> bool {
    let known = OwnName::read(env).ok().flatten();
    known.is_some_and(|own| own.archives.contains(&PathText(root.to_owned())))
}

/// Records that an archive has a record of this machine.
pub(crate) fn remember(root: &Path, state_dir: &StateDir, env: &Env) -> anyhow::Result<()> {
    let Some(mut own) = OwnName::read(env).map_err(anyhow::Error::msg)? else { return Ok(()) };
    if own.archives.insert(PathText(root.to_owned())) { own.save(state_dir, env) } else { Ok(()) }
}
