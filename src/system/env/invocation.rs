//! The command line of a run, and the home and host that it names.

use std::path::PathBuf;

use super::{Variables, value};

/// Names the host that this run answers for, as the caller calls it.
pub(crate) const HOST: &str = "REJOIN_HOST";

/// The command line of a run, for commands that repeat it or continue after it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Invocation {
    /// The words after the program's name.
    pub words: Vec<String>,
    /// The home and the host that commands for the user must name.
    pub elsewhere: Elsewhere,
}

impl Invocation {
    pub(super) fn read(variables: &Variables, home: Option<&PathBuf>) -> Self {
        let host = value(variables, HOST).and_then(|host| host.to_str()).map(str::to_owned);
        Self { words: Vec::new(), elsewhere: Elsewhere { home: home.cloned(), host } }
    }
}

/// The home and the host that a run reads, if not the user's own home on the user's machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Elsewhere {
    /// The home directory that was named.
    pub home: Option<PathBuf>,
    /// The host, as ssh takes it on the user's machine.
    pub host: Option<String>,
}
