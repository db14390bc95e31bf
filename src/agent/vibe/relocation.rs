//! The change that lets Vibe find a session from another directory: the directory in its meta.json.
//!
//! Measured on 3.0.2: it resumes from anywhere, and lists by that directory. The journal is not changed, because its
//! lines are chained by their digests; a resume writes the directory in it back to meta.json, so rejoin records the new one
//! too.

use super::{MAX_META, Vibe};
use crate::agent::prelude::*;
use crate::format::edit::json_string;

/// The paths of the keys in meta.json that contain directories.
const PLACES: [&[&str]; 2] = [&["environment", "working_directory"], &["origin_directory"]];

impl Moving for Vibe {
    fn relocation<'a>(&'a self, moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        let StoreMove { mapping, .. } = *moving;
        Ok(Relocation::of_each(move |copy, _| {
            let path = copy.place.path.join("meta.json");
            let json = small(&path, MAX_META)?.unwrap_or_default();
            let edits = PLACES.iter().filter_map(|keys| json_string(&json, keys, &|dir| mapping.text_to(dir)));
            // A sub-agent may have no meta.json, and its state is a part of the chain.
            Ok(Moved { acts: Act::in_place(path, edits.collect()), is_kept: true })
        }))
    }
}
