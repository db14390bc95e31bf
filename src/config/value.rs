//! Validators for config values. Error texts continue a sentence that begins with the key's name.

use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::Value;
use toml::de::DeValue;

use crate::session::AgentKind;
use crate::session::mapping;
use crate::session::nearly::nearest;
use crate::session::when::When;

/// Formats a value in a few words for an error.
pub(super) fn format_value(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
        DeValue::Datetime(at) => format!("the time {at}"),
        DeValue::String(text) => format!("{:?}", text.chars().take(40).collect::<String>()),
        value => json(value).to_string(),
    }
}

fn must(what: &str, value: &DeValue<'_>) -> String {
    format!("must be {what}, not {}", format_value(value))
}

/// Converts a value to JSON.
pub(super) fn json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or_else(|_| number.to_string().into(), Value::from)
        }
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Value::Null, Value::from),
        DeValue::Boolean(flag) => (*flag).into(),
        DeValue::Datetime(at) => at.to_string().into(),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => {
            table.iter().map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref()))).collect()
        }
    }
}

/// Reads a text that is not empty.
pub(super) fn filled(value: &DeValue<'_>) -> Result<String, String> {
    let text = value.as_str().filter(|text| !text.trim().is_empty());
    text.map(str::to_owned).ok_or_else(|| must("a text that is not empty", value))
}

/// Reads a text or a list of them.
fn texts<'v>(value: &'v DeValue<'_>) -> Result<Vec<&'v str>, String> {
    let wrong = || must("a text or a list of texts", value);
    match value {
        DeValue::String(text) => Ok(vec![text]),
        DeValue::Array(items) => items.iter().map(|item| item.get_ref().as_str().ok_or_else(wrong)).collect(),
        _ => Err(wrong()),
    }
}

/// Reads true or false.
pub(super) fn flag(value: &DeValue<'_>) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| must("true or false", value))
}

/// Reads a number.
pub(super) fn number(value: &DeValue<'_>) -> Result<usize, String> {
    let number = value.as_integer().and_then(|number| usize::from_str_radix(number.as_str(), number.radix()).ok());
    number.ok_or_else(|| must("a number from 0 on", value))
}

/// Reads an age or a time.
pub(super) fn when(value: &DeValue<'_>) -> Result<When, String> {
    let text = value.as_str().ok_or_else(|| must("a text such as \"30d\"", value))?;
    text.parse().map_err(|why: String| format!("must be an age or a time, not {}: {why}", format_value(value)))
}

/// Reads a directory, which must not depend on the caller's directory.
pub(super) fn dir(value: &DeValue<'_>) -> Result<PathBuf, String> {
    let dir = value.as_str().map(PathBuf::from).filter(|dir| dir.is_absolute() || dir.starts_with("~"));
    dir.ok_or_else(|| must("a directory that starts with / or ~/", value))
}

/// Reads the name or the path of a program.
pub(super) fn program(value: &DeValue<'_>) -> Result<String, String> {
    let is_program = |name: &&str| !name.starts_with('-') && !name.contains(char::is_whitespace) && !name.is_empty();
    value.as_str().filter(is_program).map(str::to_owned).ok_or_else(|| must("the name or the path of a program", value))
}

/// Reads pairs of directories, each as `OLD=NEW`.
pub(super) fn mappings(value: &DeValue<'_>) -> Result<Vec<(PathBuf, PathBuf)>, String> {
    texts(value)?.into_iter().map(|text| mapping::pair(text).map_err(|why| format!("holds {text:?}: {why}"))).collect()
}

/// Reads one name; `sort` is the noun for errors.
pub(super) fn name<T: ValueEnum>(value: &DeValue<'_>, sort: &str) -> Result<T, String> {
    let text = value.as_str().ok_or_else(|| must("a text", value))?;
    named(text, sort)
}

/// Reads a list of names; `sort` is the noun for errors.
pub(super) fn names<T: ValueEnum>(value: &DeValue<'_>, sort: &str) -> Result<Vec<T>, String> {
    texts(value)?.into_iter().map(|text| named(text, sort)).collect()
}

/// Reads the names of agents.
pub(super) fn agents(value: &DeValue<'_>) -> Result<Vec<AgentKind>, String> {
    names(value, "agent")
}

fn named<T: ValueEnum>(text: &str, sort: &str) -> Result<T, String> {
    T::from_str(text, false).map_err(|_| {
        let known: Vec<_> = T::value_variants().iter().filter_map(ValueEnum::to_possible_value).collect();
        let names = || known.iter().map(clap::builder::PossibleValue::get_name);
        let one_of = || format!("it is one of {}", names().collect::<Vec<_>>().join(", "));
        let instead = nearest(text, names()).map_or_else(one_of, |near| format!("the nearest is {near}"));
        format!("names no {sort} {text:?}; {instead}")
    })
}

/// Maximum length of the name of a host, with a user and a port.
const LONGEST_HOST: usize = 320;

/// Returns whether a word can be a destination of ssh, and has no other meaning to ssh or to a shell.
pub(crate) fn is_destination(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@:[]%+/".contains(c);
    let has_path = word.contains('/') && !word.starts_with("ssh://");
    !word.is_empty() && word.len() <= LONGEST_HOST && !word.starts_with('-') && word.chars().all(is_plain) && !has_path
}

/// Reads the machines of a group.
pub(super) fn hosts(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let texts = texts(value)?;
    match texts.iter().find(|host| !is_destination(host)) {
        Some(host) => Err(format!("names no host: {host:?}")),
        None => Ok(texts.into_iter().map(str::to_owned).collect()),
    }
}
