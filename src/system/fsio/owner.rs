//! Whose a new file or directory is: that of whoever owns the directory that it lies in.
//!
//! As root one may work on the home of somebody else, and what is made there must stay theirs: a journal of root's
//! would keep them from ever changing anything again. For anybody else what they make is theirs already.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Gives a file that was just made the owner of its directory; for who may not, their own file is the best there is.
pub(crate) fn inherit_owner(file: &File, path: &Path) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (Ok(made), Some(Ok(dir))) = (file.metadata(), path.parent().map(Path::metadata)) else { return };
    // What is somebody's already is not what was just made.
    if made.uid() == 0 && (made.uid(), made.gid()) != (dir.uid(), dir.gid()) {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that gives files away")]
        let _ = std::os::unix::fs::fchown(file, Some(dir.uid()), Some(dir.gid()));
    }
}

/// Makes a directory where nothing is.
pub(crate) fn make_dir(dir: &Path, mode: u32) -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that makes directories")]
    DirBuilder::new().mode(mode).create(dir)?;
    if rustix::process::geteuid().is_root() {
        // Through a handle that follows no link: somebody may have put one in its place by now.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(handle) = rustix::fs::open(dir, flags, Mode::empty()) {
            inherit_owner(&File::from(handle), dir);
        }
    }
    Ok(())
}

/// Makes a directory and those above it, as far as they are missing.
pub(crate) fn make_dirs(dir: &Path, mode: u32) -> io::Result<()> {
    match make_dir(dir, mode) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.metadata().is_ok_and(|dir| dir.is_dir()) => {
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let above = dir.parent().filter(|above| !above.as_os_str().is_empty()).ok_or(error)?;
            make_dirs(above, mode)?;
            match make_dir(dir, mode) {
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists && dir.metadata().is_ok_and(|dir| dir.is_dir()) =>
                {
                    Ok(())
                }
                made => made,
            }
        }
        made => made,
    }
}
