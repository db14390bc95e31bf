//! Whether a git repository has a commit, without running git: a file of its own, or a name in the index of a pack.

use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::system::fsio;

/// What the index of a pack begins with since git 1.6: its mark and version, and how many names begin with a byte or a
/// lesser one.
const HEAD: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const FANOUT: u64 = HEAD.len() as u64;
const NAMES: u64 = FANOUT + 256 * 4;
/// So many packs are looked at.
const MAX_PACKS: usize = 1000;

/// Returns whether a main checkout has a commit by its full name in hexadecimal digits; what cannot be read has none.
pub(crate) fn has_commit(main: &Path, commit: &str) -> bool {
    let objects = main.join(".git/objects");
    let Some((start, rest)) = commit.split_at_checked(2) else { return false };
    if objects.join(start).join(rest).is_file() {
        return true;
    }
    let Some(name) = bytes_of(commit) else { return false };
    let packs = std::fs::read_dir(objects.join("pack")).into_iter().flatten().filter_map(Result::ok);
    let indexes = packs.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "idx"));
    indexes.take(MAX_PACKS).any(|index| is_in(&index, &name).unwrap_or(false))
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
}

/// Looks a name up in an index of version 2; `None` if it is none.
fn is_in(index: &Path, name: &[u8]) -> Option<bool> {
    let (file, _) = fsio::open_regular(index).ok()?;
    let read = |buffer: &mut [u8], at: u64| file.read_exact_at(buffer, at).ok();
    let mut head = HEAD;
    read(&mut head, 0)?;
    if head != HEAD {
        return None;
    }
    let count = |byte: u8| {
        let mut number = [0; 4];
        read(&mut number, FANOUT + u64::from(byte) * 4)?;
        Some(u64::from(u32::from_be_bytes(number)))
    };
    let first = *name.first()?;
    let (mut low, mut high) = (first.checked_sub(1).map_or(Some(0), count)?, count(first)?);
    let mut found = vec![0; name.len()];
    while low < high {
        let middle = low.midpoint(high);
        read(&mut found, NAMES + middle * name.len() as u64)?;
        match found.as_slice().cmp(name) {
            std::cmp::Ordering::Equal => return Some(true),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    Some(false)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
mod tests {
    use super::*;

    /// Makes the index of a pack as git does, as far as it is read: without offsets and sums.
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
    fn a_commit_is_a_file_of_its_own_or_in_a_pack() {
        let dir = tempfile::tempdir().expect("a directory");
        let main = dir.path();
        std::fs::create_dir_all(main.join(".git/objects/pack")).expect("a directory");
        std::fs::create_dir_all(main.join(".git/objects/ab")).expect("a directory");
        let loose = format!("ab{}", "c".repeat(38));
        std::fs::write(main.join(".git/objects/ab").join("c".repeat(38)), "").expect("a file");
        let names: Vec<[u8; 20]> = (0..200_u8).map(|at| [at.wrapping_mul(7); 20]).chain([[0; 20], [255; 20]]).collect();
        std::fs::write(main.join(".git/objects/pack/pack-x.idx"), index(names.clone())).expect("a file");
        let hex = |name: &[u8]| name.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert!(has_commit(main, &loose));
        assert!(names.iter().all(|name| has_commit(main, &hex(name))));
        let mut other = [7; 20];
        other[19] = 8;
        for absent in [hex(&other), hex(&[120; 20]), hex(&[7; 32]), String::new(), "zz".repeat(20)] {
            assert!(!has_commit(main, &absent), "{absent}");
        }
    }

    #[test]
    fn an_index_that_is_cut_off_or_of_another_version_has_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("pack.idx");
        let whole = index(vec![[3; 20], [9; 20]]);
        for end in 0..whole.len() - 20 {
            std::fs::write(&path, &whole[..end]).expect("a file");
            assert_ne!(is_in(&path, &[9; 20]), Some(true), "{end}");
        }
        let mut newer = whole.clone();
        newer[7] = 3;
        std::fs::write(&path, newer).expect("a file");
        assert_eq!(is_in(&path, &[3; 20]), None);
        std::fs::write(&path, whole).expect("a file");
        assert_eq!(is_in(&path, &[3; 20]), Some(true));
    }
}
