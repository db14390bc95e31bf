//! Writes an archive: chunks that are not there yet, then the manifest, then away with what nobody needs any more.
//!
//! A manifest is put in place only when every blob that it names is on the disk. Whenever a run is cut off, what was
//! archived before is whole, and the next run removes what is left over.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::Metadata;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::fault::Fault;
use super::lock::Lock;
use super::shop::Shop;
use super::tree;
use crate::agent::{self, Agent};
use crate::archive::chunks::{digest, each_chunk, pack};
use crate::archive::manifest::{CopyAt, Entry, Node, Role};
use crate::archive::store::{BlobFault, Holdings, entries, manifest_name};
use crate::archive::verify::blobs;
use crate::archive::{Archive, Manifest, Snapshot};
use crate::env::Env;
use crate::error::{Exit, PathError, Refusal};
use crate::format::path_text::PathText;
use crate::fsio;
use crate::plan::change::hex;
use crate::session::{Liveness, Session};
use crate::stamp::modified;

/// How often a session is copied anew because it changed meanwhile.
const ATTEMPTS: u32 = 4;

/// What archiving did with one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// A new state of it is in the archive.
    Archived,
    /// It was there already, as it is.
    Unchanged,
    /// It cannot be archived, for this reason.
    Refused(String),
    /// It could not be archived; what was there of it before is untouched.
    Failed(String),
}

/// One session and what became of it.
#[derive(Debug)]
pub struct Item<'a> {
    /// The session.
    pub session: &'a Session,
    /// What became of it.
    pub done: Done,
    /// Which state of it is the newest in the archive; `None` when none is.
    pub number: Option<u64>,
    /// How many files it has.
    pub files: usize,
    /// Their bytes.
    pub size_bytes: u64,
    /// The bytes that the archive grew by.
    pub stored_bytes: u64,
}

/// What archiving did.
#[derive(Debug)]
pub struct Report<'a> {
    /// The archive's directory.
    pub dir: PathBuf,
    /// Each session, in the order that they were given in.
    pub items: Vec<Item<'a>>,
    /// The bytes that were removed because nothing needs them any more.
    pub removed_bytes: u64,
    /// What else went wrong, a line each.
    pub warnings: Vec<String>,
}

impl Report<'_> {
    /// Tells whether every session is in the archive now.
    pub fn is_whole(&self) -> bool {
        self.items.iter().all(|item| matches!(item.done, Done::Archived | Done::Unchanged))
    }
}

/// Why a session is not archived.
#[derive(Debug)]
enum Trouble {
    Refused(String),
    Failed(String),
    /// It changed while it was copied.
    Changed,
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Failed(crate::error::reason(&error))
    }
}

/// Archives sessions, waiting at most `patience` for another run to end; a dry run writes nothing.
///
/// One that fails does not keep the others from being archived.
pub fn archive<'a>(
    sessions: &'a [Session],
    archive: &Archive,
    is_dry_run: bool,
    env: &Env,
    patience: Duration,
) -> anyhow::Result<Report<'a>> {
    let mut report =
        Report { dir: archive.root().to_owned(), items: Vec::new(), removed_bytes: 0, warnings: Vec::new() };
    if sessions.is_empty() {
        return Ok(report);
    }
    refuse_stores(sessions, archive)?;
    let (shop, _lock) = if is_dry_run { (None, None) } else { open(archive, env, patience)? };
    let no_fault = Fault::default();
    let fault = shop.as_ref().map_or(&no_fault, |shop| &shop.fault);
    let mut writer =
        Writer { archive, fault, is_dry_run, stored: 0, unsynced: BTreeSet::new(), counted: HashSet::new() };
    for session in sessions {
        report.items.push(writer.item(session, env, &mut report.warnings));
    }
    if !is_dry_run {
        match writer.sweep() {
            Ok(bytes) => report.removed_bytes += bytes,
            Err(why) => report.warnings.push(why),
        }
    }
    Ok(report)
}

