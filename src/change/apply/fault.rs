//! Faults on purpose: what a test asks for happens right before a system call that changes something.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::system::env::Env;

/// How many points this process has passed; a verb may do several things, each with its own lock.
static PASSED: AtomicU64 = AtomicU64::new(0);

/// Counts the points that are passed, and fails or dies at the one that was asked for.
///
/// Only builds for development listen; `REJOIN_FAULT` is `kill:N`, or a system's error number and N.
#[derive(Debug, Default)]
pub(crate) struct Fault {
    at: Option<(Kind, u64)>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Kill,
    Error(i32),
}

impl Fault {
    /// Reads what a test asks for.
    pub(crate) fn from_env(env: &Env) -> Self {
        let wish = env.variable("REJOIN_FAULT").filter(|_| cfg!(debug_assertions));
        let at = wish.and_then(|wish| wish.to_str()?.split_once(':')).and_then(|(kind, number)| {
            let kind = if kind == "kill" { Kind::Kill } else { Kind::Error(kind.parse().ok()?) };
            Some((kind, number.parse().ok()?))
        });
        Self { at }
    }

    /// Stands before each system call that changes something.
    pub(crate) fn point(&self) -> io::Result<()> {
        let Some((kind, at)) = self.at else { return Ok(()) };
        if PASSED.fetch_add(1, Ordering::Relaxed) + 1 != at {
            return Ok(());
        }
        match kind {
            Kind::Kill => {
                let own = rustix::process::getpid();
                let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
                Ok(())
            }
            Kind::Error(number) => Err(io::Error::from_raw_os_error(number)),
        }
    }
}
