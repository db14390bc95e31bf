//! A walk down a tree of any depth, with few open directories and without recursion.

use std::ffi::OsStr;
use std::io;

use super::{Disk, For, Handle, NameInDir};

/// Maximum number of open directories. Those above are reopened with `..` and checked by their identity.
const HELD: usize = 16;

/// The directories from the first one down to the current one.
#[derive(Debug)]
pub struct Descent<'d> {
    disk: &'d dyn Disk,
    levels: Vec<Level>,
}

#[derive(Debug)]
enum Level {
    Open(Handle),
    Closed((u64, u64)),
}

impl<'d> Descent<'d> {
    /// Begins in a directory.
    pub fn new(disk: &'d dyn Disk, first: NameInDir<'_>) -> io::Result<Self> {
        Ok(Self { disk, levels: vec![Level::Open(disk.open(first, For::Dir)?)] })
    }

    /// Returns the current directory.
    pub fn here(&self) -> io::Result<&Handle> {
        match self.levels.last() {
            Some(Level::Open(handle)) => Ok(handle),
            _ => Err(io::Error::other("there is no directory above the first")),
        }
    }

    /// Enters a directory.
    pub fn down(&mut self, name: &OsStr) -> io::Result<()> {
        let next = self.disk.open((self.here()?, name), For::Dir)?;
        self.levels.push(Level::Open(next));
        if let Some(at) = self.levels.len().checked_sub(HELD + 1)
            && let Level::Open(handle) = &self.levels[at]
        {
            self.levels[at] = Level::Closed(self.disk.read_open_metadata(handle)?.identity);
        }
        Ok(())
    }

    /// Returns to the directory above, and returns the one that was left.
    pub fn up(&mut self) -> io::Result<Handle> {
        let Some(Level::Open(left)) = self.levels.pop() else {
            return Err(io::Error::other("there is no directory above the first"));
        };
        if let Some(Level::Closed(identity)) = self.levels.last() {
            let above = self.disk.open((&left, OsStr::new("..")), For::Dir)?;
            if self.disk.read_open_metadata(&above)?.identity != *identity {
                return Err(io::Error::other("a directory in it was moved meanwhile"));
            }
            self.levels.pop();
            self.levels.push(Level::Open(above));
        }
        Ok(left)
    }
}
