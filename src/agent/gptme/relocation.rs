//! The change that lets gptme find a session from another directory: the workspace in its settings.
//!
//! Measured on 0.35.1: it changes to that workspace by itself and recreates the link next to the settings. Its `-w DIR`
//! cannot be used, because it is ignored if gptme is started in DIR.

use super::Gptme;
use super::reader::{MAX_CONFIG, settings};
use crate::agent::prelude::*;
use crate::agent::relocation::text;
use crate::format::edit::Edit;
use crate::format::toml::{TomlSettings, quoted};

impl Moving for Gptme {
    fn relocation<'a>(&'a self, moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        let StoreMove { mapping, .. } = *moving;
        Ok(Relocation::of_each(move |copy, _| {
            let path = settings(&copy.place.path);
            let config = small(&path, MAX_CONFIG)?.unwrap_or_default();
            let config = TomlSettings::parse(&config);
            let moved =
                super::workspace(copy).and_then(|dir| mapping.new_location(dir)).zip(config.span("chat", "workspace"));
            let Some((dir, span)) = moved else {
                // A fork that was never resumed has no settings, and uses the directory in which it is started.
                return Ok(Moved::changing_no_file());
            };
            Ok(Moved::by(Act::in_place(path, vec![Edit::replace(span, quoted(text(&dir)?))])))
        }))
    }
}
