//! The real file system.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FlockOperation, Gid, Mode, OFlags, RenameFlags, Timespec, Timestamps, Uid, flock};
use rustix::io::Errno;

use super::{Access, Disk, EntryKind, EntryMetadata, FileTimes, For, Handle, NameInDir, copy_extended, sync};
use crate::links::{self, MayTouch};

/// Faults that a test injects into the calls of [`System`].
pub trait Faults: fmt::Debug + Send + Sync {
    /// Called before each system call that changes something, which is not made if this fails.
    fn point(&self) -> io::Result<()>;
}

/// The real file system. Before each call that changes something, a test can inject a fault.
#[derive(Debug)]
pub struct System {
    may_touch: MayTouch,
    /// Shared by all changes of a run.
    faults: Option<Arc<dyn Faults>>,
}

impl System {
    /// Creates the disk; `may_touch` is called before each access by a path.
    pub const fn new(may_touch: MayTouch) -> Self {
        Self { may_touch, faults: None }
    }

    /// Returns the disk with the faults that a test requested.
    pub fn with_faults(&self, faults: Arc<dyn Faults>) -> Self {
        Self { may_touch: self.may_touch, faults: Some(faults) }
    }

    /// Called before each system call that changes something.
    fn point(&self) -> io::Result<()> {
        self.faults.as_ref().map_or(Ok(()), |faults| faults.point())
    }
}

/// Lists the names in a directory.
#[cfg(target_os = "linux")]
fn names_in(dir: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut buffer = [std::mem::MaybeUninit::uninit(); 16 * 1024];
    let mut entries = rustix::fs::RawDir::new(dir, &mut buffer);
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        let name = entry?.file_name().to_bytes().to_owned();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name));
        }
    }
    Ok(names)
}

/// Lists the names in a directory.
#[cfg(not(target_os = "linux"))]
fn names_in(dir: &OwnedFd) -> io::Result<Vec<OsString>> {
    let names = rustix::fs::Dir::read_from(dir)?.map(|entry| Ok(entry?.file_name().to_bytes().to_owned()));
    let names = names.filter(|name: &io::Result<Vec<u8>>| !matches!(name.as_deref(), Ok(b"." | b"..")));
    names.map(|name| name.map(OsString::from_vec)).collect()
}

/// Sets the mode of a file without following a link, and without needing permission to read the file.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "this is part of the one place that changes files")]
fn change_mode(dir: &OwnedFd, name: &OsStr, mode: Mode) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = rustix::fs::openat(dir, name, flags, Mode::empty())?;
    let held = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&held));
    match rustix::fs::chmodat(rustix::fs::CWD, held, mode, AtFlags::empty()) {
        Err(Errno::NOENT) => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            Ok(rustix::fs::fchmod(rustix::fs::openat(dir, name, flags, Mode::empty())?, mode)?)
        }
        done => Ok(done?),
    }
}

