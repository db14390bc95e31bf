//! JSON parsed in place: a value is a slice of the file until it is needed.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{LoadError, MAX_FILE_BYTES};
use crate::agent::prelude::*;

/// Returns the object that the file must consist of, as a slice of the file.
pub(in crate::agent::jido) fn document(bytes: &[u8]) -> Result<&str, LoadError> {
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(LoadError::FileTooLarge);
    }
    let text = str::from_utf8(bytes).map_err(|err| LoadError::InvalidJson(err.to_string()))?;
    let raw: &RawValue = serde_json::from_str(text).map_err(|err| LoadError::InvalidJson(err.to_string()))?;
    object(raw.get()).ok_or(LoadError::NotAMap)
}

/// Calls a function with the members of an object, or with the elements of a list and empty keys, in the order of the
/// file.
///
/// They are not collected, so that a hostile list of millions of zeros needs no memory in addition to the file. A value
/// is a slice of the file, which was found well-formed when the file was read.
pub(in crate::agent::jido) fn walk<'a, E: From<LoadError>>(
    json: &'a str,
    visit: impl FnMut(Cow<'a, str>, &'a str) -> Result<(), E>,
) -> Result<(), E> {
    let mut failure = None;
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let walked = deserializer.deserialize_any(JidoVisitor { visit, failure: &mut failure });
    match failure {
        Some(failure) => Err(failure),
        None => walked.map_err(|_| unpaired_surrogate().into()),
    }
}

struct JidoVisitor<'f, V, E> {
    visit: V,
    failure: &'f mut Option<E>,
}

impl<V, E> JidoVisitor<'_, V, E> {
    fn step<'a, S: Error>(&mut self, key: Cow<'a, str>, value: &'a str) -> Result<(), S>
    where
        V: FnMut(Cow<'a, str>, &'a str) -> Result<(), E>,
    {
        (self.visit)(key, value).map_err(|failure| {
            *self.failure = Some(failure);
            S::custom("the visitor has seen enough")
        })
    }
}

impl<'a, V, E> Visitor<'a> for JidoVisitor<'_, V, E>
where
    V: FnMut(Cow<'a, str>, &'a str) -> Result<(), E>,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }
    fn visit_seq<A: SeqAccess<'a>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(value) = list.next_element::<&RawValue>()? {
            self.step(Cow::Borrowed(""), value.get())?;
        }
        Ok(())
    }
    fn visit_map<A: MapAccess<'a>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some((JidoText(key), value)) = map.next_entry::<_, &RawValue>()? {
            self.step(key, value.get())?;
        }
        Ok(())
    }
}

/// A string that is borrowed from the file if it has no escapes.
#[derive(Deserialize)]
struct JidoText<'a>(#[serde(borrow)] Cow<'a, str>);

/// Decodes a JSON value if it is a string.
pub(in crate::agent::jido) fn string(json: &str) -> Result<Option<Cow<'_, str>>, LoadError> {
    if !json.starts_with('"') {
        return Ok(None);
    }
    match serde_json::from_str(json) {
        Ok(JidoText(text)) => Ok(Some(text)),
        Err(_) => Err(unpaired_surrogate()),
    }
}

/// Returns the only possible error in JSON that was already found well-formed.
fn unpaired_surrogate() -> LoadError {
    LoadError::InvalidJson("a string holds half of a surrogate pair".to_owned())
}

/// Returns some members of an object. If two keys are equal, the first one wins, as in Jason (its issue 33).
pub(in crate::agent::jido) fn fields<'a, const N: usize>(
    object: &'a str,
    names: [&str; N],
) -> Result<[Option<&'a str>; N], LoadError> {
    let mut found = [None; N];
    walk(object, |key, value| {
        if let Some(at) = names.iter().position(|name| *name == key) {
            found[at].get_or_insert(value);
        }
        Ok::<_, LoadError>(())
    })?;
    Ok(found)
}

/// Returns all of `found`, or the names of the missing ones. A `null` is not missing.
pub(super) fn present<'a, const N: usize>(
    found: [Option<&'a str>; N],
    names: [&'static str; N],
) -> Result<[&'a str; N], Vec<&'static str>> {
    let values: Vec<_> = found.into_iter().flatten().collect();
    values.try_into().map_err(|_| {
        let absent = names.into_iter().zip(found).filter(|(_, value)| value.is_none());
        absent.map(|(name, _)| name).collect()
    })
}

pub(super) fn collect<T>(list: &str, item: impl Fn(usize, &str) -> Result<T, LoadError>) -> Result<Vec<T>, LoadError> {
    let mut items = Vec::new();
    walk(list, |_, json| item(items.len(), json).map(|item| items.push(item)))?;
    Ok(items)
}

pub(super) fn object(json: &str) -> Option<&str> {
    json.starts_with('{').then_some(json)
}

pub(super) fn list(json: &str) -> Option<&str> {
    json.starts_with('[').then_some(json)
}
