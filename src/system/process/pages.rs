//! Reads a table that the kernel returns page by page, without missing an entry.
//!
//! Each `read` returns a page of the table as it is at that moment. If an entry of the first page is removed before the
//! second page is read, all later entries move up, and one that existed all along is in neither page.

use std::fs::File;
use std::io::{self, Read as _};

/// Maximum number of reads of a table of several pages until two in a row are equal.
const TRIES: usize = 16;

/// The lines of a table from one pass over it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TableReading {
    pub bytes: Vec<u8>,
    /// Set if one `read` returned the whole table, so that its lines are of one moment.
    pub is_of_one_moment: bool,
}

impl TableReading {
    /// Reads a table to its end, or until a limit in bytes.
    pub(super) fn read_file(mut file: File, limit: usize) -> io::Result<Self> {
        let mut bytes = vec![0; limit];
        let (mut length, mut pieces) = (0, 0);
        loop {
            match file.read(&mut bytes[length..]) {
                Ok(0) => break,
                Ok(count) => (length, pieces) = (length + count, pieces + 1),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(length);
        Ok(Self { bytes, is_of_one_moment: pieces <= 1 })
    }
}

/// Returns the lines of a table, and whether every line that existed all the time is among them: the table came in one
/// read, or twice in a row alike. Otherwise, returns the lines of all reads.
pub(super) fn lines(mut read: impl FnMut() -> Option<TableReading>) -> Option<(Vec<u8>, bool)> {
    let (mut all, mut last) = (Vec::new(), None);
    for _ in 0..TRIES {
        let reading = read()?;
        if reading.is_of_one_moment || last.as_ref() == Some(&reading.bytes) {
            return Some((reading.bytes, true));
        }
        all.extend_from_slice(&reading.bytes);
        last = Some(reading.bytes);
    }
    Some((all, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads from a cycle of tables.
    fn read(tables: &[(&str, bool)]) -> Option<(String, bool)> {
        let mut tables = tables.iter().cycle();
        let found = lines(|| {
            tables.next().map(|(text, is_of_one_moment)| TableReading {
                bytes: text.as_bytes().to_vec(),
                is_of_one_moment: *is_of_one_moment,
            })
        });
        found.map(|(bytes, is_whole)| (String::from_utf8(bytes).expect("text"), is_whole))
    }

    #[test]
    fn multi_page_table_is_reread_until_stable() {
        assert_eq!(read(&[("a\n", true)]), Some(("a\n".to_owned(), true)), "one page is of one moment");
        assert_eq!(read(&[("a\n", false)]), Some(("a\n".to_owned(), true)));
        // The second lock moved into the page that was already read.
        let moved = [("a\nb\nc\n", false), ("b\n", false), ("b\nc\n", false), ("b\nc\n", false)];
        assert_eq!(read(&moved), Some(("b\nc\n".to_owned(), true)));
        let (all, is_whole) = read(&[("a\n", false), ("b\n", false)]).expect("lines");
        assert!(!is_whole && all.contains("a\n") && all.contains("b\n"), "{all}");
        assert_eq!(read(&[]), None);
    }
}
