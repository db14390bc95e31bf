//! Writes this machine's directory of an archive: first the missing chunks, then the manifest; then removes unneeded
//! blobs and manifests.
//!
//! A manifest is renamed into place only after every blob that it names is synced. If a run is interrupted, all earlier
//! states stay whole, and the next run removes the leftovers. Nothing is written or removed in the directory of another
//! machine.

mod session;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agent;
use crate::archive::machine::{self, MachineNotes};
use crate::archive::store::Holdings;
use crate::archive::verify::blobs;
use crate::archive::{Archive, rows};
use crate::change::apply::{refusal, state_dir};
use crate::change::outcome::ItemResult;
use crate::error::{Exit, PathError, Refusal, RefusalCode};
use crate::format::shell;
use crate::session::{Belongings, Liveness, Located, Problem, Session};
use crate::system::disk::{self, Access};
use crate::system::env::Env;
use crate::system::{parallel, reach};
use changes::lock::RunLock;
use changes::state_dir::StateDir;
use changes::tree;
use session::SessionWriter;

/// Number of sessions to plan at once.
const PART: usize = 256;

/// One session and its result.
#[derive(Debug)]
pub(crate) struct ArchivedItem<'a> {
    /// The session.
    pub session: &'a Session,
    /// The result for the session.
    pub done: ItemResult,
    /// The number of its newest state in the archive; `None` if there is none.
    pub number: Option<u64>,
    /// Number of files.
    pub files: usize,
    /// Size of the files in bytes.
    pub size_bytes: u64,
    /// The growth of the archive in bytes; in a plan, the maximum.
    pub stored_bytes: u64,
}

/// Result of archiving.
#[derive(Debug)]
pub(crate) struct ArchiveReport<'a> {
    /// The archive's directory.
    pub dir: PathBuf,
    /// Each session, in the order of the request.
    pub items: Vec<ArchivedItem<'a>>,
    /// Bytes freed by removing unneeded files.
    pub removed_bytes: u64,
    /// Other failures, one line each.
    pub warnings: Vec<String>,
    /// Paths that could not be read, so that sessions may be missing from the request.
    pub unread: Vec<Problem>,
    /// Set if nothing was written.
    pub is_dry_run: bool,
    /// Set to show every session on a terminal, too.
    pub is_whole: bool,
}

impl ArchiveReport<'_> {
    /// Checks whether every session is in the archive now.
    pub(crate) fn is_whole(&self) -> bool {
        self.unread.is_empty()
            && self.items.iter().all(|item| matches!(item.done, ItemResult::Done | ItemResult::Unchanged))
    }
}

/// Options of archiving.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ArchiveOptions {
    /// Set if nothing is to be written.
    pub is_dry_run: bool,
    /// Set if files and chunks are read again even if their sizes and times are unchanged.
    pub is_full: bool,
    /// Set to forget states that this machine archived and that are missing now. Otherwise nothing is removed from the
    /// archive, because a part of it may not be there.
    pub forgets_missing: bool,
    /// Time to wait for another run to end.
    pub patience: Duration,
}

