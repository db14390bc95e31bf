//! Paths in the JSON contract: text, and the exact bytes of a path that is not UTF-8.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};

/// A path in a list of paths.
#[derive(Debug, Serialize)]
pub(crate) struct PathJson<'a> {
    /// The path; with replacement characters where it is not UTF-8.
    pub path: Cow<'a, str>,
    /// The exact bytes of a path that is not UTF-8, in base64; else `null`.
    pub path_bytes_base64: Option<String>,
}

impl<'a> From<&'a Path> for PathJson<'a> {
    fn from(path: &'a Path) -> Self {
        Self { path: path.to_string_lossy(), path_bytes_base64: path_bytes(path) }
    }
}

/// Returns the bytes of a path that JSON cannot represent as a string.
pub(crate) fn path_bytes(path: &Path) -> Option<String> {
    path.to_str().is_none().then(|| STANDARD.encode(path.as_os_str().as_bytes()))
}

/// Serializes a path as a [`PathJson`].
pub(crate) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    PathJson::from(path).serialize(to)
}

/// Serializes paths as a list of [`PathJson`].
pub(crate) fn serialize_all<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(paths.iter().map(|path| PathJson::from(path.as_path())))
}
