//! Both ends of a file give the same lines, plain or compressed, whatever their length.

#![expect(clippy::disallowed_methods, reason = "tests write the files that they read")]

use std::io::Read as _;
use std::path::PathBuf;

use super::unpacked::MAX_UNPACKED;
use super::*;
use crate::format::edit::Edit;
use crate::session::{Message, Role};

fn file(contents: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("x.jsonl");
    std::fs::write(&path, contents).expect("a file");
    (dir, path)
}

fn all_from_start(path: &Path) -> Vec<String> {
    let mut seen = Vec::new();
    let complete = Jsonl::open(path)
        .expect("a file")
        .lines_forward(&mut |line| {
            seen.push(String::from_utf8_lossy(line).into_owned());
            false
        })
        .expect("lines");
    assert!(complete);
    seen
}

fn all_from_end(path: &Path) -> Vec<(String, bool)> {
    let mut seen = Vec::new();
    let mut see = |line: &[u8], is_ended| {
        seen.push((String::from_utf8_lossy(line).into_owned(), is_ended));
        false
    };
    Jsonl::open(path).expect("a file").lines_backward(&mut see).expect("lines");
    seen
}

#[test]
fn forward_and_backward_reads_return_same_lines() {
    let text: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
    let (_dir, path) = file(text.as_bytes());
    let forward = all_from_start(&path);
    let mut backward: Vec<String> = all_from_end(&path).into_iter().map(|(line, _)| line).collect();
    backward.reverse();
    assert_eq!(forward.len(), 20_000);
    assert_eq!(forward, backward);
}

#[test]
fn lines_across_window_edges_are_complete() {
    for length in [FIRST_WINDOW - 1, FIRST_WINDOW, FIRST_WINDOW + 1, FIRST_WINDOW * GROWTH + 3] {
        let text = format!("first\n{}\nlast\n", "x".repeat(length));
        let (_dir, path) = file(text.as_bytes());
        assert_eq!(all_from_start(&path).len(), 3, "{length}");
        let backward = all_from_end(&path);
        assert_eq!(backward.len(), 3, "{length}");
        assert_eq!(backward[1].0.len(), length);
        assert_eq!(backward[2].0, "first");
    }
}

#[test]
fn tail_size_does_not_change_lines() {
    let text: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
    for length in [10, 1000, 5000, text.len()] {
        let (_dir, path) = file(&text.as_bytes()[..length]);
        for tail in [1, 999, 1000, 1001, 96 * 1024] {
            let mut file = Jsonl::open(&path).expect("a file").with_tail(tail);
            let (mut forward, mut backward) = (Vec::new(), Vec::new());
            let mut from_start = |line: &[u8]| {
                forward.push(line.to_vec());
                false
            };
            assert!(file.lines_forward(&mut from_start).expect("lines"));
            let mut from_end = |line: &[u8], _| {
                backward.push(line.to_vec());
                false
            };
            file.lines_backward(&mut from_end).expect("lines");
            backward.reverse();
            assert_eq!(forward.concat().len() + forward.len(), length + usize::from(!text[..length].ends_with('\n')));
            assert_eq!(forward, backward, "{length} bytes, {tail} of the end");
        }
    }
}

#[test]
fn reader_reports_unterminated_last_line() {
    let (_dir, path) = file(b"one\n\ntwo");
    assert_eq!(all_from_start(&path), ["one", "two"]);
    assert_eq!(all_from_end(&path), [("two".to_owned(), false), ("one".to_owned(), true)]);
}

#[test]
fn unicode_line_separators_do_not_end_a_line() {
    let (_dir, path) = file("a\u{2028}b\u{85}c\n".as_bytes());
    assert_eq!(all_from_start(&path), ["a\u{2028}b\u{85}c"]);
}

/// A record with an image of this size, and its end.
fn record(data: usize, end: &str) -> String {
    format!("{{\"data\":\"{}\",\"text\":\"of words\"{end}}}", "A".repeat(data))
}

