//! Finds the newest time in the bytes of a file of any format: a lower bound on the age of a session.

use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom};
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use memchr::{memchr2_iter, memmem};

use crate::error::PathError;
use crate::format::json::instant;
use crate::format::jsonl::is_packed;
use crate::format::turn;
use crate::system::fsio;

/// Bytes read at once.
const CHUNK: usize = 256 * 1024;
/// Size in bytes of the part that counts as the end of a file.
const NEAR_END: u64 = 256 * 1024;
/// Number of bytes at the end of a file that are searched for the last line.
const TAIL: usize = 64 * 1024;
/// Maximum length of a time: `2026-02-01T10:00:00.123456789+01:00` and a byte after it.
const LONGEST: usize = 40;
/// Minimum length of a date with a time: `2026-02-01T10:00:00`.
const SHORTEST: usize = 19;
/// Hours of the westernmost time zone behind UTC: the latest a time without a zone can be.
const WEST: i64 = 12;

/// The times in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimesInFile {
    /// The newest one: in RFC 3339 style, or in seconds or milliseconds since 1970.
    pub newest: Option<Timestamp>,
    /// Set if the last line has a time; for a JSON document, set if any part has one.
    pub ends_dated: bool,
}

/// Returns the times in a file that are not after `latest`; none if the file does not exist. Records of the types in
/// `untimed` do not count as the last line.
///
/// # Errors
///
/// The file cannot be read.
pub(crate) fn times_in(path: &Path, latest: Timestamp, untimed: &[&str]) -> Result<TimesInFile, PathError> {
    let (file, metadata) = match fsio::open_regular(path) {
        Ok(opened) => opened,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(TimesInFile::default()),
        Err(error) => return Err(error),
    };
    let (mut file, is_packed) = content_of(path, file)?;
    // A time that the end of a chunk may cut is parsed with the next chunk, together with the byte before it.
    let length = usize::try_from(metadata.len()).ok().filter(|_| !is_packed);
    let at_once = length.map_or(CHUNK, |length| length.min(CHUNK));
    let (mut newest, mut bytes, mut kept) = (None, vec![b' '; at_once + LONGEST + 1], 1);
    let mut tail = Vec::new();
    loop {
        let read = file.read(&mut bytes[kept..]).map_err(|error| PathError::new("read", path, error))?;
        let seen = kept + read;
        let last = if read == 0 { seen } else { seen.saturating_sub(LONGEST).max(1) };
        newest = newest.max(newest_of(&bytes[..seen], last, latest));
        if read == 0 {
            let is_document = path.extension().is_some_and(|extension| extension == "json");
            let ends_dated = if is_document { newest.is_some() } else { ends_dated(&tail, latest, untimed) };
            return Ok(TimesInFile { newest, ends_dated });
        }
        tail.extend_from_slice(&bytes[kept..seen]);
        tail.drain(..tail.len().saturating_sub(TAIL));
        kept = seen - (last - 1);
        bytes.copy_within(last - 1..seen, 0);
    }
}

