//! The facts of a session as the first members of its JSON object.

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use super::LaunchDirJson;
use crate::format::path_json::PathJson;
use crate::session::Session;
use crate::session::facts::FieldValue;
use crate::session::fields::Field;

/// The object that has the facts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// A session. Its launch directory has a source, and other directories are plain text.
    Session,
    /// An archived session: the facts in its manifest.
    Archived,
    /// A match of a search.
    Match,
}

/// The facts of a session in an object.
pub(crate) struct FactsJson<'a>(pub &'a Session, pub Of);

impl Serialize for FactsJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use Field::{Active, ActiveSource, Agent, Cost, Dir, FirstPrompt, Id, Kind, OwnTitle, Size, Tokens};
        let Self(session, of) = self;
        let has = |field: &Field| match of {
            Of::Session => true,
            Of::Archived => !matches!(field, ActiveSource | Size | Cost | Tokens),
            Of::Match => matches!(field, Agent | Id | Kind | OwnTitle | FirstPrompt | Dir | Active),
        };
        let mut members = to.serialize_map(None)?;
        for field in Field::OF_JSON.into_iter().flatten().filter(|field| has(field)) {
            let (name, fact) = (field.name(), field.fact(session));
            let source = fact.as_ref().map(|fact| fact.source).unwrap_or_default();
            match fact.map(|fact| fact.value) {
                Some(FieldValue::Path(dir)) if *of != Of::Session => {
                    members.serialize_entry(name, &PathJson::from(dir))?
                }
                Some(FieldValue::Path(dir)) if *field == Dir => {
                    members.serialize_entry(name, &LaunchDirJson::new(dir, source, session.launch_dir_exists))?
                }
                value => members.serialize_entry(name, &value)?,
            }
        }
        members.end()
    }
}
