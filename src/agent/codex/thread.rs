//! The files of a thread. After a rewind, Codex continues a thread in another rollout, a segment; and a fork begins
//! with a part of another thread. The first record of both names that part.
//!
//! Facts: measured on 0.169.0, from the requests of a resume after one rewind, two rewinds, and a fork. In a fork, and
//! in `rollout-<time>-<thread>_<segment>.jsonl`, the first record has `history_base`: the last id in the name of the
//! earlier rollout, and the number of its bytes that count.

use super::meta::{HistoryBase, Meta};
use super::rollouts::{find, is_segment, of_thread, thread_id};
use crate::agent::prelude::*;
use crate::format::jsonl::Jsonl;

/// A rollout of a thread.
#[derive(Debug)]
pub(super) struct RolloutPart {
    pub(super) path: PathBuf,
    /// Number of bytes that the next part continues.
    end: u64,
    /// Set if it belongs to another thread.
    pub(super) is_foreign: bool,
}

/// The rollouts of a thread, the oldest first.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) parts: Vec<RolloutPart>,
    /// The reason if a part of the conversation is missing.
    pub(super) lacks: Option<String>,
    /// The id of the rollout that the first known one continues, if that is missing.
    pub(super) missing: Option<String>,
}

/// A line of a thread.
pub(super) struct ThreadLine<'l> {
    pub(super) bytes: &'l [u8],
    /// The index of its rollout.
    pub(super) part: usize,
    /// Set for the first line of a rollout.
    pub(super) is_first: bool,
    /// Set if the next part continues before it.
    pub(super) is_taken_back: bool,
    /// Set if it belongs to the thread that a fork came from.
    pub(super) is_foreign: bool,
}

impl Thread {
    /// Finds every rollout of a thread, including segments that were rolled back as a whole.
    pub(super) fn of(place: &Located) -> Result<Self, PathError> {
        let mut thread = Self::chain(place)?;
        if is_segment(&place.path) {
            for path in of_thread(&place.store, &place.id) {
                if thread.parts.iter().all(|part| part.path != path) {
                    thread.parts.push(RolloutPart { path, end: 0, is_foreign: false });
                }
            }
            thread.sort();
        }
        Ok(thread)
    }

    /// Finds the rollouts that a resume continues. If one is missing or of an unknown format, the known ones are
    /// returned.
    pub(super) fn chain(place: &Located) -> Result<Self, PathError> {
        let own = thread_id(&place.path);
        let mut parts = vec![RolloutPart { path: place.path.to_path_buf(), end: u64::MAX, is_foreign: false }];
        let (mut lacks, mut missing) = (None, None);
        let mut start = start_of(&place.path)?;
        loop {
            let HistoryBase { thread_id: id, end_byte_offset: end } = match start.base {
                Some(Ok(base)) => base,
                None if parts.len() > 1 || !is_segment(&place.path) => break,
                _ => {
                    lacks =
                        Some("its first record does not name the part that it continues in a known form".to_owned());
                    // Any rollout of the parent may be a part of a fork.
                    let parent = start.forked_from.filter(|id| Some(id.as_str()) != own);
                    let files = parent.map(|id| of_thread(&place.store, &id)).unwrap_or_default();
                    parts.extend(files.into_iter().map(|path| RolloutPart { path, end: 0, is_foreign: true }));
                    break;
                }
            };
            let Some(path) = find(place, &id) else {
                lacks = Some(format!("the rollout that it continues, of {id}, is missing"));
                missing = Some(id);
                break;
            };
            if parts.iter().any(|part| part.path == path) {
                break;
            }
            let is_foreign = thread_id(&path) != own;
            let next = start_of(&path);
            parts.push(RolloutPart { path, end, is_foreign });
            match next {
                Ok(next) => start = next,
                Err(error) => {
                    lacks = Some(error.to_string());
                    break;
                }
            }
        }
        let mut thread = Self { parts, lacks, missing };
        thread.sort();
        Ok(thread)
    }

    fn sort(&mut self) {
        self.parts.sort_by(|a, b| a.path.file_name().cmp(&b.path.file_name()));
    }

    /// Returns the path of the first rollout that counts.
    pub(super) fn root(&self) -> &Path {
        let root = self.parts.iter().find(|part| part.end > 0);
        root.map_or(Path::new(""), |part| &part.path)
    }

    /// Returns whether a rewind rolled back turns of the thread.
    pub(super) fn is_rewound(&self) -> bool {
        self.parts.iter().filter(|part| !part.is_foreign).count() > 1
    }

    /// Calls `see` with each line of every rollout until it breaks.
    pub(super) fn each_line(&self, see: &mut dyn FnMut(ThreadLine<'_>) -> ControlFlow<()>) -> Result<(), PathError> {
        for (at, part) in self.parts.iter().enumerate() {
            let Some(file) = Jsonl::open_if_present(&part.path)? else { continue };
            let mut lines = file.into_lines()?;
            while let Some(line) = lines.next_line()? {
                let (is_first, is_taken_back) = (line.number == 1, line.start >= part.end);
                if is_taken_back && part.is_foreign {
                    break;
                }
                let is_foreign = part.is_foreign;
                if see(ThreadLine { bytes: line.bytes, part: at, is_first, is_taken_back, is_foreign }).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Parses the first record of a rollout.
fn start_of(path: &Path) -> Result<Meta, PathError> {
    let mut file = Jsonl::open(path)?;
    let mut meta = None;
    file.lines_forward(&mut |line| {
        meta = Meta::parse(line);
        true
    })?;
    Ok(meta.unwrap_or_default())
}