/// Checks whether the last line of a file that counts has a time, by the end of the file. The beginning of a longer
/// line may have one, but that counts as none.
fn ends_dated(tail: &[u8], latest: Timestamp, untimed: &[&str]) -> bool {
    let has_time = |line: &[u8]| newest_of(&[b" ", line].concat(), line.len() + 1, latest).is_some();
    let counts = |line: &&[u8]| {
        let kind = line.strip_prefix(br#"{"type":""#).unwrap_or_default();
        !line.trim_ascii().is_empty()
            && !untimed
                .iter()
                .any(|known| kind.strip_prefix(known.as_bytes()).is_some_and(|rest| rest.starts_with(b"\"")))
    };
    let lines = || tail.rsplit(|byte| *byte == b'\n');
    // A record of a counted type that has a time counts as the last line.
    let untimed = lines().take_while(|line| !counts(line));
    let first = lines().find(counts);
    untimed.chain(first).any(has_time)
}

/// Returns the content of a file, decompressed if necessary, and whether it was compressed. Unlike a line reader, this
/// fails at the first damage: a newer time may follow it.
fn content_of(path: &Path, file: File) -> Result<(Box<dyn Read>, bool), PathError> {
    if !is_packed(path) {
        return Ok((Box::new(file), false));
    }
    let unpacked = zstd::Decoder::new(file).map_err(|error| PathError::new("unpack", path, error))?;
    Ok((Box::new(unpacked), true))
}

/// Returns the newest time near the end of a file that is a JSON value and not after `latest`.
///
/// # Errors
///
/// The file cannot be read.
pub(crate) fn newest_value_near_end(path: &Path, latest: Timestamp) -> Result<Option<Timestamp>, PathError> {
    let (file, metadata) = fsio::open_regular(path)?;
    let mut bytes = Vec::new();
    let start = metadata.len().saturating_sub(NEAR_END);
    let fail = |error| PathError::new("read", path, error);
    (&file).seek(SeekFrom::Start(start)).map_err(fail)?;
    file.take(NEAR_END).read_to_end(&mut bytes).map_err(fail)?;
    let values = memmem::find_iter(&bytes, b"\":\"2").map(|at| at + 3);
    let spaced = memmem::find_iter(&bytes, b"\": \"2").map(|at| at + 4);
    // Inside a JSON string the quotes are escaped, so a time there is not a value.
    let times = values.chain(spaced).filter(|at| bytes[at - 3..*at].iter().all(|byte| *byte != b'\\'));
    Ok(times.filter_map(|at| written(&bytes[at..(at + LONGEST).min(bytes.len())])).filter(|at| *at <= latest).max())
}

/// Returns the newest time, not after `latest`, that begins after the first byte and before byte `last`.
fn newest_of(bytes: &[u8], last: usize, latest: Timestamp) -> Option<Timestamp> {
    let (mut newest, mut newest_second): (_, &[u8]) = (None, &[]);
    // Most logs end with their newest time, and an older UTC time can be rejected by comparing texts.
    for at in memchr2_iter(b'1', b'2', &bytes[1..last]).rev().map(|at| at + 1) {
        if bytes[at - 1].is_ascii_alphanumeric() {
            continue;
        }
        let rest = &bytes[at..(at + LONGEST).min(bytes.len())];
        let second = utc_second(rest);
        if second.is_some_and(|second| second < newest_second) {
            continue;
        }
        let time = if rest[0] == b'2' { written(rest) } else { counted(rest) };
        let Some(time) = time.filter(|time| *time <= latest && newest.is_none_or(|newest| newest < *time)) else {
            continue;
        };
        newest = Some(time);
        newest_second = second.unwrap_or(newest_second);
    }
    newest
}

/// Returns the part `2026-02-01T10:00:00` of a UTC time; such texts sort like their times.
fn utc_second(text: &[u8]) -> Option<&[u8]> {
    let (second, rest) = text.split_at_checked(SHORTEST)?;
    let zone = rest.iter().find(|byte| !matches!(byte, b'0'..=b'9' | b'.'))?;
    (*zone == b'Z' && second[10] == b'T').then_some(second)
}

/// Parses a time in RFC 3339 style.
fn written(text: &[u8]) -> Option<Timestamp> {
    if text.len() < SHORTEST || text[4] != b'-' || text[7] != b'-' || !matches!(text[10], b'T' | b' ') {
        return None;
    }
    let end = text[SHORTEST..].iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'.' | b':' | b'+' | b'-' | b'Z'));
    let text = str::from_utf8(&text[..end.map_or(text.len(), |end| SHORTEST + end)]).ok()?;
    instant(text).or_else(|| {
        let local: DateTime = text.parse().ok()?;
        let utc = local.to_zoned(TimeZone::UTC).ok()?.timestamp();
        utc.checked_add(jiff::SignedDuration::from_hours(WEST)).ok()
    })
}

