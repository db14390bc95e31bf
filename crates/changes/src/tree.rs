//! Copies whole files and directories to another file system with all attributes, compares and removes them.
//!
//! Trees may have any depth; each is walked through handles, so that no other process can redirect the path.

use std::ffi::OsString;
use std::io;
use std::vec::IntoIter;

use crate::disk::{Access, Descent, Disk, For, Handle, NameInDir, Sparse, look_if_present};
use crate::disk::{Buffer, EntryKind, EntryMetadata, PIECE};
use crate::stamp::each_below;

fn refused() -> io::Error {
    io::Error::other("it is neither a file nor a directory")
}

fn names(disk: &dyn Disk, way: &Descent<'_>) -> io::Result<IntoIter<OsString>> {
    Ok(disk.list(way.here()?)?.into_iter())
}

/// Copies a file or a directory with its contents to a free path, and syncs it.
pub fn copy(disk: &dyn Disk, from: NameInDir<'_>, to: NameInDir<'_>) -> io::Result<()> {
    let look = disk.read_metadata(from)?;
    if look.kind != EntryKind::Dir {
        return copy_leaf(disk, &look, from, to);
    }
    disk.make_dir(to, Access::Private)?;
    let (mut source, mut target) = (Descent::new(disk, from)?, Descent::new(disk, to)?);
    let mut pending = vec![(to.1.to_owned(), look, names(disk, &source)?)];
    while let Some((_, _, names_left)) = pending.last_mut() {
        if let Some(name) = names_left.next() {
            let look = disk.read_metadata((source.here()?, &name))?;
            let to = (target.here()?, name.as_os_str());
            if look.kind != EntryKind::Dir {
                copy_leaf(disk, &look, (source.here()?, &name), to)?;
                continue;
            }
            disk.make_dir(to, Access::Private)?;
            source.down(&name)?;
            target.down(&name)?;
            pending.push((name, look, names(disk, &source)?));
        } else if let Some((name, look, _)) = pending.pop() {
            let (original, made) = (source.up()?, target.up()?);
            disk.copy_extended(&original, &made)?;
            let above = if pending.is_empty() { to.0 } else { target.here()? };
            take_attributes(disk, &look, (above, &name))?;
            disk.sync(&made)?;
        }
    }
    Ok(())
}

fn copy_leaf(disk: &dyn Disk, look: &EntryMetadata, from: NameInDir<'_>, to: NameInDir<'_>) -> io::Result<()> {
    match look.kind {
        EntryKind::File => copy_file(disk, look, from, to),
        EntryKind::Symlink => {
            disk.make_link(to, &disk.read_link(from)?)?;
            take_attributes(disk, look, to)
        }
        _ => Err(refused()),
    }
}

fn copy_file(disk: &dyn Disk, look: &EntryMetadata, from: NameInDir<'_>, to: NameInDir<'_>) -> io::Result<()> {
    let (source, target) = (disk.open(from, For::Reading)?, disk.open(to, For::New(Access::Private))?);
    let (mut piece, mut offset, mut copy) = (Buffer::new(PIECE), 0, Sparse::new(disk, &target));
    loop {
        let count = disk.read_at(&source, &mut piece, offset)?;
        if count == 0 {
            break;
        }
        copy.add(&piece[..count])?;
        offset += count as u64;
    }
    copy.end()?;
    let after = disk.read_open_metadata(&source)?;
    if (after.identity, after.size, after.modified) != (look.identity, look.size, look.modified) {
        return Err(io::Error::other("it was changed while it was copied"));
    }
    disk.copy_extended(&source, &target)?;
    take_attributes(disk, look, to)?;
    disk.sync(&target)
}

/// Sets owner, mode and times to those of another entry; a link keeps its mode.
pub fn take_attributes(disk: &dyn Disk, look: &EntryMetadata, at: NameInDir<'_>) -> io::Result<()> {
    // Only root may chown a file; for other users the owner is the user.
    let _ = disk.set_owner(at, look.owner);
    if look.kind != EntryKind::Symlink {
        disk.set_mode(at, look.mode)?;
    }
    disk.set_times(at, (look.accessed, look.modified))
}

/// Checks whether two files or directories have the same names, kinds, modes, times of files, and contents.
pub fn is_same(disk: &dyn Disk, one: NameInDir<'_>, other: NameInDir<'_>) -> io::Result<bool> {
    if let Some(is_same) = is_same_leaf(disk, one, other)? {
        return Ok(is_same);
    }
    let (mut ours, mut theirs) = (Descent::new(disk, one)?, Descent::new(disk, other)?);
    let mut pending = vec![names(disk, &ours)?];
    if pending[0].as_slice() != disk.list(theirs.here()?)? {
        return Ok(false);
    }
    while let Some(names_left) = pending.last_mut() {
        let Some(name) = names_left.next() else {
            pending.pop();
            if !pending.is_empty() {
                ours.up()?;
                theirs.up()?;
            }
            continue;
        };
        match is_same_leaf(disk, (ours.here()?, &name), (theirs.here()?, &name))? {
            Some(true) => {}
            Some(false) => return Ok(false),
            None => {
                ours.down(&name)?;
                theirs.down(&name)?;
                let names = names(disk, &ours)?;
                if names.as_slice() != disk.list(theirs.here()?)? {
                    return Ok(false);
                }
                pending.push(names);
            }
        }
    }
    Ok(true)
}

