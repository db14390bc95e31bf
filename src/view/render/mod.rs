//! Formats values: tables for users, lines for pipes, JSON for scripts.

pub(crate) mod answer;
pub(crate) mod archive;
pub(crate) mod backfill;
pub(crate) mod briefing;
pub(crate) mod change;
pub(crate) mod cleanup;
pub(crate) mod config;
pub(crate) mod confirm;
pub(crate) mod doctor;
pub(crate) mod document;
pub(crate) mod export;
mod fields;
pub(crate) mod hook;
pub(crate) mod hosts;
pub(crate) mod items;
pub(crate) mod json;
pub(crate) mod labels;
pub(crate) mod list;
pub(crate) mod relocate;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod rows;
pub(crate) mod save;
pub(crate) mod search;
pub(crate) mod search_json;
mod serializer;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod stores;
pub(crate) mod sync;
pub(crate) mod table;
pub(crate) mod undo;

use std::io::{self, Write};
use std::ops::ControlFlow;

use crate::system::in_order::in_order;

/// Writes many lines in order, formatted by all threads.
pub(crate) fn write_lines(
    out: &mut impl Write,
    count: usize,
    line: impl Fn(usize, &mut Vec<u8>) -> io::Result<()> + Sync,
) -> io::Result<()> {
    /// Number of lines that one thread formats at a time.
    const CHUNK: usize = 128;
    /// Number of chunks that may wait to be written.
    const AHEAD: usize = 8;
    let lines = |chunk: usize| {
        let (mut text, start) = (Vec::new(), chunk * CHUNK);
        (start..count.min(start + CHUNK)).try_for_each(|at| line(at, &mut text)).map(|()| text)
    };
    let mut write = |text: io::Result<Vec<u8>>| out.write_all(&text?).map(ControlFlow::Continue);
    in_order(count.div_ceil(CHUNK), AHEAD, &lines, &mut || (), &mut write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writer_writes_many_lines_once_in_order() {
        for count in [0, 1, 127, 128, 129, 2048, 20_000] {
            let mut out = Vec::new();
            write_lines(&mut out, count, |at, line| writeln!(line, "{at}")).expect("lines");
            let lines: Vec<usize> =
                String::from_utf8_lossy(&out).lines().map(|line| line.parse().expect("a number")).collect();
            assert_eq!(lines, (0..count).collect::<Vec<_>>());
        }
    }
}
