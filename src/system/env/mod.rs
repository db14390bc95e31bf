//! The only reader of the environment and the clock, once per run.

mod clock;
mod invocation;
mod paths;
mod program;
mod surroundings;
mod terminal;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::config::Config;
use crate::error::Refusal;
use crate::session::{CLOCK_SKEW, MAYBE_LIVE};
use crate::system::fault::FaultInjector;
pub(crate) use clock::Clock;
pub(crate) use invocation::{Elsewhere, HOST, Invocation};
use paths::UserDirs;
pub(crate) use program::ProgramSearch;
pub(crate) use surroundings::Streams;
use surroundings::Variables;
pub use surroundings::{CapturedStreams, Surroundings};
pub(crate) use terminal::{ASKED, COLUMNS, FORCE_COLORS, Terminal};

/// Everything that a run reads from its environment at its start.
#[derive(Clone, Debug)]
pub(crate) struct Env {
    /// The home directory whose stores are read.
    pub home: PathBuf,
    /// Set if the home comes from `--home`, so that the agents' own variables are ignored.
    pub foreign_home: bool,
    /// The caller's working directory; `None` if it was deleted.
    pub cwd: Option<PathBuf>,
    /// This machine's host name.
    pub hostname: String,
    /// The time and the zone.
    pub clock: Clock,
    /// The terminal and the standard streams.
    pub terminal: Terminal,
    /// The command line of this run.
    pub invocation: Invocation,
    /// The config file; empty for a command that does not read it.
    pub config: Config,
    /// The standard streams.
    pub streams: Streams,
    /// The faults that a test injects into changes of files.
    pub fault: Arc<FaultInjector>,
    dirs: UserDirs,
    variables: Variables,
    /// The variable that `in_agent_home` set. It is read in a foreign home, too.
    agent_home: Option<String>,
}

impl Env {
    /// Reads the environment of this process; `home` is the value of `--home`.
    pub(crate) fn read(home: Option<&Path>) -> Result<Self, Refusal> {
        Self::read_from(&Surroundings::from_process(Vec::new()), home)
    }

    /// Reads the environment of a run; `home` is the value of `--home`.
    pub(crate) fn read_from(surroundings: &Surroundings, home: Option<&Path>) -> Result<Self, Refusal> {
        let Surroundings { variables, cwd, streams, .. } = surroundings.clone();
        let foreign_home = home.is_some();
        let home = match home {
            Some(home) => paths::checked_home(home, cwd.as_deref())?,
            None => paths::user_home(&variables)?,
        };
        Ok(Self {
            clock: Clock::read(&variables)?,
            terminal: if surroundings.is_process() { Terminal::read(&variables) } else { Terminal::none(&variables) },
            invocation: Invocation::read(&variables, foreign_home.then_some(&home)),
            home,
            foreign_home,
            cwd,
            hostname: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            config: Config::default(),
            dirs: if foreign_home { UserDirs::default() } else { UserDirs::read(&variables) },
            fault: Arc::new(FaultInjector::parse(value(&variables, "REJOIN_FAULT"))),
            streams,
            variables,
            agent_home: None,
        })
    }

    /// Returns this environment with a later clock, at which a file that is written now no longer counts as in use by
    /// its age.
    pub(crate) fn after_arrival(&self) -> Self {
        Self {
            clock: Clock { now: self.clock.later(MAYBE_LIVE.saturating_add(CLOCK_SKEW)), ..self.clock.clone() },
            ..self.clone()
        }
    }

    /// Returns a variable that is set and not empty. A relative XDG directory is ignored, as its specification
    /// requires.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        value(&self.variables, name).filter(|value| !name.starts_with("XDG_") || Path::new(value).is_absolute())
    }

    /// Returns the distribution of WSL in which the process runs. `None` outside of WSL, for the home of another machine, and
    /// without the variable, which ssh, sudo and cron do not pass on.
    pub(crate) fn wsl_distribution(&self) -> Option<&str> {
        self.variable("WSL_DISTRO_NAME").filter(|_| !self.foreign_home).and_then(OsStr::to_str)
    }

    /// Returns this environment for an agent with another home; `variable` is the one that names it.
    pub(crate) fn in_agent_home(&self, variable: &str, home: &Path) -> Self {
        let mut env = self.clone();
        match variable {
            "HOME" => env.home = home.to_owned(),
            variable => {
                env.variables.insert(variable.into(), home.into());
                env.agent_home = Some(variable.to_owned());
            }
        }
        env
    }

    /// Returns whether a variable is set to an empty value.
    pub(crate) fn is_empty(&self, name: &str) -> bool {
        self.variables.get(OsStr::new(name)).is_some_and(|value| value.is_empty())
    }

    /// Returns the command for another program, with the variables and in the directory of this run. The directory of a
    /// process is inherited: it may be one that cannot be entered again, as after `sudo -u`.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.variables);
        if let (Streams::Captured(_), Some(cwd)) = (&self.streams, &self.cwd) {
            command.current_dir(cwd);
        }
        command
    }

    /// Returns a variable of an agent. If `--home` names another home, only one that `in_agent_home` set is returned.
    pub(crate) fn agent_variable(&self, name: &str) -> Option<&OsStr> {
        let is_read = !self.foreign_home || self.agent_home.as_deref() == Some(name);
        self.variable(name).filter(|_| is_read)
    }
}

/// Returns a variable that is set and not empty.
fn value<'v>(variables: &'v Variables, name: &str) -> Option<&'v OsStr> {
    variables.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
}

/// Returns the directory in which Claude Code was started, for a hook that it runs.
///
/// For events that are handled without [`Env`], which reads the zone's files and needs a home.
pub(crate) fn claude_project_dir(surroundings: &Surroundings) -> Option<PathBuf> {
    value(&surroundings.variables, "CLAUDE_PROJECT_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::LazyLock;

    use jiff::tz::TimeZone;

    use super::*;

    /// An environment for unit tests: home `/home/ana`, a fixed clock, no variables.
    pub(crate) fn fixed() -> Env {
        Env {
            home: PathBuf::from("/home/ana"),
            foreign_home: false,
            cwd: Some(PathBuf::from("/home/ana/work")),
            hostname: "examplehost".to_owned(),
            clock: Clock {
                now: "2026-03-01T12:00:00Z".parse().expect("a time"),
                is_set: true,
                zone: Arc::new(LazyLock::new(Box::new(|| TimeZone::UTC))),
            },
            terminal: Terminal { width: Some(120), height: Some(40), ..Terminal::default() },
            invocation: Invocation::default(),
            config: Config::default(),
            dirs: UserDirs::default(),
            streams: Streams::Captured(CapturedStreams::default()),
            fault: Arc::default(),
            variables: Variables::new(),
            agent_home: None,
        }
    }

    #[test]
    fn home_option_hides_variables_of_agents() {
        let mut env = fixed();
        env.variables.insert("CLAUDE_CONFIG_DIR".into(), "/elsewhere".into());
        assert!(env.agent_variable("CLAUDE_CONFIG_DIR").is_some());
        env.foreign_home = true;
        assert!(env.agent_variable("CLAUDE_CONFIG_DIR").is_none());
        let further = env.in_agent_home("CLAUDE_CONFIG_DIR", Path::new("/further"));
        assert_eq!(further.agent_variable("CLAUDE_CONFIG_DIR"), Some(OsStr::new("/further")));
    }
}