/// An archive in the store of an agent would go with it.
fn refuse_stores(sessions: &[Session], archive: &Archive) -> Result<(), Refusal> {
    let root = archive.root().canonicalize().unwrap_or_else(|_| archive.root().to_owned());
    let mut stores = sessions.iter().flat_map(|session| &session.copies).map(|copy| &copy.place.store.root);
    match stores.find(|store| store.canonicalize().is_ok_and(|store| root.starts_with(store))) {
        Some(store) => {
            let message = format!("{} lies in a store of sessions, {}", archive.root().display(), store.display());
            Err(Refusal::new(Exit::Usage, "archive-in-store", message).hint("name a directory elsewhere with --to"))
        }
        None => Ok(()),
    }
}

/// Takes both locks: that of everything which changes sessions, and the archive's own, for it may be shared.
fn open(archive: &Archive, env: &Env, patience: Duration) -> anyhow::Result<(Option<Shop>, Option<Lock>)> {
    let shop = Shop::open(env, "archive", patience)?;
    let root = archive.root();
    let is_usual = *root == *Archive::of(env, None).root();
    let made = shop.fault.point().and_then(|()| {
        if is_usual {
            tree::make_private_dirs(root)
        } else if root.is_dir() {
            Ok(())
        } else {
            // A volume that is not mounted must not be taken for an empty one.
            tree::make_private_dir(root)
        }
    });
    made.map_err(|error| PathError::new("make", root, error))?;
    let lock = Lock::take(&root.join("lock"), "archive", env.now, patience)?;
    Ok((Some(shop), Some(lock)))
}

struct Writer<'a> {
    archive: &'a Archive,
    fault: &'a Fault,
    is_dry_run: bool,
    /// What was written for the session at hand, or would be.
    stored: u64,
    /// Directories in which something new is not on the disk yet.
    unsynced: BTreeSet<PathBuf>,
    /// What a dry run has counted.
    counted: HashSet<String>,
}

