//! What a change would do to files, item by item, as plain data that can be shown, compared and applied.

use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use rayon::iter::ParallelIterator as _;
use rayon::slice::ParallelSlice as _;
use sha2::{Digest as _, Sha256};
use smallvec::SmallVec;

use crate::format::edit::Edit;
use crate::format::text::hex;
use crate::session::{AgentKind, Copy, Located, Session};
use crate::system::stamp::Stamp;

/// A change as a whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    /// The verb that makes it.
    pub verb: &'static str,
    /// Its items; each is done whole or not at all.
    pub items: Vec<Item>,
}

/// A part of a change that is done whole or not at all.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// What it is about.
    pub about: About,
    /// The copies that are changed, which must still be as they were seen.
    pub seen: SmallVec<[Seen; 1]>,
    /// A stable name of the reason, such as a finding's code.
    pub code: &'static str,
    /// Why, in words; many items may share them.
    pub reason: Arc<str>,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// The number of an earlier item of the change, without which this one is of no use.
    pub needs: Option<usize>,
}

/// Something that could not be planned.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Unplanned {
    /// What it is about.
    pub about: String,
    /// Why.
    pub reason: String,
}

/// What an item is about; shown, it is what people read.
#[derive(Clone, Debug)]
pub(crate) enum About {
    /// A session, by its agent and its full id.
    Session(AgentKind, Box<str>),
    /// The session that this is a copy of.
    Copy(Arc<Located>),
    /// Something else.
    Other(Box<str>),
}

impl About {
    /// Returns whose session it is, and its id.
    pub(crate) fn session(&self) -> Option<(AgentKind, &str)> {
        match self {
            Self::Session(agent, id) => Some((*agent, id)),
            Self::Copy(place) => Some((place.agent(), &place.id)),
            Self::Other(_) => None,
        }
    }
}

impl From<&Session> for About {
    fn from(session: &Session) -> Self {
        Self::Session(session.agent, session.id.as_str().into())
    }
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(words) => f.write_str(words),
            Self::Session(agent, id) => write!(f, "{agent} {id}"),
            Self::Copy(place) => write!(f, "{} {}", place.agent(), place.id),
        }
    }
}

/// A copy as it was when the change was planned.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Where it is.
    pub place: Arc<Located>,
    /// The newest time inside it.
    pub active_at: Option<Timestamp>,
    /// The bytes of its transcript.
    pub transcript_bytes: u64,
}

impl Seen {
    /// Notes what was seen of a copy.
    pub(crate) fn of(copy: &Copy) -> Self {
        Self {
            place: Arc::new(copy.place.clone()),
            active_at: copy.active_at.as_ref().map(|at| at.value),
            transcript_bytes: copy.transcript_bytes,
        }
    }
}

/// One change to one path.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Step {
    /// A file, or a directory with all that is in it, goes to the trash.
    Trash {
        /// What goes; mostly the path of a copy, which is held anyway.
        path: Arc<Path>,
        /// What it was when it was planned.
        stamp: Stamp,
    },
    /// A file is written anew; an old one is kept in the trash.
    Write {
        /// The file.
        path: PathBuf,
        /// What is in it then.
        contents: Contents,
        /// What was there when it was planned; `None` when nothing was. Boxed, because of the other kind there are many.
        stamp: Option<Box<Stamp>>,
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
    /// A file, or a directory with all that is in it, goes to where nothing is yet.
    Move {
        /// Where it is; mostly a path of a copy.
        from: PathBuf,
        /// Where it goes.
        path: PathBuf,
        /// What it was when it was planned.
        stamp: Box<Stamp>,
    },
}

impl Step {
    /// Returns the path that is changed.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Trash { path, .. } => path,
            Self::Write { path, .. } | Self::Put { path, .. } | Self::MakeDir { path } | Self::Move { path, .. } => {
                path
            }
        }
    }

    /// Returns the bytes that go to the trash for good.
    pub(crate) fn freed_bytes(&self) -> u64 {
        match self {
            Self::Trash { stamp, .. } => stamp.size,
            _ => 0,
        }
    }
}

/// What a file is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// These bytes.
    Bytes(Vec<u8>),
    /// These files, one after the other.
    Joined(Vec<PathBuf>),
    /// This file with pieces of it replaced; where there was nothing, the new file gets its mode, owner and times.
    Edited {
        /// The file.
        from: PathBuf,
        /// The pieces, in order.
        edits: Vec<Edit>,
    },
}

/// A digest of parts that cannot be mistaken for one another.
#[derive(Default)]
struct Parts(Sha256);

impl Parts {
    fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn path(&mut self, path: &Path) {
        self.add(path.as_os_str().as_bytes());
    }

    fn stamp(&mut self, stamp: &Stamp) {
        // Named one by one, so that a new one cannot be left out.
        let Stamp { parent, device, inode, is_dir, size, modified, tree } = stamp;
        for number in [parent.0, parent.1, *device, *inode, u64::from(*is_dir), *size] {
            self.0.update(number.to_le_bytes());
        }
        self.0.update(modified.0.to_le_bytes());
        self.0.update(modified.1.to_le_bytes());
        self.add(tree.as_ref().map_or(&[], |tree| &tree[..]));
    }

