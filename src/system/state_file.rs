//! Documents in the state directory: pins, tags, moves, accepted findings, and notes about archives.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::system::disk::{self, Disk};

/// The version of the documents that this program writes.
const VERSION: u32 = 1;
/// Maximum size in bytes; an entry has between 100 and 400.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Stores a map by agent and session id as a list of entries that begin with `agent` and `id`.
pub(crate) mod by_session {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Entry<A, I, T> {
        agent: A,
        id: I,
        #[serde(flatten)]
        value: T,
    }

    pub(crate) fn serialize<S: Serializer, A: Serialize, T: Serialize>(
        map: &BTreeMap<(A, String), T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map.iter().map(|((agent, id), value)| Entry { agent, id, value }))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, A: Deserialize<'de> + Ord, T: Deserialize<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<(A, String), T>, D::Error> {
        let entries = Vec::<Entry<A, String, T>>::deserialize(deserializer)?;
        Ok(entries.into_iter().map(|entry| ((entry.agent, entry.id), entry.value)).collect())
    }
}

#[derive(Deserialize)]
struct Header {
    format_version: u32,
}

#[derive(Serialize)]
struct StateDocument<'a, T> {
    format_version: u32,
    #[serde(flatten)]
    content: &'a T,
}

/// Reads a document; a missing one is empty. Fails with its path and the reason if it is unreadable, or has another
/// version.
pub(crate) fn read<T: Default + DeserializeOwned>(disk: &dyn Disk, path: &Path) -> Result<T, String> {
    content(disk, path).map_err(|why| format!("{} cannot be read: {why}", path.display()))
}

/// Like [`read`]; fails with the reason alone.
pub(crate) fn content<T: Default + DeserializeOwned>(disk: &dyn Disk, path: &Path) -> Result<T, String> {
    let bytes = disk::read_if_present(disk, path, MAX_BYTES).map_err(|error| error.to_string());
    bytes.and_then(|bytes| bytes.map_or_else(|| Ok(T::default()), |bytes| parse(&bytes)))
}

/// Parses a document.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let header: Header = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if header.format_version != VERSION {
        return Err(format!("it has format_version {}, not {VERSION}", header.format_version));
    }
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

/// Returns the bytes of a document.
pub(crate) fn to_json(content: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(&StateDocument { format_version: VERSION, content })?;
    text.push(b'\n');
    Ok(text)
}