impl Writer<'_> {
    fn item<'s>(&mut self, session: &'s Session, env: &Env, warnings: &mut Vec<String>) -> Item<'s> {
        self.stored = 0;
        let known = self.archive.snapshots(session.agent, &session.id);
        warnings.extend(known.problems.iter().map(|at| format!("cannot read {}: {}", at.path.display(), at.reason)));
        let before = known.newest(session.agent, &session.id);
        let mut item = Item {
            session,
            done: Done::Unchanged,
            number: before.map(|snapshot| snapshot.manifest.number),
            files: 0,
            size_bytes: 0,
            stored_bytes: 0,
        };
        match self.capture(session, before, env) {
            Ok((manifest, is_new)) => {
                item.number = Some(manifest.number);
                item.files = manifest.files().count();
                item.size_bytes = manifest.size_bytes();
                if is_new {
                    item.done = Done::Archived;
                }
                self.remove_held(session, &manifest, &known);
            }
            Err(Trouble::Refused(why)) => item.done = Done::Refused(why),
            Err(Trouble::Failed(why)) => item.done = Done::Failed(why),
            Err(Trouble::Changed) => {
                item.done = Done::Failed("it kept changing while it was copied; try again later".to_owned());
            }
        }
        item.stored_bytes = self.stored;
        item
    }

    /// Removes the manifests of older states of which the newest holds everything.
    fn remove_held(&self, session: &Session, newest: &Manifest, known: &Holdings) {
        let Some(agent) = agent::by_kind(session.agent).filter(|_| !self.is_dry_run) else { return };
        let older = known.snapshots().filter(|snapshot| snapshot.manifest.number < newest.number);
        for snapshot in older.filter(|snapshot| is_within(&snapshot.manifest, newest, self.archive, agent)) {
            // All that it held is in the newer one, so it is no loss if this fails.
            let _ = tree::remove(&snapshot.path, self.fault);
        }
    }

    /// Copies a session until it is the same before and after; returns its manifest, and whether that is a new one.
    fn capture(
        &mut self,
        session: &Session,
        before: Option<&Snapshot>,
        env: &Env,
    ) -> Result<(Manifest, bool), Trouble> {
        let agent = agent::by_kind(session.agent).ok_or_else(|| Trouble::Refused("no agent reads it".to_owned()))?;
        let mut manifest = Manifest::of(session, &env.home, &env.hostname, env.now);
        let previous = before.map(|snapshot| &snapshot.manifest);
        settled(|| look(session, agent), |pieces| self.copy(pieces, &mut manifest))?;
        if let Some(previous) = previous {
            if manifest.is_same(previous) {
                return Ok((previous.clone(), false));
            }
            manifest.number = previous.number + 1;
        }
        self.sync()?;
        self.write_manifest(&manifest)?;
        Ok((manifest, true))
    }

    /// Copies what was seen.
    fn copy(&mut self, seen: &Sight, manifest: &mut Manifest) -> Result<(), Trouble> {
        manifest.stores = seen.stores.iter().cloned().map(PathText).collect();
        manifest.copies.clone_from(&seen.copies);
        manifest.entries.clear();
        for piece in &seen.pieces {
            let node = match &piece.kind {
                Kind::Dir => Node::Dir,
                Kind::Link(target) => Node::Link { target: target.clone() },
                Kind::File => self.file(&seen.stores[piece.store].join(&piece.path))?,
            };
            manifest.entries.push(Entry {
                store: piece.store,
                path: piece.path.clone(),
                role: piece.role,
                node,
                mode: piece.state.mode & 0o7777,
                modified: piece.state.modified,
            });
        }
        Ok(())
    }

    /// Stores a file.
    fn file(&mut self, path: &Path) -> Result<Node, Trouble> {
        let fail = |error: PathError| match error.kind() {
            io::ErrorKind::NotFound => Trouble::Changed,
            _ => Trouble::Failed(error.to_string()),
        };
        let (mut file, _) = fsio::open_regular(path).map_err(fail)?;
        let (mut whole, mut size, mut chunks) = (Sha256::new(), 0_u64, Vec::new());
        each_chunk(&mut file, |chunk| -> Result<(), Trouble> {
            whole.update(chunk);
            size += chunk.len() as u64;
            chunks.push(self.chunk(chunk)?);
            Ok(())
        })?;
        Ok(Node::File { size, sha256: hex(&whole.finalize()), chunks })
    }

    /// Stores a chunk unless it is there and sound; returns its name.
    fn chunk(&mut self, chunk: &[u8]) -> io::Result<String> {
        let name = digest(chunk);
        match self.archive.chunk(&name) {
            Ok(_) => return Ok(name),
            // What is damaged is replaced: here is the content again.
            Err(BlobFault::Missing | BlobFault::Damaged(_)) => {}
        }
        let blob = pack(chunk)?;
        if self.is_dry_run {
            if self.counted.insert(name.clone()) {
                self.stored += blob.len() as u64;
            }
            return Ok(name);
        }
        self.write(&self.archive.blob(&name), &blob)?;
        Ok(name)
    }

    /// Puts a file in place as a whole.
    fn write(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let dir = path.parent().unwrap_or(path);
        if !dir.is_dir() {
            self.fault.point()?;
            tree::make_private_dirs(dir)?;
            let above = dir.ancestors().skip(1).take_while(|above| above.starts_with(self.archive.root()));
            self.unsynced.extend(above.map(Path::to_owned));
        }
        let temporary = dir.join(".rejoin-new.tmp");
        tree::remove(&temporary, self.fault)?;
        let written = || -> io::Result<()> {
            self.fault.point()?;
            let mut file = tree::create(&temporary)?;
            self.fault.point()?;
            file.write_all(bytes)?;
            self.fault.point()?;
            file.sync_all()?;
            self.fault.point()?;
            #[expect(clippy::disallowed_methods, reason = "apply moves files")]
            std::fs::rename(&temporary, path)
        };
        if let Err(error) = written() {
            // A full disk is not to stay full because of it.
            let _ = tree::remove(&temporary, self.fault);
            return Err(error);
        }
        self.unsynced.insert(dir.to_owned());
        self.stored += bytes.len() as u64;
        Ok(())
    }

    /// Puts the names of what was written on the disk.
    fn sync(&mut self) -> io::Result<()> {
        for dir in std::mem::take(&mut self.unsynced) {
            self.fault.point()?;
            tree::sync_dir(&dir)?;
        }
        Ok(())
    }

    fn write_manifest(&mut self, manifest: &Manifest) -> Result<(), Trouble> {
        let mut bytes = serde_json::to_vec(manifest).map_err(|error| Trouble::Failed(error.to_string()))?;
        bytes.push(b'\n');
        let dir = self.archive.session_dir(manifest.agent, &manifest.id);
        if self.is_dry_run {
            self.stored += bytes.len() as u64;
            return Ok(());
        }
        self.write(&dir.join(manifest_name(manifest.number, &bytes)), &bytes)?;
        Ok(self.sync()?)
    }

    /// Removes blobs that no manifest needs, and what runs that were cut off have left; returns their bytes.
    fn sweep(&self) -> Result<u64, String> {
        let holdings = self.archive.holdings();
        if !holdings.problems.is_empty() {
            return Err("nothing is removed from the archive while a part of it cannot be read; \
                        `rejoin archive --verify` says which"
                .to_owned());
        }
        let chunks = holdings.snapshots().flat_map(|snapshot| snapshot.manifest.files());
        let needed: HashSet<&str> = chunks.flat_map(|(_, _, chunks)| chunks).map(String::as_str).collect();
        let mut unneeded = blobs(self.archive);
        unneeded.retain(|(_, name)| !needed.contains(name.as_str()));
        let mut unneeded: Vec<PathBuf> = unneeded.into_iter().map(|(path, _)| path).collect();
        let mut problems = Vec::new();
        for (agent, _) in entries(&self.archive.root().join("sessions"), &mut problems) {
            for (session, _) in entries(&agent, &mut problems) {
                let names = entries(&session, &mut problems).into_iter().map(|(path, _)| path);
                unneeded.extend(names.filter(|path| path.extension().is_some_and(|ending| ending == "tmp")));
            }
        }
        let mut removed = 0;
        for path in unneeded {
            let bytes = path.symlink_metadata().map_or(0, |metadata| metadata.len());
            tree::remove(&path, self.fault)
                .map_err(|error| format!("cannot remove {}: {}", path.display(), crate::error::reason(&error)))?;
            removed += bytes;
        }
        Ok(removed)
    }
}

