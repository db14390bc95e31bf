//! The state of a path at one moment, by which a change detects that another program has changed it meanwhile.

use std::fmt::Write as _;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::disk::{self, Descent, Disk, EntryKind, EntryMetadata, NameInDir, is_absent};
use crate::error::PathError;

/// The state of a path at one moment; any difference later means that another program has changed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Device and inode of the directory that contains it.
    pub parent: (u64, u64),
    /// Its device.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// Set if the entry is a directory.
    pub is_dir: bool,
    /// Its size in bytes; for a directory, the sum over everything in it.
    pub size: u64,
    /// Time of modification, in seconds since 1970 and nanoseconds.
    pub modified: (i64, i64),
    /// A digest of the names, types, inodes, sizes and times of everything in it; `None` for a file.
    #[serde(with = "tree_digest")]
    pub tree: Option<[u8; 16]>,
}

/// The serialized form of a digest in journals: hexadecimal, or an empty string for `None`.
mod tree_digest {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(tree: &Option<[u8; 16]>, to: S) -> Result<S::Ok, S::Error> {
        match tree {
            Some(digest) => to.collect_str(&format_args!("{:032x}", u128::from_be_bytes(*digest))),
            None => to.serialize_str(""),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<[u8; 16]>, D::Error> {
        let text = String::deserialize(from)?;
        if text.is_empty() {
            return Ok(None);
        }
        u128::from_str_radix(&text, 16).map(|digest| Some(digest.to_be_bytes())).map_err(D::Error::custom)
    }
}

/// Takes the stamp of a file, or of a directory with everything in it; follows no links and reads no contents.
///
/// Anything other than a file or directory is an error, and so is a directory with a mount point in it: neither can be
/// moved as a whole.
pub fn take_stamp(disk: &dyn Disk, path: &Path) -> Result<Stamp, PathError> {
    let fail = |error| PathError::new("look at", path, error);
    let (dir, name) = disk::open_parent(disk, path).map_err(fail)?;
    take_on(disk, (&dir, &name), path).map_err(fail)
}

/// Takes the stamp of an entry in an open directory, like [`take_stamp`]; errors name its `path`.
pub fn take_on(disk: &dyn Disk, (dir, name): NameInDir<'_>, path: &Path) -> io::Result<Stamp> {
    let parent = disk.read_open_metadata(dir)?.identity;
    stamp_of(disk, (dir, name), path, parent, &mut |_, _| {})
}

/// Takes the stamp of a path like [`take_stamp`], in a directory with this device and inode; calls `see` with every file.
pub fn take_in(
    disk: &dyn Disk,
    path: &Path,
    parent: (u64, u64),
    see: &mut dyn FnMut(&Path, &EntryMetadata),
) -> Result<Stamp, PathError> {
    let fail = |error| PathError::new("look at", path, error);
    let (dir, name) = disk::open_parent(disk, path).map_err(fail)?;
    stamp_of(disk, (&dir, &name), path, parent, see).map_err(fail)
}

/// Takes the stamp of a path like [`take_stamp`]; `None` if it does not exist.
pub fn take_if_present(disk: &dyn Disk, path: &Path) -> Result<Option<Stamp>, PathError> {
    match take_stamp(disk, path) {
        Ok(stamp) => Ok(Some(stamp)),
        Err(error) if is_absent(error.kind()) => Ok(None),
        Err(error) => Err(error),
    }
}

fn stamp_of(
    disk: &dyn Disk,
    at: NameInDir<'_>,
    path: &Path,
    parent: (u64, u64),
    see: &mut dyn FnMut(&Path, &EntryMetadata),
) -> io::Result<Stamp> {
    let look = disk.read_metadata(at)?;
    let (device, inode) = look.identity;
    let mut stamp =
        Stamp { parent, device, inode, is_dir: false, size: look.size, modified: look.modified, tree: None };
    match look.kind {
        EntryKind::Symlink => Err(io::Error::other("it is a symbolic link, which is read but not changed")),
        EntryKind::Fifo | EntryKind::Other => Err(io::Error::other("it is neither a file nor a directory")),
        EntryKind::File => {
            see(Path::new(""), &look);
            Ok(stamp)
        }
        EntryKind::Dir => {
            (stamp.is_dir, stamp.size) = (true, 0);
            let mounted = |name: &Path| {
                // Joining an empty path would append a slash.
                let place = if name == Path::new("") { path.to_owned() } else { path.join(name) };
                io::Error::other(format!("another file system is mounted at {}", place.display()))
            };
            if look.is_mount_point {
                return Err(mounted(Path::new("")));
            }
            let mut digest = Sha256::new();
            each_below(disk, at, &mut |name, found| {
                if found.identity.0 != device || found.is_mount_point {
                    return Err(mounted(name));
                }
                let size = if found.kind == EntryKind::File { found.size } else { 0 };
                if found.kind == EntryKind::File {
                    see(name, found);
                }
                stamp.size += size;
                let name = name.as_os_str().as_bytes();
                digest.update((name.len() as u64).to_le_bytes());
                digest.update(name);
                digest.update([number_of(found.kind)]);
                digest.update(found.identity.1.to_le_bytes());
                digest.update(size.to_le_bytes());
                digest.update(found.modified.0.to_le_bytes());
                digest.update(found.modified.1.to_le_bytes());
                Ok(())
            })?;
            stamp.tree = digest.finalize()[..16].try_into().ok();
            Ok(stamp)
        }
    }
}

/// Calls a function with everything below a directory and its path relative to that directory: sorted by name, each
/// directory before its entries.
pub fn each_below(
    disk: &dyn Disk,
    first: NameInDir<'_>,
    see: &mut dyn FnMut(&Path, &EntryMetadata) -> io::Result<()>,
) -> io::Result<()> {
    let mut way = Descent::new(disk, first)?;
    let (mut path, mut pending) = (PathBuf::new(), vec![disk.list(way.here()?)?.into_iter()]);
    while let Some(names) = pending.last_mut() {
        let Some(name) = names.next() else {
            pending.pop();
            path.pop();
            if !pending.is_empty() {
                way.up()?;
            }
            continue;
        };
        let look = disk.read_metadata((way.here()?, &name))?;
        path.push(&name);
        see(&path, &look)?;
        if look.kind == EntryKind::Dir {
            way.down(&name)?;
            pending.push(disk.list(way.here()?)?.into_iter());
        } else {
            path.pop();
        }
    }
    Ok(())
}

/// Returns the number of a type in a digest; journals of older runs contain such digests.
fn number_of(kind: EntryKind) -> u8 {
    match kind {
        EntryKind::File => 0,
        EntryKind::Dir => 1,
        EntryKind::Symlink => 2,
        EntryKind::Fifo => 3,
        EntryKind::Other => 4,
    }
}

/// Writes bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the time of modification, in seconds since 1970 and nanoseconds.
pub fn modified(metadata: &Metadata) -> (i64, i64) {
    (metadata.mtime(), metadata.mtime_nsec())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;
    use crate::tests::SYSTEM;

    #[test]
    fn stamp_detects_every_change_in_a_directory() {
        let dir = tempfile::tempdir().expect("a directory");
        let entry = dir.path().join("s");
        std::fs::create_dir_all(entry.join("deep")).expect("a directory");
        std::fs::write(entry.join("deep/a"), "one").expect("a file");
        let first = take_stamp(&SYSTEM, &entry).expect("a stamp");
        assert_eq!(first, take_stamp(&SYSTEM, &entry).expect("a stamp"));
        assert_eq!(first.size, 3);

        std::fs::write(entry.join("deep/a"), "two!").expect("a file");
        let second = take_stamp(&SYSTEM, &entry).expect("a stamp");
        assert_ne!(first.tree, second.tree);
        std::fs::write(entry.join("b"), "").expect("a file");
        assert_ne!(second.tree, take_stamp(&SYSTEM, &entry).expect("a stamp").tree);
    }

    #[test]
    fn stamp_refuses_link_and_skips_missing_path() {
        let dir = tempfile::tempdir().expect("a directory");
        std::os::unix::fs::symlink("/etc", dir.path().join("link")).expect("a link");
        let error = take_stamp(&SYSTEM, &dir.path().join("link")).expect_err("a refusal");
        assert!(error.to_string().contains("symbolic link"), "{error}");
        assert_eq!(take_if_present(&SYSTEM, &dir.path().join("none")).expect("nothing"), None);
    }

    #[test]
    fn stamp_of_older_journal_parses() {
        let text = r#"{"parent":[1,2],"device":1,"inode":3,"is_dir":true,"size":10,"modified":[5,0],"tree":"00ff102030405060708090a0b0c0d0e0"}"#;
        let stamp: Stamp = serde_json::from_str(text).expect("a stamp");
        assert_eq!(stamp.tree.map(u128::from_be_bytes), Some(0x00ff_1020_3040_5060_7080_90a0_b0c0_d0e0));
        assert_eq!(serde_json::to_string(&stamp).expect("text"), text);
        let file = text.replace("00ff102030405060708090a0b0c0d0e0", "");
        let stamp: Stamp = serde_json::from_str(&file).expect("a stamp");
        assert_eq!((stamp.tree, serde_json::to_string(&stamp).expect("text")), (None, file));
        assert!(serde_json::from_str::<Stamp>(&text.replace("00ff", "x")).is_err());
    }
}