/// Sets the mode of a file without following a link.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::disallowed_methods, reason = "this is part of the one place that changes files")]
fn change_mode(dir: &OwnedFd, name: &OsStr, mode: Mode) -> io::Result<()> {
    Ok(rustix::fs::chmodat(dir, name, mode, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Returns the file descriptor of a handle; a handle of another disk is an error.
fn fd(handle: &Handle) -> io::Result<&OwnedFd> {
    match handle {
        Handle::System(fd) => Ok(fd),
        #[cfg(any(test, debug_assertions))]
        Handle::Memory(_) => Err(io::Error::other("it was opened on another disk")),
    }
}

/// Opens a directory by a path without links.
#[expect(clippy::disallowed_methods, reason = "its mount was asked before")]
fn open_real_dir(path: &Path, may_touch: MayTouch) -> io::Result<OwnedFd> {
    may_touch(path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    match rustix::fs::openat2(rustix::fs::CWD, path, flags, Mode::empty(), rustix::fs::ResolveFlags::NO_SYMLINKS) {
        Err(Errno::LOOP) => return Err(is_linked()),
        // Older kernels lack this call, and some sandboxes forbid it.
        Err(Errno::NOSYS | Errno::PERM) => {}
        opened => return Ok(opened?),
    }
    let opened = rustix::fs::open(path, flags, Mode::empty())?;
    let is_real = path.canonicalize()? == path;
    if is_real && EntryMetadata::open(&opened)?.identity == EntryMetadata::of_path(path)?.identity {
        Ok(opened)
    } else {
        Err(is_linked())
    }
}

fn is_linked() -> io::Error {
    io::Error::other("a directory on the way to it has become a symbolic link, which is not followed")
}

fn is_unknown(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::NOTSUP)
}

/// If root created the entry, changes its owner to that of the directory.
#[expect(clippy::disallowed_methods, reason = "this is part of the one place that changes files")]
fn inherit_owner(dir: &OwnedFd, name: &OsStr) {
    if rustix::process::geteuid().is_root()
        && let Ok(EntryMetadata { owner: (user, group), .. }) = EntryMetadata::open(dir)
        && (user, group) != (0, 0)
    {
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        let _ = rustix::fs::chownat(dir, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW);
    }
}

fn timespec((seconds, nanoseconds): (i64, i64)) -> Timespec {
    Timespec { tv_sec: seconds, tv_nsec: nanoseconds as _ }
}

#[expect(clippy::disallowed_methods, reason = "this is part of the one place that changes files")]
impl Disk for System {
    fn open_dir(&self, path: &Path) -> io::Result<Handle> {
        (self.may_touch)(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Handle::System(rustix::fs::open(path, flags, Mode::empty())?))
    }

    fn open_for_writing(&self, path: &Path) -> io::Result<Handle> {
        // Usually the path contains no link.
        open_real_dir(path, self.may_touch).map(Handle::System).or_else(|_| {
            let opened = self.open_dir(path)?;
            links::check(path, self.may_touch)?;
            Ok(opened)
        })
    }

    fn open_real_dir(&self, path: &Path) -> io::Result<Handle> {
        open_real_dir(path, self.may_touch).map(Handle::System)
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        (self.may_touch)(path)?;
        path.canonicalize()
    }

    fn open(&self, (dir, name): NameInDir<'_>, purpose: For) -> io::Result<Handle> {
        let flags = match purpose {
            For::Dir => OFlags::RDONLY | OFlags::DIRECTORY,
            // Opening a FIFO or a device must not block, nor make it the controlling terminal.
            For::Reading => OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY,
            For::Adding => OFlags::RDWR | OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOCTTY,
            For::New(_) => OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL,
            For::Locking => OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK | OFlags::NOCTTY,
        };
        if matches!(purpose, For::New(_) | For::Locking) {
            self.point()?;
        }
        let mode = Mode::from_raw_mode(if purpose == For::New(Access::Usual) { 0o666 } else { 0o600 });
        let opened = rustix::fs::openat(fd(dir)?, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode);
        let handle = Handle::System(opened.map_err(|error| match error {
            Errno::LOOP => io::Error::other("it is a symbolic link, which is not followed"),
            Errno::NXIO => io::Error::other("it is not a regular file"),
            error => error.into(),
        })?);
        if purpose != For::Dir && self.read_open_metadata(&handle)?.kind != EntryKind::File {
            return Err(io::Error::other("it is not a regular file"));
        }
        if matches!(purpose, For::New(_) | For::Locking) {
            inherit_owner(fd(dir)?, name);
        }
        Ok(handle)
    }

    fn read_metadata(&self, (dir, name): NameInDir<'_>) -> io::Result<EntryMetadata> {
        EntryMetadata::read_at(fd(dir)?, name)
    }

    fn read_open_metadata(&self, open: &Handle) -> io::Result<EntryMetadata> {
        EntryMetadata::open(fd(open)?)
    }

    fn list(&self, dir: &Handle) -> io::Result<Vec<OsString>> {
        let dir = fd(dir)?;
        rustix::fs::seek(dir, rustix::fs::SeekFrom::Start(0))?;
        let mut names = names_in(dir)?;
        names.sort_unstable();
        Ok(names)
    }

    fn read_link(&self, (dir, name): NameInDir<'_>) -> io::Result<PathBuf> {
        let target = rustix::fs::readlinkat(fd(dir)?, name, Vec::new())?;
        Ok(OsStr::from_bytes(target.to_bytes()).into())
    }

    fn read_at(&self, file: &Handle, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        loop {
            match rustix::io::pread(fd(file)?, &mut *buffer, offset) {
                Err(Errno::INTR) => {}
                read => return Ok(read?),
            }
        }
    }

    fn make_dir(&self, (dir, name): NameInDir<'_>, access: Access) -> io::Result<()> {
        self.point()?;
        let mode = Mode::from_raw_mode(if access == Access::Usual { 0o777 } else { 0o700 });
        rustix::fs::mkdirat(fd(dir)?, name, mode)?;
        inherit_owner(fd(dir)?, name);
        Ok(())
    }

    fn make_link(&self, (dir, name): NameInDir<'_>, target: &Path) -> io::Result<()> {
        self.point()?;
        Ok(rustix::fs::symlinkat(target, fd(dir)?, name)?)
    }

    fn add(&self, file: &Handle, mut bytes: &[u8]) -> io::Result<()> {
        self.point()?;
        while !bytes.is_empty() {
            match rustix::io::write(fd(file)?, bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn set_length(&self, file: &Handle, length: u64) -> io::Result<()> {
        self.point()?;
        Ok(rustix::fs::ftruncate(fd(file)?, length)?)
    }

    fn link(&self, from: NameInDir<'_>, to: NameInDir<'_>) -> io::Result<()> {
        self.point()?;
        Ok(rustix::fs::linkat(fd(from.0)?, from.1, fd(to.0)?, to.1, AtFlags::empty())?)
    }

    fn rename(&self, from: NameInDir<'_>, to: NameInDir<'_>) -> io::Result<()> {
        self.point()?;
        Ok(rustix::fs::renameat(fd(from.0)?, from.1, fd(to.0)?, to.1)?)
    }

    fn rename_to_free(&self, from: NameInDir<'_>, to: NameInDir<'_>) -> io::Result<()> {
        self.point()?;
        let (from_dir, to_dir) = (fd(from.0)?, fd(to.0)?);
        match rustix::fs::renameat_with(from_dir, from.1, to_dir, to.1, RenameFlags::NOREPLACE) {
            // Some file systems do not support the flag; checking first is the best alternative.
            Err(error) if is_unknown(error) => match rustix::fs::statat(to_dir, to.1, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => Ok(rustix::fs::renameat(from_dir, from.1, to_dir, to.1)?),
                Ok(_) => Err(Errno::EXIST.into()),
                Err(error) => Err(error.into()),
            },
            done => Ok(done?),
        }
    }

    fn exchange(&self, one: NameInDir<'_>, other: NameInDir<'_>) -> io::Result<()> {
        self.point()?;
        Ok(rustix::fs::renameat_with(fd(one.0)?, one.1, fd(other.0)?, other.1, RenameFlags::EXCHANGE)?)
    }

    fn unlink(&self, (dir, name): NameInDir<'_>) -> io::Result<()> {
        self.point()?;
        Ok(rustix::fs::unlinkat(fd(dir)?, name, AtFlags::empty())?)
    }

    fn remove_dir(&self, (dir, name): NameInDir<'_>) -> io::Result<()> {
        self.point()?;
        Ok(rustix::fs::unlinkat(fd(dir)?, name, AtFlags::REMOVEDIR)?)
    }

    fn set_owner(&self, (dir, name): NameInDir<'_>, (user, group): (u32, u32)) -> io::Result<()> {
        self.point()?;
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        Ok(rustix::fs::chownat(fd(dir)?, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    fn set_mode(&self, (dir, name): NameInDir<'_>, mode: u32) -> io::Result<()> {
        self.point()?;
        let mode = Mode::from_raw_mode((mode & 0o7777) as _);
        change_mode(fd(dir)?, name, mode)
    }

    fn copy_extended(&self, from: &Handle, to: &Handle) -> io::Result<()> {
        self.point()?;
        copy_extended(fd(from)?, fd(to)?)
    }

    fn set_times(&self, (dir, name): NameInDir<'_>, (accessed, modified): FileTimes) -> io::Result<()> {
        self.point()?;
        let times = Timestamps { last_access: timespec(accessed), last_modification: timespec(modified) };
        Ok(rustix::fs::utimensat(fd(dir)?, name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    fn sync(&self, open: &Handle) -> io::Result<()> {
        self.point()?;
        match sync(fd(open)?) {
            // Some file systems cannot sync directories, and do not need it.
            Err(error)
                if Errno::from_io_error(&error) == Some(Errno::INVAL)
                    && self.read_open_metadata(open)?.kind == EntryKind::Dir =>
            {
                Ok(())
            }
            done => done,
        }
    }

    fn lock(&self, open: &Handle) -> io::Result<bool> {
        match flock(fd(open)?, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
