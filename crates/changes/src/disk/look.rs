//! The metadata of a path, a directory entry or an open file, including whether something is mounted there.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD};
use rustix::path::Arg;

/// The type of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
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

impl EntryKind {
    fn from_mode(mode: u32) -> Self {
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

/// The metadata of an entry; links are not followed.
#[derive(Clone, Copy, Debug)]
pub struct EntryMetadata {
    /// The type of the entry.
    pub kind: EntryKind,
    /// Device and inode.
    pub identity: (u64, u64),
    /// Size in bytes.
    pub size: u64,
    /// Time of modification, in seconds since 1970 and nanoseconds.
    pub modified: (i64, i64),
    /// Time of the last access, as far as the system records it.
    pub accessed: (i64, i64),
    /// Its permissions.
    pub mode: u32,
    /// User and group.
    pub owner: (u32, u32),
    /// Set if something is mounted there; since Linux 5.8 also for another part of the same file system.
    pub is_mount_point: bool,
}

impl EntryMetadata {
    /// Reads the metadata of a path.
    pub fn of_path(path: &Path) -> io::Result<Self> {
        Self::read_at(CWD, path)
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn read_at(dir: impl AsFd, name: impl Arg) -> io::Result<Self> {
        Self::found(dir, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Reads the metadata of an open file or directory.
    #[cfg(target_os = "linux")]
    pub(crate) fn open(handle: impl AsFd) -> io::Result<Self> {
        Self::found(handle, c"", AtFlags::EMPTY_PATH)
    }

    #[cfg(target_os = "linux")]
    fn found(dir: impl AsFd, name: impl Arg, flags: AtFlags) -> io::Result<Self> {
        use rustix::fs::{StatxAttributes, StatxFlags, makedev, statx};
        let name = name.into_c_str()?;
        let found = statx(&dir, &*name, flags | AtFlags::NO_AUTOMOUNT, StatxFlags::BASIC_STATS)?;
        let kind = EntryKind::from_mode(found.stx_mode.into());
        let device = makedev(found.stx_dev_major, found.stx_dev_minor);
        let is_mount_point = if found.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) {
            found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
        } else {
            kind == EntryKind::Dir && has_other_device_above(dir, &name, device)?
        };
        Ok(Self {
            kind,
            identity: (device, found.stx_ino),
            size: found.stx_size,
            modified: (found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec.into()),
            accessed: (found.stx_atime.tv_sec, found.stx_atime.tv_nsec.into()),
            mode: u32::from(found.stx_mode) & 0o7777,
            owner: (found.stx_uid, found.stx_gid),
            is_mount_point,
        })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn read_at(dir: impl AsFd, name: impl Arg) -> io::Result<Self> {
        let name = name.into_c_str()?;
        let found = rustix::fs::statat(&dir, &*name, AtFlags::SYMLINK_NOFOLLOW)?;
        Self::found(&found, dir, &name)
    }

    /// Reads the metadata of an open file or directory.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn open(handle: impl AsFd) -> io::Result<Self> {
        Self::found(&rustix::fs::fstat(&handle)?, handle, c"")
    }

    #[cfg(not(target_os = "linux"))]
    fn found(found: &rustix::fs::Stat, dir: impl AsFd, name: &CStr) -> io::Result<Self> {
        let kind = EntryKind::from_mode(found.st_mode.into());
        let device = found.st_dev as u64;
        Ok(Self {
            kind,
            identity: (device, found.st_ino),
            size: u64::try_from(found.st_size).unwrap_or(0),
            modified: (found.st_mtime, found.st_mtime_nsec),
            accessed: (found.st_atime, found.st_atime_nsec),
            mode: u32::from(found.st_mode) & 0o7777,
            owner: (found.st_uid, found.st_gid),
            is_mount_point: kind == EntryKind::Dir && has_other_device_above(dir, name, device)?,
        })
    }
}

/// Returns whether the parent of a directory is on another device, which means that a file system is mounted there.
///
/// An empty name means the open directory itself.
fn has_other_device_above(dir: impl AsFd, name: &CStr, device: u64) -> io::Result<bool> {
    let above = if name.is_empty() { b"..".to_vec() } else { [name.to_bytes(), b"/.."].concat() };
    let found = rustix::fs::statat(dir, above, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(found.st_dev as u64 != device)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn look_detects_mount_point_by_its_device() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("plain")).expect("a directory");
        let root = std::fs::File::open(dir.path()).expect("a directory");
        let look = EntryMetadata::read_at(&root, c"plain").expect("a look");
        assert!(!look.is_mount_point);
        assert!(!EntryMetadata::open(&root).expect("a look").is_mount_point);
        for name in [c"plain", c""] {
            let is_below = |device| has_other_device_above(&root, name, device).expect("an answer");
            assert!(!is_below(look.identity.0));
            assert!(is_below(look.identity.0 + 1), "as if another device were mounted there");
        }
        // Every system has a mount point there, but a container may lack it.
        let device = |path: &str| Path::new(path).metadata().map(|metadata| metadata.dev()).ok();
        if let Some(dev) = device("/dev") {
            assert_eq!(
                EntryMetadata::of_path(Path::new("/dev")).expect("a look").is_mount_point,
                Some(dev) != device("/")
            );
        }
    }
}
