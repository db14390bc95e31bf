//! The directories of a user, and paths as users write and read them.

use std::path::{Component, Path, PathBuf};

use super::surroundings::Variables;
use super::{Env, value};
use crate::error::{Refusal, RefusalCode};
use crate::session::recorded;
use crate::system::reach;

/// The XDG directories for a user's files; `None` means the default one below the home.
#[derive(Clone, Debug, Default)]
pub(super) struct UserDirs {
    config: Option<PathBuf>,
    data: Option<PathBuf>,
    state: Option<PathBuf>,
}

impl UserDirs {
    /// Reads the variables. Unlike in the `dirs` crate, the XDG variables count on macOS too: a home on a shared disk,
    /// or in a backup, is then the same for both systems.
    pub(super) fn read(variables: &Variables) -> Self {
        let named = |name: &str| value(variables, name).map(PathBuf::from).filter(|dir| dir.is_absolute());
        Self { config: named("XDG_CONFIG_HOME"), data: named("XDG_DATA_HOME"), state: named("XDG_STATE_HOME") }
    }
}

impl Env {
    /// Returns the directory of rejoin's state: journals, the trash, pins, launches.
    pub(crate) fn state_dir(&self) -> PathBuf {
        self.dirs.state.clone().unwrap_or_else(|| self.home.join(".local/state")).join("rejoin")
    }

    /// Returns the directory of rejoin's data: the archive.
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

    /// Returns the system's directory for temporary files.
    pub(crate) fn temp_dir(&self) -> PathBuf {
        let chosen = self.variable("TMPDIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
        chosen.unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    /// Makes a path absolute: `~` is the home that is read, and a relative path starts at the caller's directory.
    ///
    /// Nothing is resolved on disk, so that a path that does not exist keeps its form. A path that is absolute on
    /// Windows is kept.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        let path = self.expand(path);
        match &self.cwd {
            Some(cwd) if !recorded::is_absolute(&path) => cwd.join(path),
            _ => path,
        }
    }

    /// Returns a path at or below the caller's directory as the caller's shell names it, if the shell entered that
    /// directory through a link.
    pub(crate) fn through_link(&self, path: &Path) -> Option<PathBuf> {
        let cwd = self.cwd.as_deref()?;
        let below = path.strip_prefix(cwd).ok()?;
        let shell = Path::new(self.variable("PWD")?);
        let is_other_name =
            shell.is_absolute() && shell != cwd && !below.components().any(|part| part == Component::ParentDir);
        (is_other_name && reach::canonicalize(shell).is_ok_and(|dir| dir == cwd)).then(|| shell.join(below))
    }

    /// Replaces a leading `~` by the home that is read.
    pub(crate) fn expand(&self, path: &Path) -> PathBuf {
        match path.strip_prefix("~") {
            Ok(rest) => self.home.join(rest),
            Err(_) => path.to_owned(),
        }
    }

    /// Resolves a path as Amplifier does: `~` expanded, absolute, links followed as far as the path exists, `.` and
    /// `..` removed from the rest.
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

    /// Shortens a path below the home to `~/…` for display.
    pub(crate) fn tilde(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

/// Returns the home directory of the user: HOME, else the one that the system has for the user.
#[expect(clippy::disallowed_methods, reason = "`env` is the one place that reads the environment")]
pub(super) fn user_home(variables: &Variables) -> Result<PathBuf, Refusal> {
    let (message, hint) = match value(variables, "HOME").map(PathBuf::from).or_else(dirs::home_dir) {
        // A relative HOME depends on the caller's directory: files of a repository would count as the user's own.
        Some(home) if home.is_relative() => (
            format!("HOME is {}, which is not an absolute path", home.display()),
            "set HOME to your home directory, or name one with --home DIR",
        ),
        Some(home) if reach::is_dir(&home) == Some(true) => return Ok(home),
        Some(home) => {
            let why = if reach::answers(&home) { "does not exist" } else { "is on a mount that does not answer" };
            (format!("the home directory {} {why}", home.display()), "name another directory with --home DIR")
        }
        None => ("the home directory is unknown: HOME is not set".to_owned(), "name it with --home DIR"),
    };
    Err(Refusal::new(RefusalCode::NoHome, message).hint(hint))
}

/// Checks the directory of `--home` and makes it absolute.
pub(super) fn checked_home(home: &Path, cwd: Option<&Path>) -> Result<PathBuf, Refusal> {
    let refuse = |why: String| {
        Refusal::new(RefusalCode::BadHome, format!("cannot use {} as a home directory: {why}", home.display()))
            .hint("name an existing directory with --home DIR")
    };
    match reach::canonicalize(&cwd.map_or_else(|| home.to_owned(), |cwd| cwd.join(home))) {
        Ok(path) if reach::is_dir(&path) == Some(true) => Ok(path),
        Ok(_) => Err(refuse("it is not a directory".to_owned())),
        Err(error) => Err(refuse(crate::error::reason(&error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::env::tests::fixed;

    #[test]
    fn tilde_expands_to_home_of_run() {
        let env = fixed();
        assert_eq!(env.absolute(Path::new("~/x")), Path::new("/home/ana/x"));
        assert_eq!(env.absolute(Path::new("x/../y")), Path::new("/home/ana/work/x/../y"));
        assert_eq!(env.tilde(Path::new("/home/ana/x")), "~/x");
        assert_eq!(env.tilde(Path::new("/home/anabel/x")), "/home/anabel/x");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
    fn resolve_follows_links_in_existing_part() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("a path");
        std::fs::create_dir(root.join("real")).expect("a directory");
        std::os::unix::fs::symlink(root.join("real"), root.join("link")).expect("a link");
        let env = fixed();
        assert_eq!(env.resolve(&root.join("link/gone/../x y")), root.join("real/x y"));
        assert_eq!(env.resolve(&root.join("gone/../link/.")), root.join("real"));
        assert_eq!(env.resolve(Path::new("/no/such//place/")), Path::new("/no/such/place"));
    }
}
