//! The only reader of the environment and the clock: where home is, what time it is, who is watching.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::config::Config;
use crate::error::{Exit, Refusal, RefusalCode};
use crate::session::recorded;
use crate::system::reach;

/// Names the width of a screen that the answer is for although it goes through a pipe, as `--host` has it go.
pub(crate) const COLUMNS: &str = "REJOIN_COLUMNS";

/// Asks for colours although the answer goes through a pipe, as in many other programs.
pub(crate) const FORCE_COLORS: &str = "CLICOLOR_FORCE";

/// Says that a person answers questions although no stream is a terminal, as `--host` has it.
pub(crate) const ASKED: &str = "REJOIN_ASKED";

/// Names the host that this run answers for, as the one that asks calls it.
pub(crate) const HOST: &str = "REJOIN_HOST";

/// Names the zone of times, or the file of one.
const ZONE: &str = "TZ";
/// Largest file of a time zone; those of the system have a few KiB.
const MAX_ZONE: u64 = 1 << 20;

/// Where a run looks, if not in its user's home on the machine at which they sit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Elsewhere {
    /// The home directory that was named.
    pub home: Option<PathBuf>,
    /// The host, as ssh is told it from where they sit.
    pub host: Option<String>,
}

/// The directories of the system in which programs keep a user's files; `None` means the usual one below the home.
#[derive(Clone, Debug, Default)]
struct UserDirs {
    config: Option<PathBuf>,
    data: Option<PathBuf>,
    state: Option<PathBuf>,
}

impl UserDirs {
    /// Reads them. The XDG variables count on macOS as well, unlike for `dirs`: a home on a shared disk, or in a backup, is
    /// then the same for both systems.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
    fn read() -> Self {
        let named = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
        if cfg!(target_os = "macos") {
            Self { config: named("XDG_CONFIG_HOME"), data: named("XDG_DATA_HOME"), state: named("XDG_STATE_HOME") }
        } else {
            Self { config: dirs::config_dir(), data: dirs::data_dir(), state: dirs::state_dir() }
        }
    }
}

/// What a run knows of the world outside, read once at its start.
#[derive(Clone, Debug)]
pub(crate) struct Env {
    /// The home directory whose stores are read.
    pub home: PathBuf,
    /// Whether `--home` named it, so that the agents' own variables do not count.
    pub foreign_home: bool,
    /// The caller's working directory; `None` when it has been deleted.
    pub cwd: Option<PathBuf>,
    /// The time that counts as now for the whole run.
    pub now: Timestamp,
    /// Whether `REJOIN_NOW` set that time, so that the system's own times, which nobody can set, tell nothing.
    pub clock_is_set: bool,
    /// The zone in which times are shown, and in which times without a zone are read.
    /// It is looked up when it is first asked for, because the system's list of zones is long.
    pub zone: Arc<LazyLock<TimeZone>>,
    /// This machine's host name.
    pub hostname: String,
    /// The width in columns of the terminal that standard output is, or is said to end at.
    pub width: Option<u16>,
    /// The terminal's height in lines, if standard output is one.
    pub height: Option<u16>,
    /// Set if standard input is a terminal, or if [`ASKED`] says so.
    pub stdin_is_terminal: bool,
    /// Whether standard output is a terminal, or is said to end at one.
    pub stdout_is_terminal: bool,
    /// Set if standard error is a terminal, or if [`ASKED`] says so.
    pub stderr_is_terminal: bool,
    /// The words of this run's command line after the program's name.
    pub words: Vec<String>,
    /// What the config file says; nothing for a verb that does not read it.
    pub config: Config,
    dirs: UserDirs,
    variables: BTreeMap<OsString, OsString>,
}

impl Env {
    /// Returns where this run looks in place of the usual.
    pub(crate) fn elsewhere(&self) -> Elsewhere {
        let host = self.variable(HOST).and_then(OsStr::to_str).map(str::to_owned);
        Elsewhere { home: self.foreign_home.then(|| self.home.clone()), host }
    }

