//! Accesses paths from recorded data in bounded time: the result for a mount whose server is gone is "unknown".
//!
//! A thread that waits for such a server cannot be ended, and the process cannot exit before it. So this process
//! accesses nothing below a network or FUSE mount before a helper process has: another instance of this program, one
//! per mount, which is left behind if it does not answer in time. Paths on local disks are accessed directly.

use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use foldhash::{HashMap, HashSet};

use super::deadline;

mod helper;
mod mounts;

pub(crate) use helper::answer;
use helper::{Helper, MountState};
use mounts::{MountKind, Mounts};

/// Time limit for the first answers. All mounts are queried at once, so it covers all of them together.
const PATIENCE: Duration = Duration::from_millis(900);
/// Total time limit for accesses to mounts that answered before.
const LATER_PATIENCE: Duration = Duration::from_millis(600);
/// Time limit for a mount if others have used up [`LATER_PATIENCE`].
const LEAST_PATIENCE: Duration = Duration::from_millis(60);
/// Maximum number of mounts that one wait queries together.
const MAX_AHEAD: usize = 32;
/// Maximum number of links that are followed, as in the kernel.
const MAX_LINKS: usize = 40;

/// The mounts of this process, and the state of their queries.
struct Reach {
    mounts: Mounts,
    /// Directories without links in their paths, and not below a remote mount.
    plain: RwLock<HashSet<OsString>>,
    /// Paths that do not exist, or are not accessible.
    absent: RwLock<HashSet<OsString>>,
    /// Directories with their links resolved; `None` for one that cannot be resolved.
    resolved: RwLock<HashMap<OsString, Option<PathBuf>>>,
    helpers: Mutex<HashMap<PathBuf, Arc<Mutex<Helper>>>>,
    /// Paths that were accessed successfully by a helper.
    answered: RwLock<HashSet<OsString>>,
    /// Milliseconds of waiting for mounts that did not answer.
    wasted: AtomicU64,
    /// Mounts that did not answer, each with the sessions whose directories are there.
    silent: Mutex<SilentMounts>,
}

#[derive(Default)]
struct SilentMounts {
    sessions: std::collections::BTreeMap<PathBuf, HashSet<u64>>,
    reported: HashSet<PathBuf>,
}

static REACH: LazyLock<Reach> =
    LazyLock::new(|| Reach::new(if cfg!(test) { Mounts::default() } else { Mounts::read() }));

/// The end of the error message for a path on a silent mount; the message begins with the mount point.
pub(crate) const NO_ANSWER: &str = "does not answer";

/// Returns whether the mount of a path answers in time.
pub(crate) fn answers(path: &Path) -> bool {
    REACH.silent_mount(path).is_none()
}

/// Returns whether a path is a directory; `None` if its mount does not answer. A relative path gives `false`.
pub(crate) fn is_dir(path: &Path) -> Option<bool> {
    known(metadata(path).map(|metadata| metadata.is_dir()))
}

/// Returns whether a path exists; `None` if its mount does not answer.
pub(crate) fn exists(path: &Path) -> Option<bool> {
    known(metadata(path).map(|_| true))
}

/// Returns whether a path exists, even as a dangling link; `None` if its mount does not answer.
pub(crate) fn exists_itself(path: &Path) -> Option<bool> {
    known(symlink_metadata(path).map(|_| true))
}

/// Returns whether a path is a file; `false` if its mount does not answer.
pub(crate) fn is_file(path: &Path) -> bool {
    metadata(path).is_ok_and(|metadata| metadata.is_file())
}

fn known(found: io::Result<bool>) -> Option<bool> {
    match found {
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => None,
        Err(_) => Some(false),
    }
}

/// Reads the metadata of a path, through links; fails with `TimedOut` if its mount does not answer.
pub(crate) fn metadata(path: &Path) -> io::Result<Metadata> {
    check(path)?.metadata()
}

/// Reads the metadata of a path, or of a link there; fails with `TimedOut` if its mount does not answer.
pub(crate) fn symlink_metadata(path: &Path) -> io::Result<Metadata> {
    check(path)?.symlink_metadata()
}

/// Resolves all links of a path; fails with `TimedOut` if its mount does not answer.
#[expect(clippy::disallowed_methods, reason = "its mount was asked before")]
pub(crate) fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    check(path)?.canonicalize()
}

