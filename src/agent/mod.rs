//! What every agent must provide: where its sessions are, what they contain, and how they are resumed.
//!
//! An agent is one folder here and one line in `session::agents`. Everything here reads; nothing writes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{DirEntry, FileType};
use std::ops::{ControlFlow, Range};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::error::{PathError, reason};
use crate::format::compare::compare;
use crate::session::evidence;
use crate::session::mapping::Mapping;
use crate::session::{Belongings, Comparison, Copy, Evidence, Fact, Liveness, Located, Message, Problem, Store};
use crate::system::env::Env;
use crate::system::fsio;
use crate::system::process::StartTime;
use command::{Command, as_last_argument, as_prompt_option};
use relocation::{Act, Relocation, Way};
use upkeep::{CwdRecords, Fold, Link, Retention, Strays};

pub(crate) mod about;
pub(crate) mod amplifier;
pub(crate) mod cat;
pub(crate) mod claude;
mod codex;
pub(crate) mod command;
mod copilot;
mod crush;
mod database;
mod gemini;
mod goose;
pub(crate) mod jido;
mod kimi;
pub(crate) mod leo;
mod opencode;
mod pi;
mod qwen;
mod registry;
pub(crate) mod relocation;
mod stores;
pub(crate) mod upkeep;
pub(crate) mod version;
mod vibe;

pub(crate) use registry::{Listed, PointerWriter, about, all, by_kind, pointer_writers, roots, writer_of};

/// Returns what belongs to a copy, as [`Agent::belongings`] does.
pub(crate) type FindBelongings<'a> = Box<dyn Fn(&Located) -> Result<Belongings, String> + Sync + 'a>;

/// A program that writes sessions, as far as reading and resuming them goes.
pub(crate) trait Agent: Listed + Sync {
    /// Returns the roots where its sessions can be, by its own variables and defaults; they need not exist.
    fn stores(&self, env: &Env) -> Vec<Store>;

    /// Finds every copy in a store by names alone. Where a name does not hold the full id, the first line is
    /// read for it, and no more; of a database the ids are read.
    fn locate(&self, store: &Arc<Store>) -> Found;

    /// Finds every copy of one full id without listing what else there is; may miss sub-agents.
    fn locate_id(&self, store: &Arc<Store>, id: &str) -> Found;

    /// Returns whether its sessions can be in any working directory, and it has run in this home.
    fn lies_anywhere(&self, _env: &Env) -> bool {
        false
    }

    /// Finds copies that lie in no store but inside directories: those that a user asks about, and those in which
    /// sessions of any agent worked.
    fn locate_in(&self, _asked: &[&Path], _worked_in: &HashSet<&OsStr>, _env: &Env) -> Found {
        Found::default()
    }

    /// Reads the small files of a store that are about many sessions.
    fn notes(&self, _store: &Store, _env: &Env) -> StoreNotes {
        StoreNotes::default()
    }

    /// Reads the same and, where many sessions are in one file, what that says of those that are wanted, with `counts`
    /// to the end of each.
    fn notes_on(&self, store: &Store, _places: &[&Located], _counts: bool, env: &Env) -> StoreNotes {
        self.notes(store, env)
    }

    /// Reads of the same what a last look at one copy needs, right before it is changed; a run may change many.
    fn notes_before_change(&self, place: &Located, env: &Env) -> StoreNotes {
        self.notes_on(&place.store, &[place], false, env)
    }

    /// Reads what is known of a copy, from the two ends of its files.
    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<Copy, PathError>;

    /// Reads the whole of a copy's transcript to count prompts and replies and to find bad lines.
    fn count(&self, copy: &mut Copy) -> Result<(), PathError>;

    /// Returns the file that holds a copy's conversation in lines, if there is one to compare.
    fn transcript(&self, place: &Located) -> Option<PathBuf> {
        Some(place.path.to_path_buf())
    }

    /// Returns what two copies of one session have in common; `None` where they cannot be compared.
    fn compare(&self, a: &Copy, b: &Copy) -> Option<Comparison> {
        compare(&self.transcript(&a.place)?, &self.transcript(&b.place)?).ok()
    }

