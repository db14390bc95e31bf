//! The keys of this machine, and the check of a session file's signature with them.
//!
//! `list`, `show`, `doctor` and `resume` must agree about invalid sessions, so every read checks the signature.
//! Deriving a key takes as long as checking hundreds of files, so a run derives each key once, and only if a file needs
//! it.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::records::LoadError;
use super::signature::{APP_SALTS, SignatureCheck, SigningKey, Unsupported, check, derive_key};
use super::{machine_secret, short_name};
use crate::agent::prelude::*;

/// The secrets and keys that are known.
#[derive(Default)]
struct KnownKeys {
    /// The secret of each store; `None` if JidoCode would use none.
    secrets: HashMap<PathBuf, Option<Arc<str>>>,
    /// The derived keys by secret and host name, in the order of [`APP_SALTS`].
    derived: HashMap<(Arc<str>, String), Vec<SigningKey>>,
}

static KNOWN: LazyLock<Mutex<KnownKeys>> = LazyLock::new(Mutex::default);

/// Forgets the secrets, before another run in this process. A key depends only on its secret and host name.
pub(crate) fn forget_secrets() {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).secrets.clear();
}

/// Returns the key of one salt; `None` if JidoCode would use no secret of this store.
fn key(root: &Path, env: &Env, salt: usize) -> Option<SigningKey> {
    // A second thread that needs the key waits for it instead of deriving it again.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let host = short_name(&env.hostname);
    let secret =
        known.secrets.entry(root.to_owned()).or_insert_with(|| machine_secret(root).map(Into::into)).clone()?;
    let derived = known.derived.entry((Arc::clone(&secret), host.to_owned())).or_default();
    while derived.len() <= salt {
        derived.push(derive_key(APP_SALTS.get(derived.len())?, &secret, host));
    }
    derived.get(salt).cloned()
}

/// Returns every key of a store.
pub(super) fn all_keys(root: &Path, env: &Env) -> Vec<SigningKey> {
    (0..APP_SALTS.len()).filter_map(|salt| key(root, env, salt)).collect()
}

/// Checks the signature of a file, if there is one, and records the result in the copy.
pub(super) fn check_signature(bytes: &[u8], copy: &mut SessionCopy, env: &Env) {
    let root = copy.place.store.root.clone();
    let mut checked = check(bytes, &[]);
    let is_signed = checked == Ok(SignatureCheck::Unsupported(Unsupported::NoKey));
    for salt in (0..APP_SALTS.len()).filter(|_| is_signed) {
        let Some(key) = key(&root, env, salt) else { break };
        checked = check(bytes, &[key]);
        if checked != Ok(SignatureCheck::Wrong) {
            break;
        }
    }
    let note = match checked {
        Ok(SignatureCheck::Valid) => "its signature is valid".to_owned(),
        Ok(SignatureCheck::Wrong) if env.foreign_home => {
            // The key depends on the host name, and the named home may be from another machine.
            "its signature does not match this machine's name; it may have been made on another machine".to_owned()
        }
        Ok(SignatureCheck::Wrong) => {
            copy.health.insert(Health::SignatureInvalid);
            let host = short_name(&env.hostname);
            format!(
                "{}; it was edited, or made on a machine that is not named {host}",
                LoadError::SignatureVerificationFailed
            )
        }
        Ok(SignatureCheck::Unsigned) => return,
        Ok(SignatureCheck::Unsupported(why)) => why.to_string(),
        Err(error) => error.to_string(),
    };
    copy.notes.push(note);
}
