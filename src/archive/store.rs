//! An archive: a directory with one [`MachineDir`] per machine, and the states of all of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::machine;
use super::machine_dir::{ArchivedState, MachineDir};
use super::manifest::Manifest;
use crate::format::shell;
use crate::session::state_name::StateName;
use crate::session::{AgentKind, Problem, Session};
use crate::system::disk::{self, Disk};
use crate::system::env::Env;
use crate::system::parallel;

/// Maximum number of a state.
const MAX_NUMBER: u64 = 1_000_000_000_000;

/// An archive on disk; it need not exist.
#[derive(Clone, Debug)]
pub(crate) struct Archive {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    /// The name of this machine; empty if it has none yet, and so has written no archive. Clones share it.
    own: Arc<OnceLock<String>>,
}

/// The content of an archive.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    /// The states of each session, the oldest of each machine first, and those of this machine last.
    pub sessions: BTreeMap<(AgentKind, String), Vec<ArchivedState>>,
    /// Manifests that are damaged or cannot be read.
    pub problems: Vec<Problem>,
}

impl Archive {
    /// Returns the archive in a directory. The default is the directory of the config file, or else `archive` in the
    /// data directory.
    pub(crate) fn open(env: &Env, dir: Option<&Path>) -> Self {
        let dir = dir.or(env.config.archive_dir.as_deref());
        let root = dir.map_or_else(|| Self::default_dir(env), |dir| env.absolute(dir));
        // A command that writes reports a name that cannot be read.
        Self::on_disk(Arc::new(disk::with_faults_of(env)), root, machine::own_name(env).ok().flatten())
    }

    /// Returns the archive in a directory on this disk, for the machine with this name.
    pub(crate) fn on_disk(disk: Arc<dyn Disk>, root: PathBuf, own: Option<String>) -> Self {
        Self { disk, root, own: Arc::new(own.map(OnceLock::from).unwrap_or_default()) }
    }

    /// Sets the name of this machine, which was just created.
    pub(crate) fn set_own(&self, own: String) {
        // If a name is already set, it is kept.
        let _ = self.own.set(own);
    }

    /// Returns the default directory of the archive.
    pub(crate) fn default_dir(env: &Env) -> PathBuf {
        env.data_dir().join("archive")
    }

    /// Returns the option for a command about the archive in a directory, after a blank; empty for the default archive.
    pub(crate) fn option(dir: &Path, env: &Env) -> String {
        if *dir == *Self::open(env, None).root() {
            return String::new();
        }
        format!(" --archive-dir {}", shell::word(&dir.to_string_lossy()))
    }

    /// Returns the archive's directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the directory of a machine.
    pub(crate) fn machine_dir(&self, machine: &str) -> MachineDir {
        MachineDir::new(Arc::clone(&self.disk), self.root.join(machine))
    }

    /// Returns the directory of the machine that archived a state.
    pub(crate) fn dir_of(&self, manifest: &Manifest) -> MachineDir {
        self.machine_dir(&manifest.machine)
    }

    /// Returns the directory of this machine; `None` if it has written no archive.
    pub(crate) fn own(&self) -> Option<MachineDir> {
        self.own.get().map(|own| self.machine_dir(own))
    }

    /// Checks whether this machine archived a state.
    pub(crate) fn is_own(&self, manifest: &Manifest) -> bool {
        self.own.get() == Some(&manifest.machine)
    }

    /// Returns the name of a state for `--state`.
    pub(crate) fn state_name(&self, manifest: &Manifest) -> StateName {
        let machine = Some(manifest.machine.clone()).filter(|_| !self.is_own(manifest));
        StateName { number: manifest.number, machine }
    }

    /// Returns the directory of each machine. Other directories are ignored, such as those of a program that copies the
    /// archive.
    pub(crate) fn machine_dirs(&self, problems: &mut Vec<Problem>) -> Vec<MachineDir> {
        let all = self.machine_dir("").dirs(&self.root, problems);
        let names = all.iter().filter_map(|dir| dir.file_name()?.to_str()).filter(|name| machine::is_name(name));
        names.map(|name| self.machine_dir(name)).collect()
    }

