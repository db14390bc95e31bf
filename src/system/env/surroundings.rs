//! The surroundings of a run: arguments, variables, the working directory and the standard streams.
//!
//! A run reads all of them from this value, so that tests can run the program in their own process, many times and at
//! once.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufRead as _, Cursor, IsTerminal as _, Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The environment variables.
pub(super) type Variables = BTreeMap<OsString, OsString>;

/// The inputs and outputs that a run gets from its process.
#[derive(Clone, Debug)]
pub struct Surroundings {
    pub(crate) args: Vec<OsString>,
    pub(crate) variables: Variables,
    /// `None` if the directory was deleted.
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) streams: Streams,
}

/// The standard streams.
#[derive(Clone, Debug, Default)]
pub(crate) enum Streams {
    /// The streams of the process.
    #[default]
    Process,
    /// Streams in memory; none is a terminal.
    Captured(CapturedStreams),
}

/// The standard streams of a run in the process of a test: its input, and what it wrote.
#[derive(Clone, Debug, Default)]
pub struct CapturedStreams {
    input: Arc<Mutex<Cursor<Vec<u8>>>>,
    out: Arc<Mutex<Vec<u8>>>,
    err: Arc<Mutex<Vec<u8>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CapturedStreams {
    /// Creates streams with an input.
    pub fn with_input(input: impl Into<Vec<u8>>) -> Self {
        Self { input: Arc::new(Mutex::new(Cursor::new(input.into()))), ..Self::default() }
    }

    /// Returns the bytes that were written to standard output.
    pub fn out(&self) -> Vec<u8> {
        lock(&self.out).clone()
    }

    /// Returns the bytes that were written to standard error.
    pub fn err(&self) -> Vec<u8> {
        lock(&self.err).clone()
    }
}

/// A writer to shared memory.
struct SharedOutput(Arc<Mutex<Vec<u8>>>);

impl Write for SharedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A reader of shared memory.
struct SharedInput(Arc<Mutex<Cursor<Vec<u8>>>>);

impl Read for SharedInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        lock(&self.0).read(buffer)
    }
}

#[expect(clippy::disallowed_methods, reason = "`ui` gets the standard streams from here")]
impl Streams {
    /// Returns whether standard output and standard error are terminals.
    pub(crate) fn are_terminals(&self) -> [bool; 2] {
        match self {
            Self::Process => [io::stdout().is_terminal(), io::stderr().is_terminal()],
            Self::Captured(_) => [false; 2],
        }
    }

    /// Reads a line of standard input. The bytes after it stay there for later readers.
    pub(crate) fn line(&self) -> io::Result<String> {
        let mut line = String::new();
        match self {
            Self::Process => io::stdin().read_line(&mut line)?,
            Self::Captured(streams) => lock(&streams.input).read_line(&mut line)?,
        };
        Ok(line)
    }

    pub(crate) fn input(&self) -> Box<dyn Read + Send> {
        match self {
            Self::Process => Box::new(io::stdin()),
            Self::Captured(streams) => Box::new(SharedInput(Arc::clone(&streams.input))),
        }
    }

    pub(crate) fn out(&self) -> Box<dyn Write + Send> {
        match self {
            Self::Process => Box::new(io::stdout()),
            Self::Captured(streams) => Box::new(SharedOutput(Arc::clone(&streams.out))),
        }
    }

    pub(crate) fn err(&self) -> Box<dyn Write + Send> {
        match self {
            Self::Process => Box::new(io::stderr()),
            Self::Captured(streams) => Box::new(SharedOutput(Arc::clone(&streams.err))),
        }
    }
}

impl Surroundings {
    /// Returns the surroundings of this process; `args` begin with the program's name.
    #[expect(clippy::disallowed_methods, reason = "`env` is the one place that reads the environment")]
    pub(crate) fn from_process(args: Vec<OsString>) -> Self {
        let (variables, cwd) = (std::env::vars_os().collect(), std::env::current_dir().ok());
        Self { args, variables, cwd, streams: Streams::Process }
    }

    /// Creates surroundings for a run in the process of a test.
    pub fn captured(
        args: Vec<OsString>,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        cwd: PathBuf,
        streams: &CapturedStreams,
    ) -> Self {
        let variables = variables.into_iter().collect();
        Self { args, variables, cwd: Some(cwd), streams: Streams::Captured(streams.clone()) }
    }

    /// Returns whether the run is the whole process, which may become another program.
    pub(crate) fn is_process(&self) -> bool {
        matches!(self.streams, Streams::Process)
    }
}