    /// Returns where in a line of the transcript the agent's version stands, as a JSON pointer; `None` where it does not.
    fn version_at(&self) -> Option<&'static str> {
        None
    }

    /// Returns the files that grow while a session goes on; not all of them need to exist.
    fn written(&self, place: &Located) -> Vec<PathBuf> {
        self.transcript(place).into_iter().collect()
    }

    /// Returns every path that belongs to a copy and exists, itself included, or why its agent alone can remove it:
    /// then the text names the agent's own command.
    fn belongings(&self, place: &Located) -> Result<Belongings, String>;

    /// Returns a function that does the same for many copies in these stores; it reads shared directories once.
    fn belongings_in<'a>(&'a self, _roots: &BTreeSet<&Path>) -> FindBelongings<'a> {
        Box::new(|place| self.belongings(place))
    }

    /// Returns the files that the agent needs to find a copy, and that are there for other sessions too.
    fn companions(&self, _place: &Located) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Shows the messages of a copy in order, streamed, until `see` breaks.
    fn messages(&self, copy: &Copy, see: &mut dyn FnMut(Message) -> ControlFlow<()>) -> Result<(), PathError>;

    /// Says what lets it find the sessions of a store from other directories: what is done once, and for each of them.
    /// Without a word of its own nothing of it is touched, and this program keeps the new directory.
    fn relocation<'a>(
        &'a self,
        _store: &'a Store,
        _ways: &'a [Way],
        _mapping: &'a Mapping,
        _env: &'a Env,
    ) -> Result<Relocation<'a>, String> {
        Ok(Relocation::kept())
    }

    /// Says how what it keeps of directories, and not of sessions, names those that have moved: trust, histories, costs.
    fn references(&self, _store: &Store, _mapping: &Mapping, _env: &Env) -> Vec<Act> {
        Vec::new()
    }

    /// Returns whether the agent files the sessions of a directory under this project.
    fn is_filed_under(&self, _project: &str, _dir: &Path) -> bool {
        true
    }

    /// Returns whether a project is named after a hash of its directory, so that every directory that is known
    /// anywhere is worth trying.
    fn is_hash(&self, _project: &str) -> bool {
        false
    }

    /// Decides the launch directory anew after evidence was added.
    fn decide_launch_dir(&self, copy: &mut Copy) {
        evidence::decide(copy, |_| true);
    }

    /// Returns the command that resumes a copy, with one prompt to answer without a terminal or without, or why
    /// there is none.
    fn command(&self, copy: &Copy, prompt: Option<&str>) -> Result<Command, String>;

    /// Looks right before the launch whether the agent, started in a directory, would go on with this very copy; the
    /// reason names what it would do instead.
    fn check_start(&self, _copy: &Copy, _dir: &Path) -> Result<(), String> {
        Ok(())
    }

    /// Returns whether its own resume joins the process that uses the session, so that nothing is taken over.
    fn joins(&self, _copy: &Copy) -> bool {
        false
    }

    /// Says what the agent's own resume may do to a session, where that is not what a person expects.
    fn warning(&self, _copy: &Copy) -> Option<String> {
        None
    }

    /// Returns whether a server that resumes a session needs a session-info.json, which is then written first.
    fn needs_session_info(&self) -> bool {
        false
    }

    /// Returns whether a session is found from its own directory alone, so that no other can stand in for one that is gone.
    fn needs_own_dir(&self) -> bool {
        false
    }

    /// Returns whether the agent goes on with a session in its launch directory only, and asks in any other: without
    /// a terminal it then does nothing, and calls that a success.
    fn asks_elsewhere(&self) -> bool {
        false
    }

    /// Checks what is too slow for a list, such as a signature, and notes the outcome in the copy.
    fn verify(&self, _copy: &mut Copy, _env: &Env) {}

    /// Checks as [`Agent::verify`] does; many copies may share what is slow.
    fn verify_all(&self, copies: &mut [&mut Copy], env: &Env) {
        copies.iter_mut().for_each(|copy| self.verify(copy, env));
    }

    /// Finds what lies in a store and is part of no session there, and temporary files outside of sessions.
    fn strays(&self, _store: &Store, _env: &Env) -> Strays {
        Strays::default()
    }

    /// Returns when the agent deletes the sessions of a store by itself; `None` when it never does.
    fn retention(&self, _store: &Store, _env: &Env) -> Option<Retention> {
        None
    }

    /// Returns where others keep records of the directories that its sessions were working in.
    fn cwd_records(&self) -> Option<&'static dyn CwdRecords> {
        None
    }

    /// Returns the beginning of an id that the agent prints and accepts instead of the whole; `None` if it does not.
    fn printed_id<'i>(&self, _id: &'i str) -> Option<&'i str> {
        None
    }

    /// Returns whether a file of this name is written anew by every save, so that copies of a session need not agree
    /// in it.
    fn is_state(&self, _name: &str) -> bool {
        false
    }

    /// Returns how a record of a transcript is linked to others; `None` when the line is no record at all.
    fn link<'l>(&self, line: &'l [u8]) -> Option<Link<'l>> {
        upkeep::is_object(line).then(Link::default)
    }

    /// Returns how a copy that holds nothing but a log can be folded into another copy of the session; `None` when it
    /// holds anything else.
    fn fold(&self, _from: &Located, _into: &Located) -> Result<Option<Fold>, PathError> {
        Ok(None)
    }
}

