//! The minimum work of any program without an index: list the stores, and if names are not enough, read the times of
//! each file, or open it and read a little of it.
//!
//! Two threads, because most machines can spare these, and only the standard library.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};

/// Number of threads that walk.
const THREADS: usize = 2;
/// Number of bytes read at each end of a file.
const READS: usize = 4 * 1024;

/// The directories that are still to be listed, and the number of threads that are listing one.
#[derive(Default)]
struct Work {
    dirs: Vec<PathBuf>,
    busy: usize,
}

/// The minimum work of a program.
#[derive(Clone, Copy)]
pub(crate) enum Least {
    /// It lists the directories.
    Names,
    /// It reads the times of every regular file.
    Times,
    /// It opens every regular file and reads both of its ends.
    Ends,
}

/// Lists these directories and all below, and does the minimum with every regular file.
pub(crate) fn run(least: Least, stores: &[String]) -> io::Result<()> {
    let work = Mutex::new(Work { dirs: stores.iter().map(PathBuf::from).collect(), busy: 0 });
    let changed = Condvar::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| walk(least, &work, &changed))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| io::Error::other("a thread panicked"))?)
    })
}

fn walk(least: Least, work: &Mutex<Work>, changed: &Condvar) -> io::Result<()> {
    let mut buffer = [0; READS];
    loop {
        let mut held = work.lock().unwrap_or_else(PoisonError::into_inner);
        let dir = loop {
            match held.dirs.pop() {
                Some(dir) => break dir,
                None if held.busy == 0 => return Ok(()),
                None => held = changed.wait(held).unwrap_or_else(PoisonError::into_inner),
            }
        };
        held.busy += 1;
        drop(held);
        let looked = look(least, &dir, &mut buffer);
        let mut held = work.lock().unwrap_or_else(PoisonError::into_inner);
        held.busy -= 1;
        // Waiting threads must be notified even if this failed.
        changed.notify_all();
        held.dirs.extend(looked?);
    }
}

/// Reads the entries of one directory; returns the directories in it.
fn look(least: Least, dir: &Path, buffer: &mut [u8]) -> io::Result<Vec<PathBuf>> {
    let mut dirs = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            dirs.push(entry.path());
        } else if kind.is_file() && matches!(least, Least::Times) {
            std::hint::black_box(entry.metadata()?.modified()?);
        } else if kind.is_file() && matches!(least, Least::Ends) {
            let file = File::open(entry.path())?;
            let read = file.read_at(buffer, 0)? as u64;
            let length = file.metadata()?.len();
            if length > read {
                let start = length.saturating_sub(buffer.len() as u64).max(read);
                std::hint::black_box(file.read_at(buffer, start)?);
            }
        }
    }
    Ok(dirs)
}
