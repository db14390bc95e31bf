//! A short digest of a plan: equal digests mean equal changes.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::change::plan::change::{Change, ChangeItem, Contents, Handed, ItemSubject, Step};
use crate::format::edit::Edit;
use crate::format::text::hex;
use crate::system::parallel;
use crate::system::stamp::Stamp;

/// A digest of parts with unambiguous boundaries.
#[derive(Default)]
struct PartsDigest(Sha256);

impl PartsDigest {
    fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn path(&mut self, path: &Path) {
        self.add(path.as_os_str().as_bytes());
    }

    fn stamp(&mut self, stamp: &Stamp) {
        // All fields are listed, so that a new field cannot be forgotten.
        let Stamp { parent, device, inode, is_dir, size, modified, tree } = stamp;
        for number in [parent.0, parent.1, *device, *inode, u64::from(*is_dir), *size] {
            self.0.update(number.to_le_bytes());
        }
        self.0.update(modified.0.to_le_bytes());
        self.0.update(modified.1.to_le_bytes());
        self.add(tree.as_ref().map_or(&[], |tree| &tree[..]));
    }

    fn item(&mut self, item: &ChangeItem) {
        self.add(b"item");
        match (&item.about, item.about.session()) {
            (ItemSubject::Other(words), _) => self.add(words.as_bytes()),
            (_, session) => {
                session.iter().flat_map(|(agent, id)| [agent.name(), id]).for_each(|part| self.add(part.as_bytes()));
            }
        }
        self.add(item.code.as_bytes());
        if item.steps.is_empty() {
            // The agent carries this out, so only the reason has the state of the session and its directory.
            self.add(item.reason.as_bytes());
        }
        item.steps.iter().for_each(|step| self.step(step));
    }

    fn handed(&mut self, one: &Handed) {
        self.add(b"handed");
        self.add(one.code.as_bytes());
        self.add(&(one.command.len() as u64).to_le_bytes());
        one.command.iter().for_each(|word| self.add(word.as_bytes()));
        for seen in &one.seen {
            self.path(&seen.place.path);
            self.add(seen.place.id.as_bytes());
            self.add(&seen.active_at.map_or(0, Timestamp::as_microsecond).to_le_bytes());
        }
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
    /// Returns a short digest of everything that the change would do; equal digests mean equal changes.
    pub(crate) fn fingerprint(&self) -> String {
        /// Number of items per thread.
        const PART: usize = 1024;
        let digest = |items: &[ChangeItem]| {
            let mut parts = PartsDigest::default();
            items.iter().for_each(|item| parts.item(item));
            parts.0.finalize()
        };
        let digests = parallel::map(self.items.chunks(PART), digest);
        let mut parts = PartsDigest::default();
        parts.add(self.verb.as_bytes());
        digests.iter().for_each(|digest| parts.add(digest));
        self.handed.iter().for_each(|one| parts.handed(one));
        hex(&parts.0.finalize()[..6])
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::session::AgentKind;

    const STAMP: Stamp =
        Stamp { parent: (1, 2), device: 1, inode: 3, is_dir: false, size: 10, modified: (5, 0), tree: None };

    fn item(steps: Vec<Step>) -> ChangeItem {
        let about = ItemSubject::Session(AgentKind::Claude, "a".into());
        ChangeItem::new(about, "old", "32 days old", steps)
    }

    fn fingerprint(items: Vec<ChangeItem>) -> String {
        Change::new("cleanup", items).fingerprint()
    }

    #[test]
    fn any_difference_of_a_change_alters_its_fingerprint() {
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
        all.push(fingerprint(vec![ChangeItem { reason: "for /x".into(), ..item(Vec::new()) }]));
        all.push(fingerprint(vec![ChangeItem { code: "all", ..item(Vec::new()) }]));
        all.push(fingerprint(vec![ChangeItem { about: ItemSubject::Other("claude a".into()), ..item(Vec::new()) }]));
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