#[test]
fn reader_condenses_overlong_line_at_any_position() {
    let long = record(3 * MAX_LINE, "");
    let text = format!("one\n{long}\nthree\n{long}");
    let (_dir, path) = file(text.as_bytes());
    let file = Jsonl::open(&path).expect("a file");
    let mut lines = file.into_lines().expect("lines");
    let one = lines.next_line().expect("a line").expect("a line");
    assert_eq!((one.number, one.bytes, one.is_ended, one.left_out), (1, b"one".as_slice(), true, None));
    let two = lines.next_line().expect("a line").expect("a line");
    let short = String::from_utf8(two.bytes.to_vec()).expect("UTF-8");
    assert!(two.left_out.is_some() && !lacks_text(two.bytes) && short.len() < 2000, "{}", short.len());
    assert!(short.starts_with("{\"data\":\"AAA") && short.ends_with("left out by rejoin]\",\"text\":\"of words\"}"));
    let at = short.find("of words").expect("the words");
    assert_eq!(two.offset(at), text.find("of words").expect("the words") as u64);
    let edit = two.edit(Edit::replace(at..at + 2, "IN"));
    let edited = String::from_utf8(crate::format::edit::apply(text.as_bytes(), &[edit])).expect("UTF-8");
    assert!(edited.len() == text.len() && edited.contains("\"IN words\"}\nthree"));
    let three = lines.next_line().expect("a line").expect("a line");
    assert_eq!((three.number, three.bytes, three.is_ended), (3, b"three".as_slice(), true));
    let four = lines.next_line().expect("a line").expect("a line");
    assert_eq!((four.bytes, four.is_ended), (short.as_bytes(), false));
    assert_eq!(lines.next_line().expect("an end"), None);
    assert_eq!(all_from_start(&path), ["one", &short, "three", &short]);
    let backward = [(short.clone(), false), ("three".to_owned(), true), (short, true), ("one".to_owned(), true)];
    assert_eq!(all_from_end(&path), backward);
    assert_eq!(
        Jsonl::open(&path).expect("a file").last_line_start().expect("a start"),
        text.rfind('{').map(|at| at as u64)
    );
}

#[test]
fn reader_skips_bom_and_replaces_invalid_utf8() {
    let text = b"\xef\xbb\xbf{\"a\":1}\n{\"b\":\"\xff\xfe\",\"c\":2}\n\xef\xbb\xbf\n";
    for packed in [false, true] {
        let (dir, mut path) = file(text);
        if packed {
            path = dir.path().join("x.jsonl.zst");
            std::fs::write(&path, zstd::encode_all(&text[..], 3).expect("a packed file")).expect("a file");
        }
        let expected = ["{\"a\":1}", "{\"b\":\"\u{fffd}\u{fffd}\",\"c\":2}", "\u{feff}"];
        assert_eq!(all_from_start(&path), expected);
        assert_eq!(all_from_end(&path).into_iter().rev().map(|(line, _)| line).collect::<Vec<_>>(), expected);
        let mut lines = Jsonl::open(&path).expect("a file").into_lines().expect("lines");
        let one = lines.next_line().expect("a line").expect("a line");
        assert_eq!((one.start, one.bytes, one.lost()), (3, expected[0].as_bytes(), [None, None]));
        let two = lines.next_line().expect("a line").expect("a line");
        assert_eq!((two.bytes, two.replaced.is_some(), two.left_out), (expected[1].as_bytes(), true, None));
        let at = expected[1].find("2}").expect("the end");
        assert_eq!(two.offset(at), text.iter().position(|byte| *byte == b'2').expect("the end") as u64);
    }
}

#[test]
fn compressed_file_has_same_lines_as_plain() {
    let text: String = (0..400_000).map(|number| format!("line {number}\n")).collect();
    for length in [0, 10, 5000, 1_500_000, text.len()] {
        let text = &text.as_bytes()[..length];
        let (dir, path) = file(text);
        let packed = dir.path().join("x.jsonl.zst");
        std::fs::write(&packed, zstd::encode_all(text, 3).expect("a packed file")).expect("a file");
        for tail in [1, 96 * 1024] {
            let from_start = |path| {
                let (mut file, mut seen) = (Jsonl::open(path).expect("a file").with_tail(tail), Vec::new());
                let mut see = |line: &[u8]| {
                    seen.push(line.to_vec());
                    false
                };
                (file.lines_forward(&mut see).expect("lines"), seen)
            };
            assert_eq!(from_start(&packed), from_start(&path), "{length}");
        }
        assert_eq!(all_from_end(&packed), all_from_end(&path), "{length}");
        let streamed = |path| {
            let (mut lines, mut seen) = (Jsonl::open(path).expect("a file").into_lines().expect("lines"), Vec::new());
            while let Some(line) = lines.next_line().expect("a line") {
                seen.push((line.bytes.to_vec(), line.is_ended));
            }
            seen
        };
        assert_eq!(streamed(&packed), streamed(&path), "{length}");
    }
}

