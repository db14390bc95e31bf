//! Paths of any bytes in JSON: a string, or `{"base64": …}` if they are not UTF-8.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path that is serialized in this form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PathText(#[serde(with = "self")] pub PathBuf);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SerializedPath {
    Utf8(String),
    Bytes { base64: String },
}

/// Serializes a path.
pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    match path.to_str() {
        Some(text) => SerializedPath::Utf8(text.to_owned()),
        None => SerializedPath::Bytes { base64: STANDARD.encode(path.as_os_str().as_bytes()) },
    }
    .serialize(serializer)
}

/// Serializes a path as text, with replacement characters where it is not UTF-8.
pub fn lossy<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&path.display())
}

/// Deserializes a path.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    match SerializedPath::deserialize(deserializer)? {
        SerializedPath::Utf8(text) => Ok(text.into()),
        SerializedPath::Bytes { base64 } => {
            let bytes = STANDARD.decode(base64).map_err(serde::de::Error::custom)?;
            Ok(OsStr::from_bytes(&bytes).into())
        }
    }
}
