//! Standard output, with a pager for an answer that is longer than the screen.

use std::io::{self, Write};
use std::mem;
use std::process::Child;

use super::pager::Pager;
use crate::error::reason;
use crate::format::wrap;
use crate::system::signals::Signals;

/// As in git: quit if everything fits, pass colours, leave the text on the screen.
const FLAGS: &str = "FRX";

/// Standard output, and the pager between it and the answer.
pub(super) struct Pages {
    stdout: Box<dyn Write + Send>,
    state: PagerState,
}

/// A stream whose errors say that standard output failed.
struct NamedStream(Box<dyn Write + Send>);

impl NamedStream {
    fn named(error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("cannot write to standard output: {}", reason(error)))
    }
}

impl Write for NamedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(|error| Self::named(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(|error| Self::named(&error))
    }
}

#[derive(Debug, Default)]
enum PagerState {
    /// Writes to standard output.
    #[default]
    Off,
    /// Text is held until it is longer than the screen.
    Holding(HeldText),
    /// Writes to the pager.
    Running(RunningPager),
}

#[derive(Debug)]
struct HeldText {
    pager: Pager,
    text: Vec<u8>,
    columns: usize,
    rows: usize,
}

/// A running pager. The keys that end programs are meant for it.
#[derive(Debug)]
struct RunningPager {
    child: Child,
    signals: Option<Signals>,
}

impl Pages {
    pub(super) fn new(stdout: Box<dyn Write + Send>) -> Self {
        Self { stdout: Box::new(NamedStream(stdout)), state: PagerState::Off }
    }

    /// Starts to hold text for a screen with a given size.
    pub(super) fn hold_text(&mut self, pager: Pager, columns: usize, rows: usize) {
        if matches!(self.state, PagerState::Off) {
            self.state = PagerState::Holding(HeldText { pager, text: Vec::new(), columns, rows });
        }
    }

    /// Returns whether text is held or a pager runs.
    pub(super) fn is_on(&self) -> bool {
        !matches!(self.state, PagerState::Off)
    }

    /// Returns whether a pager has the screen.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, PagerState::Running(_))
    }

    /// Writes held text, or waits until the pager ends.
    pub(super) fn end(&mut self) -> io::Result<()> {
        match mem::take(&mut self.state) {
            PagerState::Off => {}
            PagerState::Holding(held) => self.stdout.write_all(&held.text)?,
            PagerState::Running(mut running) => {
                drop(running.child.stdin.take());
                running.child.wait()?;
                if let Some(signals) = running.signals.take() {
                    signals.pass_on();
                }
            }
        }
        self.stdout.flush()
    }

    /// Starts the pager with the held text. If it cannot be started, the text is written directly to standard output.
    fn start(&mut self) -> io::Result<()> {
        let PagerState::Holding(held) = mem::take(&mut self.state) else { return Ok(()) };
        let signals = Signals::catch().ok();
        match held.pager.start(FLAGS) {
            Err(_) => self.stdout.write_all(&held.text),
            Ok(child) => {
                self.state = PagerState::Running(RunningPager { child, signals });
                self.write_all(&held.text)
            }
        }
    }
}

impl Write for Pages {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.state {
            PagerState::Off => self.stdout.write(bytes),
            PagerState::Running(running) => match &mut running.child.stdin {
                Some(stdin) => stdin.write(bytes),
                None => Err(io::ErrorKind::BrokenPipe.into()),
            },
            PagerState::Holding(held) => {
                held.text.extend_from_slice(bytes);
                // Reserve a line for the next shell prompt.
                if height(&String::from_utf8_lossy(&held.text), held.columns) >= held.rows {
                    self.start()?;
                }
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.state {
            PagerState::Off => self.stdout.flush(),
            PagerState::Holding(_) => Ok(()),
            PagerState::Running(running) => running.child.stdin.as_mut().map_or(Ok(()), Write::flush),
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // The reader closed the stream and does not need the rest.
        let _ = self.end();
    }
}

/// Returns the height of a text on a screen of this width, in lines.
fn height(text: &str, columns: usize) -> usize {
    let rows = |line: &str| wrap::columns(line).div_ceil(columns.max(1)).max(1);
    text.lines().map(rows).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn height_counts_wrapped_lines_without_escape_codes() {
        for (text, columns, expected) in
            [("", 10, 0), ("a\n", 10, 1), ("a\n\nb", 10, 3), ("\x1b[1mabcde\x1b[0mfghij\n", 10, 1), ("日本語\n", 5, 2)]
        {
            assert_eq!(height(text, columns), expected, "{text:?}");
        }
    }
}
