//! Signals as values: while they are caught they are read like keys; at any other time they have their default effect.

use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Once, OnceLock, mpsc};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;
use signal_hook::low_level::emulate_default_handler;

use crate::system::fsio;

/// The signals that end a program unless it handles them.
const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];
/// The signals that report a new terminal size and the end of a child.
const TELLING: [i32; 2] = [SIGWINCH, SIGCHLD];

/// Set while no signals are caught. A handler cannot be removed, so it checks this flag.
static UNCAUGHT: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));
static DEFAULTS: OnceLock<()> = OnceLock::new();

/// Catches signals during its lifetime. At most one may exist at a time.
#[derive(Debug)]
pub(crate) struct Signals(SignalDelivery<UnixStream, SignalOnly>);

impl Signals {
    /// Begins to catch signals.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that catches signals")]
    pub(crate) fn catch() -> io::Result<Self> {
        if DEFAULTS.get().is_none() {
            for signal in ENDING {
                flag::register_conditional_default(signal, Arc::clone(&UNCAUGHT))?;
            }
            let _ = DEFAULTS.set(());
        }
        let (read, write) = UnixStream::pair()?;
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, ENDING.into_iter().chain(TELLING))?;
        UNCAUGHT.store(false, Ordering::SeqCst);
        Ok(Self(delivery))
    }

    /// Waits for a signal.
    pub(crate) fn wait(&mut self) -> io::Result<()> {
        loop {
            let mut fds = [PollFd::from_borrowed_fd(self.fd(), PollFlags::IN)];
            match poll(&mut fds, None) {
                Err(Errno::INTR) => {}
                outcome => return outcome.map(drop).map_err(io::Error::from),
            }
        }
    }

    /// Stops catching signals, and applies the default effect of a pending SIGHUP or SIGTERM. Interrupts were meant for
    /// another process.
    pub(crate) fn pass_on(mut self) {
        let ending = self.pending().into_iter().find(|signal| matches!(*signal, SIGHUP | SIGTERM));
        drop(self);
        if let Some(signal) = ending {
            let _ = emulate_default_handler(signal);
        }
    }

    /// Returns a descriptor that becomes readable when a signal arrives.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.get_read().as_fd()
    }

    /// Returns the signals that arrived since the last call, each once.
    pub(crate) fn pending(&mut self) -> Vec<i32> {
        self.0.pending().collect()
    }
}

/// Calls a function before SIGINT ends the program, unless [`Signals`] catches it at that time. Only the first call
/// counts.
///
/// An interrupt that is ignored, as in a job that a script left in the background, stays ignored.
#[expect(clippy::disallowed_methods, reason = "this is the one place that catches signals")]
pub(crate) fn before_interrupt(function: fn()) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if is_interrupt_ignored() {
            return;
        }
        let (to_thread, deliveries) = mpsc::channel::<SignalDelivery<UnixStream, SignalOnly>>();
        let wait = move || {
            let Ok(mut delivery) = deliveries.recv() else { return Ok(()) };
            loop {
                let mut fds = [PollFd::from_borrowed_fd(delivery.get_read().as_fd(), PollFlags::IN)];
                let _ = poll(&mut fds, None);
                for signal in delivery.pending() {
                    if UNCAUGHT.load(Ordering::SeqCst) {
                        function();
                        emulate_default_handler(signal)?;
                    }
                }
            }
        };
        // If the thread cannot be started, no handler is registered, and the interrupt has its default effect.
        let thread = thread::Builder::new().name("interrupt".to_owned()).spawn(move || -> io::Result<()> { wait() });
        let register = || {
            let (read, write) = UnixStream::pair()?;
            SignalDelivery::with_pipe(read, write, SignalOnly, [SIGINT])
        };
        // The handler exists when this function returns, even if the thread runs later.
        if let (Ok(_), Ok(delivery)) = (thread, register()) {
            let _ = to_thread.send(delivery);
        }
    });
}

/// Returns whether this process ignores SIGINT, as far as the system shows it.
fn is_interrupt_ignored() -> bool {
    const MAX_STATUS: u64 = 64 * 1024;
    let status = fsio::open_regular(Path::new("/proc/self/status")).ok().and_then(|(file, _)| {
        let mut text = String::new();
        file.take(MAX_STATUS).read_to_string(&mut text).ok().map(|_| text)
    });
    let ignored = status.and_then(|status| {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?.trim();
        u64::from_str_radix(mask, 16).ok()
    });
    ignored.is_some_and(|mask| mask >> (SIGINT - 1) & 1 == 1)
}

impl Drop for Signals {
    fn drop(&mut self) {
        UNCAUGHT.store(true, Ordering::SeqCst);
    }
}

/// Makes a write over the file size limit (`ulimit -f`) fail like any other, so that it is reported and rolled back.
/// Without this, the system kills the process.
///
/// Sets an empty handler, because an ignored signal would stay ignored in the agent that this process becomes.
pub(crate) fn survive_file_size_limit() {
    // If this fails, the process is killed at the limit, which loses nothing either.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// Returns the exit status that a shell reports for the end by a signal.
pub(crate) fn status_of(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}
