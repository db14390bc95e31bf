//! The journal of a run: what it was going to do, what it did, and what was undone since.
//!
//! One JSON object a line in `runs/<run>.jsonl` of the state directory. Everything that is planned is on the disk before the
//! first change; where a run was cut off is then told by what the disk looks like.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::change::apply::state_dir::{StateDir, journal_name};
use crate::error::PathError;
use crate::format::path_text;
use crate::session::AgentKind;
use crate::system::disk::{At, Disk, For, Handle, Times};
use crate::system::stamp::Stamp;

/// The version of the journal that this program writes.
const VERSION: u32 = 1;

/// One line of a journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum Event {
    /// The run begins.
    Begin {
        format_version: u32,
        run: String,
        verb: String,
        at: Timestamp,
        pid: u32,
        /// Whether there are links in its paths; none are looked for where this is missing.
        #[serde(default = "has_links")]
        links: bool,
    },
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
    End {
        at: Timestamp,
        /// Whether something of it was done in part and could not be taken back.
        #[serde(default)]
        stuck: bool,
    },
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

/// Older versions wrote paths down as they were given.
fn has_links() -> bool {
    true
}

/// What is planned for one item.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ItemRecord {
    /// Its number in the run, from 0.
    pub item: usize,
    /// What it is about, for people.
    pub label: String,
    /// The agent that the session belongs to.
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
    /// It goes to another place.
    Move {
        /// Where it goes.
        #[serde(with = "path_text")]
        path: PathBuf,
        /// Where it was.
        #[serde(with = "path_text")]
        from: PathBuf,
        /// A name for it in the run.
        kept: String,
        /// What it was.
        stamp: Stamp,
        /// The times of the directory that it was in; that of the other is noted like any.
        from_times: Option<Times>,
    },
}

impl StepRecord {
    /// Returns the path that is changed.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Trash { path, .. }
            | Self::Write { path, .. }
            | Self::MakeDir { path, .. }
            | Self::Put { path, .. }
            | Self::Move { path, .. } => path,
        }
    }

    /// Returns its name in the run.
    pub(super) fn kept(&self) -> &str {
        match self {
            Self::Trash { kept, .. }
            | Self::Write { kept, .. }
            | Self::MakeDir { kept, .. }
            | Self::Put { kept, .. }
            | Self::Move { kept, .. } => kept,
        }
    }
}

/// The version of a journal, which is looked at before anything else of it.
#[derive(Deserialize)]
struct Version {
    format_version: u32,
}

/// A journal that is written.
#[derive(Debug)]
pub(super) struct Journal<'a> {
    disk: &'a dyn Disk,
    file: Handle,
    path: PathBuf,
    /// Whether a line is missing; then none is added, and the next run finds this one cut off.
    is_broken: bool,
}

impl<'a> Journal<'a> {
    /// Starts the journal of a new run, and makes its directory in the trash, which is returned with the run's name.
    ///
    /// A name that an earlier run has left in either place is not taken.
    pub(super) fn begin(
        state_dir: &'a StateDir,
        verb: &str,
        at: Timestamp,
    ) -> Result<(Self, String, Handle), PathError> {
        let stem = at.strftime("%Y%m%d-%H%M%S").to_string();
        let disk = state_dir.disk();
        let mut number = 0_u32;
        loop {
            number += 1;
            let run = if number == 1 { stem.clone() } else { format!("{stem}-{number}") };
            let (path, name) = (state_dir.journal_of(&run), journal_name(&run));
            let file = match disk.open((&state_dir.runs, &name), For::New) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                created => created.map_err(|error| PathError::new("write", &path, error))?,
            };
            let place = (&state_dir.trash, OsStr::new(&run));
            let made = disk.make_dir(place);
            if let Err(error) = made {
                // It is empty, and this run's own.
                let _ = disk.unlink((&state_dir.runs, &name));
                match error.kind() {
                    io::ErrorKind::AlreadyExists => continue,
                    _ => return Err(PathError::new("create", &state_dir.trash_of(&run), error)),
                }
            }
            let mut journal = Self { disk, file, path, is_broken: false };
            let pid = std::process::id();
            let (format_version, verb, links) = (VERSION, verb.to_owned(), false);
            let begin = Event::Begin { format_version, run: run.clone(), verb, at, pid, links };
            let opened =
                disk.open(place, For::Dir).map_err(|error| PathError::new("read", &state_dir.trash_of(&run), error));
            return match journal.write(&begin).and(opened) {
                Ok(trash) => Ok((journal, run, trash)),
                Err(error) => {
                    state_dir.forget(&run);
                    Err(error)
                }
            };
        }
    }

    /// Goes on with the journal of an earlier run, which was read.
    pub(super) fn reopen(state_dir: &'a StateDir, run: &str) -> Result<Self, PathError> {
        let (path, disk) = (state_dir.journal_of(run), state_dir.disk());
        let fail = |error| PathError::new("write", &path, error);
        let file = disk.open((&state_dir.runs, &journal_name(run)), For::Adding).map_err(fail)?;
        let length = disk.look_at(&file).map_err(fail)?.size;
        let whole = last_line(disk, &file, length).map_err(fail)?.0;
        if whole < length {
            // A line that was cut off must not swallow the next one.
            disk.cut(&file, whole).map_err(fail)?;
        }
        Ok(Self { disk, file, path, is_broken: false })
    }

    /// Adds a line.
    pub(super) fn write(&mut self, event: &Event) -> Result<(), PathError> {
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

    /// Returns whether everything that was to be written was.
    pub(super) fn is_whole(&self) -> bool {
        !self.is_broken
    }

    /// Puts what was written on the disk.
    pub(super) fn sync(&mut self) -> Result<(), PathError> {
        let synced = self.disk.sync(&self.file);
        self.is_broken |= synced.is_err();
        synced.map_err(|error| PathError::new("write", &self.path, error))
    }
}

