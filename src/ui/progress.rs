//! A line that shows how far something is: on a terminal, and gone when it is done.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

/// What is done sooner needs no line, and nobody reads faster.
const PAUSE: Duration = Duration::from_millis(150);
/// How many characters the bar has.
const WIDTH: usize = 30;

/// The line; it goes away with the value.
#[derive(Debug)]
pub struct Progress {
    what: &'static str,
    total: usize,
    last: Instant,
    is_watched: bool,
    is_shown: bool,
}

impl Progress {
    pub(super) fn new(what: &'static str, total: usize, is_watched: bool) -> Self {
        Self { what, total, last: Instant::now(), is_watched, is_shown: false }
    }

    /// Shows how many are done.
    pub fn at(&mut self, done: usize) {
        if self.is_watched && self.last.elapsed() >= PAUSE {
            self.last = Instant::now();
            self.is_shown = true;
            write(&line(self.what, done, self.total));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            write("\r\x1b[K");
        }
    }
}

fn line(what: &str, done: usize, total: usize) -> String {
    let full = (done.min(total) * WIDTH).checked_div(total).unwrap_or(0);
    format!("\r\x1b[K{what} [{}{}] {done}/{total}", "#".repeat(full), " ".repeat(WIDTH - full))
}

#[expect(clippy::disallowed_methods, reason = "ui writes to the terminal")]
fn write(text: &str) {
    let mut err = io::stderr().lock();
    // A line that cannot be shown is missed by nobody.
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_grows_with_what_is_done_and_never_beyond_its_end() {
        assert_eq!(line("Removing", 5, 10), format!("\r\x1b[KRemoving [{}{}] 5/10", "#".repeat(15), " ".repeat(15)));
        assert!(line("Removing", 11, 10).contains(&format!("[{}]", "#".repeat(WIDTH))));
        assert!(line("Removing", 0, 0).ends_with("0/0"));
    }
}
