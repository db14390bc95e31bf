//! The calls of [`Disk`] on the in-memory disk, with the effects and errors of a file system.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::state::{DiskState, Inode, InodeBody, fail, no_dir, no_file};
use super::{BrokenRule, Memory};
use crate::disk::EntryMetadata;
use crate::disk::{Access, Disk, FileTimes, For, Handle, NameInDir};

impl Disk for Memory {
    fn open_dir(&self, path: &Path) -> io::Result<Handle> {
        let mut state = self.begin("open_dir", false, path.as_os_str())?;
        let inode = state.resolve(path, true, 0)?;
        state.names(inode)?;
        Ok(self.handle(&mut state, inode))
    }

    fn open_for_writing(&self, path: &Path) -> io::Result<Handle> {
        self.open_dir(path)
    }

    fn open_real_dir(&self, path: &Path) -> io::Result<Handle> {
        let mut state = self.begin("open_real_dir", false, path.as_os_str())?;
        let inode = state.resolve(path, true, 0)?;
        if state.path_of(inode) != path {
            return Err(io::Error::other("a directory on the way to it is a link"));
        }
        state.names(inode)?;
        Ok(self.handle(&mut state, inode))
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        let state = self.begin("real_path", false, path.as_os_str())?;
        Ok(state.path_of(state.resolve(path, true, 0)?))
    }

    fn open(&self, at: NameInDir<'_>, purpose: For) -> io::Result<Handle> {
        let makes = matches!(purpose, For::New(_) | For::Locking);
        let mut state = self.begin("open", makes, at.1)?;
        let dir = self.inode(&state, at.0)?;
        let found = match state.find_inode(dir, at.1)? {
            Some(_) if matches!(purpose, For::New(_)) => return fail(Errno::EXIST),
            None if makes => self.put_new(&mut state, at, 0o600, no_file())?,
            found => found.ok_or(Errno::NOENT)?,
        };
        match (&state.inode(found)?.body, purpose) {
            (InodeBody::Link(_), _) => return Err(io::Error::other("it is a symbolic link, which is not followed")),
            (InodeBody::Dir { .. }, For::Dir) => {}
            (_, For::Dir) => return fail(Errno::NOTDIR),
            (InodeBody::Dir { .. }, _) => return Err(io::Error::other("it is not a regular file")),
            (InodeBody::File { .. }, _) => {}
        }
        Ok(self.handle(&mut state, found))
    }

    fn read_metadata(&self, at: NameInDir<'_>) -> io::Result<EntryMetadata> {
        let state = self.begin("look", false, at.1)?;
        state.metadata_of(state.get(self.inode(&state, at.0)?, at.1)?)
    }

    fn read_open_metadata(&self, open: &Handle) -> io::Result<EntryMetadata> {
        let state = self.begin("look_at", false, OsStr::new(""))?;
        state.metadata_of(self.inode(&state, open)?)
    }

    fn list(&self, dir: &Handle) -> io::Result<Vec<OsString>> {
        let state = self.begin("list", false, OsStr::new(""))?;
        Ok(state.names(self.inode(&state, dir)?)?.keys().cloned().collect())
    }

    fn read_link(&self, at: NameInDir<'_>) -> io::Result<PathBuf> {
        let state = self.begin("read_link", false, at.1)?;
        match &state.inode(state.get(self.inode(&state, at.0)?, at.1)?)?.body {
            InodeBody::Link(target) => Ok(target.clone()),
            _ => fail(Errno::INVAL),
        }
    }