/// Archives sessions, and reports the number of finished ones to `watch`.
///
/// Continues after a session that fails. A caller that already holds the lock passes it as `held`.
pub(crate) fn archive<'a>(
    sessions: &'a [Session],
    archive: &Archive,
    options: ArchiveOptions,
    held: Option<&StateDir>,
    env: &Env,
    watch: &mut dyn FnMut(usize),
) -> anyhow::Result<ArchiveReport<'a>> {
    let ArchiveOptions { is_dry_run, patience, .. } = options;
    let dir = archive.root().to_owned();
    let (items, warnings) = (Vec::new(), Vec::new());
    let mut report =
        ArchiveReport { dir, items, removed_bytes: 0, warnings, unread: Vec::new(), is_dry_run, is_whole: false };
    if sessions.is_empty() && (is_dry_run || !options.forgets_missing) {
        return Ok(report);
    }
    refuse_stores(sessions, archive)?;
    let own = if is_dry_run || held.is_some() { None } else { Some(state_dir::open(env, "archive", patience)?) };
    let state_dir = held.or(own.as_ref()).filter(|_| !is_dry_run);
    let Some(state_dir) = state_dir else {
        let find = agent::belongings_of_many();
        for part in sessions.chunks(PART) {
            let places = part.iter().flat_map(|session| &session.copies).map(|copy| &copy.place);
            let sizes = rows::sizes(places, archive);
            let notes = MachineNotes::read(archive.root(), env).map_err(anyhow::Error::msg)?;
            let plan =
                |session| SessionWriter::new(archive, &notes, options).with_sizes(&sizes).item(session, env, &find);
            for (item, mut warnings) in parallel::map(part, plan) {
                report.items.push(item);
                report.warnings.append(&mut warnings);
            }
            watch(report.items.len());
        }
        return Ok(report);
    };
    archive.set_own(machine::name_here(state_dir, env)?);
    let notes =
        MachineNotes::read_in(state_dir.disk(), state_dir.path(), archive.root()).map_err(anyhow::Error::msg)?;
    let mut after = notes.clone();
    let _lock = lock(archive, env, patience)?;
    let mut writer = SessionWriter::new(archive, &notes, options);
    for session in sessions {
        // List the belongings at the moment of the copy.
        let find = |place: &Located| {
            agent::by_kind(place.agent()).map_or_else(|| Ok(Belongings::default()), |agent| agent.belongings(place))
        };
        let (item, mut warnings) = writer.item(session, env, &find);
        if let Some(number) = item.number.filter(|_| item.done.why().is_none()) {
            after.entry(session.agent, session.id()).number = number;
        }
        report.items.push(item);
        report.warnings.append(&mut warnings);
        watch(report.items.len());
    }
    let holdings = archive.own_holdings();
    if options.forgets_missing && holdings.problems.is_empty() {
        let has = |agent, id: &str| holdings.own_number(archive, agent, id).unwrap_or(0);
        after.retain(|agent, id, noted| has(agent, id) >= noted.number);
    }
    after.save(state_dir)?;
    match sweep(archive, &holdings, &after, env) {
        Ok(bytes) => report.removed_bytes += bytes,
        Err(why) => report.warnings.push(why),
    }
    Ok(report)
}

fn unread(first: &Problem, archive: &Archive, env: &Env) -> String {
    format!(
        "part of the archive cannot be read, so nothing was removed from it: {}: {}; \
         run `rejoin archive --verify{}` to see every such part",
        first.path.display(),
        first.reason,
        Archive::option(archive.root(), env)
    )
}

/// Refuses an archive in an agent's store: it would be deleted with the store.
fn refuse_stores(sessions: &[Session], archive: &Archive) -> Result<(), Refusal> {
    let root = reach::canonicalize(archive.root()).unwrap_or_else(|_| archive.root().to_owned());
    let stores = sessions.iter().flat_map(|session| &session.copies).map(|copy| copy.place.store.root.as_os_str());
    let stores: BTreeSet<&OsStr> = stores.collect();
    match stores
        .into_iter()
        .map(Path::new)
        .find(|store| reach::canonicalize(store).is_ok_and(|store| root.starts_with(store)))
    {
        Some(store) => Err(Refusal::new(
            RefusalCode::ArchiveInStore,
            format!("{} is inside {}, where an agent stores its sessions", archive.root().display(), store.display()),
        )
        .hint("choose a directory elsewhere with --archive-dir DIR")),
        None => Ok(()),
    }
}

