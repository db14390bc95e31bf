//! Puts a signed session into JidoCode's store.

use std::io;
use std::path::{Path, PathBuf};

use crate::agent::jido::{SECRET_FILE, file_of, machine_secret};
use crate::error::PathError;
use crate::format::text::hex;
use crate::save::jido::Signed;
use crate::system::fsio::{self, Access, Saving};
use crate::system::reach;

/// Returns the secret of the machine; creates it if there is none, as JidoCode does when it first starts.
pub(crate) fn secret(root: &Path) -> Result<String, PathError> {
    let path = root.join(SECRET_FILE);
    let fail = |error| PathError::new("use", &path, error);
    if reach::exists_itself(&path) == Some(false) {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| fail(error.into()))?;
        let secret = hex(&bytes);
        fsio::create_dirs(root)?;
        let mut saving = Saving::begin(&path, Access::Private)?;
        saving.write(secret.as_bytes())?;
        // Where another process was faster, its secret counts.
        saving.commit_new()?;
    }
    machine_secret(root).ok_or_else(|| fail(io::Error::other("it is not a secret that JidoCode would use")))
}

/// Returns where a session is saved already; the case of its id does not matter.
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
pub(crate) fn save(root: &Path, signed: &Signed) -> Result<Option<PathBuf>, PathError> {
    let path = file_of(root, &signed.id);
    fsio::create_dirs(path.parent().unwrap_or(root))?;
    let mut saving = Saving::begin(&path, Access::Private)?;
    saving.write(&signed.bytes)?;
    Ok(saving.commit_new()?.then_some(path))
}
