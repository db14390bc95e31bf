//! Counts the records that two copies of one conversation have in common.

use std::path::Path;

use super::jsonl::Jsonl;
use crate::error::PathError;
use crate::session::Comparison;

/// Compares two line-wise files; a last line without a newline is ignored, because it may be incomplete.
pub(crate) fn compare(a: &Path, b: &Path) -> Result<Comparison, PathError> {
    compare_by(a, b, |our, their| our == their, None)
}

/// Compares two files like [`compare`], with a custom equality of lines, and without the lines that `is_skipped` selects.
pub(crate) fn compare_by(
    a: &Path,
    b: &Path,
    is_same: impl Fn(&[u8], &[u8]) -> bool,
    is_skipped: Option<fn(&[u8]) -> bool>,
) -> Result<Comparison, PathError> {
    let (mut ours, mut theirs) =
        (Jsonl::open(a)?.into_lines()?.without(is_skipped), Jsonl::open(b)?.into_lines()?.without(is_skipped));
    let mut record = 0;
    loop {
        record += 1;
        let our = ours.next_line()?.filter(|line| line.is_ended);
        let their = theirs.next_line()?.filter(|line| line.is_ended);
        match (our, their) {
            (None, None) => return Ok(Comparison::Identical),
            (Some(_), None) => return Ok(Comparison::Longer { common: record - 1 }),
            (None, Some(_)) => return Ok(Comparison::Shorter { common: record - 1 }),
            (Some(our), Some(their)) => {
                if our.lost() != their.lost() || !is_same(our.bytes, their.bytes) {
                    return Ok(Comparison::Diverged { record });
                }
            }
        }
    }
}

/// Compares two conversations that are in memory.
pub(crate) fn compare_lists<T: PartialEq>(ours: &[T], theirs: &[T]) -> Comparison {
    let common = ours.iter().zip(theirs).take_while(|(our, their)| our == their).count();
    let count = common as u64;
    match (common == ours.len(), common == theirs.len()) {
        (true, true) => Comparison::Identical,
        (false, true) => Comparison::Longer { common: count },
        (true, false) => Comparison::Shorter { common: count },
        (false, false) => Comparison::Diverged { record: count + 1 },
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;
    use crate::format::jsonl::MAX_LINE;

    #[test]
    fn compare_finds_identical_longer_and_diverged_copies() {
        let dir = tempfile::tempdir().expect("a directory");
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        for (ours, theirs, expected) in [
            ("1\n2\n", "1\n2\n", Comparison::Identical),
            ("1\n2\n", "1\n\n2\n{\"half", Comparison::Identical),
            ("1\n2\n3\n", "1\n2\n", Comparison::Longer { common: 2 }),
            ("1\n", "1\n2\n3\n", Comparison::Shorter { common: 1 }),
            ("1\n2\n", "1\nx\n2\n", Comparison::Diverged { record: 2 }),
            ("", "", Comparison::Identical),
            ("x", "1\n", Comparison::Shorter { common: 0 }),
        ] {
            std::fs::write(&a, ours).expect("a file");
            std::fs::write(&b, theirs).expect("a file");
            assert_eq!(compare(&a, &b).expect("a comparison"), expected, "{ours:?} {theirs:?}");
        }
    }

    #[test]
    fn compare_detects_differences_in_shortened_lines() {
        let dir = tempfile::tempdir().expect("a directory");
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        let long = |end: &str| format!("{{\"data\":\"{}{end}\"}}\n", "A".repeat(MAX_LINE)).into_bytes();
        let text = |bytes: &[u8]| [b"{\"a\":\"", bytes, b"\"}\n"].concat();
        for (ours, theirs) in
            [(long("A"), long("B")), (text(b"\xff"), text(b"\xfe")), (text(b"\xff"), text("\u{fffd}".as_bytes()))]
        {
            for (other, expected) in [(&ours, Comparison::Identical), (&theirs, Comparison::Diverged { record: 1 })] {
                std::fs::write(&a, &ours).expect("a file");
                std::fs::write(&b, other).expect("a file");
                assert_eq!(compare(&a, &b).expect("a comparison"), expected);
            }
        }
    }

    #[test]
    fn comparison_treats_lists_like_files() {
        for (ours, theirs, expected) in [
            ([1, 2].as_slice(), [1, 2].as_slice(), Comparison::Identical),
            (&[1, 2, 3], &[1, 2], Comparison::Longer { common: 2 }),
            (&[], &[1], Comparison::Shorter { common: 0 }),
            (&[1, 2], &[1, 3], Comparison::Diverged { record: 2 }),
        ] {
            assert_eq!(compare_lists(ours, theirs), expected, "{ours:?} {theirs:?}");
        }
    }
}
