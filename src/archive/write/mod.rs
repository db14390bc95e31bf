//! Writes an archive: first the missing chunks, then the manifest; then removes unneeded blobs and manifests.
//!
//! A manifest is put in place only when every blob that it names is on the disk. If a run is interrupted, all earlier
//! states stay whole, and the next run removes the leftovers.

mod session;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::agent;
use crate::archive::sync::machines::Machine;
use crate::archive::verify::blobs;
use crate::archive::{Archive, rows};
use crate::change::apply::lock::Lock;
use crate::change::apply::state_dir::StateDir;
use crate::change::apply::tree;
use crate::change::outcome::ItemResult;
use crate::error::{PathError, Refusal, RefusalCode};
use crate::session::{Belongings, Liveness, Located, Problem, Session};
use crate::system::disk::{self, Access, For};
use crate::system::env::Env;
use crate::system::fsio::is_absent;
use crate::system::reach;
use session::Writer;

/// Number of sessions to plan at once.
const PART: usize = 256;

/// The time for which an unneeded blob stays in an archive of several machines.
const GRACE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// One session and its result.
#[derive(Debug)]
pub(crate) struct Item<'a> {
    /// The session.
    pub session: &'a Session,
    /// The result for the session.
    pub done: ItemResult,
    /// The number of its newest state in the archive; `None` if there is none.
    pub number: Option<u64>,
    /// The SHA-256 of the manifest of that state; `None` in a plan.
    pub digest: Option<String>,
    /// Number of files.
    pub files: usize,
    /// Size of the files in bytes.
    pub size_bytes: u64,
    /// The bytes that the archive grew by; in a plan, an upper bound.
    pub stored_bytes: u64,
}

/// Result of archiving.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    /// The archive's directory.
    pub dir: PathBuf,
    /// Each session, in the order of the request.
    pub items: Vec<Item<'a>>,
    /// Bytes freed by removing unneeded files.
    pub removed_bytes: u64,
    /// Other failures, one line each.
    pub warnings: Vec<String>,
    /// Paths that could not be read, so that sessions may be missing from the request.
    pub unread: Vec<Problem>,
    /// Set if nothing was written.
    pub is_dry_run: bool,
}

impl Report<'_> {
    /// Checks whether every session is in the archive now.
    pub(crate) fn is_whole(&self) -> bool {
        self.unread.is_empty()
            && self.items.iter().all(|item| matches!(item.done, ItemResult::Done | ItemResult::Unchanged))
    }
}

/// Options of archiving.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArchiveOptions {
    /// Set if nothing is to be written.
    pub is_dry_run: bool,
    /// Set if files and chunks are read again even if their sizes and times are unchanged.
    pub is_full: bool,
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
) -> anyhow::Result<Report<'a>> {
    let ArchiveOptions { is_dry_run, patience, .. } = options;
    let dir = archive.root().to_owned();
    let (items, warnings) = (Vec::new(), Vec::new());
    let mut report = Report { dir, items, removed_bytes: 0, warnings, unread: Vec::new(), is_dry_run };
    if sessions.is_empty() {
        return Ok(report);
    }
    refuse_stores(sessions, archive)?;
    let own = if is_dry_run || held.is_some() { None } else { Some(StateDir::open(env, "archive", patience)?) };
    let state_dir = held.or(own.as_ref()).filter(|_| !is_dry_run);
    // The archive has a separate lock, because it may be shared.
    let _lock = state_dir.map(|_| lock(archive, env, patience)).transpose()?;
    if is_dry_run {
        let find = agent::belongings_of_many();
        for part in sessions.chunks(PART) {
            let places = part.iter().flat_map(|session| &session.copies).map(|copy| &copy.place);
            let sizes = rows::sizes(places, archive);
            let plan = |session| Writer::new(archive, options).with_sizes(&sizes).item(session, env, &find);
            for (item, mut warnings) in part.par_iter().map(plan).collect::<Vec<_>>() {
                report.items.push(item);
                report.warnings.append(&mut warnings);
            }
            watch(report.items.len());
        }
        return Ok(report);
    }
    let (machines, problems) = archive.machines();
    let named: HashSet<&str> = machines.iter().flat_map(Machine::states).collect();
    let mut writer = Writer::new(archive, options).keeping(&named);
    for session in sessions {
        // List the belongings at the moment of the copy.
        let find = |place: &Located| {
            agent::by_kind(place.agent()).map_or_else(|| Ok(Belongings::default()), |agent| agent.belongings(place))
        };
        let (item, mut warnings) = writer.item(session, env, &find);
        report.items.push(item);
        report.warnings.append(&mut warnings);
        watch(report.items.len());
    }
    match problems.first().map_or_else(|| sweep(archive, &machines, env), |first| Err(unread(first, archive, env))) {
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

/// Creates the archive's directory, if its parent exists or it is the default one, and takes its lock.
pub(crate) fn lock(archive: &Archive, env: &Env, patience: Duration) -> anyhow::Result<Lock> {
    let (disk, root) = (archive.disk(), archive.root());
    let is_default = *root == *Archive::default_dir(env);
    let made = match disk.open_for_writing(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_default => {
            disk::make_dirs(disk, root, Access::Private)
        }
        // An unmounted volume must not be taken for an empty archive, so the parent directory must exist.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            disk::open_parent(disk, root).and_then(|(dir, name)| {
                disk.make_dir((&dir, &name), Access::Private)?;
                disk.sync(&dir)?;
                disk.open((&dir, &name), For::Dir)
            })
        }
        opened => opened,
    };
    let dir = made.map_err(|error| PathError::new("create", root, error))?;
    Lock::take(disk, (&dir, root), "archive", env.clock.now, patience)
}

