//! Injected faults: a test can make a system call that changes something fail, or kill the process before it.

use std::ffi::OsStr;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts the system calls of a run that change something, and fails or kills the process at the requested ones.
///
/// Only development builds read `REJOIN_FAULT`, a comma-separated list: `kill:N`, `interrupt:N` for a SIGINT while the
/// run waits, `NUMBER:N` for an error with this system error number at call N only, or `NUMBER:N+` for one at N and
/// every later call.
#[derive(Debug, Default)]
pub(crate) struct FaultInjector {
    wishes: Vec<RequestedFault>,
    /// Number of calls so far.
    passed: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct RequestedFault {
    kind: RequestedFaultKind,
    at: u64,
    is_lasting: bool,
}

#[derive(Clone, Copy, Debug)]
enum RequestedFaultKind {
    Kill,
    Interrupt,
    Error(i32),
}

impl RequestedFault {
    fn parse(text: &str) -> Option<Self> {
        let (kind, at) = text.split_once(':')?;
        let kind = match kind {
            "kill" => RequestedFaultKind::Kill,
            "interrupt" => RequestedFaultKind::Interrupt,
            number => RequestedFaultKind::Error(number.parse().ok()?),
        };
        Some(Self { kind, at: at.trim_end_matches('+').parse().ok()?, is_lasting: at.ends_with('+') })
    }
}

impl FaultInjector {
    /// Parses `REJOIN_FAULT`.
    pub(crate) fn parse(wishes: Option<&OsStr>) -> Self {
        let wishes = wishes.filter(|_| cfg!(debug_assertions)).and_then(|wish| wish.to_str());
        let wishes =
            wishes.into_iter().flat_map(|wishes| wishes.split(',')).filter_map(RequestedFault::parse).collect();
        Self { wishes, passed: AtomicU64::new(0) }
    }

    /// Counts the next call and returns its injected error, if any. Precedes each system call that changes something.
    pub(crate) fn point(&self) -> io::Result<()> {
        if self.wishes.is_empty() {
            return Ok(());
        }
        let point = self.passed.fetch_add(1, Ordering::Relaxed) + 1;
        let is_due = |wish: &&RequestedFault| wish.at == point || (wish.is_lasting && wish.at < point);
        match self.wishes.iter().find(is_due).map(|wish| wish.kind) {
            None => Ok(()),
            Some(RequestedFaultKind::Kill) => {
                let own = rustix::process::getpid();
                let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
                Ok(())
            }
            Some(RequestedFaultKind::Interrupt) => {
                let own = rustix::process::getpid();
                let _ = rustix::process::kill_process(own, rustix::process::Signal::INT);
                std::thread::sleep(Duration::from_secs(30));
                Ok(())
            }
            Some(RequestedFaultKind::Error(number)) => Err(io::Error::from_raw_os_error(number)),
        }
    }
}
