//! Checks whether a git repository has a commit, without running git: as a loose object, or as a name in the index of a
//! pack.

use std::cell::{Cell, OnceCell};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::system::fsio;
use crate::system::reach;

/// Header of a pack index since git 1.6 (magic number and version), and the offset of the names, after the numbers of
/// names that begin with each byte or a lower one.
const HEAD: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const NAMES: usize = HEAD.len() + 256 * 4;
/// Maximum packs read per repository, and names compared per pack that begin with the same byte: 25 million in all.
const MAX_PACKS: usize = 1000;
const MAX_NAMES: usize = 100_000;

/// The objects of a main checkout, cached as they are read.
#[derive(Debug)]
pub(crate) struct Objects {
    dir: PathBuf,
    packs: OnceCell<Vec<Pack>>,
}

/// The index of a pack.
#[derive(Debug)]
struct Pack {
    path: PathBuf,
    /// Number of names that begin with each byte or a lower one.
    counts: Vec<u32>,
}

impl Objects {
    /// Creates the objects without reading any.
    pub(crate) fn in_checkout(main: &Path) -> Self {
        Self { dir: main.join(".git/objects"), packs: OnceCell::new() }
    }

    /// Returns whether the repository has a commit, by its full name in hexadecimal digits; unreadable packs have none.
    /// Each pack that is read reduces `left` by one; at zero, no pack is read.
    pub(crate) fn have(&self, commit: &str, left: &Cell<usize>) -> bool {
        let Some((start, rest)) = commit.split_at_checked(2) else { return false };
        if reach::is_file(&self.dir.join(start).join(rest)) {
            return true;
        }
        let Some(name) = bytes_of(commit) else { return false };
        self.packs.get_or_init(|| packs(&self.dir)).iter().any(|pack| {
            left.set(left.get().saturating_sub(1));
            left.get() > 0 && pack.has_ref(&name).unwrap_or(false)
        })
    }
}

impl Pack {
    /// Reads the beginning of an index of version 2; `None` for any other file.
    fn read(path: PathBuf) -> Option<Self> {
        let (file, _) = fsio::open_regular(&path).ok()?;
        let mut head = [0; NAMES];
        file.read_exact_at(&mut head, 0).ok()?;
        let (mark, counts) = head.split_at(HEAD.len());
        let (counts, _) = counts.as_chunks();
        let counts = counts.iter().map(|count| u32::from_be_bytes(*count)).collect();
        (mark == HEAD).then_some(Self { path, counts })
    }

    fn has_ref(&self, name: &[u8]) -> Option<bool> {
        let first = usize::from(*name.first()?);
        let begin = first.checked_sub(1).map_or(0, |before| self.counts[before]);
        let count = usize::try_from(self.counts[first].checked_sub(begin)?).ok()?;
        if count == 0 || count > MAX_NAMES {
            return Some(false);
        }
        let (file, _) = fsio::open_regular(&self.path).ok()?;
        let mut names = vec![0; count * name.len()];
        file.read_exact_at(&mut names, NAMES as u64 + u64::from(begin) * name.len() as u64).ok()?;
        Some(names.chunks_exact(name.len()).any(|known| known == name))
    }
}

fn packs(objects: &Path) -> Vec<Pack> {
    let packs = reach::read_dir(&objects.join("pack")).into_iter().flatten().filter_map(Result::ok);
    let indexes = packs.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "idx"));
    indexes.take(MAX_PACKS).filter_map(Pack::read).collect()
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;

    /// Creates the index of a pack as git does, without the parts that are not read: offsets and sums.
    fn index(mut names: Vec<[u8; 20]>) -> Vec<u8> {
        names.sort_unstable();
        let mut bytes = HEAD.to_vec();
        for byte in 0..=255_u8 {
            let count = names.iter().filter(|name| name[0] <= byte).count();
            bytes.extend(u32::try_from(count).expect("a few").to_be_bytes());
        }
        bytes.extend(names.concat());
        bytes
    }

    #[test]
    fn search_finds_loose_and_packed_commits() {
        let dir = tempfile::tempdir().expect("a directory");
        let main = dir.path();
        std::fs::create_dir_all(main.join(".git/objects/pack")).expect("a directory");
        std::fs::create_dir_all(main.join(".git/objects/ab")).expect("a directory");
        let loose = format!("ab{}", "c".repeat(38));
        std::fs::write(main.join(".git/objects/ab").join("c".repeat(38)), "").expect("a file");
        let names: Vec<[u8; 20]> = (0..200_u8).map(|at| [at.wrapping_mul(7); 20]).chain([[0; 20], [255; 20]]).collect();
        std::fs::write(main.join(".git/objects/pack/pack-x.idx"), index(names.clone())).expect("a file");
        let hex = |name: &[u8]| name.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let has_commit = |commit: &str| Objects::in_checkout(main).have(commit, &Cell::new(10));
        assert!(has_commit(&loose));
        assert!(names.iter().all(|name| has_commit(&hex(name))));
        assert!(!Objects::in_checkout(main).have(&hex(&names[3]), &Cell::new(0)), "there is an end to looking");
        let mut other = [7; 20];
        other[19] = 8;
        for absent in [hex(&other), hex(&[120; 20]), hex(&[7; 32]), String::new(), "zz".repeat(20)] {
            assert!(!has_commit(&absent), "{absent}");
        }
    }

    #[test]
    fn truncated_pack_index_is_empty() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("pack.idx");
        let has = |name: [u8; 20]| Pack::read(path.clone()).and_then(|pack| pack.has_ref(&name));
        let whole = index(vec![[3; 20], [9; 20]]);
        for end in 0..whole.len() - 20 {
            std::fs::write(&path, &whole[..end]).expect("a file");
            assert_ne!(has([9; 20]), Some(true), "{end}");
        }
        let mut newer = whole.clone();
        newer[7] = 3;
        std::fs::write(&path, newer).expect("a file");
        assert_eq!(has([3; 20]), None);
        std::fs::write(&path, whole).expect("a file");
        assert_eq!(has([3; 20]), Some(true));
        // The counts decrease.
        let mut nonsense = index(vec![[3; 20], [9; 20]]);
        nonsense[HEAD.len() + 8 * 4..][..4].copy_from_slice(&[0xff; 4]);
        std::fs::write(&path, nonsense).expect("a file");
        assert_ne!(has([9; 20]), Some(true));
    }
}