/// Resolves all links of a path once in a run: thousands of sessions have the same directories. `None` if that fails.
pub(crate) fn canonicalize_once(path: &Path) -> Option<PathBuf> {
    if let Some(real) = REACH.resolved.read().unwrap_or_else(PoisonError::into_inner).get(path.as_os_str()) {
        return real.clone();
    }
    let real = canonicalize(path).ok();
    REACH.resolved.write().unwrap_or_else(PoisonError::into_inner).insert(path.into(), real.clone());
    real
}

/// Lists a directory; fails with `TimedOut` if its mount does not answer.
#[expect(clippy::disallowed_methods, reason = "its mount was asked before")]
pub(crate) fn read_dir(path: &Path) -> io::Result<std::fs::ReadDir> {
    std::fs::read_dir(check(path)?)
}

/// Fails for a path whose mount does not answer, and for a relative path: recorded data cannot mean the caller's
/// directory.
fn check(path: &Path) -> io::Result<&Path> {
    if path.is_relative() {
        return Err(io::ErrorKind::NotFound.into());
    }
    refuse_silent(path).map(|()| path)
}

/// Fails with `TimedOut` for a path whose mount does not answer.
pub(crate) fn refuse_silent(path: &Path) -> io::Result<()> {
    match REACH.silent_mount(path) {
        None => Ok(()),
        Some(point) => Err(io::Error::new(io::ErrorKind::TimedOut, format!("{} {NO_ANSWER}", point.display()))),
    }
}

/// Returns whether any mount is remote, so that an access may block.
pub(crate) fn any_remote() -> bool {
    REACH.mounts.any_remote()
}

/// Records a session, by a unique number, whose directory is on a mount that does not answer.
pub(crate) fn note_session(dir: &Path, session: u64) {
    if let Some(point) = REACH.silent_mount(dir) {
        lock(&REACH.silent).sessions.entry(point).or_default().insert(session);
    }
}

/// A mount that does not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SilentMount {
    /// The mount point.
    pub point: PathBuf,
    /// Number of sessions whose directories are there.
    pub sessions: usize,
}

/// Returns the mounts that did not answer and have not been returned before.
pub(crate) fn unreported() -> Vec<SilentMount> {
    if !any_remote() {
        return Vec::new();
    }
    let mut silent = lock(&REACH.silent);
    let SilentMounts { sessions, reported } = &mut *silent;
    let new = sessions.iter().filter(|(point, _)| reported.insert((*point).clone()));
    new.map(|(point, sessions)| SilentMount { point: point.clone(), sessions: sessions.len() }).collect()
}

