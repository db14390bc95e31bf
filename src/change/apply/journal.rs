//! The journal of a run: what it was going to do, what it did, and what was undone since.
//!
//! One JSON object a line in `runs/<run>.jsonl` of the state directory. Everything that is planned is on the disk before the
//! first change; where a run was cut off is then told by what the disk looks like.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::change::apply::fault::Fault;
use crate::error::PathError;
use crate::format::jsonl::each_line;
use crate::format::path_text;
use crate::session::AgentKind;
use crate::system::stamp::Stamp;

/// The version of the journal that this program writes.
const VERSION: u32 = 1;

/// One line of a journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum Event {
    /// The run begins.
    Begin { format_version: u32, run: String, verb: String, at: Timestamp, pid: u32 },
    /// An item that is going to be done.
    Item(ItemRecord),
    /// A step is about to be done.
    Start {
        item: usize,
        step: usize,
        /// The directory's times of access and modification before.
        dir_times: Option<Times>,
    },
    /// What a step is about to put in place, by device and inode.
    Made { kept: String, device: u64, inode: u64 },
    /// An item was done whole.
    Done { item: usize },
    /// An item was not done, and nothing of it is left.
    Left { item: usize, reason: String },
    /// An item was done in part, which could not be taken back.
    Stuck { item: usize, reason: String },
    /// The run has ended.
    End { at: Timestamp },
    /// An item is about to be put back.
    Undoing {
        item: usize,
        /// The times of each step's directory before.
        dir_times: Vec<Option<Times>>,
    },
    /// An item was put back.
    Undone { item: usize, at: Timestamp },
    /// What the run kept in the trash is deleted.
    Purged { at: Timestamp },
}

/// Times of access and modification, each in seconds since 1970 and nanoseconds.
pub(super) type Times = ((i64, i64), (i64, i64));

/// What is planned for one item.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ItemRecord {
    /// Its number in the run, from 0.
    pub item: usize,
    /// What it is about, for people.
    pub label: String,
    /// Whose session.
    pub agent: Option<AgentKind>,
    /// Its id.
    pub id: Option<String>,
    /// The reason's stable name.
    pub code: String,
    /// The reason.
    pub reason: String,
    /// The steps, in order.
    pub steps: Vec<StepRecord>,
}

/// What is planned for one path; `kept` names an entry in the run's trash.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub(crate) enum StepRecord {
    /// It goes to the trash.
    Trash {
        /// What goes.
        #[serde(with = "path_text")]
        path: PathBuf,
        /// Its name in the trash.
        kept: String,
        /// What it was.
        stamp: Stamp,
    },
    /// It is written anew.
    Write {
        /// The file.
        #[serde(with = "path_text")]
        path: PathBuf,
        /// The old file's name in the trash.
        kept: String,
        /// What it was; `None` when there was none.
        stamp: Option<Stamp>,
        /// The digest of its new contents.
        sha256: String,
    },
    /// A directory is made.
    MakeDir {
        /// The directory.
        #[serde(with = "path_text")]
        path: PathBuf,
        /// A name for it in the run.
        kept: String,
    },
    /// Something that was made ready is put in place.
    Put {
        /// Where it goes.
        #[serde(with = "path_text")]
        path: PathBuf,
        /// Where it was made ready.
        #[serde(with = "path_text")]
        from: PathBuf,
        /// Its name in the trash after an undo.
        kept: String,
        /// What it was where it was made ready.
        stamp: Stamp,
    },
}

impl StepRecord {
    /// Returns the path that is changed.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Trash { path, .. }
            | Self::Write { path, .. }
            | Self::MakeDir { path, .. }
            | Self::Put { path, .. } => path,
        }
    }
}

/// A journal that is written.
#[derive(Debug)]
pub(super) struct Journal<'a> {
    file: File,
    path: PathBuf,
    fault: &'a Fault,
}

impl<'a> Journal<'a> {
    /// Starts the journal of a new run.
    pub(super) fn begin(dir: &Path, verb: &str, at: Timestamp, fault: &'a Fault) -> Result<(Self, String), PathError> {
        let stem = at.strftime("%Y%m%d-%H%M%S").to_string();
        let mut number = 1_u32;
        loop {
            let run = if number == 1 { stem.clone() } else { format!("{stem}-{number}") };
            let path = dir.join(format!("{run}.jsonl"));
            let fail = |error| PathError::new("write", &path, error);
            fault.point().map_err(fail)?;
            match crate::change::apply::tree::create(&path) {
                Ok(file) => {
                    let mut journal = Self { file, path, fault };
                    let pid = std::process::id();
                    journal.write(&Event::Begin {
                        format_version: VERSION,
                        run: run.clone(),
                        verb: verb.to_owned(),
                        at,
                        pid,
                    })?;
                    return Ok((journal, run));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(fail(error)),
            }
        }
    }

    /// Goes on with the journal of an earlier run.
    pub(super) fn reopen(dir: &Path, run: &str, fault: &'a Fault) -> Result<Self, PathError> {
        let path = dir.join(format!("{run}.jsonl"));
        let mut options = OpenOptions::new();
        options.append(true);
        #[expect(clippy::disallowed_methods, reason = "a journal is appended to")]
        let file = options.open(&path).map_err(|error| PathError::new("write", &path, error))?;
        let mut journal = Self { file, path, fault };
        // A line that was cut off must not swallow the next one.
        journal.line(b"\n")?;
        Ok(journal)
    }

    /// Adds a line.
    pub(super) fn write(&mut self, event: &Event) -> Result<(), PathError> {
        let mut line = serde_json::to_vec(event).map_err(|error| PathError::new("write", &self.path, error.into()))?;
        line.push(b'\n');
        self.line(&line)
    }

    fn line(&mut self, line: &[u8]) -> Result<(), PathError> {
        let written = self.fault.point().and_then(|()| self.file.write_all(line));
        written.map_err(|error| PathError::new("write", &self.path, error))
    }

    /// Puts what was written on the disk.
    pub(super) fn sync(&self) -> Result<(), PathError> {
        self.file.sync_all().map_err(|error| PathError::new("write", &self.path, error))
    }
}

/// How far an item came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing of it was begun.
    Planned,
    /// It was begun, and nothing tells that it ended.
    Begun,
    /// It was done.
    Done,
    /// It was left as it was, for this reason.
    Left(String),
    /// It was done in part, for this reason.
    Stuck(String),
    /// It was done and put back.
    Undone,
}

