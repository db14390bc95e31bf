//! Prefilter on the bytes of a transcript: decides without parsing whether its messages can contain a text.
//!
//! JSON keeps letters and digits of ASCII, and blanks between them, unless a writer escapes them. So the longest run of
//! these in a text is in the bytes of every file that contains the text. A file without that run need not be parsed.

use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use memchr::{memchr3_iter, memmem};

use super::needle::Needle;
use crate::session::terms::Term;
use crate::session::terms::fold::{fold, is_mark};
use crate::system::fsio::{self, Buffer, PAGE};

/// Maximum size of a file that is searched before its session is read; other sessions are first read at both ends.
pub(super) const MAX_SEARCHED_FIRST: u64 = 1024 * 1024;

/// Number of bytes searched at once.
const WINDOW: usize = 128 * 1024;
/// Number of bytes of the piece that is searched for first.
pub(super) const PIECE: usize = 3;
/// Start of an escaped letter or digit; two more digits follow.
const ESCAPE: &[u8] = b"\\u00";
/// A searcher for `ESCAPE`, created once instead of per record.
static ESCAPES: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(ESCAPE));
/// The text that agents' readers add to messages if a record lacks a name.
const OWN: &str = "tool";

/// Letters and digits that must be in a file, in either case.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    /// The letters and digits, in lower case.
    run: Vec<u8>,
    /// The rarest piece of the run, which is searched for first, and its searcher.
    piece: Range<usize>,
    finder: memmem::Finder<'static>,
}

/// The runs that must be in the file with the messages of a copy, and in the record of every wanted message.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    pub(super) file: Option<PathBuf>,
    pub(super) all: Vec<Probe>,
}

impl Probes {
    /// Returns whether a file may contain all runs; a file longer than `most` bytes is not searched.
    pub(crate) fn may_be_in_file(&self, most: u64) -> bool {
        self.file.as_ref().is_none_or(|file| self.all.iter().all(|probe| probe.may_be_in(file, most)))
    }

    /// Returns whether a record may contain all runs.
    pub(crate) fn may_be_in(&self, record: &[u8]) -> bool {
        self.all.iter().all(|probe| probe.is_in(record)) || has_escaped(record)
    }
}

impl Probe {
    /// Builds a probe for the prefix that all forms of a word share, without accents; `None` if that excludes nothing.
    pub(crate) fn for_term(term: &Term) -> Option<Self> {
        match term.word() {
            Some(_) => Self::for_run(term.start().as_bytes()),
            None => Self::from_needle(&Needle::new(term.start(), false)),
        }
    }

    /// Builds a probe for the longest run of letters and digits of a text; `None` if it would exclude nothing.
    pub(crate) fn from_needle(needle: &Needle) -> Option<Self> {
        // Small letters that are the lower case of non-ASCII capitals, such as the Kelvin sign and the dotted I, prove
        // nothing.
        let is_sure = |byte: &u8| {
            byte.is_ascii_alphanumeric() && !(needle.is_folded() && matches!(byte.to_ascii_lowercase(), b'i' | b'k'))
        };
        let runs = needle.text().as_bytes().chunk_by(|a, b| is_sure(a) == is_sure(b));
        let mut longest: &[u8] = &[];
        let (mut start, mut at) = (None, 0);
        for run in runs {
            at += run.len();
            match (is_sure(&run[0]), start) {
                (true, None) => start = Some(at - run.len()),
                (true, Some(_)) if is_own_argument(run) => start = Some(at - run.len()),
                (true, Some(_)) => {}
                (false, Some(_)) if run == b" " => continue,
                (false, _) => start = None,
            }
            if let Some(start) = start.filter(|start| at - start >= longest.len()) {
                longest = &needle.text().as_bytes()[start..at];
            }
        }
        let run = longest.to_ascii_lowercase();
        Self::for_run(&run)
    }

