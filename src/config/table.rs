//! A TOML table whose keys are taken one by one; leftover keys are errors.

use std::collections::BTreeMap;

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::value;
use crate::session::nearly::nearest;

/// A mistake in a file.
#[derive(Debug)]
pub(super) struct Mistake {
    /// Its offset, in bytes.
    pub at: usize,
    /// Description of the mistake.
    pub message: String,
    /// A suggestion.
    pub hint: Option<String>,
}

impl Mistake {
    pub(super) fn error_at(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), hint: None }
    }
}

/// A key that a file sets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SetKey {
    /// The key with its table: `list.limit`.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// The line in the file.
    pub line: usize,
}

impl std::fmt::Display for SetKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} = {}", self.key, in_words(&self.value))
    }
}

/// Formats a value for users.
pub(crate) fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(in_words).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("{key} {}", in_words(value)));
            fields.collect::<Vec<_>>().join(", ")
        }
        value => value.to_string(),
    }
}

/// A table of the file.
pub(super) struct ConfigTable<'t> {
    /// Its offset, in bytes.
    pub at: usize,
    text: &'t str,
    name: String,
    rest: DeTable<'t>,
    known: Vec<&'static str>,
    set_keys: Vec<SetKey>,
}

impl<'t> ConfigTable<'t> {
    /// Reads the whole file.
    pub(super) fn root(text: &'t str) -> Result<Self, Mistake> {
        let rest = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            Mistake::error_at(at, format!("not valid TOML: {}", error.message()))
        })?;
        Ok(Self::new(text, 0, String::new(), rest.into_inner()))
    }

    fn new(text: &'t str, at: usize, name: String, rest: DeTable<'t>) -> Self {
        Self { at, text, name, rest, known: Vec::new(), set_keys: Vec::new() }
    }

    /// Removes and returns the value of a key, if it is set.
    pub(super) fn take_key<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&DeValue<'_>) -> Result<T, String>,
    ) -> Result<Option<T>, Mistake> {
        self.known.push(key);
        let Some((at, value)) = self.remove(key) else { return Ok(None) };
        self.read(key, at, &value, read).map(Some)
    }

    /// Removes and returns the values of all keys.
    pub(super) fn take_all<T>(
        &mut self,
        read: impl Fn(&DeValue<'_>) -> Result<T, String>,
    ) -> Result<BTreeMap<String, T>, Mistake> {
        let keys: Vec<String> = self.rest.keys().map(|key| key.get_ref().to_string()).collect();
        let mut values = BTreeMap::new();
        for key in keys {
            if let Some((at, value)) = self.remove(&key) {
                let value = self.read(&key, at, &value, &read)?;
                values.insert(key, value);
            }
        }
        Ok(values)
    }

    /// Removes and returns a nested table.
    pub(super) fn table(&mut self, key: &'static str) -> Result<Option<Self>, Mistake> {
        self.known.push(key);
        let Some((at, value)) = self.remove(key) else { return Ok(None) };
        let name = self.full(key);
        match value {
            DeValue::Table(rest) => Ok(Some(Self::new(self.text, at, name, rest))),
            other => Err(Mistake::error_at(at, format!("{name} must be a table, not {}", value::format_value(&other)))),
        }
    }

    /// Removes and returns the tables of an array.
    pub(super) fn tables(&mut self, key: &'static str) -> Result<Vec<Self>, Mistake> {
        self.known.push(key);
        let Some((at, value)) = self.remove(key) else { return Ok(Vec::new()) };
        let name = self.full(key);
        let wrong = |at, value: &DeValue<'_>| {
            Mistake::error_at(
                at,
                format!("{name} must be a list of tables, [[{name}]], not {}", value::format_value(value)),
            )
        };
        let DeValue::Array(items) = value else { return Err(wrong(at, &value)) };
        let mut tables = Vec::new();
        for item in items {
            let at = item.span().start;
            let item = item.into_inner();
            self.set_keys.push(SetKey { key: name.clone(), value: value::json(&item), line: line(self.text, at) });
            match item {
                DeValue::Table(rest) => tables.push(Self::new(self.text, at, name.clone(), rest)),
                other => return Err(wrong(at, &other)),
            }
        }
        Ok(tables)
    }

    /// Finishes a nested table, and adds its keys.
    pub(super) fn done(&mut self, table: Self) -> Result<(), Mistake> {
        self.set_keys.extend(table.finish()?);
        Ok(())
    }

    /// Returns the keys that are set; an unknown key is a mistake.
    pub(super) fn finish(self) -> Result<Vec<SetKey>, Mistake> {
        let Some(key) = self.rest.keys().min_by_key(|key| key.span().start) else { return Ok(self.set_keys) };
        let unknown = self.full(key.get_ref());
        let near = nearest(key.get_ref(), self.known.iter().copied());
        Err(Mistake {
            at: key.span().start,
            message: format!("there is no key {unknown}"),
            hint: near.map(|near| format!("the nearest key is {}", self.full(near))),
        })
    }

    fn remove(&mut self, key: &str) -> Option<(usize, DeValue<'t>)> {
        let (key, value) = self.rest.remove_entry(key)?;
        Some((key.span().start, value.into_inner()))
    }

    fn read<T>(
        &mut self,
        key: &str,
        at: usize,
        value: &DeValue<'_>,
        read: impl Fn(&DeValue<'_>) -> Result<T, String>,
    ) -> Result<T, Mistake> {
        let key = self.full(key);
        let understood = read(value).map_err(|why| Mistake::error_at(at, format!("{key} {why}")))?;
        self.set_keys.push(SetKey { key, value: value::json(value), line: line(self.text, at) });
        Ok(understood)
    }

    fn full(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }
}

/// Returns the line of a byte, counted from 1.
pub(super) fn line(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}