/// A run as its journal tells.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Its name.
    pub id: String,
    /// The verb that made it.
    pub verb: String,
    /// When it began.
    pub at: Timestamp,
    /// Its items, each with how far it came.
    pub items: Vec<(ItemRecord, State)>,
    /// Whether it came to its end.
    pub has_ended: bool,
    /// Whether its trash was deleted.
    pub is_purged: bool,
    /// The times of directories before each step, by item and step.
    pub(super) dir_times: BTreeMap<(usize, usize), Times>,
    /// The device and inode of what each step has made, by its name in the run.
    pub(super) made: BTreeMap<String, (u64, u64)>,
    /// The times of directories before each step was taken back, where that was begun.
    pub(super) undo_times: BTreeMap<(usize, usize), Times>,
}

impl Run {
    /// Reads a journal; `None` when it was cut off before it said anything.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, PathError> {
        let mut run: Option<Self> = None;
        each_line(path, &mut |line| {
            let Some(event) = line.and_then(|line| serde_json::from_slice::<Event>(line).ok()) else {
                return ControlFlow::Continue(());
            };
            match (event, &mut run) {
                (Event::Begin { run: id, verb, at, .. }, None) => {
                    run = Some(Self {
                        id,
                        verb,
                        at,
                        items: Vec::new(),
                        has_ended: false,
                        is_purged: false,
                        dir_times: BTreeMap::new(),
                        made: BTreeMap::new(),
                        undo_times: BTreeMap::new(),
                    });
                }
                (event, Some(run)) => run.add(event),
                (_, None) => {}
            }
            ControlFlow::Continue(())
        })?;
        Ok(run)
    }

    fn add(&mut self, event: Event) {
        let mut set = |item: usize, state| {
            if let Some((_, old)) = self.items.get_mut(item) {
                *old = state;
            }
        };
        match event {
            Event::Begin { .. } => {}
            Event::Item(record) => self.items.push((record, State::Planned)),
            Event::Start { item, step, dir_times } => {
                set(item, State::Begun);
                if let Some(times) = dir_times {
                    self.dir_times.entry((item, step)).or_insert(times);
                }
            }
            Event::Made { kept, device, inode } => {
                self.made.insert(kept, (device, inode));
            }
            Event::Done { item } => set(item, State::Done),
            Event::Left { item, reason } => set(item, State::Left(reason)),
            Event::Stuck { item, reason } => set(item, State::Stuck(reason)),
            Event::End { .. } => self.has_ended = true,
            Event::Undoing { item, dir_times } => {
                for (step, times) in dir_times.into_iter().enumerate() {
                    if let Some(times) = times {
                        self.undo_times.entry((item, step)).or_insert(times);
                    }
                }
            }
            Event::Undone { item, .. } => set(item, State::Undone),
            Event::Purged { .. } => self.is_purged = true,
        }
    }

    /// Returns how many items came as far as this.
    pub(crate) fn count(&self, is_so: impl Fn(&State) -> bool) -> usize {
        self.items.iter().filter(|(_, state)| is_so(state)).count()
    }

    /// Tells whether something of it was done in part and could not be put back.
    pub(crate) fn is_stuck(&self) -> bool {
        self.count(|state| matches!(state, State::Stuck(_))) > 0
    }

    /// Tells whether something that it did could still be put back.
    pub(crate) fn is_undoable(&self) -> bool {
        !self.is_purged && self.count(|state| matches!(state, State::Done | State::Begun | State::Stuck(_))) > 0
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn a_journal_is_read_back_with_paths_of_any_bytes_and_a_cut_off_line_hides_nothing_after_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let fault = Fault::default();
        let at = "2026-03-01T12:00:00Z".parse().expect("a time");
        let (mut journal, id) = Journal::begin(dir.path(), "cleanup", at, &fault).expect("a journal");
        assert_eq!(id, "20260301-120000");
        let odd = PathBuf::from(std::ffi::OsStr::from_bytes(b"/x/\xff\n"));
        let steps = vec![StepRecord::MakeDir { path: odd.clone(), kept: "0-0".to_owned() }];
        let record = ItemRecord {
            item: 0,
            label: "claude a".to_owned(),
            agent: Some(AgentKind::Claude),
            id: Some("a".to_owned()),
            code: "old".to_owned(),
            reason: "it is old".to_owned(),
            steps,
        };
        journal.write(&Event::Item(record)).expect("a line");
        journal.line(b"{\"event\":\"sta").expect("a part of a line");
        let mut journal = Journal::reopen(dir.path(), &id, &fault).expect("a journal");
        journal.write(&Event::Done { item: 0 }).expect("a line");
        let run = Run::read(&dir.path().join(format!("{id}.jsonl"))).expect("a journal").expect("a run");
        assert_eq!((run.items[0].0.steps[0].path(), &run.items[0].1), (odd.as_path(), &State::Done));
        assert!(!run.has_ended && run.is_undoable());

        let (_, next) = Journal::begin(dir.path(), "cleanup", at, &fault).expect("a journal");
        assert_eq!(next, "20260301-120000-2");
    }
}
