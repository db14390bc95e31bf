//! Files and directories as wholes: copied to another file system with mode, owner and times, compared, removed.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, OFlags, Timespec, Timestamps};

use crate::change::apply::fault::Fault;
use crate::system::fsio;
use crate::system::stamp::modified;

/// Copies a file or a directory with everything in it to where nothing is, and puts it on the disk.
pub(crate) fn copy(from: &Path, to: &Path, fault: &Fault) -> io::Result<()> {
    let metadata = from.symlink_metadata()?;
    let kind = metadata.file_type();
    fault.point()?;
    if kind.is_dir() {
        make_private_dir(to)?;
        let mut names: Vec<_> =
            std::fs::read_dir(from)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
        names.sort();
        for name in names {
            copy(&from.join(&name), &to.join(&name), fault)?;
        }
    } else if kind.is_symlink() {
        #[expect(clippy::disallowed_methods, reason = "apply copies what it moves to another file system")]
        std::os::unix::fs::symlink(std::fs::read_link(from)?, to)?;
    } else if kind.is_file() {
        copy_file(from, to)?;
    } else {
        return Err(io::Error::other(format!("{} is neither a file nor a directory", from.display())));
    }
    take_attributes(&metadata, to)
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let (mut source, before) = fsio::open_regular(from).map_err(|error| io::Error::other(error.to_string()))?;
    let mut target = create(to)?;
    io::copy(&mut source, &mut target)?;
    target.sync_all()?;
    let after = source.metadata()?;
    if (before.len(), modified(&before)) != (after.len(), modified(&after)) {
        return Err(io::Error::other(format!("{} changed while it was copied", from.display())));
    }
    Ok(())
}

/// Creates a private file where nothing is.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    #[expect(clippy::disallowed_methods, reason = "apply writes files")]
    let file = options.open(path)?;
    fsio::inherit_owner(&file, path);
    Ok(file)
}

/// Creates a private directory where nothing is.
pub(crate) fn make_private_dir(path: &Path) -> io::Result<()> {
    fsio::make_dir(path, 0o700)
}

/// Creates private directories as far as they are missing.
pub(crate) fn make_private_dirs(path: &Path) -> io::Result<()> {
    fsio::make_dirs(path, 0o700)
}

/// Gives a path the owner, mode and times of another; a link keeps its own mode.
pub(crate) fn take_attributes(metadata: &Metadata, to: &Path) -> io::Result<()> {
    // Only root may give a file away; for anyone else their own file is the best there is.
    let _ = std::os::unix::fs::lchown(to, Some(metadata.uid()), Some(metadata.gid()));
    if !metadata.file_type().is_symlink() {
        #[expect(clippy::disallowed_methods, reason = "a copy keeps the mode")]
        std::fs::set_permissions(to, std::fs::Permissions::from_mode(metadata.mode() & 0o7777))?;
    }
    set_times(to, metadata)
}

/// Puts the times of a path back to what they were.
#[expect(clippy::disallowed_methods, reason = "this is part of the one place that changes files")]
pub(crate) fn set_times(path: &Path, metadata: &Metadata) -> io::Result<()> {
    let times = Timestamps {
        last_access: Timespec { tv_sec: metadata.atime(), tv_nsec: metadata.atime_nsec() as _ },
        last_modification: Timespec { tv_sec: metadata.mtime(), tv_nsec: metadata.mtime_nsec() as _ },
    };
    Ok(rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Tells whether two files or directories have the same names, kinds, modes, times of files, and contents.
pub(crate) fn is_same(a: &Path, b: &Path) -> io::Result<bool> {
    let (ours, theirs) = (a.symlink_metadata()?, b.symlink_metadata()?);
    let (kind, other) = (ours.file_type(), theirs.file_type());
    if kind != other || (!kind.is_symlink() && ours.mode() != theirs.mode()) {
        return Ok(false);
    }
    if kind.is_symlink() {
        return Ok(std::fs::read_link(a)? == std::fs::read_link(b)?);
    }
    if kind.is_file() {
        let is_alike = ours.len() == theirs.len() && modified(&ours) == modified(&theirs);
        return Ok(is_alike && has_same_bytes(a, b)?);
    }
    let names = |dir: &Path| -> io::Result<Vec<_>> {
        let mut names = std::fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
        names.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
        Ok(names)
    };
    let ours = names(a)?;
    if ours != names(b)? {
        return Ok(false);
    }
    for name in ours {
        if !is_same(&a.join(&name), &b.join(&name))? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn has_same_bytes(a: &Path, b: &Path) -> io::Result<bool> {
    let open = |path| fsio::open_regular(path).map_err(|error| io::Error::other(error.to_string()));
    let ((mut a, _), (mut b, _)) = (open(a)?, open(b)?);
    let (mut ours, mut theirs) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        let count = a.read(&mut ours)?;
        if count == 0 {
            return Ok(b.read(&mut theirs[..1])? == 0);
        }
        match b.read_exact(&mut theirs[..count]) {
            Ok(()) if ours[..count] == theirs[..count] => {}
            Ok(()) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// Removes a file or a directory with everything in it; nothing there is fine.
pub(crate) fn remove(path: &Path, fault: &Fault) -> io::Result<()> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if metadata.is_dir() {
        if fsio::Look::at(path)?.is_mount_point {
            // What is mounted there is not of what is removed.
            return Err(io::Error::other(format!("another file system is mounted at {}", path.display())));
        }
        if metadata.mode() & 0o700 != 0o700 {
            #[expect(clippy::disallowed_methods, reason = "a directory without the right to write cannot be emptied")]
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
        }
        for entry in std::fs::read_dir(path)? {
            remove(&entry?.path(), fault)?;
        }
        fault.point()?;
        #[expect(clippy::disallowed_methods, reason = "apply removes what it has a copy of")]
        return std::fs::remove_dir(path);
    }
    fault.point()?;
    #[expect(clippy::disallowed_methods, reason = "apply removes what it has a copy of")]
    std::fs::remove_file(path)
}

/// Puts what happened in a directory on the disk.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    let handle =
        rustix::fs::open(dir, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, rustix::fs::Mode::empty())?;
    match rustix::fs::fsync(handle) {
        // Some file systems cannot sync directories, and need not.
        Ok(()) | Err(rustix::io::Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