/// Compares two entries other than directories, or the modes of directories; `None` if their contents decide.
fn is_same_leaf(disk: &dyn Disk, one: NameInDir<'_>, other: NameInDir<'_>) -> io::Result<Option<bool>> {
    let (ours, theirs) = (disk.read_metadata(one)?, disk.read_metadata(other)?);
    if ours.kind != theirs.kind || (ours.kind != EntryKind::Symlink && ours.mode != theirs.mode) {
        return Ok(Some(false));
    }
    Ok(match ours.kind {
        EntryKind::Dir => None,
        EntryKind::Symlink => Some(disk.read_link(one)? == disk.read_link(other)?),
        EntryKind::File if ours.identity == theirs.identity => Some(true),
        EntryKind::File => {
            let is_alike = (ours.size, ours.modified) == (theirs.size, theirs.modified);
            Some(is_alike && has_same_bytes(disk, one, other)?)
        }
        _ => return Err(refused()),
    })
}

fn has_same_bytes(disk: &dyn Disk, one: NameInDir<'_>, other: NameInDir<'_>) -> io::Result<bool> {
    let (one, other) = (disk.open(one, For::Reading)?, disk.open(other, For::Reading)?);
    let (mut ours, mut theirs, mut offset) = (Buffer::new(PIECE), Buffer::new(PIECE), 0);
    loop {
        let count = read_whole(disk, &one, &mut ours, offset)?;
        if count != read_whole(disk, &other, &mut theirs, offset)? || ours[..count] != theirs[..count] {
            return Ok(false);
        }
        if count == 0 {
            return Ok(true);
        }
        offset += count as u64;
    }
}

/// Reads until the buffer is full or the file ends.
fn read_whole(disk: &dyn Disk, file: &Handle, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match disk.read_at(file, &mut buffer[filled..], offset + filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

/// Removes a file or a directory with its contents; does nothing if it is missing.
pub fn remove(disk: &dyn Disk, at: NameInDir<'_>) -> io::Result<()> {
    match look_if_present(disk, at)? {
        None => return Ok(()),
        Some(look) if look.kind != EntryKind::Dir => return disk.unlink(at),
        Some(look) => may_be_emptied(disk, &look, at)?,
    }
    let mut way = Descent::new(disk, at)?;
    let mut pending = vec![(at.1.to_owned(), names(disk, &way)?)];
    while let Some((_, names_left)) = pending.last_mut() {
        if let Some(name) = names_left.next() {
            let look = disk.read_metadata((way.here()?, &name))?;
            if look.kind == EntryKind::Dir {
                may_be_emptied(disk, &look, (way.here()?, &name))?;
                way.down(&name)?;
                pending.push((name, names(disk, &way)?));
            } else {
                disk.unlink((way.here()?, &name))?;
            }
        } else if let Some((name, _)) = pending.pop() {
            way.up()?;
            let above = if pending.is_empty() { at.0 } else { way.here()? };
            disk.remove_dir((above, &name))?;
        }
    }
    Ok(())
}

/// Refuses a mount point, and adds the permissions to empty a directory if they are missing.
fn may_be_emptied(disk: &dyn Disk, look: &EntryMetadata, at: NameInDir<'_>) -> io::Result<()> {
    if look.is_mount_point {
        // Do not remove across a mount point.
        return Err(io::Error::other(format!("another file system is mounted at {}", at.1.display())));
    }
    if look.mode & 0o700 != 0o700 { disk.set_mode(at, 0o700) } else { Ok(()) }
}

/// Returns the size of a file, or of all readable files in a directory, in bytes.
pub fn size(disk: &dyn Disk, at: NameInDir<'_>) -> u64 {
    let Ok(look) = disk.read_metadata(at) else { return 0 };
    if look.kind != EntryKind::Dir {
        return look.size;
    }
    let mut bytes = 0;
    // Unreadable files are not counted.
    let _ = each_below(disk, at, &mut |_, look| {
        bytes += if look.kind == EntryKind::File { look.size } else { 0 };
        Ok(())
    });
    bytes
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::disk::memory::{ActorNode, HookVerdict, Memory};
    use crate::disk::open_parent;

    #[test]
    fn tree_removal_and_copy_follow_no_new_link() {
        for (swapped, removes) in ["/a/x", "/a/x/sub", "/a/x/sub/deep"].iter().flat_map(|it| [(it, true), (it, false)])
        {
            for at in 1.. {
                let memory = Memory::new();
                for path in ["/a/x/sub/deep/f", "/a/x/sub/g", "/a/x/h", "/out/sub/deep/f", "/out/deep/f", "/out/f"] {
                    memory.actor().save_file(path, path);
                }
                let disk = memory.shared();
                let (dir, name) = open_parent(&*disk, "/a/x".as_ref()).expect("a directory");
                memory.before_each(move |call, actor| {
                    if call.number == at {
                        actor.rename(swapped, "/a/aside");
                        actor.symlink(swapped, "/out");
                    }
                    HookVerdict::Go
                });
                // Refused or done: the link's target is neither removed nor copied.
                let _ = if removes {
                    remove(&*disk, (&dir, &name))
                } else {
                    copy(&*disk, (&dir, &name), (&dir, "copy".as_ref()))
                };
                if memory.calls() < at {
                    break;
                }
                let is_outside =
                    |node: &ActorNode| matches!(node, ActorNode::File(bytes) if bytes.starts_with(b"/out"));
                let files = memory.actor().files().into_iter().filter(|(_, node)| is_outside(node));
                let paths: Vec<PathBuf> = files.map(|(path, _)| path).collect();
                assert_eq!(paths, ["/out/deep/f", "/out/f", "/out/sub/deep/f"].map(PathBuf::from), "{swapped} at {at}");
            }
        }
    }
}