    pub(super) fn for_run(run: &[u8]) -> Option<Self> {
        let is_own = memmem::find(OWN.as_bytes(), run).is_some();
        if run.is_empty() || is_own || !run.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b' ') {
            return None;
        }
        let piece = rarest(run);
        let finder = memmem::Finder::new(&run[piece.clone()]).into_owned();
        Some(Self { run: run.to_vec(), piece, finder })
    }

    /// Returns whether a file may contain the text; always true for an unreadable file, or one longer than `most`
    /// bytes.
    pub(crate) fn may_be_in(&self, path: &Path, most: u64) -> bool {
        any_window(path, most, self.run.len(), &mut |bytes| self.is_in(bytes) || has_escaped(bytes))
    }

    /// Returns the text, in lower case, and the place of the piece in it.
    pub(super) fn into_parts(self) -> (Vec<u8>, Range<usize>) {
        (self.run, self.piece)
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        let is_at = |start: Option<usize>| {
            let found = start.and_then(|start| bytes.get(start..start + self.run.len()));
            found.is_some_and(|found| found.eq_ignore_ascii_case(&self.run))
        };
        let mut from = 0;
        while let Some(at) = self.finder.find(&bytes[from..]) {
            if is_at((from + at).checked_sub(self.piece.start)) {
                return true;
            }
            // Pieces may overlap.
            from += at + 1;
        }
        // If the piece occurs with capitals, one of its letters is a capital, and these are rare.
        let letters = || self.piece.clone().filter(|at| self.run[*at].is_ascii_alphabetic());
        let capital = |at: usize| self.run[at].to_ascii_uppercase();
        let Some(first) = letters().next() else { return false };
        let [a, b] = [1, 2].map(|next| letters().nth(next).unwrap_or(first));
        let mut capitals = memchr3_iter(capital(first), capital(a), capital(b), bytes);
        capitals.any(|at| letters().any(|letter| capital(letter) == bytes[at] && is_at(at.checked_sub(letter))))
    }
}

/// Returns whether any part of a file meets a condition. The file is read once in windows that overlap by `longest`
/// bytes. Returns true for a file that cannot be read, or is longer than `most` bytes.
pub(super) fn any_window(path: &Path, most: u64, longest: usize, is_wanted: &mut dyn FnMut(&[u8]) -> bool) -> bool {
    let Ok((mut file, metadata)) = fsio::open_regular(path) else { return true };
    if metadata.len() > most {
        return true;
    }
    // Windows overlap, so a text at the end of one is complete in the next.
    let kept = longest.max(ESCAPE.len() + 2) - 1;
    let length = usize::try_from(metadata.len()).unwrap_or(WINDOW);
    let before = kept.next_multiple_of(PAGE);
    let mut window = Buffer::new(before + length.saturating_add(1).min(WINDOW));
    let mut start = before;
    loop {
        let end = match file.read(&mut window[before..]) {
            Ok(0) => return false,
            Ok(count) => before + count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return true,
        };
        let seen = &window[start..end];
        if is_wanted(seen) {
            return true;
        }
        let rest = seen.len().min(kept);
        start = before - rest;
        window.copy_within(end - rest..end, start);
    }
}

/// Returns whether readers insert a blank before a word, between the name of a tool and its arguments.
fn is_own_argument(word: &[u8]) -> bool {
    let is_literal = |literal: &[u8]| literal.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    word[0].is_ascii_digit() || [&b"true"[..], b"false", b"null"].into_iter().any(is_literal)
}

/// Returns whether a letter or a digit of ASCII, or a blank, may be escaped.
fn has_escaped(bytes: &[u8]) -> bool {
    let is_text = |c: char| c.is_ascii_alphanumeric() || c == ' ';
    ESCAPES.find_iter(bytes).any(|at| escaped(bytes, at).is_some_and(is_text))
}

/// Returns whether a letter, an accent or a blank may be escaped at a place.
pub(super) fn is_escaped(bytes: &[u8], at: usize) -> bool {
    escaped(bytes, at).is_some_and(|c| c.is_alphanumeric() || c == ' ' || is_mark(c))
}

/// Returns the character of an escape with four digits.
fn escaped(bytes: &[u8], at: usize) -> Option<char> {
    let digits = bytes.get(at + 2..at + 6)?;
    char::from_u32(u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?)
}

/// Returns whether letters occur whose base is an ASCII letter: with accents, as marks, or as small capitals.
pub(super) fn has_accents(bytes: &[u8]) -> bool {
    /// Number of bytes of a part. Most parts have no letter beyond ASCII, which is found at once.
    const PART: usize = 64;
    let has_base = |at: usize| {
        let length = match bytes[at] {
            0xc3..=0xcd => 2,
            0xe1 | 0xe2 | 0xea => 3,
            _ => return false,
        };
        let letter = bytes.get(at..at + length).and_then(|letter| str::from_utf8(letter).ok()?.chars().next());
        letter.is_some_and(|letter| is_mark(letter) || fold(letter).is_ascii_alphanumeric())
    };
    let mut parts = bytes.chunks(PART).zip((0..).step_by(PART)).filter(|(part, _)| !part.is_ascii());
    parts.any(|(part, start)| (start..start + part.len()).any(has_base))
}

/// Returns the place of the rarest piece of a text.
pub(super) fn rarest(text: &[u8]) -> Range<usize> {
    let length = text.len().min(PIECE);
    let often = |start: &usize| text[*start..start + length].iter().map(|byte| frequency(*byte)).sum::<usize>();
    let start = (0..=text.len() - length).min_by_key(often).unwrap_or(0);
    start..start + length
}

