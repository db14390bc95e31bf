//! The limits of the JSON encoder for JidoCode, and the errors of documents that exceed them.

use crate::agent::jido::records::LoadError;

/// Erlang keeps the keys of a map in order up to this many; beyond, in that of an internal hash.
pub(super) const MAX_KEYS: usize = 32;

/// Jason has no limit, but this encoder descends the stack and scans a value once for each level that it is in. JidoCode
/// writes about four levels.
pub(super) const MAX_DEPTH: usize = 32;

/// Why the text that JidoCode signs cannot be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// No key was given, as when the machine secret cannot be read.
    #[error("the signature cannot be checked without the secret of the machine")]
    NoKey,
    /// Erlang orders the keys of a large object by an internal hash.
    #[error("the signature cannot be checked: an object has more than {MAX_KEYS} keys")]
    ManyKeys,
    /// The document is deeper than this encoder goes.
    #[error("the signature cannot be checked: the file nests deeper than {MAX_DEPTH} levels")]
    Deep,
}

/// Why a document cannot be encoded as JidoCode would.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// JidoCode cannot read it either.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// JidoCode can, but its encoding cannot be known.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}