/// Everything of a session as it was seen at one moment.
#[derive(Debug, PartialEq, Eq)]
struct Sight {
    stores: Vec<PathBuf>,
    copies: Vec<CopyAt>,
    pieces: Vec<Piece>,
}

#[derive(Debug, PartialEq, Eq)]
struct Piece {
    store: usize,
    path: PathBuf,
    role: Role,
    kind: Kind,
    state: State,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    File,
    Dir,
    Link(PathBuf),
}

/// What changes when another program was there.
#[derive(Debug, PartialEq, Eq)]
struct State {
    device: u64,
    inode: u64,
    mode: u32,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl State {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            mode: metadata.mode(),
            size: metadata.len(),
            modified: modified(metadata),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Works on something that may change, until it is the same before and after.
fn settled<S: PartialEq, T>(
    look: impl Fn() -> Result<S, Trouble>,
    mut work: impl FnMut(&S) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    for _ in 0..ATTEMPTS {
        let before = match look() {
            Err(Trouble::Changed) => continue,
            seen => seen?,
        };
        let done = match work(&before) {
            Err(Trouble::Changed) => continue,
            done => done?,
        };
        match look() {
            Err(Trouble::Changed) => {}
            after => {
                if after? == before {
                    return Ok(done);
                }
            }
        }
    }
    Err(Trouble::Changed)
}

/// Looks at everything that belongs to a session, of every copy of it.
fn look(session: &Session, agent: &dyn Agent) -> Result<Sight, Trouble> {
    let mut sight = Sight { stores: Vec::new(), copies: Vec::new(), pieces: Vec::new() };
    let mut paths: BTreeMap<(usize, PathBuf), Role> = BTreeMap::new();
    for copy in &session.copies {
        let place = &copy.place;
        let belongings = agent.belongings(place).map_err(Trouble::Refused)?;
        let root = &place.store.root;
        let store = sight.stores.iter().position(|store| store == root).unwrap_or_else(|| {
            sight.stores.push(root.clone());
            sight.stores.len() - 1
        });
        let below = |path: &Path| {
            let relative = path.strip_prefix(root).ok().filter(|path| !path.as_os_str().is_empty());
            let outside = || Trouble::Refused(format!("{} does not lie in its store", path.display()));
            relative.map(Path::to_owned).ok_or_else(outside)
        };
        sight.copies.push(CopyAt { store, path: below(&place.path)? });
        let companions = agent.companions(place);
        let lists = [(Role::Own, &belongings.own), (Role::Shared, &belongings.shared), (Role::Companion, &companions)];
        for (role, path) in lists.into_iter().flat_map(|(role, paths)| paths.iter().map(move |path| (role, path))) {
            let known = paths.entry((store, below(path)?)).or_insert(role);
            *known = role.max(*known);
        }
    }
    let mut covered: Option<(usize, PathBuf)> = None;
    for ((store, path), role) in paths {
        // A directory stands for everything in it.
        if covered.as_ref().is_some_and(|(of, dir)| *of == store && path.starts_with(dir)) {
            continue;
        }
        let root = &sight.stores[store];
        walk(root, &root.join(&path), |path, kind, state| {
            sight.pieces.push(Piece { store, path, role, kind, state });
        })?;
        covered = Some((store, path));
    }
    Ok(sight)
}

/// Walks a file, or a directory and everything in it, without following links.
fn walk(root: &Path, path: &Path, mut see: impl FnMut(PathBuf, Kind, State)) -> Result<(), Trouble> {
    let refused = |path: &Path, why: &str| Trouble::Refused(format!("{} {why}", path.display()));
    let mut device = None;
    for found in walkdir::WalkDir::new(path).sort_by_file_name() {
        let found = found.map_err(|error| match error.io_error() {
            Some(reason) if reason.kind() == io::ErrorKind::NotFound => Trouble::Changed,
            _ => Trouble::Failed(error.to_string()),
        })?;
        let metadata = found.path().symlink_metadata().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Trouble::Changed,
            _ => Trouble::from(error),
        })?;
        let kind = metadata.file_type();
        if *device.get_or_insert(metadata.dev()) != metadata.dev() {
            return Err(refused(found.path(), "is another file system that is mounted there"));
        }
        let kind = match () {
            () if kind.is_file() => Kind::File,
            () if kind.is_dir() => Kind::Dir,
            () if kind.is_symlink() && found.depth() > 0 => Kind::Link(std::fs::read_link(found.path())?),
            () if kind.is_symlink() => return Err(refused(found.path(), "is a symbolic link, which is not followed")),
            () => return Err(refused(found.path(), "is neither a file nor a directory")),
        };
        let relative = found.path().strip_prefix(root).unwrap_or(found.path()).to_owned();
        see(relative, kind, State::of(&metadata));
    }
    Ok(())
}

