//! Faults on purpose: what a test asks for happens right before a system call that changes something.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::system::env::Env;

/// How many points this process has passed; a verb may do several things, each with its own lock.
static PASSED: AtomicU64 = AtomicU64::new(0);

/// Counts the points that are passed, and fails or dies where that was asked for.
///
/// Only builds for development listen. `REJOIN_FAULT` is a list with commas: `kill:N`, `interrupt:N` for a SIGINT that finds
/// the run waiting, a system's error number and N for an error at this point alone, or `NUMBER:N+` for one at each from there
/// on.
#[derive(Debug, Default)]
pub(crate) struct Fault {
    wishes: Vec<Wish>,
}

#[derive(Clone, Copy, Debug)]
struct Wish {
    kind: Kind,
    at: u64,
    is_lasting: bool,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Kill,
    Interrupt,
    Error(i32),
}

impl Wish {
    fn parse(text: &str) -> Option<Self> {
        let (kind, at) = text.split_once(':')?;
        let kind = match kind {
            "kill" => Kind::Kill,
            "interrupt" => Kind::Interrupt,
            number => Kind::Error(number.parse().ok()?),
        };
        Some(Self { kind, at: at.trim_end_matches('+').parse().ok()?, is_lasting: at.ends_with('+') })
    }
}

impl Fault {
    /// Lets everything pass.
    pub(super) const NONE: Self = Self { wishes: Vec::new() };

    /// Reads what a test asks for.
    pub(crate) fn from_env(env: &Env) -> Self {
        let wishes = env.variable("REJOIN_FAULT").filter(|_| cfg!(debug_assertions)).and_then(|wish| wish.to_str());
        Self { wishes: wishes.into_iter().flat_map(|wishes| wishes.split(',')).filter_map(Wish::parse).collect() }
    }

    /// Stands before each system call that changes something.
    pub(crate) fn point(&self) -> io::Result<()> {
        if self.wishes.is_empty() {
            return Ok(());
        }
        let point = PASSED.fetch_add(1, Ordering::Relaxed) + 1;
        let is_due = |wish: &&Wish| wish.at == point || (wish.is_lasting && wish.at < point);
        match self.wishes.iter().find(is_due).map(|wish| wish.kind) {
            None => Ok(()),
            Some(Kind::Kill) => {
                let own = rustix::process::getpid();
                let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
                Ok(())
            }
            Some(Kind::Interrupt) => {
                let own = rustix::process::getpid();
                let _ = rustix::process::kill_process(own, rustix::process::Signal::INT);
                std::thread::sleep(Duration::from_secs(30));
                Ok(())
            }
            Some(Kind::Error(number)) => Err(io::Error::from_raw_os_error(number)),
        }
    }
}