/// Parses a time in seconds or milliseconds since 1970, from 2001 on.
fn counted(text: &[u8]) -> Option<Timestamp> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !matches!(digits, 10 | 13) {
        return None;
    }
    turn::instant(str::from_utf8(&text[..digits]).ok()?.parse().ok()?)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;

    const LATEST: &str = "2026-03-01T12:00:00Z";

    fn newest(text: &str) -> Option<String> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a");
        std::fs::write(&path, text).expect("a file");
        times_in(&path, LATEST.parse().expect("a time"), &[]).expect("a file").newest.map(|at| at.to_string())
    }

    #[test]
    fn newest_timestamp_wins_at_any_position() {
        for (text, expected) in [
            (r#"{"at":"2026-02-03T10:00:00.5Z"}{"at":"2026-02-01T10:00:00Z"}"#, "2026-02-03T10:00:00.5Z"),
            (r#"{"at":"2026-02-03T10:00:00+02:00"}"#, "2026-02-03T08:00:00Z"),
            (r#"{"time":1769940000,"x":1769940060123}"#, "2026-02-01T10:01:00.123Z"),
            (r#"{"time":1769940000.25}"#, "2026-02-01T10:00:00Z"),
            ("# aider chat started at 2026-02-01 10:00:00\n", "2026-02-01T22:00:00Z"),
            (r#"{"at":"2026-02-01T10:00:00Z","to come":"2026-04-01T10:00:00Z"}"#, "2026-02-01T10:00:00Z"),
        ] {
            assert_eq!(newest(text).as_deref(), Some(expected), "{text}");
        }
        for other in ["", "2026", "2026-02-01", "12026-02-01T10:00:00Z", r#"{"id":"17699400001"}"#, "{\"a\":1769}"] {
            assert_eq!(newest(other), None, "{other}");
        }
    }

    #[test]
    fn ends_dated_needs_timestamp_in_last_line() {
        let dir = tempfile::tempdir().expect("a directory");
        let dated = r#"{"at":"2026-02-03T10:00:00Z"}"#;
        let (title, mode) = (r#"{"type":"title","x":"y"}"#, r#"{"type":"mode"}"#);
        let ends_dated = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).expect("a file");
            times_in(&path, LATEST.parse().expect("a time"), &["mode"]).expect("a file").ends_dated
        };
        for blank in ["", "\n", "\n\n  \n"] {
            for filler in [0, 10, TAIL - 60, CHUNK, 3 * CHUNK] {
                let filler = " ".repeat(filler);
                for (lines, expected) in [
                    (vec![title, dated], true),
                    (vec![dated, title], false),
                    (vec![dated, mode, mode], true),
                    (vec![dated, title, mode], false),
                    (vec![title, mode], false),
                ] {
                    let text = format!("{filler}\n{}{blank}", lines.join("\n"));
                    assert_eq!(ends_dated("a.jsonl", &text), expected, "{lines:?}, {} bytes", text.len());
                }
            }
        }
        assert!(!ends_dated("a.jsonl", r#"{"type":"mode-of-tomorrow"}"#));
        assert!(!ends_dated("a.jsonl", &format!("{dated}{}", "x".repeat(TAIL))), "the time may be that of a part");
        assert!(ends_dated("a.json", &format!("{dated}\n}}")) && !ends_dated("a.json", title));
        assert!(!ends_dated("a.md", "") && !ends_dated("a.md", "# started at 2026-02-01 10:00:00\n> said\n"));
    }

    #[test]
    fn reader_refuses_truncated_compressed_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.jsonl.zst");
        let text = format!("2026-02-03T10:00:00Z {}", "x".repeat(2 * CHUNK));
        let packed = zstd::encode_all(text.as_bytes(), 0).expect("a packed text");
        let newest = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("a file");
            times_in(&path, LATEST.parse().expect("a time"), &[]).map(|times| times.newest)
        };
        assert_eq!(newest(&packed).expect("a time"), "2026-02-03T10:00:00Z".parse().ok());
        for damaged in [&packed[..packed.len() / 2], b"2026-02-03T10:00:00Z"] {
            assert!(newest(damaged).is_err(), "a newer time may be in what is lost");
        }
    }

    #[test]
    fn finds_timestamp_split_between_chunks() {
        for before in CHUNK - 2..CHUNK + LONGEST + 2 {
            let text = format!("{}\"2026-02-03T10:00:00Z\"{}", " ".repeat(before), " ".repeat(100));
            assert_eq!(newest(&text).as_deref(), Some("2026-02-03T10:00:00Z"), "{before}");
        }
    }
}
