//! Saves a signed session in JidoCode's store.

use std::io;
use std::path::{Path, PathBuf};

use crate::agent::jido::{SECRET_FILE, file_of, machine_secret};
use crate::error::PathError;
use crate::format::text::hex;
use crate::save::jido::Signed;
use crate::system::disk::{self, Access, Disk};
use crate::system::reach;

/// Returns the secret of the machine; creates one if it is missing, as JidoCode does at its first start.
pub(crate) fn secret(disk: &dyn Disk, root: &Path) -> Result<String, PathError> {
    let path = root.join(SECRET_FILE);
    let fail = |error| PathError::new("use", &path, error);
    if reach::exists_itself(&path) == Some(false) {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| fail(error.into()))?;
        save_secret(disk, root, &hex(&bytes))?;
    }
    machine_secret(root).ok_or_else(|| fail(io::Error::other("it is not a secret that JidoCode would use")))
}

/// Saves a secret, unless another process has saved one first.
pub(super) fn save_secret(disk: &dyn Disk, root: &Path, secret: &str) -> Result<(), PathError> {
    make_dirs(disk, root)?;
    disk::save_new(disk, &root.join(SECRET_FILE), secret.as_bytes()).map(drop)
}

/// Returns the file of a session that is already saved, with any case of its id.
pub(crate) fn in_use(root: &Path, id: &str) -> Option<PathBuf> {
    let path = file_of(root, id);
    let name = path.file_name()?.to_ascii_lowercase();
    let entries = reach::read_dir(path.parent()?).ok()?;
    entries
        .filter_map(Result::ok)
        .find(|entry| entry.file_name().to_ascii_lowercase() == name)
        .map(|entry| entry.path())
}

/// Saves a session and returns its file; `None` if its id is in use.
pub(crate) fn save(disk: &dyn Disk, root: &Path, signed: &Signed) -> Result<Option<PathBuf>, PathError> {
    let path = file_of(root, &signed.id);
    make_dirs(disk, path.parent().unwrap_or(root))?;
    Ok(disk::save_new(disk, &path, &signed.bytes)?.then_some(path))
}

fn make_dirs(disk: &dyn Disk, dir: &Path) -> Result<(), PathError> {
    disk::make_dirs(disk, dir, Access::Usual).map(drop).map_err(|error| PathError::new("create", dir, error))
}