/// Tells whether all that an older state held is in a newer one: each file is the same or goes on where it ended.
fn is_within(old: &Manifest, new: &Manifest, archive: &Archive, agent: &dyn Agent) -> bool {
    old.entries.iter().all(|entry| {
        let Node::File { size, sha256, chunks } = &entry.node else { return true };
        let is_state =
            || entry.path.file_name().and_then(|name| name.to_str()).is_some_and(|name| agent.is_state(name));
        let newer = || new.file(&old.stores[entry.store].0, &entry.path);
        *size == 0
            || entry.role == Role::Companion
            || newer().is_some_and(|(_, digest, newer)| digest == sha256 || goes_on(chunks, newer, archive))
            || is_state()
    })
}

/// Tells whether a file begins with all that an older state of it held, by their chunks.
fn goes_on(old: &[String], new: &[String], archive: &Archive) -> bool {
    let Some((last, full)) = old.split_last() else { return true };
    let Some(same_place) = new.get(full.len()).filter(|_| new.starts_with(full)) else { return false };
    let both = || archive.chunk(last).ok().zip(archive.chunk(same_place).ok());
    last == same_place || both().is_some_and(|(last, newer)| newer.starts_with(&last))
}

/// Says how a session was used while it was copied, where that matters.
pub fn in_use(session: &Session) -> Option<String> {
    match &session.copy().liveness {
        Liveness::Live { pid } => Some(format!("in use by process {pid}")),
        Liveness::Maybe { why } => Some(format!("maybe in use: {why}")),
        Liveness::Idle => None,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;
    use crate::archive::chunks::CHUNK_BYTES;

    /// Bytes that look like any others.
    fn bytes(seed: u32, count: usize) -> Vec<u8> {
        let numbers = (0_u32..).map(|n| (n ^ seed).wrapping_mul(2_654_435_761));
        numbers.flat_map(u32::to_le_bytes).take(count).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_file_comes_back_and_what_it_goes_on_from_is_told_from_what_it_does_not(
            seed in any::<u32>(),
            size in prop_oneof![0..300_usize, CHUNK_BYTES - 2..CHUNK_BYTES + 3, 2 * CHUNK_BYTES - 2..2 * CHUNK_BYTES + 300],
            kept in any::<prop::sample::Index>(),
            flipped in any::<prop::sample::Index>(),
        ) {
            let dir = tempfile::tempdir().expect("a directory");
            let archive = Archive::of(&crate::env::tests::fixed(), Some(dir.path()));
            let fault = Fault::default();
            let mut writer = Writer {
                archive: &archive,
                fault: &fault,
                is_dry_run: false,
                stored: 0,
                unsynced: BTreeSet::new(),
                counted: HashSet::new(),
            };
            let path = dir.path().join("file");
            let mut store = |contents: &[u8]| {
                fsio::replace(&path, contents).expect("a file");
                match writer.file(&path).expect("a node") {
                    Node::File { size, sha256, chunks } => (size, sha256, chunks),
                    node => panic!("{node:?} is no file"),
                }
            };
            let whole = bytes(seed, size);
            let (stored, sha256, chunks) = store(&whole);
            let back: Vec<u8> = chunks.iter().flat_map(|name| archive.chunk(name).expect("a chunk")).collect();
            prop_assert!(back == whole && stored == size as u64 && sha256 == digest(&whole));

            let mut start = whole[..kept.index(size + 1)].to_vec();
            let (_, _, older) = store(&start);
            prop_assert!(goes_on(&older, &chunks, &archive));
            if !start.is_empty() {
                let at = flipped.index(start.len());
                start[at] ^= 1;
                let (_, _, other) = store(&start);
                prop_assert!(!goes_on(&other, &chunks, &archive));
            }
        }
    }

    #[test]
    fn what_changes_while_it_is_copied_is_copied_again_and_given_up_when_it_never_rests() {
        let (state, copies) = (Cell::new(0), Cell::new(0));
        let look = || Ok::<_, Trouble>(state.get());
        let copied = settled(look, |seen| {
            copies.set(copies.get() + 1);
            if copies.get() < 3 {
                state.set(state.get() + 1);
            }
            Ok(*seen)
        });
        assert_eq!((copied.expect("a copy"), copies.get()), (2, 3));

        let restless = settled(look, |_| {
            state.set(state.get() + 1);
            Ok(())
        });
        assert!(matches!(restless, Err(Trouble::Changed)));
        let refused = settled(look, |_| -> Result<(), _> { Err(Trouble::Refused("no".to_owned())) });
        assert!(matches!(refused, Err(Trouble::Refused(_))));
    }
}