    /// Reads every manifest of every machine; a damaged one is a problem, and a missing archive is empty.
    pub(crate) fn holdings(&self) -> Holdings {
        let mut problems = Vec::new();
        let dirs = self.machine_dirs(&mut problems);
        self.read_all(&dirs, problems, &MachineDir::manifests)
    }

    /// Reads the manifests that this machine wrote.
    pub(crate) fn own_holdings(&self) -> Holdings {
        let own: Vec<MachineDir> = self.own().into_iter().collect();
        self.read_all(&own, Vec::new(), &MachineDir::manifests)
    }

    /// Reads the manifests of one session that this machine wrote.
    pub(crate) fn own_snapshots(&self, agent: AgentKind, id: &str) -> Holdings {
        let own: Vec<MachineDir> = self.own().into_iter().collect();
        self.read_all(&own, Vec::new(), &|dir, problems| dir.manifests_in(&dir.session_dir(agent, id), problems))
    }

    /// Returns the largest number of a state of a session, 0 if there is none.
    pub(super) fn last_number(&self, agent: AgentKind, id: &str) -> u64 {
        let mut problems = Vec::new();
        let dirs = self.machine_dirs(&mut problems);
        let paths = dirs.iter().flat_map(|dir| dir.manifests_in(&dir.session_dir(agent, id), &mut problems));
        let number = |path: PathBuf| path.file_stem()?.to_str()?.split_once('-')?.0.parse().ok();
        // A number above the maximum was not written by rejoin.
        paths.filter_map(number).filter(|number| *number < MAX_NUMBER).max().unwrap_or(0)
    }

    fn read_all(
        &self,
        dirs: &[MachineDir],
        mut problems: Vec<Problem>,
        list: &dyn Fn(&MachineDir, &mut Vec<Problem>) -> Vec<PathBuf>,
    ) -> Holdings {
        let listed = dirs.iter().flat_map(|dir| list(dir, &mut problems).into_iter().map(move |path| (dir, path)));
        let paths: Vec<(&MachineDir, PathBuf)> = listed.collect();
        let read = parallel::map(paths, |(dir, path)| dir.read(path).transpose());
        let mut sessions: BTreeMap<_, Vec<ArchivedState>> = BTreeMap::new();
        for result in read.into_iter().flatten() {
            match result {
                Ok(snapshot) => {
                    let key = (snapshot.manifest.agent, snapshot.manifest.id.clone());
                    sessions.entry(key).or_default().push(snapshot);
                }
                Err(problem) => problems.push(problem),
            }
        }
        for snapshots in sessions.values_mut() {
            // Sort the states of this machine last, so that its newest state is the last one.
            let order = |it: &ArchivedState| (self.is_own(&it.manifest), it.manifest.number);
            snapshots.sort_by(|a, b| (order(a), &a.path).cmp(&(order(b), &b.path)));
        }
        problems.sort();
        Holdings { sessions, problems }
    }
}

impl Holdings {
    /// Returns every state of every session.
    pub(crate) fn snapshots(&self) -> impl Iterator<Item = &ArchivedState> {
        self.sessions.values().flatten()
    }

    /// Returns the newest state of each session.
    pub(crate) fn each_newest(&self) -> impl Iterator<Item = &ArchivedState> {
        self.sessions.values().filter_map(|states| states.last())
    }

    /// Returns each session as it was when its newest state was archived.
    pub(crate) fn newest_sessions(&self) -> Vec<Session> {
        self.each_newest().map(|snapshot| snapshot.manifest.session()).collect()
    }

    /// Returns the number of the newest state of a session that this machine archived.
    pub(crate) fn own_number(&self, archive: &Archive, agent: AgentKind, id: &str) -> Option<u64> {
        self.newest(agent, id).filter(|newest| archive.is_own(&newest.manifest)).map(|newest| newest.manifest.number)
    }

    /// Returns the newest state of a session.
    pub(crate) fn newest(&self, agent: AgentKind, id: &str) -> Option<&ArchivedState> {
        self.sessions.get(&(agent, id.to_owned()))?.last()
    }
}