/// Returns how many bytes of a journal are lines that came to their end, and the last of these.
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

/// Tells by its last line whether a journal is that of a run which came to its end, with nothing of it stuck.
pub(super) fn is_settled(disk: &dyn Disk, at: At<'_>) -> bool {
    let last = || {
        let file = disk.open(at, For::Reading)?;
        let length = disk.look_at(&file)?.size;
        let (whole, line) = last_line(disk, &file, length)?;
        Ok::<_, io::Error>(Some(line).filter(|_| whole == length))
    };
    last().is_ok_and(|line| {
        line.is_some_and(|line| matches!(serde_json::from_slice(&line), Ok(Event::End { stuck: false, .. })))
    })
}

/// Shows every line that came to its end, with its number, from 1.
fn each_line(disk: &dyn Disk, file: &Handle, mut see: impl FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
    let (mut rest, mut piece, mut offset, mut number) = (Vec::new(), vec![0; 64 * 1024], 0, 0);
    loop {
        let count = disk.read_at(file, &mut piece, offset)?;
        if count == 0 {
            return Ok(());
        }
        offset += count as u64;
        let mut left = &piece[..count];
        while let Some(end) = memchr::memchr(b'\n', left) {
            rest.extend_from_slice(&left[..end]);
            left = &left[end + 1..];
            number += 1;
            see(number, &rest)?;
            rest.clear();
        }
        rest.extend_from_slice(left);
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
    /// Whether its paths were written down with the links in them.
    pub(super) has_links: bool,
    /// The times of directories before each step, by item and step.
    pub(super) dir_times: BTreeMap<(usize, usize), Times>,
    /// The device and inode of what each step has made, by its name in the run.
    pub(super) made: BTreeMap<String, (u64, u64)>,
    /// The times of directories before each step was taken back, where that was begun.
    pub(super) undo_times: BTreeMap<(usize, usize), Times>,
}

impl Run {
    /// Reads a journal; `None` when it was cut off before it said anything.
    ///
    /// A line that is not understood may be the one that says where something is. So a journal with one, and one of a
    /// later version, is an error: what its run took away is to be left alone.
    pub(super) fn read(disk: &dyn Disk, at: At<'_>, path: &Path) -> Result<Option<Self>, PathError> {
        let fail = |error| PathError::new("read", path, error);
        let file = match disk.open(at, For::Reading) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(fail)?,
        };
        let mut run: Option<Self> = None;
        let see = |number, line: &[u8]| {
            let damaged = |why: &str| io::Error::other(format!("line {number} of it {why}"));
            if line.is_empty() {
                return Ok(());
            }
            if let (None, Ok(Version { format_version })) = (&run, serde_json::from_slice(line))
                && format_version != VERSION
            {
                let why = format!("it is of version {format_version}, and this rejoin knows only version {VERSION}");
                return Err(io::Error::other(why));
            }
            let event = serde_json::from_slice::<Event>(line).map_err(|_| damaged("is damaged"))?;
            match (event, &mut run) {
                (Event::Begin { run: id, verb, at, links, .. }, None) => {
                    if path.file_stem() != Some(id.as_ref()) {
                        return Err(damaged("is that of another run"));
                    }
                    run = Some(Self {
                        id,
                        verb,
                        at,
                        items: Vec::new(),
                        has_ended: false,
                        is_purged: false,
                        has_links: links,
                        dir_times: BTreeMap::new(),
                        made: BTreeMap::new(),
                        undo_times: BTreeMap::new(),
                    });
                }
                (event, Some(run)) if run.knows(&event) => run.add(event),
                _ => return Err(damaged("does not fit those before it")),
            }
            Ok(())
        };
        each_line(disk, &file, see).map_err(fail)?;
        Ok(run)
    }

    /// Returns whether an event is about what was planned, under the names that are given here.
    fn knows(&self, event: &Event) -> bool {
        match event {
            Event::Begin { .. } => false,
            Event::Item(record) => {
                let is_own = |(number, step): (usize, &StepRecord)| {
                    step.kept() == format!("{}-{number}", record.item) && step.path().is_absolute()
                };
                record.item == self.items.len() && record.steps.iter().enumerate().all(is_own)
            }
            Event::Start { item, step, .. } => self.items.get(*item).is_some_and(|(it, _)| *step < it.steps.len()),
            Event::Made { kept, .. } => {
                let number = kept.split_once('-').and_then(|(item, _)| item.parse().ok());
                let record = number.and_then(|item: usize| self.items.get(item));
                record.is_some_and(|(record, _)| record.steps.iter().any(|step| step.kept() == kept))
            }
            Event::Done { item }
            | Event::Left { item, .. }
            | Event::Stuck { item, .. }
            | Event::Undoing { item, .. }
            | Event::Undone { item, .. } => *item < self.items.len(),
            Event::End { .. } | Event::Purged { .. } => true,
        }
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

    /// Returns whether something of it was done in part and could not be put back.
    pub(crate) fn is_stuck(&self) -> bool {
        self.count(|state| matches!(state, State::Stuck(_))) > 0
    }

    /// Returns whether something that it did could still be put back.
    pub(crate) fn is_undoable(&self) -> bool {
        !self.is_purged && self.count(|state| matches!(state, State::Done | State::Begun | State::Stuck(_))) > 0
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    /// A journal with one item, and where it is.
    fn begun(state_dir: &StateDir) -> (Journal<'_>, String, PathBuf) {
        let at = "2026-03-01T12:00:00Z".parse().expect("a time");
        let (mut journal, id, _) = Journal::begin(state_dir, "cleanup", at).expect("a journal");
        let steps = vec![StepRecord::MakeDir { path: odd_path(), kept: "0-0".to_owned() }];
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
        let path = state_dir.journal_of(&id);
        (journal, id, path)
    }

    fn read(state_dir: &StateDir, path: &Path) -> Result<Option<Run>, PathError> {
        let name = path.file_name().expect("a name");
        Run::read(state_dir.disk(), (&state_dir.runs, name), path)
    }

    fn odd_path() -> PathBuf {
        PathBuf::from(OsStr::from_bytes(b"/x/\xff\n"))
    }

    fn state_dir(home: &Path) -> StateDir {
        let mut env = crate::system::env::tests::fixed();
        env.home = home.to_owned();
        StateDir::open(&env, "cleanup", std::time::Duration::ZERO).expect("a state directory")
    }

    #[test]
    fn a_journal_is_read_back_with_paths_of_any_bytes_and_a_cut_off_line_hides_nothing_after_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let state_dir = state_dir(dir.path());
        let (mut journal, id, path) = begun(&state_dir);
        assert_eq!(id, "20260301-120000");
        journal.line(b"{\"event\":\"sta").expect("a part of a line");
        let mut journal = Journal::reopen(&state_dir, &id).expect("a journal");
        journal.write(&Event::Done { item: 0 }).expect("a line");
        let run = read(&state_dir, &path).expect("a journal").expect("a run");
        assert_eq!((run.items[0].0.steps[0].path(), &run.items[0].1), (odd_path().as_path(), &State::Done));
        assert!(!run.has_ended && run.is_undoable());

        let (_, next, _) = begun(&state_dir);
        assert_eq!(next, "20260301-120000-2");
        drop(journal);
    }

    #[test]
    fn a_line_that_is_not_understood_is_an_error_and_never_passed_over() {
        let dir = tempfile::tempdir().expect("a directory");
        let state_dir = state_dir(dir.path());
        let lines: [&[u8]; 9] = [
            b"{\"event\":\"sta\n",
            b"\xff\n",
            b"\0\0\0\0\n",
            b"{\"event\":\"done\",\"item\":1}\n",
            b"{\"event\":\"start\",\"item\":0,\"step\":1,\"dir_times\":null}\n",
            b"{\"event\":\"made\",\"kept\":\"1-0\",\"device\":1,\"inode\":1}\n",
            b"{\"event\":\"begin\",\"format_version\":1,\"run\":\"x\",\"verb\":\"x\",\"at\":\"2026-03-01T12:00:00Z\",\"pid\":1}\n",
            b"{\"event\":\"moved\",\"item\":0}\n",
            b"{\"event\":\"item\",\"item\":2,\"label\":\"\",\"agent\":null,\"id\":null,\"code\":\"\",\"reason\":\"\",\"steps\":[]}\n",
        ];
        for line in lines {
            let (mut journal, _, path) = begun(&state_dir);
            journal.line(line).expect("a line");
            journal.write(&Event::Done { item: 0 }).expect("a line");
            let error = read(&state_dir, &path).expect_err("a refusal").to_string();
            assert!(error.contains("line 3 of it"), "{error}");
        }
    }

    #[test]
    fn a_journal_of_another_version_or_another_run_is_an_error() {
        let dir = tempfile::tempdir().expect("a directory");
        let state_dir = state_dir(dir.path());
        let (_, _, path) = begun(&state_dir);
        let text = String::from_utf8(crate::system::fsio::read_bounded(&path, 1 << 20).expect("text")).expect("UTF-8");
        let later = text.replace("\"format_version\":1", "\"format_version\":2,\"more\":[]");
        for (text, why) in [(later, "is of version 2"), (text.replace("20260301", "20260302"), "another run")] {
            crate::system::fsio::replace(&path, text.as_bytes()).expect("a journal");
            let error = read(&state_dir, &path).expect_err("a refusal").to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
