//! The keys of this machine, and the check of a session file's signature with them.
//!
//! `list`, `show`, `doctor` and `resume` must agree about invalid sessions, so every read checks the signature.
//! Deriving a key takes as long as checking hundreds of files, so a run derives each key once, and only if a file needs
//! it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::records::LoadError;
use super::signature::{APP_SALTS, Key, SignatureCheck, Unsupported, check, derive_key};
use super::{machine_secret, short_name};
use crate::agent::prelude::*;

/// The derived keys of one store by salt, in the order of [`APP_SALTS`].
#[derive(Default)]
struct Keys {
    secret: Option<Arc<str>>,
    derived: Vec<Key>,
}

/// The keys by store and host name.
static KEYS: Mutex<Option<HashMap<(PathBuf, String), Keys>>> = Mutex::new(None);

/// Returns the key of one salt; `None` if JidoCode would use no secret of this store.
fn key(root: &Path, env: &Env, salt: usize) -> Option<Key> {
    // A second thread that needs the key waits for it instead of deriving it again.
    let mut known = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    let host = short_name(&env.hostname);
    let keys = known
        .get_or_insert_default()
        .entry((root.to_owned(), host.to_owned()))
        .or_insert_with(|| Keys { secret: machine_secret(root).map(Into::into), derived: Vec::new() });
    let secret = keys.secret.clone()?;
    while keys.derived.len() <= salt {
        keys.derived.push(derive_key(APP_SALTS.get(keys.derived.len())?, &secret, host));
    }
    keys.derived.get(salt).cloned()
}

/// Returns every key of a store.
pub(super) fn all(root: &Path, env: &Env) -> Vec<Key> {
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
            // The key depends on the host name, and a home that was named may be from another machine.
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
