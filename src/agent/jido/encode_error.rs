//! The limits of the JSON encoder for JidoCode, and the errors of documents that exceed them.

use crate::agent::jido::records::LoadError;

/// Maximum number of keys of an Erlang map in sorted order; larger maps are in the order of an internal hash.
pub(super) const MAX_KEYS: usize = 32;

/// Maximum nesting depth. Jason has no limit, but this encoder is recursive and scans a value once per enclosing level.
/// JidoCode writes about four levels.
pub(super) const MAX_DEPTH: usize = 32;

/// The reason why the text that JidoCode signs is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// There is no key, for example because the machine secret is unreadable.
    #[error("the signature cannot be checked without the secret of the machine")]
    NoKey,
    /// Erlang orders the keys of a large object by an internal hash.
    #[error("the signature cannot be checked: an object has more than {MAX_KEYS} keys")]
    ManyKeys,
    /// The document exceeds the maximum nesting depth.
    #[error("the signature cannot be checked: the file nests deeper than {MAX_DEPTH} levels")]
    Deep,
}

/// The reason why a document cannot be encoded like JidoCode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// JidoCode cannot read it either.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// JidoCode can read it, but its encoding is unknown.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}
