//! The change that lets JidoCode resume a session in another directory: the directory in its file, with a new
//! signature.
//!
//! A file that this machine did not sign is left unchanged: with a new signature it would look like a file of this
//! machine.

use super::{Jido, keys};
use crate::agent::jido::records::MAX_FILE_BYTES;
use crate::agent::jido::signature::{SignatureCheck, check, sign};
use crate::agent::prelude::*;
use crate::agent::relocation::text;
use crate::format::edit::{self, json_string};

impl Jido {
    pub(super) fn move_sessions<'a>(store: &'a Store, env: &'a Env) -> Relocation<'a> {
        Relocation::of_each(move |copy, to| {
            let (path, to) = (copy.place.path.to_path_buf(), text(to)?);
            let json = small(&path, MAX_FILE_BYTES)?.ok_or("its file is gone")?;
            let keys = keys::all_keys(&store.root, env);
            let is_signed = match check(json.as_bytes(), &keys) {
                Ok(SignatureCheck::Valid) => true,
                Ok(SignatureCheck::Unsigned) => false,
                Ok(SignatureCheck::Wrong) => {
                    return Err("its signature does not match this machine, which could not sign it again".into());
                }
                Ok(SignatureCheck::Unsupported(why)) => return Err(why.to_string().into()),
                Err(why) => return Err(why.to_string().into()),
            };
            let edit = json_string(&json, &["project_path"], &|_| Some(to.to_owned()));
            let mut contents = edit::apply(json.as_bytes(), &[edit.ok_or("its file names no project_path")?]);
            if let Some(key) = keys
                .iter()
                .find(|key| is_signed && check(json.as_bytes(), std::slice::from_ref(key)) == Ok(SignatureCheck::Valid))
            {
                contents = sign(&contents, key).map_err(|error| error.to_string())?;
            }
            Ok(Moved::by(vec![Act::Write { path, contents }]))
        })
    }
}
