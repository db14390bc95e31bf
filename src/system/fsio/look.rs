//! One look at a path or an entry of a directory, which also tells whether something is mounted there.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags};
use rustix::path::Arg;

/// What something in the file system is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket or a device.
    Other,
}

impl Kind {
    fn of(mode: u32) -> Self {
        use rustix::fs::FileType;
        match FileType::from_raw_mode(mode as _) {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Dir,
            FileType::Symlink => Self::Symlink,
            FileType::Fifo => Self::Fifo,
            _ => Self::Other,
        }
    }
}

/// What one look gave; links are not followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// What it is.
    pub kind: Kind,
    /// The device that it lies on, and its number there.
    pub identity: (u64, u64),
    /// Its bytes.
    pub size: u64,
    /// When it was modified, in seconds since 1970 and nanoseconds.
    pub modified: (i64, i64),
    /// Whether something is mounted there, be it another part of the same file system; only Linux tells.
    pub is_mount_point: bool,
}

impl Look {
    /// Looks at a path.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Self::of(CWD, path)
    }

    #[cfg(target_os = "linux")]
    fn of(dir: impl AsFd, name: impl Arg) -> io::Result<Self> {
        use rustix::fs::{StatxAttributes, StatxFlags, makedev, statx};
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        let found = statx(dir, name, flags, StatxFlags::BASIC_STATS)?;
        Ok(Self {
            kind: Kind::of(found.stx_mode.into()),
            identity: (makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino),
            size: found.stx_size,
            modified: (found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec.into()),
            is_mount_point: found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT),
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn of(dir: impl AsFd, name: impl Arg) -> io::Result<Self> {
        let found = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Self {
            kind: Kind::of(found.st_mode.into()),
            identity: (found.st_dev as u64, found.st_ino as u64),
            size: u64::try_from(found.st_size).unwrap_or(0),
            modified: (found.st_mtime as i64, found.st_mtime_nsec as i64),
            is_mount_point: false,
        })
    }
}

/// A directory that is held open, so that looks at its entries start there and nothing can be put in its place.
#[derive(Debug)]
pub(crate) struct OpenDir(Dir);

impl OpenDir {
    /// Opens a directory; a link is an error.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Self::of(CWD, path)
    }

    fn of(dir: impl AsFd, name: impl Arg) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened: OwnedFd = rustix::fs::openat(dir, name, flags, Mode::empty())?;
        Ok(Self(Dir::new(opened)?))
    }

    /// Opens a directory in it.
    pub(crate) fn open(&self, name: &CStr) -> io::Result<Self> {
        Self::of(self.0.fd()?, name)
    }

    /// Looks at an entry.
    pub(crate) fn look(&self, name: &CStr) -> io::Result<Look> {
        Look::of(self.0.fd()?, name)
    }

    /// Returns the names of its entries, in the order of their bytes.
    pub(crate) fn names(&mut self) -> io::Result<Vec<CString>> {
        let mut names = Vec::new();
        while let Some(entry) = self.0.read() {
            let name = entry?;
            let name = name.file_name();
            if name != c"." && name != c".." {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }
}
