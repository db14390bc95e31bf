//! The mount table: the mount points, and those where an access may wait for a server.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use foldhash::HashMap;

/// The mounts of this process (proc(5)).
const TABLE: &str = "/proc/self/mountinfo";
const MAX_TABLE: u64 = 16 * 1024 * 1024;
/// Lists mounts without contacting any server, on systems without the table.
const MOUNT: &str = "/sbin/mount";

/// File systems of disks and of the kernel itself. Any other may wait for a server or a program.
const LOCAL: &[&str] = &[
    "aufs",
    "bcachefs",
    "binfmt_misc",
    "bpf",
    "btrfs",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devfs",
    "devpts",
    "devtmpfs",
    "ecryptfs",
    "efivarfs",
    "erofs",
    "exfat",
    "ext2",
    "ext3",
    "ext4",
    "f2fs",
    "fusectl",
    "hfs",
    "hfsplus",
    "hugetlbfs",
    "iso9660",
    "jfs",
    "minix",
    "mqueue",
    "msdos",
    "nilfs2",
    "nsfs",
    "ntfs",
    "ntfs3",
    "overlay",
    "proc",
    "pstore",
    "ramfs",
    "reiserfs",
    "rootfs",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "squashfs",
    "sysfs",
    "tmpfs",
    "tracefs",
    "ubifs",
    "udf",
    "ufs",
    "vfat",
    "xfs",
    "zfs",
];

/// The provider of a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MountKind {
    /// The kernel, from a disk or from memory.
    Local,
    /// A server, or a FUSE program.
    Remote,
    /// A program that mounts a path when it is accessed.
    Automounter,
}

/// Mount points, under the names that the kernel uses.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    kinds: HashMap<OsString, MountKind>,
    any_remote: bool,
}

impl Mounts {
    /// Reads the table; without one, every mount counts as local.
    pub(super) fn read() -> Self {
        if cfg!(target_os = "linux") {
            return table().map(|table| Self::of_linux(&table)).unwrap_or_default();
        }
        let listed = std::process::Command::new(MOUNT).stdin(std::process::Stdio::null()).output();
        listed.map(|listed| Self::of_bsd(&listed.stdout)).unwrap_or_default()
    }

    /// Parses `36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw`. If two lines have the same mount point, the
    /// last one is on top.
    fn of_linux(table: &[u8]) -> Self {
        let mount = |line: &[u8]| {
            let mut fields = line.split(|byte| *byte == b' ');
            let point = unescaped(fields.nth(4)?);
            let kind = std::str::from_utf8(fields.by_ref().skip_while(|field| *field != b"-").nth(1)?).ok()?;
            Some((point, kind_of(kind)))
        };
        Self::from_mounts(table.split(|byte| *byte == b'\n').filter_map(mount))
    }

    /// Parses `//ana@server/share on /Volumes/share (smbfs, nodev, nosuid, mounted by ana)`.
    fn of_bsd(table: &[u8]) -> Self {
        let text = String::from_utf8_lossy(table);
        let mount = |line: &str| {
            let (mounted, options) = line.strip_suffix(')')?.rsplit_once(" (")?;
            let (_, point) = mounted.split_once(" on ")?;
            let mut options = options.split(", ");
            let kind = options.next()?;
            let is_local = options.any(|option| option == "local") || LOCAL.contains(&kind);
            let kind = match kind {
                "autofs" => MountKind::Automounter,
                _ if is_local => MountKind::Local,
                _ => MountKind::Remote,
            };
            Some((OsString::from(point), kind))
        };
        Self::from_mounts(text.lines().filter_map(mount))
    }

    fn from_mounts(mounts: impl Iterator<Item = (OsString, MountKind)>) -> Self {
        let mut kinds: HashMap<OsString, MountKind> = mounts.collect();
        // If the root did not answer, no program would run, including this one.
        kinds.remove(OsStr::new("/"));
        let any_remote = kinds.values().any(|kind| *kind != MountKind::Local);
        Self { kinds, any_remote }
    }

