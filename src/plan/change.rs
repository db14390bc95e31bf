//! What a change would do to files, item by item, as plain data that can be shown, compared and applied.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::session::{AgentKind, Copy, Located};

/// A change as a whole.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// The verb that makes it.
    pub verb: &'static str,
    /// Its items; each is done whole or not at all.
    pub items: Vec<Item>,
}

/// A part of a change that is done whole or not at all.
#[derive(Clone, Debug)]
pub struct Item {
    /// What it is about, for people: mostly an agent and an id.
    pub label: String,
    /// Whose session it is about, and its id.
    pub session: Option<(AgentKind, String)>,
    /// The copies that are changed, which must still be as they were seen.
    pub seen: Vec<Seen>,
    /// A stable name of the reason, such as a finding's code.
    pub code: &'static str,
    /// Why, in words.
    pub reason: String,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

/// A copy as it was when the change was planned.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Where it is.
    pub place: Arc<Located>,
    /// The newest time inside it.
    pub active_at: Option<Timestamp>,
    /// The bytes of its transcript.
    pub transcript_bytes: u64,
}

impl Seen {
    /// Notes what was seen of a copy.
    pub fn of(copy: &Copy) -> Self {
        Self {
            place: Arc::new(copy.place.clone()),
            active_at: copy.active_at.as_ref().map(|at| at.value),
            transcript_bytes: copy.transcript_bytes,
        }
    }
}

/// One change to one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A file, or a directory with all that is in it, goes to the trash.
    Trash {
        /// What goes.
        path: PathBuf,
        /// What it was when it was planned.
        stamp: Stamp,
    },
    /// A file is written anew; an old one is kept in the trash.
    Write {
        /// The file.
        path: PathBuf,
        /// What is in it then.
        contents: Contents,
        /// What was there when it was planned; `None` when nothing was.
        stamp: Option<Stamp>,
    },
    /// A directory is made where nothing is.
    MakeDir {
        /// The directory.
        path: PathBuf,
    },
    /// Something that was made ready in the state directory is put where nothing is yet.
    Put {
        /// Where it was made ready.
        from: PathBuf,
        /// Where it goes.
        path: PathBuf,
    },
}

impl Step {
    /// Returns the path that is changed.
    pub fn path(&self) -> &Path {
        match self {
            Self::Trash { path, .. } | Self::Write { path, .. } | Self::Put { path, .. } | Self::MakeDir { path } => {
                path
            }
        }
    }

    /// Returns the bytes that go to the trash for good.
    pub fn freed_bytes(&self) -> u64 {
        match self {
            Self::Trash { stamp, .. } => stamp.size,
            _ => 0,
        }
    }
}

/// What a file is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// These bytes.
    Bytes(Vec<u8>),
    /// These files, one after the other.
    Joined(Vec<PathBuf>),
}

/// What a path was at one moment; whatever differs later means that another program was there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The device and inode of the directory that it lies in.
    pub parent: (u64, u64),
    /// The device that it lies on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Its bytes, and those of everything in it.
    pub size: u64,
    /// When it was modified, in seconds since 1970 and nanoseconds.
    pub modified: (i64, i64),
    /// A digest of the names, kinds, inodes, sizes and times of everything in it; empty for a file.
    pub tree: String,
}

impl Change {
    /// Returns a short digest of all that the change would do; an equal one means an equal change.
    pub fn fingerprint(&self) -> String {
        let mut digest = Sha256::new();
        let mut add = |bytes: &[u8]| {
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        add(self.verb.as_bytes());
        for item in &self.items {
            add(item.label.as_bytes());
            add(item.code.as_bytes());
            for step in &item.steps {
                // A debug form holds every field, and is only compared with that of the same program.
                add(format!("{step:?}").as_bytes());
            }
        }
        hex(&digest.finalize()[..6])
    }

    /// Returns the bytes that the change would move to the trash.
    pub fn freed_bytes(&self) -> u64 {
        self.items.iter().flat_map(|item| &item.steps).map(Step::freed_bytes).sum()
    }
}

/// Writes bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_another_fingerprint_as_soon_as_anything_that_it_would_touch_differs() {
        let stamp = Stamp {
            parent: (1, 2),
            device: 1,
            inode: 3,
            is_dir: false,
            size: 10,
            modified: (5, 0),
            tree: String::new(),
        };
        let change = |stamp: Stamp| Change {
            verb: "cleanup",
            items: vec![Item {
                label: "claude a".to_owned(),
                session: None,
                seen: Vec::new(),
                code: "old",
                reason: "32 days old".to_owned(),
                steps: vec![Step::Trash { path: "/x".into(), stamp }],
            }],
        };
        let first = change(stamp.clone()).fingerprint();
        assert_eq!(first.len(), 12);
        assert_eq!(first, change(stamp.clone()).fingerprint());
        assert_ne!(first, change(Stamp { modified: (6, 0), ..stamp.clone() }).fingerprint());
        assert_ne!(first, change(Stamp { size: 11, ..stamp }).fingerprint());
    }
}