/// Ranks small letters and digits by how often they are in transcripts, roughly.
fn frequency(byte: u8) -> usize {
    const RARE_FIRST: &[u8] = b"qjzxkwvyb9786543h2gf1pm0cludonirsate";
    RARE_FIRST.iter().position(|rare| *rare == byte).unwrap_or(RARE_FIRST.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(text: &str, is_exact: bool) -> Option<String> {
        Probe::from_needle(&Needle::new(text, is_exact)).map(|probe| String::from_utf8_lossy(&probe.run).into_owned())
    }

    #[test]
    fn accent_check_finds_every_letter_with_ascii_base() {
        for letter in ('\u{80}'..=char::MAX).filter(|letter| letter.len_utf8() < 4) {
            let is_found = has_accents(format!("{}{letter}", "x".repeat(62)).as_bytes());
            assert_eq!(is_found, is_mark(letter) || fold(letter).is_ascii_alphanumeric(), "{letter}");
        }
        let beyond = ('\u{10000}'..=char::MAX).find(|letter| fold(*letter).is_ascii());
        assert_eq!(beyond, None, "letters of four bytes need not be looked at");
        assert!(!has_accents("“quoted” — and so on … 日本語 привет €".as_bytes()));
    }

    #[test]
    fn probe_searches_longest_alphanumeric_run() {
        assert_eq!(run("fix  the Parser2, please", false).as_deref(), Some("the parser2"));
        assert_eq!(run("fix it true fix", false).as_deref(), Some("true fix"), "a tool may have been given `true`");
        assert_eq!(run("a 2b", false).as_deref(), Some("2b"));
        assert_eq!(run("bash tru", false).as_deref(), Some("bash"));
        assert_eq!(run("größer", false).as_deref(), Some("er"));
        assert_eq!(run("größer kik", true).as_deref(), Some("er kik"));
        assert_eq!(run("ä links", false).as_deref(), Some("s"), "a dotted capital I becomes an i, too");
        for nothing in ["", "…", "日本", "tool", "ool", "to"] {
            assert_eq!(run(nothing, false), None, "{nothing}");
        }
    }

    #[test]
    fn only_two_other_capitals_lowercase_to_ascii() {
        let becomes_ascii = |letter: &char| letter.to_lowercase().any(|small| small.is_ascii_alphanumeric());
        let others: Vec<String> = ('\u{80}'..=char::MAX)
            .filter(becomes_ascii)
            .map(|letter| letter.to_lowercase().filter(char::is_ascii).collect())
            .collect();
        assert_eq!(others, ["i", "k"]);
    }

    #[test]
    fn probe_detects_escaped_letter_or_digit() {
        for (bytes, expected) in [
            (&br"a\u0041"[..], true),
            (br"a\u007a", true),
            (br"a\u0039", true),
            (br"a\u0020", true),
            (br"a\u001b[0m\u003c\u00e9", false),
            (br"a\u00", false),
            (br"a\u00zz", false),
            (br"\\u0061", true),
        ] {
            assert_eq!(has_escaped(bytes), expected, "{}", String::from_utf8_lossy(bytes));
        }
    }

    proptest! {
        #[test]
        fn probe_equals_lowercase_search(run in "[qa1]{1,6}", bytes in "[qaQA1-]{0,24}") {
            let Some(probe) = Probe::from_needle(&Needle::new(&run, false)) else { return Ok(()) };
            prop_assert_eq!(probe.is_in(bytes.as_bytes()), bytes.to_ascii_lowercase().contains(&run));
        }

        #[test]
        fn prefilter_never_skips_matching_file(
            before in 0_usize..2 * WINDOW + 40,
            text in "[a-zA-Z0-9 .]{0,12}[b-nB-N]{3}[a-z .ä]{0,4}",
            after in 0_usize..40,
            upper in any::<bool>(),
        ) {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("a.jsonl");
            let needle = Needle::new(&text, false);
            let spelled = if upper && !needle.is_exact { text.to_uppercase() } else { text };
            let whole = ["-".repeat(before), spelled, "-".repeat(after)].concat();
            write(&path, whole.as_bytes());
            prop_assume!(needle.find_in(&whole).is_some());
            prop_assert!(Probe::from_needle(&needle).is_none_or(|probe| probe.may_be_in(&path, u64::MAX)));
            write(&path, "-".repeat(before).as_bytes());
            prop_assert!(Probe::from_needle(&needle).is_none_or(|probe| !probe.may_be_in(&path, u64::MAX)));
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a test lays out its own file")]
    fn write(path: &Path, bytes: &[u8]) {
        std::fs::write(path, bytes).expect("a file");
    }
}