    /// Reads the world; `home` is the value of `--home`.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment and the clock")]
    pub(crate) fn read(home: Option<&Path>) -> Result<Self, Refusal> {
        let variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        let foreign_home = home.is_some();
        let cwd = std::env::current_dir().ok();
        let home = match home {
            Some(home) => checked_home(home)?,
            None => match dirs::home_dir() {
                // It would mean another directory to every caller: what a repository brings would count as the user's own.
                Some(home) if home.is_relative() => {
                    let message = format!("HOME is {}, which is not an absolute path", home.display());
                    return Err(Refusal::new(Exit::Failure, RefusalCode::NoHome, message)
                        .hint("set HOME to your home directory, or name one with --home DIR"));
                }
                Some(home) if reach::is_dir(&home) == Some(true) => home,
                Some(home) if !reach::answers(&home) => {
                    let message = format!("the home directory {} is on a mount that does not answer", home.display());
                    return Err(Refusal::new(Exit::Failure, RefusalCode::NoHome, message)
                        .hint("name another directory with --home DIR"));
                }
                Some(home) => {
                    let message = format!("the home directory {} does not exist", home.display());
                    return Err(Refusal::new(Exit::Failure, RefusalCode::NoHome, message)
                        .hint("name another directory with --home DIR"));
                }
                None => {
                    let message = "cannot tell where the home directory is: HOME is not set";
                    return Err(
                        Refusal::new(Exit::Failure, RefusalCode::NoHome, message).hint("name it with --home DIR")
                    );
                }
            },
        };
        check_zone(variables.get(OsStr::new(ZONE)).map(OsString::as_os_str))?;
        // Tests and reproductions need the same answer every day.
        let now = match variables.get(OsStr::new("REJOIN_NOW")).map(|now| now.to_string_lossy().parse()) {
            None => Timestamp::now(),
            Some(Ok(now)) => now,
            Some(Err(error)) => {
                let message = format!("REJOIN_NOW is not an RFC 3339 time: {error}");
                return Err(Refusal::new(Exit::Usage, RefusalCode::BadClock, message));
            }
        };
        let stdout = std::io::stdout();
        let size = rustix::termios::tcgetwinsize(&stdout).ok();
        let columns = variables.get(OsStr::new(COLUMNS)).and_then(|columns| columns.to_str()?.parse().ok());
        let is_asked = variables.contains_key(OsStr::new(ASKED));
        Ok(Self {
            home,
            foreign_home,
            cwd,
            now,
            clock_is_set: variables.contains_key(OsStr::new("REJOIN_NOW")),
            zone: Arc::new(LazyLock::new(zone)),
            hostname: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            width: columns.or(size.map(|size| size.ws_col)).filter(|width| *width > 0),
            height: size.map(|size| size.ws_row).filter(|height| *height > 0),
            stdin_is_terminal: std::io::stdin().is_terminal() || is_asked,
            stdout_is_terminal: stdout.is_terminal() || columns.is_some(),
            stderr_is_terminal: std::io::stderr().is_terminal() || is_asked,
            words: Vec::new(),
            config: Config::default(),
            dirs: if foreign_home { UserDirs::default() } else { UserDirs::read() },
            variables,
        })
    }

