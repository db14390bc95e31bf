//! Reads files that are one JSON array, element by element in bounded memory, like [`super::jsonl`] for lines.

use std::io::{self, BufRead as _, BufReader};
use std::ops::ControlFlow;
use std::path::Path;

use super::jsonl::MAX_LINE;
use crate::error::PathError;
use crate::system::fsio;

/// Small, because often only the first elements are needed.
const BUFFER: usize = 16 * 1024;

/// The reason why reading an array ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Every element was shown.
    Whole,
    /// `see` broke, or the budget was exhausted.
    Stopped,
    /// The file is truncated or is not an array.
    Broken,
}

/// Calls `see` with the raw bytes of each element of an array, until it breaks or `budget` bytes were read. The bytes
/// read are subtracted from `budget`.
///
/// `None` represents an element that is too long to load.
pub(crate) fn each_element(
    path: &Path,
    budget: &mut u64,
    see: &mut dyn FnMut(Option<&[u8]>) -> ControlFlow<()>,
) -> Result<End, PathError> {
    let (file, _) = fsio::open_regular(path)?;
    let mut reader = BufReader::with_capacity(BUFFER, file);
    let mut splitter = Splitter::default();
    loop {
        if *budget == 0 {
            return Ok(End::Stopped);
        }
        let available = match reader.fill_buf() {
            Ok([]) => return Ok(End::Broken),
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(PathError::new("read", path, error)),
        };
        for byte in available {
            if let Some(end) = splitter.take(*byte, see) {
                return Ok(end);
            }
        }
        let used = available.len();
        *budget = budget.saturating_sub(used as u64);
        reader.consume(used);
    }
}

/// Splits an array into its elements without parsing them.
#[derive(Default)]
struct Splitter {
    element: Vec<u8>,
    depth: u32,
    is_in_string: bool,
    is_escaped: bool,
    is_too_long: bool,
}

impl Splitter {
    /// Takes the next byte. Returns the reason if the array ended.
    fn take(&mut self, byte: u8, see: &mut dyn FnMut(Option<&[u8]>) -> ControlFlow<()>) -> Option<End> {
        if self.is_in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.is_in_string = false,
                _ => {}
            }
            self.keep(byte);
            return None;
        }
        match (byte, self.depth) {
            (b' ' | b'\n' | b'\r' | b'\t', _) => return None,
            (b'[', 0) => self.depth = 1,
            (_, 0) => return Some(End::Broken),
            (b',', 1) => return self.show(see).is_break().then_some(End::Stopped),
            (b']', 1) => return Some(if self.show(see).is_break() { End::Stopped } else { End::Whole }),
            _ => {
                match byte {
                    b'"' => self.is_in_string = true,
                    b'[' | b'{' => self.depth += 1,
                    b']' | b'}' => self.depth -= 1,
                    _ => {}
                }
                self.keep(byte);
            }
        }
        None
    }

    fn keep(&mut self, byte: u8) {
        self.is_too_long |= self.element.len() >= MAX_LINE;
        if self.is_too_long {
            self.element = Vec::new();
        } else {
            self.element.push(byte);
        }
    }

    fn show(&mut self, see: &mut dyn FnMut(Option<&[u8]>) -> ControlFlow<()>) -> ControlFlow<()> {
        let shown = match (self.is_too_long, self.element.is_empty()) {
            (true, _) => see(None),
            (false, true) => ControlFlow::Continue(()),
            (false, false) => see(Some(&self.element)),
        };
        self.element.clear();
        self.is_too_long = false;
        shown
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
mod tests {
    use super::*;

    fn read(text: &str, budget: u64, most: usize) -> (Vec<String>, End) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.json");
        std::fs::write(&path, text).expect("a file");
        let mut seen = Vec::new();
        let mut left = budget;
        let end = each_element(&path, &mut left, &mut |element| {
            seen.push(element.map_or("too long".to_owned(), |element| String::from_utf8_lossy(element).into_owned()));
            if seen.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        (seen, end.expect("a reading"))
    }

    #[test]
    fn elements_with_any_content_are_split() {
        let text = " [ {\"a\": [1, \"],\\\"{\"]}, 7,\n\"x,\\\\\" , [] ,null ] ";
        let (seen, end) = read(text, u64::MAX, 99);
        assert_eq!(seen, [r#"{"a":[1,"],\"{"]}"#, "7", r#""x,\\""#, "[]", "null"]);
        assert_eq!(end, End::Whole);
        assert_eq!(read("[]", u64::MAX, 99), (vec![], End::Whole));
    }

    #[test]
    fn a_truncated_array_or_another_value_is_reported_as_broken() {
        assert_eq!(read("[1,{\"a\":", u64::MAX, 99), (vec!["1".to_owned()], End::Broken));
        for other in ["", "{}", "7", "null", "}"] {
            assert_eq!(read(other, u64::MAX, 99), (vec![], End::Broken), "{other}");
        }
        assert_eq!(read("[1,2,3]", u64::MAX, 2), (vec!["1".to_owned(), "2".to_owned()], End::Stopped));
        assert_eq!(read("[1]", 0, 99), (vec![], End::Stopped));
    }

    #[test]
    fn an_element_too_long_to_hold_is_passed_over() {
        let text = format!("[1,\"{}\",2]", "x".repeat(MAX_LINE));
        assert_eq!(read(&text, u64::MAX, 99).0, ["1", "too long", "2"]);
        let budget = 64 * 1024;
        assert_eq!(read(&text, budget, 99), (vec!["1".to_owned()], End::Stopped));
    }
}