    fn read_at(&self, file: &Handle, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.begin("read_at", false, OsStr::new(""))?;
        let InodeBody::File { bytes, .. } = &state.inode(self.inode(&state, file)?)?.body else {
            return fail(Errno::ISDIR);
        };
        let rest = bytes.get(usize::try_from(offset).unwrap_or(usize::MAX)..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn make_dir(&self, at: NameInDir<'_>, _access: Access) -> io::Result<()> {
        let mut state = self.begin("make_dir", true, at.1)?;
        self.put_new(&mut state, at, 0o700, no_dir()).map(drop)
    }

    fn make_link(&self, at: NameInDir<'_>, target: &Path) -> io::Result<()> {
        let mut state = self.begin("make_link", true, at.1)?;
        self.put_new(&mut state, at, 0o777, InodeBody::Link(target.to_owned())).map(drop)
    }

    fn add(&self, file: &Handle, bytes: &[u8]) -> io::Result<()> {
        let begun = self.begin("add", true, OsStr::new(""));
        let (mut state, bytes, result) = match begun {
            Ok(state) => (state, bytes, Ok(())),
            Err(error) => (self.state(), &bytes[..bytes.len() / 2], fail(error)),
        };
        if state.is_dead {
            return fail(Errno::IO);
        }
        let number = self.inode(&state, file)?;
        let now = state.tick();
        if let Some(Inode { body: InodeBody::File { bytes: all, .. }, modified, .. }) = state.get_mut(number) {
            all.extend_from_slice(bytes);
            *modified = now;
        }
        result
    }

    fn set_length(&self, file: &Handle, length: u64) -> io::Result<()> {
        let mut state = self.begin("set_length", true, OsStr::new(""))?;
        let number = self.inode(&state, file)?;
        if let Some(InodeBody::File { bytes, .. }) = state.get_mut(number).map(|inode| &mut inode.body) {
            bytes.resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
        }
        Ok(())
    }

    fn link(&self, from: NameInDir<'_>, to: NameInDir<'_>) -> io::Result<()> {
        let mut state = self.begin("link", true, to.1)?;
        let (from_dir, to_dir) = (self.inode(&state, from.0)?, self.inode(&state, to.0)?);
        let linked = state.get(from_dir, from.1)?;
        if state.is_plain || matches!(state.inode(linked)?.body, InodeBody::Dir { .. }) {
            return fail(Errno::PERM);
        }
        if state.inode(linked)?.device != state.inode(to_dir)?.device {
            return fail(Errno::XDEV);
        }
        if state.find_inode(to_dir, to.1)?.is_some() {
            return fail(Errno::EXIST);
        }
        state.change(vec![((to_dir, to.1.to_owned()), Some(linked))]);
        Ok(())
    }

    fn rename(&self, from: NameInDir<'_>, to: NameInDir<'_>) -> io::Result<()> {
        let mut state = self.begin("rename", true, to.1)?;
        self.move_to(&mut state, from, to, true)
    }

    fn rename_to_free(&self, from: NameInDir<'_>, to: NameInDir<'_>) -> io::Result<()> {
        let mut state = self.begin("rename_to_free", true, to.1)?;
        let replaces = state.broken == Some(BrokenRule::KeepWhatIsThere);
        self.move_to(&mut state, from, to, replaces)
    }

    fn exchange(&self, one: NameInDir<'_>, other: NameInDir<'_>) -> io::Result<()> {
        let mut state = self.begin("exchange", true, other.1)?;
        let (one_dir, other_dir) = (self.inode(&state, one.0)?, self.inode(&state, other.0)?);
        let (first, second) = (state.get(one_dir, one.1)?, state.get(other_dir, other.1)?);
        if state.is_plain {
            return fail(Errno::INVAL);
        }
        state.check_free_way(first, other_dir)?;
        state.check_free_way(second, one_dir)?;
        state.change(vec![((one_dir, one.1.to_owned()), Some(second)), ((other_dir, other.1.to_owned()), Some(first))]);
        Ok(())
    }

    fn unlink(&self, at: NameInDir<'_>) -> io::Result<()> {
        let mut state = self.begin("unlink", true, at.1)?;
        let dir = self.inode(&state, at.0)?;
        let found = state.get(dir, at.1)?;
        if matches!(state.inode(found)?.body, InodeBody::Dir { .. }) {
            return fail(Errno::ISDIR);
        }
        state.change(vec![((dir, at.1.to_owned()), None)]);
        Ok(())
    }

    fn remove_dir(&self, at: NameInDir<'_>) -> io::Result<()> {
        let mut state = self.begin("remove_dir", true, at.1)?;
        let dir = self.inode(&state, at.0)?;
        if !state.names(state.get(dir, at.1)?)?.is_empty() && state.broken != Some(BrokenRule::RemoveEmptyOnly) {
            return fail(Errno::NOTEMPTY);
        }
        state.change(vec![((dir, at.1.to_owned()), None)]);
        Ok(())
    }

    fn set_owner(&self, at: NameInDir<'_>, owner: (u32, u32)) -> io::Result<()> {
        let mut state = self.begin("set_owner", true, at.1)?;
        let number = state.get(self.inode(&state, at.0)?, at.1)?;
        if let Some(inode) = state.get_mut(number) {
            inode.owner = owner;
        }
        Ok(())
    }

    fn set_mode(&self, at: NameInDir<'_>, mode: u32) -> io::Result<()> {
        let mut state = self.begin("set_mode", true, at.1)?;
        let number = state.get(self.inode(&state, at.0)?, at.1)?;
        if let Some(inode) = state.get_mut(number) {
            inode.mode = mode & 0o7777;
        }
        Ok(())
    }

    /// Files in memory have no extended attributes; tests need the failure of this call.
    fn copy_extended(&self, _from: &Handle, _to: &Handle) -> io::Result<()> {
        self.begin("copy_extended", true, OsStr::new("")).map(drop).map_err(io::Error::from)
    }

    fn set_times(&self, at: NameInDir<'_>, (accessed, modified): FileTimes) -> io::Result<()> {
        let mut state = self.begin("set_times", true, at.1)?;
        let number = state.get(self.inode(&state, at.0)?, at.1)?;
        if let Some(inode) = state.get_mut(number) {
            (inode.accessed, inode.modified) = (accessed, modified);
        }
        Ok(())
    }

    fn sync(&self, open: &Handle) -> io::Result<()> {
        let mut state = self.begin("sync", true, OsStr::new(""))?;
        let number = self.inode(&state, open)?;
        let is_dir = matches!(state.inode(number)?.body, InodeBody::Dir { .. });
        if state.broken != Some(if is_dir { BrokenRule::SyncDirs } else { BrokenRule::SyncFiles }) {
            state.sync(number);
        }
        Ok(())
    }

    fn lock(&self, open: &Handle) -> io::Result<bool> {
        let mut state = self.begin("lock", true, OsStr::new(""))?;
        let (number, Handle::Memory(open)) = (self.inode(&state, open)?, open) else { return fail(Errno::BADF) };
        Ok(*state.locks.entry(number).or_insert(open.number) == open.number)
    }
}

impl Memory {
    /// Moves a file or directory; replaces the target only if `replaces` is set.
    fn move_to(&self, state: &mut DiskState, from: NameInDir<'_>, to: NameInDir<'_>, replaces: bool) -> io::Result<()> {
        let (from_dir, to_dir) = (self.inode(state, from.0)?, self.inode(state, to.0)?);
        let moved = state.get(from_dir, from.1)?;
        state.check_free_way(moved, to_dir)?;
        if let Some(there) = state.find_inode(to_dir, to.1)? {
            if !replaces {
                return fail(Errno::EXIST);
            }
            let is_dir = |number| matches!(state.get_inode(number), Some(Inode { body: InodeBody::Dir { .. }, .. }));
            match (is_dir(moved), is_dir(there)) {
                _ if moved == there => return Ok(()),
                (false, true) => return fail(Errno::ISDIR),
                (true, false) => return fail(Errno::NOTDIR),
                (true, true) if !state.names(there)?.is_empty() => return fail(Errno::NOTEMPTY),
                _ => {}
            }
        }
        state.change(vec![((from_dir, from.1.to_owned()), None), ((to_dir, to.1.to_owned()), Some(moved))]);
        Ok(())
    }

    fn put_new(&self, state: &mut DiskState, at: NameInDir<'_>, mode: u32, body: InodeBody) -> io::Result<u64> {
        let dir = self.inode(state, at.0)?;
        if state.find_inode(dir, at.1)?.is_some() {
            return fail(Errno::EXIST);
        }
        let device = state.inode(dir)?.device;
        let made = state.make(device, mode, body);
        state.change(vec![((dir, at.1.to_owned()), Some(made))]);
        Ok(made)
    }
}
