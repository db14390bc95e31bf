//! The journal of a run: its plan, its progress, and later undos.
//!
//! One JSON object per line in `runs/<run>.jsonl` of the state directory. The whole plan is on the disk before the
//! first change; the disk itself then shows where a run was interrupted.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use jiff::Timestamp;

use crate::disk::{Access, Disk, For, Handle, NameInDir};
use crate::error::PathError;
use crate::state_dir::{StateDir, journal_name};
pub(super) use event::JournalEvent;
pub use event::{ItemRecord, StepRecord};
pub use run::{ItemState, Run};

mod event;
mod run;
#[cfg(test)]
mod tests;

/// The version of the journal that this program writes.
const VERSION: u32 = 1;

/// A journal open for writing.
#[derive(Debug)]
pub(super) struct Journal<'a> {
    disk: &'a dyn Disk,
    file: Handle,
    path: PathBuf,
    /// Set if a line is missing; then no line is added, and the next run treats this one as interrupted.
    is_broken: bool,
}

impl<'a> Journal<'a> {
    /// Starts the journal of a new run, and makes its directory in the trash. Returns the journal, the run's name and
    /// that directory.
    ///
    /// The name is the time, and later than that of every run that left something: if the clock went back, numbering
    /// continues from the newest name.
    pub(super) fn begin(
        state_dir: &'a StateDir,
        verb: &str,
        at: Timestamp,
    ) -> Result<(Self, String, Handle), PathError> {
        let disk = state_dir.disk();
        let mut run = at.strftime("%Y%m%d-%H%M%S").to_string();
        if let Some((second, number)) = state_dir.newest_order()?.filter(|(second, _)| *second >= run) {
            run = format!("{second}-{}", number.saturating_add(1));
        }
        let (path, name) = (state_dir.journal_of(&run), journal_name(&run));
        let file = disk
            .open((&state_dir.runs, &name), For::New(Access::Private))
            .map_err(|error| PathError::new("write", &path, error))?;
        let mut journal = Self { disk, file, path, is_broken: false };
        let (place, trash) = ((&state_dir.trash, OsStr::new(&run)), state_dir.trash_of(&run));
        let mut begin = || {
            disk.make_dir(place, Access::Private).map_err(|error| PathError::new("create", &trash, error))?;
            let (format_version, verb, pid) = (VERSION, verb.to_owned(), std::process::id());
            journal.write(&JournalEvent::Begin { format_version, run: run.clone(), verb, at, pid })?;
            disk.open(place, For::Dir).map_err(|error| PathError::new("read", &trash, error))
        };
        let begun = begin();
        if begun.is_err() {
            // The file is empty and belongs to this run.
            state_dir.forget(&run);
        }
        Ok((journal, run, begun?))
    }

    /// Continues the journal of an earlier run, after it was read.
    pub(super) fn reopen(state_dir: &'a StateDir, run: &str) -> Result<Self, PathError> {
        let (path, disk) = (state_dir.journal_of(run), state_dir.disk());
        let fail = |error| PathError::new("write", &path, error);
        let file = disk.open((&state_dir.runs, &journal_name(run)), For::Adding).map_err(fail)?;
        let length = disk.read_open_metadata(&file).map_err(fail)?.size;
        let whole = last_line(disk, &file, length).map_err(fail)?.0;
        if whole < length {
            // A torn line must not swallow the next one.
            disk.set_length(&file, whole).map_err(fail)?;
        }
        Ok(Self { disk, file, path, is_broken: false })
    }

    /// Adds a line.
    pub(super) fn write(&mut self, event: &JournalEvent) -> Result<(), PathError> {
        let mut line = serde_json::to_vec(event).map_err(|error| PathError::new("write", &self.path, error.into()))?;
        line.push(b'\n');
        self.line(&line)
    }

    fn line(&mut self, line: &[u8]) -> Result<(), PathError> {
        let fail = |error| PathError::new("write", &self.path, error);
        if self.is_broken {
            return Err(fail(io::Error::other("a line before could not be written")));
        }
        let written = self.disk.add(&self.file, line);
        self.is_broken = written.is_err();
        written.map_err(fail)
    }

    /// Checks whether every line was written.
    pub(super) fn is_whole(&self) -> bool {
        !self.is_broken
    }

    /// Syncs the file.
    pub(super) fn sync(&mut self) -> Result<(), PathError> {
        let synced = self.disk.sync(&self.file);
        self.is_broken |= synced.is_err();
        synced.map_err(|error| PathError::new("write", &self.path, error))
    }
}

/// Returns the length of the complete lines of a journal in bytes, and the last of these lines.
fn last_line(disk: &dyn Disk, file: &Handle, length: u64) -> io::Result<(u64, Vec<u8>)> {
    let (mut start, mut tail) = (length, Vec::new());
    loop {
        let mut ends = memchr::memrchr_iter(b'\n', &tail);
        if let Some(end) = ends.next() {
            let begin = ends.next().map(|at| at + 1).or((start == 0).then_some(0));
            if let Some(begin) = begin {
                return Ok((start + end as u64 + 1, tail[begin..end].to_owned()));
            }
        }
        if start == 0 {
            return Ok((0, Vec::new()));
        }
        let earlier = start.saturating_sub(4096.max(tail.len() as u64));
        let mut longer = vec![0; usize::try_from(start - earlier).unwrap_or_default()];
        let count = disk.read_at(file, &mut longer, earlier)?;
        if count < longer.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        longer.append(&mut tail);
        (start, tail) = (earlier, longer);
    }
}

/// Checks by its last line whether a journal's run ended without a stuck item.
pub(super) fn is_settled(disk: &dyn Disk, at: NameInDir<'_>) -> bool {
    let last = || {
        let file = disk.open(at, For::Reading)?;
        let length = disk.read_open_metadata(&file)?.size;
        let (whole, line) = last_line(disk, &file, length)?;
        Ok::<_, io::Error>(Some(line).filter(|_| whole == length))
    };
    last().is_ok_and(|line| {
        line.is_some_and(|line| matches!(serde_json::from_slice(&line), Ok(JournalEvent::End { stuck: false, .. })))
    })
}