    /// Returns a variable that is set and not empty. A relative directory of XDG is ignored, as its specification says.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let value = self.variables.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty());
        value.filter(|value| !name.starts_with("XDG_") || Path::new(value).is_absolute())
    }

    /// Returns an agent's own variable, which does not count for a home that `--home` named.
    pub(crate) fn agent_variable(&self, name: &str) -> Option<&OsStr> {
        if self.foreign_home { None } else { self.variable(name) }
    }

    /// Returns the directory for rejoin's state: journals, the trash, pins, launches.
    pub(crate) fn state_dir(&self) -> PathBuf {
        self.dirs.state.clone().unwrap_or_else(|| self.home.join(".local/state")).join("rejoin")
    }

    /// Returns the directory for rejoin's data: the archive.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.dirs.data.clone().unwrap_or_else(|| self.home.join(".local/share")).join("rejoin")
    }

    /// Returns the directory in which programs keep their config files.
    pub(crate) fn config_dir(&self) -> PathBuf {
        self.dirs.config.clone().unwrap_or_else(|| self.home.join(".config"))
    }

    /// Returns rejoin's config file.
    pub(crate) fn config_file(&self) -> PathBuf {
        self.config_dir().join("rejoin/config.toml")
    }

    /// Returns the system's directory for what is needed for a moment.
    pub(crate) fn temp_dir(&self) -> PathBuf {
        let chosen = self.variable("TMPDIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
        chosen.unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    /// Returns the time so long after now, or the last one of the calendar.
    pub(crate) fn later(&self, duration: SignedDuration) -> Timestamp {
        self.now.checked_add(duration).unwrap_or(Timestamp::MAX)
    }

    /// Makes a path absolute: `~` is the home that is looked at, the rest starts at the caller's directory.
    ///
    /// Nothing is resolved on disk, so that a path which does not exist keeps its form. One that is absolute on Windows stays.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        let path = self.expand(path);
        match &self.cwd {
            Some(cwd) if !recorded::is_absolute(&path) => cwd.join(path),
            _ => path,
        }
    }

    /// Replaces a leading `~` by the home that is looked at.
    pub(crate) fn expand(&self, path: &Path) -> PathBuf {
        match path.strip_prefix("~") {
            Ok(rest) => self.home.join(rest),
            Err(_) => path.to_owned(),
        }
    }

    /// Resolves a path as Amplifier does: `~` expanded, absolute, links followed as far as the path exists,
    /// `.` and `..` taken out of the rest.
    pub(crate) fn resolve(&self, path: &Path) -> PathBuf {
        if recorded::is_foreign(path) {
            return path.to_owned();
        }
        let mut resolved = PathBuf::from("/");
        let mut exists = true;
        for component in self.absolute(path).components() {
            match component {
                Component::ParentDir => {
                    resolved.pop();
                    exists = true;
                }
                Component::Normal(name) => {
                    resolved.push(name);
                    match reach::canonicalize(&resolved) {
                        Ok(real) if exists => resolved = real,
                        _ => exists = false,
                    }
                }
                _ => {}
            }
        }
        resolved
    }

    /// Shortens a path below home to `~/…` for people to read.
    pub(crate) fn tilde(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }

    /// Finds a program as a shell would: by its path, or in the directories of `PATH`.
    pub(crate) fn find_program(&self, name: &str) -> Program {
        if name.contains('/') {
            return Program::Found(PathBuf::from(name));
        }
        let mut unusable = None;
        for dir in self.variable("PATH").into_iter().flat_map(std::env::split_paths) {
            let path = dir.join(name);
            if is_executable(&path) {
                return Program::Found(path);
            }
            unusable = unusable.or(Some(path).filter(|path| reach::is_file(path)));
        }
        unusable.map_or(Program::Missing, Program::NotExecutable)
    }
}

/// Returns the directory that Claude Code says it was started in, to a hook that it runs.
///
/// For an event that is answered without [`Env`]: that reads the zone's files and needs a home.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub(crate) fn claude_project_dir() -> Option<PathBuf> {
    std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute())
}

/// Refuses a zone's file that has no end.
fn check_zone(zone: Option<&OsStr>) -> Result<(), Refusal> {
    let Some(path) = zone.and_then(zone_file) else { return Ok(()) };
    match reach::metadata(path) {
        Ok(found) if !found.is_file() || found.len() > MAX_ZONE => {
            let message = format!("TZ is {}, which is not the file of a time zone", path.display());
            Err(Refusal::new(Exit::Usage, RefusalCode::BadZone, message)
                .hint("set TZ to a name such as Europe/Berlin, or unset it"))
        }
        _ => Ok(()),
    }
}

/// Returns the file that a value of TZ names.
fn zone_file(zone: &OsStr) -> Option<&Path> {
    let bytes = zone.as_encoded_bytes();
    let path = Path::new(OsStr::from_bytes(bytes.strip_prefix(b":").unwrap_or(bytes)));
    path.is_absolute().then_some(path)
}

