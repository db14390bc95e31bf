//! The command line of a run, and its `--home` and host.

use std::path::PathBuf;

use super::{Variables, value};

/// The host that this run answers for, under the name that the caller uses.
pub(crate) const HOST: &str = "REJOIN_HOST";

/// The command line of a run, for commands that repeat it or continue after it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Invocation {
    /// The words after the program name.
    pub words: Vec<String>,
    /// The home and the host that suggested commands must name.
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
    /// The value of `--home`.
    pub home: Option<PathBuf>,
    /// The host, as the user's machine passes it to ssh.
    pub host: Option<String>,
}