    /// Returns whether an access to any mount may wait for a server.
    pub(super) fn any_remote(&self) -> bool {
        self.any_remote
    }

    /// Returns the kind of the mount at a path.
    pub(super) fn kind_at(&self, point: &OsStr) -> Option<MountKind> {
        self.kinds.get(point).copied()
    }

    /// Returns the mount points that may be queried in advance; accessing an automounter would mount something.
    pub(super) fn ahead(&self) -> impl Iterator<Item = &Path> {
        self.kinds.iter().filter(|(_, kind)| **kind == MountKind::Remote).map(|(point, _)| Path::new(point))
    }
}

/// Reads the table. `fsio` calls this module before it opens a file, so it cannot be used here.
fn table() -> io::Result<Vec<u8>> {
    let (flags, mode) = (rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC, rustix::fs::Mode::empty());
    let mut table = Vec::new();
    File::from(rustix::fs::open(TABLE, flags, mode)?).take(MAX_TABLE).read_to_end(&mut table)?;
    Ok(table)
}

fn kind_of(name: &str) -> MountKind {
    match name {
        "autofs" => MountKind::Automounter,
        local if LOCAL.contains(&local) => MountKind::Local,
        _ => MountKind::Remote,
    }
}

/// Decodes `\040` to a blank, and other escaped bytes.
fn unescaped(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut at = 0;
    while let Some(byte) = field.get(at) {
        let digits = field.get(at + 1..at + 4).filter(|_| *byte == b'\\').and_then(|it| std::str::from_utf8(it).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(escaped) => {
                bytes.push(escaped);
                at += 4;
            }
            None => {
                bytes.push(*byte);
                at += 1;
            }
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_mount_table_distinguishes_network_and_disk() {
        let table = b"27 1 254:0 / / rw - fuse.root x rw\n28 27 0:25 / /mnt/a\\040b rw,relatime shared:1 - nfs4 s:/x rw\n\
            29 27 0:26 / /data rw - ext4 /dev/sdb rw\n30 27 0:27 / /net rw - autofs auto rw\n31 27 0:28 / /top rw - nfs x rw\n\
            32 27 0:29 / /top rw - tmpfs x rw\n33 27 0:30 / /new rw - unheard-of x rw\nnonsense\n";
        let mounts = Mounts::of_linux(table);
        for (point, kind) in [
            ("/", None),
            ("/mnt/a b", Some(MountKind::Remote)),
            ("/data", Some(MountKind::Local)),
            ("/net", Some(MountKind::Automounter)),
            ("/top", Some(MountKind::Local)),
            ("/new", Some(MountKind::Remote)),
            ("/nonsense", None),
        ] {
            assert_eq!(mounts.kind_at(OsStr::new(point)), kind, "{point}");
        }
        assert!(mounts.any_remote());
        assert_eq!(mounts.ahead().count(), 2);
        assert!(!Mounts::of_linux(b"27 1 254:0 / / rw - nfs x rw\n").any_remote());
    }

    #[test]
    fn macos_mount_table_distinguishes_network_and_disk() {
        let table = b"/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)\ndevfs on /dev (devfs, local, nobrowse)\n\
            /dev/disk3s5 on /System/Volumes/Data (apfs, local, journaled)\nmap auto_home on /home (autofs, automounted)\n\
            //ana@nas/share on /Volumes/my share (x) (smbfs, nodev, nosuid, mounted by ana)\n";
        let mounts = Mounts::of_bsd(table);
        for (point, kind) in [
            ("/", None),
            ("/dev", Some(MountKind::Local)),
            ("/System/Volumes/Data", Some(MountKind::Local)),
            ("/home", Some(MountKind::Automounter)),
            ("/Volumes/my share (x)", Some(MountKind::Remote)),
        ] {
            assert_eq!(mounts.kind_at(OsStr::new(point)), kind, "{point}");
        }
    }
}
