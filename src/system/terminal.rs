//! The terminal as a device: its settings, its whole screen, its keys.
//!
//! Whatever is changed here is put back when the value that changed it goes out of scope.

use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};
use signal_hook::consts::SIGWINCH;

use crate::system::signals::Signals;

/// The other screen, so that what stands on the usual one is untouched.
const ENTER: &str = "\x1b[?1049h\x1b[2J";
const LEAVE: &str = "\x1b[?25h\x1b[0m\x1b[?1049l";
/// Takes back what a program that was killed may have left on: another screen, a hidden cursor, reports of the
/// mouse, of the focus and of pasting, keys in another encoding, colours. What is off already stays so.
const RESET: &str = "\x1b[?1047l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[<u\x1b[?1l\x1b>\x1b[0m\r";
/// What a terminal that does not tell its size is taken for.
const DEFAULT_SIZE: Size = Size { columns: 80, rows: 24 };

/// A terminal's size in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// How many stand on a line.
    pub columns: usize,
    /// How many lines there are.
    pub rows: usize,
}

/// The settings of the terminal as they were at some time.
#[derive(Clone, Debug)]
pub(crate) struct Settings(Termios);

impl Settings {
    /// Remembers the settings of the terminal that a person sits at; `None` when there is none.
    pub(crate) fn remember() -> Option<Self> {
        with_terminal(|fd| tcgetattr(fd)).and_then(Result::ok).map(Self)
    }

    /// Puts the settings back as they were.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that changes the terminal's settings")]
    pub(crate) fn put_back(&self) {
        with_terminal(|fd| {
            // Who is not in the foreground would be stopped for touching the terminal, and it is not his.
            if tcgetpgrp(fd) == Ok(rustix::process::getpgrp()) {
                let _ = tcsetattr(fd, OptionalActions::Now, &self.0);
            }
        });
    }
}

/// Switches off what a program may have left on that was killed while it had the screen.
#[expect(clippy::disallowed_methods, reason = "this is the one place that writes to the terminal")]
pub(crate) fn reset_screen() {
    let mut err = io::stderr().lock();
    if err.is_terminal() {
        let _ = err.write_all(RESET.as_bytes()).and_then(|()| err.flush());
    }
}

/// Does something with the first standard stream that is a terminal.
#[expect(clippy::disallowed_methods, reason = "this is the one place that knows the terminal")]
fn with_terminal<T>(act: impl FnOnce(std::os::fd::BorrowedFd<'_>) -> T) -> Option<T> {
    let (stdin, stderr, stdout) = (io::stdin(), io::stderr(), io::stdout());
    let streams = [stdin.as_fd(), stderr.as_fd(), stdout.as_fd()];
    streams.into_iter().find(|fd| fd.is_terminal()).map(act)
}

/// What happened at the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Keys were pressed: the bytes that they send.
    Typed(Vec<u8>),
    /// The size is another one.
    Resized,
    /// A signal came that ends programs.
    Signal(i32),
    /// Nothing happened for the time that was given.
    Quiet,
    /// Nobody sits there any more.
    Closed,
}

/// The whole screen of the terminal, and every key as it is pressed, until this is dropped.
#[derive(Debug)]
pub(crate) struct Screen {
    signals: Signals,
    settings: Settings,
}

impl Screen {
    /// Takes the screen and the keys; standard input and standard error must be terminals.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that changes the terminal's settings")]
    pub(crate) fn take() -> io::Result<Self> {
        let settings = Settings::remember().ok_or_else(|| io::Error::other("there is no terminal"))?;
        let mut raw = settings.0.clone();
        raw.make_raw();
        // From here on the value puts back what was changed, however far this comes.
        let mut screen = Self { signals: Signals::catch()?, settings };
        with_terminal(|fd| tcsetattr(fd, OptionalActions::Now, &raw)).transpose()?;
        screen.draw(ENTER)?;
        Ok(screen)
    }

    /// Returns the size as it is now.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that knows the terminal")]
    pub(crate) fn size(&self) -> Size {
        let size = tcgetwinsize(io::stderr()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
        size.map_or(DEFAULT_SIZE, |size| Size { columns: size.ws_col.into(), rows: size.ws_row.into() })
    }

    /// Sends a frame to the screen.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that writes to the terminal")]
    pub(crate) fn draw(&mut self, frame: &str) -> io::Result<()> {
        let mut err = io::stderr().lock();
        err.write_all(frame.as_bytes())?;
        err.flush()
    }

    /// Waits until something happens, or for a time.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads from the terminal")]
    pub(crate) fn wait(&mut self, patience: Option<Duration>) -> io::Result<Event> {
        let stdin = io::stdin();
        let timeout = patience.and_then(|patience| Timespec::try_from(patience).ok());
        let (is_typed, is_signalled) = {
            let mut fds =
                [PollFd::new(&stdin, PollFlags::IN), PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN)];
            match poll(&mut fds, timeout.as_ref()) {
                // The handler of a signal has run; what it left is read at once.
                Err(Errno::INTR) => (false, true),
                Err(error) => return Err(error.into()),
                Ok(0) => return Ok(Event::Quiet),
                Ok(_) => (!fds[0].revents().is_empty(), !fds[1].revents().is_empty()),
            }
        };
        if is_signalled {
            let pending = self.signals.pending();
            let ending =
                pending.into_iter().find(|signal| *signal != SIGWINCH && *signal != signal_hook::consts::SIGCHLD);
            return Ok(ending.map_or(Event::Resized, Event::Signal));
        }
        debug_assert!(is_typed);
        let mut bytes = vec![0; 1024];
        match rustix::io::read(&stdin, &mut bytes) {
            Ok(0) | Err(Errno::IO) => Ok(Event::Closed),
            Ok(count) => {
                bytes.truncate(count);
                Ok(Event::Typed(bytes))
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(Event::Resized),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.draw(LEAVE);
        self.settings.put_back();
    }
}
