//! The setting `general.sessionRetention` of Gemini CLI and of programs that are derived from it.
//!
//! Facts: measured on Gemini CLI 0.61.0; its sessionCleanup.ts in the same package.

use jiff::SignedDuration;
use serde_json::Value;

use crate::agent::prelude::*;
use crate::agent::small_file;
use crate::agent::upkeep::Retention;

const MAX_AGE: &str = "general.sessionRetention.maxAge";
/// The default of `maxAge`.
const DEFAULT: SignedDuration = SignedDuration::from_hours(30 * 24);
/// The default of `minRetention`.
const LEAST: SignedDuration = SignedDuration::from_hours(24);

/// Returns the rule of a program; `None` if it deletes nothing by age. The first file with a key decides it.
pub(in crate::agent) fn of_settings(files: &[PathBuf], is_enabled_by_default: bool) -> Option<Retention> {
    let read = |path: &PathBuf| serde_json::from_str(&small_file::settings_without_comments(path)?).ok();
    let settings: Vec<(&PathBuf, Value)> = files.iter().filter_map(|path| Some((path, read(path)?))).collect();
    let find = |key| {
        let member = |settings: &Value| settings.pointer("/general/sessionRetention")?.get(key).cloned();
        settings.iter().find_map(|(path, settings)| Some((*path, member(settings)?)))
    };
    if !find("enabled").map_or(is_enabled_by_default, |(_, is_enabled)| is_enabled == true) {
        return None;
    }
    let set = find("maxAge");
    // With a period that is invalid or too short, the program deletes nothing.
    let period = set.as_ref().map_or(Some(DEFAULT), |(_, text)| period(text))?;
    let least = find("minRetention").and_then(|(_, text)| self::period(&text)).unwrap_or(LEAST);
    let path = set.as_ref().map_or(files.last(), |(path, _)| Some(path))?.clone();
    (period >= least).then(|| Retention { is_set: set.is_some(), ..Retention::new(period, (path, MAX_AGE)) })
}

/// Parses a period such as `30d`; `None` for any other value.
fn period(text: &Value) -> Option<SignedDuration> {
    let text = text.as_str()?;
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let hours = match unit {
        "h" => 1,
        "d" => 24,
        "w" => 7 * 24,
        "m" => 30 * 24,
        _ => return None,
    };
    let number: i64 = number.parse().ok().filter(|number| (1..=100_000).contains(number))?;
    Some(SignedDuration::from_hours(number * hours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retention_period_needs_a_unit() {
        assert_eq!(period(&"2w".into()), Some(SignedDuration::from_hours(14 * 24)));
        for text in ["", "d", "0d", "30", "30y", "x1d"] {
            assert_eq!(period(&text.into()), None, "{text}");
        }
    }
}