/// Creates the directory of this machine, and that of the archive if its parent exists or it is the default one. Takes
/// the lock of the machine's directory, which other state directories of this machine may use.
fn lock(archive: &Archive, env: &Env, patience: Duration) -> anyhow::Result<RunLock> {
    let root = archive.root();
    let Some(own) = archive.own() else { anyhow::bail!("this machine has no name") };
    let (disk, is_default) = (own.disk(), *root == *Archive::default_dir(env));
    let made = match disk.open_for_writing(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_default => {
            // An unmounted volume must not be taken for an empty archive, so the parent directory must exist.
            disk::open_parent(disk, root).and_then(|(dir, name)| {
                match disk.make_dir((&dir, &name), Access::Private) {
                    // Another process made it at the same time.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                    made => made,
                }?;
                disk.sync(&dir)
            })
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    let dir = made.and_then(|()| disk::make_dirs(disk, own.dir(), Access::Private));
    let is_missing = |dir: &Path| reach::is_dir(dir) == Some(false);
    let dir = dir.map_err(|error| match root.parent() {
        Some(parent) if error.kind() == io::ErrorKind::NotFound && is_missing(parent) => no_parent(root, parent).into(),
        _ => anyhow::Error::from(PathError::new("create", root, error)),
    })?;
    RunLock::acquire(disk, (&dir, own.dir()), "archive", env.clock.now, patience).map_err(refusal)
}

/// Refuses an archive whose parent directory is missing.
fn no_parent(root: &Path, parent: &Path) -> Refusal {
    let message = format!("cannot create the archive {}: {} does not exist", root.display(), parent.display());
    let make = format!("mkdir -p {}", shell::word(&parent.to_string_lossy()));
    let hint = format!("mount the disk that it is on, or create it with `{make}`");
    Refusal { exit: Exit::Failure, ..Refusal::new(RefusalCode::NoArchive, message).hint(hint) }
}

/// Removes blobs of this machine that none of its manifests needs, and leftovers of interrupted runs; returns their
/// size in bytes.
///
/// A manifest that is missing or unreadable may need a blob, so nothing is removed unless every recorded state exists
/// and can be read.
fn sweep(archive: &Archive, holdings: &Holdings, notes: &MachineNotes, env: &Env) -> Result<u64, String> {
    let Some(own) = archive.own() else { return Ok(0) };
    let disk = own.disk();
    if let Some(first) = holdings.problems.first() {
        return Err(unread(first, archive, env));
    }
    if let Some((path, number)) = notes.missing(&own, |agent, id| holdings.own_number(archive, agent, id)).next() {
        let option = Archive::option(archive.root(), env);
        let forget = format!("`rejoin archive --every --full{option}` forgets states that are gone");
        return Err(unread(&Problem { path, reason: format!("state {number} is missing; {forget}") }, archive, env));
    }
    let chunks = holdings.snapshots().flat_map(|snapshot| snapshot.manifest.files());
    let needed: HashSet<&str> = chunks.flat_map(|(_, _, chunks)| chunks).map(String::as_str).collect();
    let unneeded = blobs(&own).into_iter().filter(|(_, name)| !needed.contains(name.as_str()));
    let mut unneeded: Vec<PathBuf> = unneeded.map(|(path, _)| path).collect();
    let mut problems = Vec::new();
    let removes_blobs = !unneeded.is_empty();
    for agent in own.dirs(&own.sessions(), &mut problems) {
        for session in own.dirs(&agent, &mut problems) {
            // A removed manifest must not reappear after a loss of power when its blobs are gone.
            if removes_blobs {
                disk.open_dir(&session)
                    .and_then(|dir| disk.sync(&dir))
                    .map_err(|error| format!("cannot write {}: {}", session.display(), crate::error::reason(&error)))?;
            }
            let names = own.entries(&session, &mut problems).into_iter().map(|(path, _)| path);
            unneeded.extend(names.filter(|path| path.extension().is_some_and(|ending| ending == "tmp")));
        }
    }
    let mut removed = 0;
    for path in unneeded {
        let bytes = own.size(&path);
        let (dir, name) = (path.parent().unwrap_or(own.dir()), path.file_name().unwrap_or_default());
        disk.open_for_writing(dir)
            .and_then(|dir| tree::remove(disk, (&dir, name)))
            .map_err(|error| format!("cannot remove {}: {}", path.display(), crate::error::reason(&error)))?;
        removed += bytes;
    }
    Ok(removed)
}

/// Describes the use of a session during the copy; `None` if it was idle.
pub(crate) fn in_use(session: &Session) -> Option<String> {
    match &session.copy().liveness {
        Liveness::Live { pid } => Some(format!("in use by process {pid}")),
        Liveness::Maybe { why } => Some(format!("maybe in use: {why}")),
        Liveness::Idle => None,
    }
}