#[test]
fn truncated_compressed_file_ends_after_readable_part() {
    // Numbers without a pattern, so that compression makes more than one block of them.
    let text: String =
        (0_u64..300_000).map(|number| format!("{:016x}\n", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let packed = zstd::encode_all(text.as_bytes(), 3).expect("a packed file");
    let (dir, _) = file(b"");
    let path = dir.path().join("x.jsonl.zst");
    std::fs::write(&path, &packed[..packed.len() / 2]).expect("a file");
    let shown = all_from_end(&path);
    assert!(!shown.is_empty() && shown.len() < 300_000);
    std::fs::write(&path, b"not packed").expect("a file");
    assert!(Jsonl::open(&path).expect_err("an error").to_string().starts_with("cannot unpack"));
}

#[test]
fn backward_read_of_compressed_file_stops_at_limit() {
    let (dir, _) = file(b"");
    let path = dir.path().join("x.jsonl.zst");
    let lines = io::repeat(b'x').take(MAX_UNPACKED).chain(&b"\nlast\n"[..]);
    let lines = (&b"first\n"[..]).chain(lines);
    std::fs::write(&path, zstd::encode_all(lines, 1).expect("a packed file")).expect("a file");
    let mut file = Jsonl::open(&path).expect("a file");
    let mut seen = Vec::new();
    let is_whole = file.lines_forward(&mut |line| {
        seen.push(line.len());
        false
    });
    assert!(!is_whole.expect("lines"));
    assert!(seen[0] == 5 && seen[1] < 2 * LAST_WINDOW && seen.len() == 2, "{seen:?}");
    assert_eq!(all_from_end(&path), []);
}

#[test]
fn last_line_with_searches_beyond_the_window() {
    for filling in [0, 10, LAST_WINDOW - 12, LAST_WINDOW - 6, LAST_WINDOW, 3 * LAST_WINDOW + 5] {
        let text = format!("first wanted\n{{a wanted one}}\n{}\n", "x".repeat(filling));
        let (_dir, path) = file(text.as_bytes());
        let find = |limit| {
            let line = Jsonl::open(&path).expect("a file").last_line_with(b"wanted", limit).expect("a look");
            line.map(|line| String::from_utf8(line).expect("text"))
        };
        assert_eq!(find(u64::MAX).as_deref(), Some("{a wanted one}"), "{filling}");
        assert_eq!(find(filling as u64), None, "{filling}");
    }
    let (_dir, path) = file(b"wanted");
    let found = Jsonl::open(&path).expect("a file").last_line_with(b"wanted", 100).expect("a look");
    assert_eq!(found.as_deref(), Some(b"wanted".as_slice()));
}

#[test]
fn forward_read_stops_after_the_largest_window() {
    let line = record(10, &" ".repeat(64 * 1024));
    let (_dir, path) = file(format!("{line}\n").repeat(100).as_bytes());
    let mut seen = 0;
    let is_whole = Jsonl::open(&path).expect("a file").lines_forward(&mut |line| {
        seen += line.len();
        false
    });
    assert!(!is_whole.expect("lines") && (LAST_WINDOW..2 * LAST_WINDOW).contains(&seen), "{seen}");
    let from_end: usize = all_from_end(&path).into_iter().map(|(line, _)| line.len()).sum();
    assert!((LAST_WINDOW..3 * LAST_WINDOW).contains(&from_end), "{from_end}");
}

#[test]
fn last_messages_returns_the_last_messages_in_order() {
    let line = |number: usize| "x".repeat(number * 37 % 9_000) + &format!(" {number}\n");
    let text: String = (0..2_000).map(line).collect();
    let (_dir, path) = file(text.as_bytes());
    // Some lines hold no message, and some hold two.
    let messages = |line: &[u8]| {
        let text = String::from_utf8_lossy(line).into_owned();
        Some((0..line.len() % 3).map(move |part| Message::new(Role::User, format!("{text} {part}"), None)))
    };
    let mut all = Vec::new();
    let see = &mut |message| {
        all.push(message);
        std::ops::ControlFlow::Continue(())
    };
    each_message(&path, see, messages).expect("messages");
    for count in [0, 1, 2, 3, 50, 1_500] {
        let last = last_messages(&path, count, messages).expect("messages").expect("enough");
        assert_eq!(last, all[all.len() - count..], "{count}");
    }
    assert_eq!(last_messages(&path, all.len() + 1, messages).expect("messages"), None);
}

#[test]
fn without_nul_strips_blocks_from_both_ends() {
    for (before, after) in [(0, 0), (1, 4095), (4096, 1), (4097, 8192), (10_000, 0)] {
        let line = [&vec![0; before][..], b"a\0b", &vec![0; after]].concat();
        assert_eq!(without_nul(&line), b"a\0b", "{before}, {after}");
    }
    assert_eq!(without_nul(&[0; 5_000]), b"");
}

#[test]
fn backward_read_skips_nul_bytes_longer_than_window() {
    let nul = vec![0; 2 * LAST_WINDOW];
    let (_dir, path) = file(&nul);
    assert_eq!(all_from_end(&path), []);
    let (_dir, path) = file(&[&nul[..], b"\nlast\n", &nul].concat());
    assert_eq!(all_from_end(&path), [("last".to_owned(), true)]);
}
