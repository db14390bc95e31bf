//! The terminal as a device: its settings, its whole screen, its keys.
//!
//! Every change made here is reverted when the value that made it is dropped.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};
use signal_hook::consts::{SIGCHLD, SIGINT, SIGQUIT, SIGWINCH};

use crate::system::signals::Signals;

/// Switches to the alternate screen, with reports of pasting and of the mouse's buttons and wheel.
const ENTER: &str = "\x1b[?1049h\x1b[2J\x1b[?2004h\x1b[?1000h\x1b[?1006h";
const LEAVE: &str = "\x1b[?1006l\x1b[?1000l\x1b[?2004l\x1b[?25h\x1b[0m\x1b[?1049l";
/// Resets modes that a killed program may have left enabled: the alternate screen, a hidden cursor, reports of the
/// mouse, of the focus and of pasting, another key encoding, colours. Disabled modes are not affected.
const RESET: &str = "\x1b[?1047l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[<u\x1b[?1l\x1b>\x1b[0m\r";
/// The size of a terminal that does not report it.
const DEFAULT_SIZE: Size = Size { columns: 80, rows: 24 };

/// A terminal's size in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Characters per line.
    pub columns: usize,
    /// Number of lines.
    pub rows: usize,
}

/// The settings of the terminal at some time.
#[derive(Clone, Debug)]
pub(crate) struct TerminalSettings(Termios);

impl TerminalSettings {
    /// Saves the settings of the user's terminal; `None` if there is no terminal.
    pub(crate) fn remember() -> Option<Self> {
        with_terminal(|fd| tcgetattr(fd)).and_then(Result::ok).map(Self)
    }

    /// Restores the settings.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that changes the terminal's settings")]
    pub(crate) fn put_back(&self) {
        with_terminal(|fd| {
            // A background process would be stopped for touching the terminal, which belongs to another process.
            if tcgetpgrp(fd) == Ok(rustix::process::getpgrp()) {
                let _ = tcsetattr(fd, OptionalActions::Now, &self.0);
            }
        });
    }
}

/// Disables modes that a program that was killed during its use of the screen may have left enabled.
#[expect(clippy::disallowed_methods, reason = "this is the one place that writes to the terminal")]
pub(crate) fn reset_screen() {
    let mut err = io::stderr().lock();
    if err.is_terminal() {
        let _ = err.write_all(RESET.as_bytes()).and_then(|()| err.flush());
    }
}

/// Calls a function with the first standard stream that is a terminal.
#[expect(clippy::disallowed_methods, reason = "this is the one place that knows the terminal")]
fn with_terminal<T>(act: impl FnOnce(std::os::fd::BorrowedFd<'_>) -> T) -> Option<T> {
    let (stdin, stderr, stdout) = (io::stdin(), io::stderr(), io::stdout());
    let streams = [stdin.as_fd(), stderr.as_fd(), stdout.as_fd()];
    streams.into_iter().find(|fd| fd.is_terminal()).map(act)
}

/// The settings before a [`Screen`] was taken, while it uses the terminal.
static TAKEN: Mutex<Option<TerminalSettings>> = Mutex::new(None);

/// Restores the usual screen and the settings, if a [`Screen`] was taken.
#[expect(clippy::disallowed_methods, reason = "this is the one place that writes to the terminal")]
pub(crate) fn leave_screen() {
    let Some(settings) = TAKEN.lock().ok().and_then(|mut taken| taken.take()) else { return };
    let mut err = io::stderr().lock();
    let _ = err.write_all(LEAVE.as_bytes()).and_then(|()| err.flush());
    settings.put_back();
}

/// An event at the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TerminalEvent {
    /// Keys were pressed; the bytes that they send.
    Typed(Vec<u8>),
    /// The size has changed.
    Resized,
    /// A terminating signal arrived.
    Signal(i32),
    /// Another thread has a message.
    Woken,
    /// The timeout expired.
    Quiet,
    /// The terminal was closed.
    Closed,
}

/// Full control of the screen and the keys of the terminal, until this is dropped.
#[derive(Debug)]
pub(crate) struct Screen {
    signals: Signals,
    settings: TerminalSettings,
    /// A signal that arrived while another program used the screen.
    held: Option<i32>,
    /// The receiving end becomes readable when another thread has a message; the other end is for writing.
    woken: UnixStream,
    waker: Waker,
}

/// Ends the wait of a [`Screen`] from another thread.
#[derive(Clone, Debug)]
pub(crate) struct Waker(Arc<UnixStream>);