/// How much of a copy is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// As little as `list` needs.
    Glance,
    /// Every source of a launch directory, even where a stronger one has spoken.
    Thorough,
}

/// What reading a copy may draw on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadContext<'a> {
    /// The world outside.
    pub env: &'a Env,
    /// What the store's small files say.
    pub notes: &'a StoreNotes,
    /// How much is wanted.
    pub depth: Depth,
    /// Whether it is wanted how large it is with all that belongs to it, which takes a look at every file of that.
    pub sizes: bool,
}

impl ReadContext<'_> {
    /// Returns the bytes of every regular file below a directory, or 0 if sizes are not wanted.
    pub(crate) fn tree_size(&self, dir: Option<&Path>) -> u64 {
        dir.filter(|_| self.sizes).map_or(0, tree_size)
    }
}

/// What the small files of a store say of its sessions.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoreNotes {
    /// Processes that registered themselves, by session id.
    pub live: HashMap<String, Vec<LiveRecord>>,
    /// Directories that pointers name, by session id; or by project, where the store says whose a project is.
    pub dirs: HashMap<String, Vec<Evidence>>,
    /// Names that sessions were given, by session id.
    pub names: HashMap<String, Fact<String>>,
    /// Whether sessions are in use, by session id, where something else than a process of this machine tells.
    pub locked: HashMap<String, Liveness>,
    /// What a file that holds many sessions says of those that are wanted, by file, and in the order of their ids.
    pub copies: HashMap<PathBuf, Vec<Copy>>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

impl StoreNotes {
    /// Notes what could not be read.
    pub(crate) fn problem(&mut self, path: &Path, why: impl Into<String>) {
        self.problems.push(Problem { path: path.to_owned(), reason: why.into() });
    }
}

/// A process that registered itself as the user of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LiveRecord {
    /// Its process id.
    pub pid: u32,
    /// When it started, which tells a reused id from it.
    pub started: Option<StartTime>,
}

/// What a walk through a store gave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Every copy.
    pub places: Vec<Located>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

impl Found {
    /// Adds what another walk gave.
    pub(crate) fn extend(&mut self, other: Self) {
        self.places.extend(other.places);
        self.problems.extend(other.problems);
    }

    /// Notes what could not be read.
    pub(crate) fn problem(&mut self, path: &Path, why: impl Into<String>) {
        self.problems.push(Problem { path: path.to_owned(), reason: why.into() });
    }

    /// Lists a directory with the types of its entries; a missing one is empty, links are left out.
    pub(crate) fn entries(&mut self, dir: &Path) -> Vec<(DirEntry, FileType)> {
        let listing = match std::fs::read_dir(dir) {
            Ok(listing) => listing,
            Err(error) => {
                if !matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) {
                    self.problem(dir, reason(&error));
                }
                return Vec::new();
            }
        };
        let mut entries = Vec::new();
        for entry in listing {
            match entry.and_then(|entry| entry.file_type().map(|kind| (entry, kind))) {
                Ok((_, kind)) if kind.is_symlink() => {}
                Ok(pair) => entries.push(pair),
                Err(error) => self.problem(dir, reason(&error)),
            }
        }
        entries
    }

    /// Reads every JSON file of up to `max_bytes` in a directory, and passes on its path and contents.
    fn each_json(&mut self, dir: &Path, max_bytes: u64, mut see: impl FnMut(PathBuf, &[u8])) {
        for (entry, kind) in self.entries(dir) {
            let path = entry.path();
            if !kind.is_file() || path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            match fsio::read_bounded(&path, max_bytes) {
                Ok(bytes) => see(path, &bytes),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => self.problem(&path, error.reason()),
            }
        }
    }

    /// Walks the directories right below `root` in parallel; each is a project with its name.
    pub(crate) fn in_projects(root: &Path, walk: impl Fn(&Path, &Arc<str>, &mut Self) + Sync) -> Self {
        let mut found = Self::default();
        let projects: Vec<PathBuf> =
            found.entries(root).into_iter().filter(|(_, kind)| kind.is_dir()).map(|(entry, _)| entry.path()).collect();
        let walked: Vec<Self> = projects
            .into_par_iter()
            .map(|dir| {
                let mut found = Self::default();
                match dir.file_name().and_then(|name| name.to_str()) {
                    Some(name) => walk(&dir, &Arc::from(name), &mut found),
                    None => found.problem(&dir, "its name is not UTF-8, so no agent wrote it"),
                }
                found
            })
            .collect();
        walked.into_iter().for_each(|part| found.extend(part));
        found
    }
}