/// Removes blobs that no manifest needs, and leftovers of interrupted runs; returns their size in bytes.
///
/// An unreadable manifest may need a blob, so nothing is removed unless the whole archive can be read. In an archive of
/// several machines, the manifest that needs a blob may arrive after it: such a blob stays for [`GRACE`], and until
/// every machine has synced since.
fn sweep(archive: &Archive, machines: &[Machine], env: &Env) -> Result<u64, String> {
    let disk = archive.disk();
    if disk.open_dir(&archive.sessions()).is_err_and(|error| is_absent(error.kind())) {
        return Ok(0);
    }
    let holdings = archive.holdings();
    if let Some(first) = holdings.problems.first() {
        return Err(unread(first, archive, env));
    }
    let chunks = holdings.snapshots().flat_map(|snapshot| snapshot.manifest.files());
    let needed: HashSet<&str> = chunks.flat_map(|(_, _, chunks)| chunks).map(String::as_str).collect();
    let mut unneeded = blobs(archive);
    unneeded.retain(|(_, name)| !needed.contains(name.as_str()));
    if machines.len() > 1 {
        let synced = machines.iter().map(|machine| machine.written_at).min();
        let last = env.clock.now.checked_sub(GRACE).ok().into_iter().chain(synced).min();
        let last = last.map_or(0, Timestamp::as_second);
        let is_old = |path: &Path| matches!(archive.look(path), Ok(Some(look)) if look.modified.0 < last);
        unneeded.retain(|(path, _)| is_old(path));
    }
    let mut unneeded: Vec<PathBuf> = unneeded.into_iter().map(|(path, _)| path).collect();
    let mut problems = Vec::new();
    let removes_blobs = !unneeded.is_empty();
    for agent in archive.dirs(&archive.sessions(), &mut problems) {
        for session in archive.dirs(&agent, &mut problems) {
            // A removed manifest must not reappear after a loss of power when its blobs are gone.
            if removes_blobs {
                disk.open_dir(&session)
                    .and_then(|dir| disk.sync(&dir))
                    .map_err(|error| format!("cannot write {}: {}", session.display(), crate::error::reason(&error)))?;
            }
            let names = archive.entries(&session, &mut problems).into_iter().map(|(path, _)| path);
            unneeded.extend(names.filter(|path| path.extension().is_some_and(|ending| ending == "tmp")));
        }
    }
    let mut removed = 0;
    for path in unneeded {
        let bytes = archive.size(&path);
        disk::open_parent(disk, &path)
            .and_then(|(dir, name)| tree::remove(disk, (&dir, &name)))
            .map_err(|error| format!("cannot remove {}: {}", path.display(), crate::error::reason(&error)))?;
        removed += bytes;
    }
    Ok(removed)
}

/// Describes the use of a session while it was copied; `None` if it was idle.
pub(crate) fn in_use(session: &Session) -> Option<String> {
    match &session.copy().liveness {
        Liveness::Live { pid } => Some(format!("in use by process {pid}")),
        Liveness::Maybe { why } => Some(format!("maybe in use: {why}")),
        Liveness::Idle => None,
    }
}