/// Returns the zone of TZ, or of the system. A relative value is only a name, never a file below the current directory.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
fn zone() -> TimeZone {
    match std::env::var(ZONE) {
        Ok(zone) if !zone.is_empty() && zone_file(OsStr::new(&zone)).is_none() => {
            let name = zone.strip_prefix(':').unwrap_or(&zone);
            let found = TimeZone::posix(name).or_else(|_| TimeZone::get(name));
            found.unwrap_or_else(|_| TimeZone::unknown())
        }
        _ => TimeZone::system(),
    }
}

/// Returns the path of this very program.
pub(crate) fn own_program() -> Option<PathBuf> {
    std::env::current_exe().ok()
}

/// What a search for a program gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// It can be run.
    Found(PathBuf),
    /// There is a file of that name, which cannot be run.
    NotExecutable(PathBuf),
    /// There is none.
    Missing,
}

fn is_executable(path: &Path) -> bool {
    reach::is_file(path) && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Checks the directory that `--home` names and makes it absolute.
fn checked_home(home: &Path) -> Result<PathBuf, Refusal> {
    let refuse = |why: String| {
        Refusal::new(
            Exit::Failure,
            RefusalCode::BadHome,
            format!("cannot use {} as a home directory: {why}", home.display()),
        )
        .hint("name an existing directory with --home DIR")
    };
    match std::path::absolute(home).and_then(|home| reach::canonicalize(&home)) {
        Ok(path) if reach::is_dir(&path) == Some(true) => Ok(path),
        Ok(_) => Err(refuse("it is not a directory".to_owned())),
        Err(error) => Err(refuse(crate::error::reason(&error))),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A world for unit tests: home `/home/ana`, a fixed clock, no variables.
    pub(crate) fn fixed() -> Env {
        Env {
            home: PathBuf::from("/home/ana"),
            foreign_home: false,
            cwd: Some(PathBuf::from("/home/ana/work")),
            now: "2026-03-01T12:00:00Z".parse().expect("a time"),
            clock_is_set: true,
            zone: Arc::new(LazyLock::new(|| TimeZone::UTC)),
            hostname: "examplehost".to_owned(),
            width: Some(120),
            height: Some(40),
            stdin_is_terminal: false,
            stdout_is_terminal: false,
            stderr_is_terminal: false,
            words: Vec::new(),
            config: Config::default(),
            dirs: UserDirs::default(),
            variables: BTreeMap::new(),
        }
    }

    #[test]
    fn a_tilde_means_the_home_that_is_looked_at() {
        let env = fixed();
        assert_eq!(env.absolute(Path::new("~/x")), Path::new("/home/ana/x"));
        assert_eq!(env.absolute(Path::new("x/../y")), Path::new("/home/ana/work/x/../y"));
        assert_eq!(env.tilde(Path::new("/home/ana/x")), "~/x");
        assert_eq!(env.tilde(Path::new("/home/anabel/x")), "/home/anabel/x");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
    fn a_path_is_resolved_as_far_as_it_exists() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("a path");
        std::fs::create_dir(root.join("real")).expect("a directory");
        std::os::unix::fs::symlink(root.join("real"), root.join("link")).expect("a link");
        let env = fixed();
        assert_eq!(env.resolve(&root.join("link/gone/../x y")), root.join("real/x y"));
        assert_eq!(env.resolve(&root.join("gone/../link/.")), root.join("real"));
        assert_eq!(env.resolve(Path::new("/no/such//place/")), Path::new("/no/such/place"));
    }

    #[test]
    fn agents_variables_do_not_count_for_a_home_that_was_named() {
        let mut env = fixed();
        env.variables.insert("CLAUDE_CONFIG_DIR".into(), "/elsewhere".into());
        assert!(env.agent_variable("CLAUDE_CONFIG_DIR").is_some());
        env.foreign_home = true;
        assert!(env.agent_variable("CLAUDE_CONFIG_DIR").is_none());
    }
}