/// What lies in a directory, for finding names by their beginnings.
#[derive(Debug, Default)]
struct Beginnings {
    dir: PathBuf,
    /// All names, one after the other; a store may hold a hundred thousand.
    text: Vec<u8>,
    /// Where each name is in the text, in the order of the names.
    names: Vec<Range<usize>>,
}

impl Beginnings {
    /// Lists a directory, links too; one that cannot be listed is empty.
    fn of(dir: &Path) -> Self {
        let (mut text, mut names) = (Vec::new(), Vec::new());
        for entry in std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok) {
            let start = text.len();
            text.extend_from_slice(entry.file_name().as_bytes());
            names.push(start..text.len());
        }
        names.sort_unstable_by(|a: &Range<usize>, b| text[a.clone()].cmp(&text[b.clone()]));
        Self { dir: dir.to_owned(), text, names }
    }

    fn name(&self, at: &Range<usize>) -> &[u8] {
        &self.text[at.clone()]
    }

    /// Returns the path with this name.
    fn named(&self, name: &str) -> Option<PathBuf> {
        let at = self.names.binary_search_by(|known| self.name(known).cmp(name.as_bytes()));
        at.is_ok().then(|| self.dir.join(name))
    }

    /// Returns the paths whose names begin so.
    fn with<'b>(&'b self, beginning: &str) -> impl Iterator<Item = PathBuf> + use<'b> {
        let beginning = beginning.as_bytes().to_owned();
        let first = self.names.partition_point(|name| self.name(name) < beginning.as_slice());
        let names = self.names[first..].iter().map(|name| self.name(name));
        names.take_while(move |name| name.starts_with(&beginning)).map(|name| self.dir.join(OsStr::from_bytes(name)))
    }
}

/// Directories that were listed, each but once.
#[derive(Debug, Default)]
struct Listings(Mutex<HashMap<PathBuf, Arc<Beginnings>>>);

impl Listings {
    fn of(&self, dir: &Path) -> Arc<Beginnings> {
        let known = self.0.lock().ok().and_then(|known| known.get(dir).cloned());
        known.unwrap_or_else(|| {
            let listed = Arc::new(Beginnings::of(dir));
            if let Ok(mut known) = self.0.lock() {
                known.insert(dir.to_owned(), Arc::clone(&listed));
            }
            listed
        })
    }
}

/// Returns whether there is something at a path, even a link that leads nowhere.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Returns the bytes of every regular file below a directory, without following links.
pub(crate) fn tree_size(dir: &Path) -> u64 {
    let mut bytes = 0;
    each_file_below(dir, usize::MAX, &mut |entry, _| bytes += entry.metadata().map_or(0, |metadata| metadata.len()));
    bytes
}

/// Shows every regular file below a directory with its depth, 1 for those right in it, down to the deepest wanted;
/// follows no links.
///
/// A look at an entry's metadata starts at its directory, which is cheaper than one at its path from the root on.
fn each_file_below(dir: &Path, deepest: usize, see: &mut dyn FnMut(&DirEntry, usize)) {
    let mut dirs = vec![(dir.to_owned(), 1)];
    while let Some((dir, depth)) = dirs.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok) {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < deepest => dirs.push((entry.path(), depth + 1)),
                Ok(kind) if kind.is_file() => see(&entry, depth),
                _ => {}
            }
        }
    }
}