impl Waker {
    /// Makes the screen check for messages.
    pub(crate) fn wake(&self) {
        // A full buffer already makes the screen check for messages.
        let _ = (&*self.0).write(&[0]);
    }
}

impl Screen {
    /// Enters raw mode and the alternate screen; standard input and standard error must be terminals.
    pub(crate) fn enter_raw_mode() -> io::Result<Self> {
        let settings = TerminalSettings::remember().ok_or_else(|| io::Error::other("there is no terminal"))?;
        let (woken, waker) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        // From here on, dropping the value reverts the changes, even if a later step fails.
        let mut screen =
            Self { signals: Signals::catch()?, settings, held: None, woken, waker: Waker(Arc::new(waker)) };
        screen.enter()?;
        Ok(screen)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place that changes the terminal's settings")]
    fn enter(&mut self) -> io::Result<()> {
        let mut raw = self.settings.0.clone();
        raw.make_raw();
        if let Ok(mut taken) = TAKEN.lock() {
            *taken = Some(self.settings.clone());
        }
        with_terminal(|fd| tcsetattr(fd, OptionalActions::Now, &raw)).transpose()?;
        self.draw(ENTER)
    }

    /// Releases the screen and the keys while `act` runs another program.
    pub(crate) fn aside<T>(&mut self, act: impl FnOnce() -> T) -> io::Result<T> {
        leave_screen();
        let outcome = act();
        self.settings.put_back();
        self.enter()?;
        // Interrupts during that time were meant for the other program, all other signals were not.
        self.held =
            self.signals.pending().into_iter().find(|signal| !matches!(*signal, SIGINT | SIGQUIT | SIGWINCH | SIGCHLD));
        Ok(outcome)
    }

    /// Stops this process until its shell continues it, as ^Z does outside of raw mode. In a process group that no shell
    /// controls, the signal has no effect.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        Ok(self.aside(|| kill_process(getpid(), Signal::TSTP))??)
    }

    /// Returns a handle that ends a wait from another thread.
    pub(crate) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Returns the current size.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that knows the terminal")]
    pub(crate) fn size(&self) -> Size {
        let size = tcgetwinsize(io::stderr()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
        size.map_or(DEFAULT_SIZE, |size| Size { columns: size.ws_col.into(), rows: size.ws_row.into() })
    }

    /// Draws a frame. If the terminal is gone this has no effect, and the next wait reports that.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that writes to the terminal")]
    pub(crate) fn draw(&mut self, frame: &str) -> io::Result<()> {
        let mut err = io::stderr().lock();
        match err.write_all(frame.as_bytes()).and_then(|()| err.flush()) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::IO) => Ok(()),
            outcome => outcome,
        }
    }

    /// Waits for an event, or until a timeout.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads from the terminal")]
    pub(crate) fn wait(&mut self, patience: Option<Duration>) -> io::Result<TerminalEvent> {
        if let Some(signal) = self.held.take() {
            return Ok(TerminalEvent::Signal(signal));
        }
        let stdin = io::stdin();
        let timeout = patience.and_then(|patience| Timespec::try_from(patience).ok());
        let (is_typed, is_signalled) = {
            let mut fds = [
                PollFd::new(&stdin, PollFlags::IN),
                PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN),
                PollFd::new(&self.woken, PollFlags::IN),
            ];
            match poll(&mut fds, timeout.as_ref()) {
                // A signal handler has run; read its message at once.
                Err(Errno::INTR) => (false, true),
                Err(error) => return Err(error.into()),
                Ok(0) => return Ok(TerminalEvent::Quiet),
                Ok(_) => (!fds[0].revents().is_empty(), !fds[1].revents().is_empty()),
            }
        };
        if is_signalled {
            let pending = self.signals.pending();
            let ending = pending.into_iter().find(|signal| !matches!(*signal, SIGWINCH | SIGCHLD));
            return Ok(ending.map_or(TerminalEvent::Resized, TerminalEvent::Signal));
        }
        if !is_typed {
            while matches!(self.woken.read(&mut [0; 64]), Ok(64)) {}
            return Ok(TerminalEvent::Woken);
        }
        let mut bytes = vec![0; 1024];
        match rustix::io::read(&stdin, &mut bytes) {
            Ok(0) | Err(Errno::IO) => Ok(TerminalEvent::Closed),
            Ok(count) => {
                bytes.truncate(count);
                Ok(TerminalEvent::Typed(bytes))
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(TerminalEvent::Resized),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave_screen();
    }
}
