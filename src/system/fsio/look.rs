//! One look at a path, an entry of a directory or what is open, which also tells whether something is mounted there.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD};
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
    /// When it was last read, as far as the system keeps that.
    pub accessed: (i64, i64),
    /// Its permissions.
    pub mode: u32,
    /// Its user and its group.
    pub owner: (u32, u32),
    /// Whether something is mounted there, be it another part of the same file system; only Linux tells.
    pub is_mount_point: bool,
}

impl Look {
    /// Looks at a path.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Self::of(CWD, path)
    }

    #[cfg(target_os = "linux")]
    pub(in crate::system) fn of(dir: impl AsFd, name: impl Arg) -> io::Result<Self> {
        Self::found(dir, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Looks at what is open.
    #[cfg(target_os = "linux")]
    pub(in crate::system) fn open(handle: impl AsFd) -> io::Result<Self> {
        Self::found(handle, c"", AtFlags::EMPTY_PATH)
    }

    #[cfg(target_os = "linux")]
    fn found(dir: impl AsFd, name: impl Arg, flags: AtFlags) -> io::Result<Self> {
        use rustix::fs::{StatxAttributes, StatxFlags, makedev, statx};
        let found = statx(dir, name, flags | AtFlags::NO_AUTOMOUNT, StatxFlags::BASIC_STATS)?;
        Ok(Self {
            kind: Kind::of(found.stx_mode.into()),
            identity: (makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino),
            size: found.stx_size,
            modified: (found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec.into()),
            accessed: (found.stx_atime.tv_sec, found.stx_atime.tv_nsec.into()),
            mode: u32::from(found.stx_mode) & 0o7777,
            owner: (found.stx_uid, found.stx_gid),
            is_mount_point: found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT),
        })
    }

    #[cfg(not(target_os = "linux"))]
    pub(in crate::system) fn of(dir: impl AsFd, name: impl Arg) -> io::Result<Self> {
        Ok(Self::found(&rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Looks at what is open.
    #[cfg(not(target_os = "linux"))]
    pub(in crate::system) fn open(handle: impl AsFd) -> io::Result<Self> {
        Ok(Self::found(&rustix::fs::fstat(handle)?))
    }

    #[cfg(not(target_os = "linux"))]
    fn found(found: &rustix::fs::Stat) -> Self {
        Self {
            kind: Kind::of(found.st_mode.into()),
            identity: (found.st_dev as u64, found.st_ino as u64),
            size: u64::try_from(found.st_size).unwrap_or(0),
            modified: (found.st_mtime as i64, found.st_mtime_nsec as i64),
            accessed: (found.st_atime as i64, found.st_atime_nsec as i64),
            mode: u32::from(found.st_mode) & 0o7777,
            owner: (found.st_uid, found.st_gid),
            is_mount_point: false,
        }
    }
}