    fn item(&mut self, item: &Item) {
        self.add(b"item");
        match (&item.about, item.about.session()) {
            (About::Other(words), _) => self.add(words.as_bytes()),
            (_, session) => {
                session.iter().flat_map(|(agent, id)| [agent.name(), id]).for_each(|part| self.add(part.as_bytes()));
            }
        }
        self.add(item.code.as_bytes());
        item.steps.iter().for_each(|step| self.step(step));
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Trash { path, stamp } => {
                self.add(b"trash");
                self.path(path);
                self.stamp(stamp);
            }
            Step::Write { path, contents, stamp } => {
                self.add(if stamp.is_some() { b"rewrite" } else { b"write" });
                self.path(path);
                match contents {
                    Contents::Bytes(bytes) => {
                        self.add(b"bytes");
                        self.add(bytes);
                    }
                    Contents::Joined(parts) => {
                        self.add(b"joined");
                        self.add(&(parts.len() as u64).to_le_bytes());
                        parts.iter().for_each(|part| self.path(part));
                    }
                    Contents::Edited { from, edits } => {
                        self.add(b"edited");
                        self.path(from);
                        self.add(&(edits.len() as u64).to_le_bytes());
                        for Edit { at, removed, inserted } in edits {
                            self.add(&at.to_le_bytes());
                            self.add(&removed.to_le_bytes());
                            self.add(inserted);
                        }
                    }
                }
                stamp.iter().for_each(|stamp| self.stamp(stamp));
            }
            Step::MakeDir { path } => {
                self.add(b"make-dir");
                self.path(path);
            }
            Step::Put { from, path } => {
                self.add(b"put");
                self.path(from);
                self.path(path);
            }
            Step::Move { from, path, stamp } => {
                self.add(b"move");
                self.path(from);
                self.path(path);
                self.stamp(stamp);
            }
        }
    }
}

impl Change {
    /// Returns a short digest of all that the change would do; an equal one means an equal change.
    pub(crate) fn fingerprint(&self) -> String {
        /// How many items one thread digests at a time.
        const PART: usize = 1024;
        let digest = |items: &[Item]| {
            let mut parts = Parts::default();
            items.iter().for_each(|item| parts.item(item));
            parts.0.finalize()
        };
        let digests: Vec<_> = self.items.par_chunks(PART).map(digest).collect();
        let mut parts = Parts::default();
        parts.add(self.verb.as_bytes());
        digests.iter().for_each(|digest| parts.add(digest));
        hex(&parts.0.finalize()[..6])
    }

    /// Returns the bytes that the change would move to the trash.
    pub(crate) fn freed_bytes(&self) -> u64 {
        self.items.iter().flat_map(|item| &item.steps).map(Step::freed_bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp =
        Stamp { parent: (1, 2), device: 1, inode: 3, is_dir: false, size: 10, modified: (5, 0), tree: None };

    fn item(steps: Vec<Step>) -> Item {
        let about = About::Session(AgentKind::Claude, "a".into());
        Item { about, seen: SmallVec::new(), code: "old", reason: "32 days old".into(), steps, needs: None }
    }

    fn fingerprint(items: Vec<Item>) -> String {
        Change { verb: "cleanup", items }.fingerprint()
    }

    #[test]
    fn a_change_has_another_fingerprint_as_soon_as_anything_that_it_would_touch_differs() {
        let stamps = [
            STAMP,
            Stamp { parent: (2, 2), ..STAMP },
            Stamp { parent: (1, 3), ..STAMP },
            Stamp { device: 2, ..STAMP },
            Stamp { inode: 4, ..STAMP },
            Stamp { is_dir: true, ..STAMP },
            Stamp { size: 11, ..STAMP },
            Stamp { modified: (6, 0), ..STAMP },
            Stamp { modified: (5, 1), ..STAMP },
            Stamp { tree: Some([0; 16]), ..STAMP },
        ];
        let path = || PathBuf::from("/x");
        let bytes = |text: &str| Contents::Bytes(text.into());
        let joined = |paths: &[&str]| Contents::Joined(paths.iter().map(PathBuf::from).collect());
        let write = |contents, stamp| Step::Write { path: path(), contents, stamp };
        let mut steps: Vec<Step> =
            stamps.iter().map(|stamp| Step::Trash { path: path().into(), stamp: stamp.clone() }).collect();
        steps.extend([
            Step::Trash { path: Path::new("/y").into(), stamp: STAMP },
            write(bytes("a"), None),
            write(bytes("b"), None),
            write(bytes("a"), Some(Box::new(STAMP))),
            write(joined(&["a"]), None),
            write(joined(&["a", "b"]), None),
            write(joined(&["ab"]), None),
            Step::MakeDir { path: path() },
            Step::Put { from: path(), path: "/y".into() },
            Step::Put { from: "/y".into(), path: path() },
            Step::Move { from: path(), path: "/y".into(), stamp: Box::new(STAMP) },
            Step::Move { from: "/y".into(), path: path(), stamp: Box::new(STAMP) },
        ]);
        let edited = |at, removed, text: &str| {
            let edits = vec![Edit { at, removed, inserted: text.into() }];
            write(Contents::Edited { from: path(), edits }, None)
        };
        steps.extend([edited(0, 0, "a"), edited(1, 0, "a"), edited(0, 1, "a"), edited(0, 0, "b")]);
        let mut all: Vec<String> = steps.iter().map(|step| fingerprint(vec![item(vec![step.clone()])])).collect();
        assert_eq!(all[0].len(), 12);
        assert_eq!(all[0], fingerprint(vec![item(vec![steps[0].clone()])]));
        all.push(fingerprint(Vec::new()));
        all.push(fingerprint(vec![item(Vec::new())]));
        all.push(fingerprint(vec![item(steps[..2].to_vec())]));
        all.push(fingerprint(steps[..2].iter().map(|step| item(vec![step.clone()])).collect()));
        all.push(fingerprint(vec![Item { code: "all", ..item(Vec::new()) }]));
        all.push(fingerprint(vec![Item { about: About::Other("claude a".into()), ..item(Vec::new()) }]));
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
