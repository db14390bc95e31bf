//! The path of rejoin's executable, from which a run starts further processes of rejoin.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The executable, in a process that only calls this library: a test.
static SET: OnceLock<PathBuf> = OnceLock::new();

/// Sets the path of the executable, in a process of another program. The first call counts.
pub(crate) fn set(path: &Path) {
    let _ = SET.set(path.to_owned());
}

/// Returns the path of the executable.
pub(crate) fn path() -> Option<PathBuf> {
    SET.get().cloned().or_else(|| std::env::current_exe().ok())
}

/// Returns a path of the running executable that is valid even after another version has replaced it.
pub(crate) fn running() -> Option<PathBuf> {
    let is_linux = cfg!(target_os = "linux");
    SET.get().cloned().or_else(|| if is_linux { Some(PathBuf::from("/proc/self/exe")) } else { path() })
}