/// Forgets which paths exist, before another run in this process.
pub(crate) fn forget() {
    for known in [&REACH.plain, &REACH.absent, &REACH.answered] {
        known.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
    REACH.resolved.write().unwrap_or_else(PoisonError::into_inner).clear();
}

/// Ends the helpers that still answer, before this process executes another program.
pub(crate) fn end_helpers() {
    if !any_remote() {
        return;
    }
    for (_, helper) in lock(&REACH.helpers).drain() {
        lock(&helper).end();
    }
}

/// A remote mount to which a path leads, and the known part of the path below it.
struct Remote {
    point: PathBuf,
    path: PathBuf,
}

impl Reach {
    fn new(mounts: Mounts) -> Self {
        Self {
            mounts,
            plain: RwLock::default(),
            absent: RwLock::default(),
            resolved: RwLock::default(),
            helpers: Mutex::default(),
            answered: RwLock::default(),
            wasted: AtomicU64::new(0),
            silent: Mutex::default(),
        }
    }

    /// Returns the mount point of a path if the mount does not answer.
    fn silent_mount(&self, path: &Path) -> Option<PathBuf> {
        if !self.mounts.any_remote() || path.is_relative() {
            return None;
        }
        let remote = self.remote(path)?;
        if self.answers(&remote) {
            return None;
        }
        lock(&self.silent).sessions.entry(remote.point.clone()).or_default();
        Some(remote.point)
    }

    /// Follows a path over links up to the first remote mount, without accessing the mount; `None` if there is none.
    fn remote(&self, path: &Path) -> Option<Remote> {
        let mut real = OsString::from("/");
        let mut rest: Vec<OsString> = Vec::new();
        let push = |rest: &mut Vec<OsString>, path: &Path| {
            let names = path.components().rev().filter_map(|component| match component {
                Component::Normal(name) => Some(name.to_owned()),
                Component::ParentDir => Some("..".into()),
                _ => None,
            });
            rest.extend(names);
        };
        let is_absent =
            |path: &Path| self.absent.read().unwrap_or_else(PoisonError::into_inner).contains(path.as_os_str());
        if is_absent(path) || path.parent().is_some_and(is_absent) {
            return None;
        }
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if self.is_plain(parent.as_os_str()) => {
                real = parent.as_os_str().to_owned();
                rest.push(name.to_owned());
            }
            _ => push(&mut rest, path),
        }
        let mut links = 0;
        while let Some(name) = rest.pop() {
            if name == ".." {
                let parent = Path::new(&real).parent().unwrap_or(Path::new("/")).as_os_str().to_owned();
                real = parent;
                continue;
            }
            let above = real.len();
            if real != "/" {
                real.push("/");
            }
            real.push(&name);
            match self.mounts.kind_at(&real) {
                Some(MountKind::Local) => continue,
                Some(kind) => {
                    let mut point = PathBuf::from(&real);
                    let next = rest.last().filter(|next| *next != "..").map(|next| point.join(next));
                    match next {
                        // Each directory of an automounter is a server.
                        Some(next)
                            if kind == MountKind::Automounter && self.mounts.kind_at(next.as_os_str()).is_some() =>
                        {
                            continue;
                        }
                        Some(next) if kind == MountKind::Automounter => point = next,
                        _ => {}
                    }
                    let mut path = PathBuf::from(real);
                    path.extend(rest.into_iter().rev());
                    return Some(Remote { point, path });
                }
                None if self.is_plain(&real) => continue,
                None => {}
            }
            match rustix::fs::readlink(&*real, Vec::new()) {
                Ok(target) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return None;
                    }
                    let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                    let bytes = if target.is_absolute() { b"/".to_vec() } else { real.as_bytes()[..above].to_vec() };
                    real = OsString::from_vec(bytes);
                    push(&mut rest, &target);
                }
                Err(rustix::io::Errno::INVAL) => {
                    self.plain.write().unwrap_or_else(PoisonError::into_inner).insert(real.clone());
                }
                Err(_) => {
                    self.absent.write().unwrap_or_else(PoisonError::into_inner).insert(real);
                    return None;
                }
            }
        }
        None
    }

    fn is_plain(&self, path: &OsStr) -> bool {
        self.plain.read().unwrap_or_else(PoisonError::into_inner).contains(path)
    }

    fn patience(&self) -> Duration {
        let wasted = Duration::from_millis(self.wasted.load(Ordering::Relaxed));
        LATER_PATIENCE.saturating_sub(wasted).max(LEAST_PATIENCE)
    }

    /// Returns the helper of a mount. The first call starts the helpers of all mounts, so that all share one wait.
    fn helper(&self, point: &Path) -> Arc<Mutex<Helper>> {
        let mut helpers = lock(&self.helpers);
        if helpers.is_empty() {
            let others = self.mounts.ahead().filter(|other| *other != point).take(MAX_AHEAD);
            for ahead in others.chain([point]) {
                helpers.insert(ahead.to_owned(), Arc::new(Mutex::new(Helper::start(ahead, PATIENCE, true))));
            }
        }
        let start = || Arc::new(Mutex::new(Helper::start(point, self.patience(), false)));
        Arc::clone(helpers.entry(point.to_owned()).or_insert_with(start))
    }

    fn answers(&self, remote: &Remote) -> bool {
        if self.answered.read().unwrap_or_else(PoisonError::into_inner).contains(remote.path.as_os_str()) {
            return true;
        }
        let helper = self.helper(&remote.point);
        let mut helper = lock(&helper);
        let asked_at = Instant::now();
        let mut is_counted = true;
        if helper.state == MountState::Started {
            let until = helper.until;
            let is_heard = helper.hear(until);
            helper.state = if is_heard { MountState::Answering } else { MountState::Silent };
            is_counted = is_heard || !helper.is_ahead;
        }
        let is_answered = match helper.state {
            MountState::Unasked => return true,
            MountState::Started | MountState::Silent => false,
            MountState::Answering => {
                let until = deadline::after(self.patience());
                helper.send(&remote.path).is_ok() && helper.hear(until)
            }
        };
        if is_answered {
            self.answered.write().unwrap_or_else(PoisonError::into_inner).insert(remote.path.clone().into());
            return true;
        }
        helper.give_up();
        if is_counted {
            let wasted = u64::try_from(asked_at.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.wasted.fetch_add(wasted, Ordering::Relaxed);
        }
        false
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
