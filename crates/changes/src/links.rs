//! Symbolic links in the components of a path: those to files of the same user are followed.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Fails for a path that must not be touched now, such as one on a mount that does not answer.
pub type MayTouch = fn(&Path) -> io::Result<()>;

/// Maximum number of links in the components of a path, as in Linux.
const MAX_LINKS: usize = 40;

/// Returns the resolved path of a link, and its metadata.
///
/// # Errors
///
/// The link is not followed: it is dangling, or leads to a file of another user or to a directory that contains the
/// link.
pub fn follow(link: &Path, may_touch: MayTouch) -> io::Result<(PathBuf, Metadata)> {
    let own = metadata_of(link, may_touch)?;
    let real_path = real(link, may_touch).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let target = std::fs::read_link(link).unwrap_or_default();
            io::Error::new(error.kind(), format!("it is a link to {}, which does not exist", target.display()))
        }
        _ => error,
    })?;
    let refused = |why: &str| {
        Err(io::Error::other(format!("it is a link to {}, {why}, so it is not followed", real_path.display())))
    };
    let there = metadata_of(&real_path, may_touch)?;
    if there.uid() != own.uid() {
        return refused("which belongs to another user");
    }
    let is_loop = |above: &Path| real(above, may_touch).is_ok_and(|above| above == real_path);
    if there.is_dir() && link.ancestors().skip(1).any(is_loop) {
        return refused("which contains it");
    }
    Ok((real_path, there))
}

/// Checks whether a user cannot harm this one: it is this one, or root.
pub fn is_trusted(user: u32) -> bool {
    [0, rustix::process::geteuid().as_raw()].contains(&user)
}

/// Fails if a path leads through a link of another user, unless that user has the target too. Such a link could lead a
/// writer anywhere.
pub fn check(path: &Path, may_touch: MayTouch) -> io::Result<()> {
    let (mut ways, mut links) = (vec![path.to_owned()], 0);
    while let Some(way) = ways.pop() {
        for part in way.ancestors() {
            let Some(link) = metadata_of(part, may_touch).ok().filter(Metadata::is_symlink) else { continue };
            if !is_trusted(link.uid()) {
                follow(part, may_touch)?;
            }
            links += 1;
            if links > MAX_LINKS {
                return Err(io::Error::other("there are too many links on the way to it"));
            }
            ways.extend(part.parent().zip(std::fs::read_link(part).ok()).map(|(dir, target)| dir.join(target)));
        }
    }
    Ok(())
}

/// Fails for a relative path, whose meaning depends on the current directory.
fn absolute(path: &Path, may_touch: MayTouch) -> io::Result<&Path> {
    if path.is_relative() {
        return Err(io::ErrorKind::NotFound.into());
    }
    may_touch(path).map(|()| path)
}

fn metadata_of(path: &Path, may_touch: MayTouch) -> io::Result<Metadata> {
    absolute(path, may_touch)?.symlink_metadata()
}

#[expect(clippy::disallowed_methods, reason = "the caller allowed to touch it")]
fn real(path: &Path, may_touch: MayTouch) -> io::Result<PathBuf> {
    absolute(path, may_touch)?.canonicalize()
}
