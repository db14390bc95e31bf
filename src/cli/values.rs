//! Values that several commands read: sizes, ids and directories.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use jiff::SignedDuration;

use crate::format::shown::is_harmless;
use crate::session::mapping;
use crate::session::select::Selector;
use crate::session::when;

/// Reads an id, the beginning of one, or AGENT:ID.
pub(super) fn parse_id(text: &str) -> Result<Selector, String> {
    match text.parse()? {
        id @ Selector::Id { .. } => Ok(id),
        Selector::Latest | Selector::Path(_) => Err("use an id, the start of one, or AGENT:ID".to_owned()),
    }
}

/// Reads a title: one line that a list can show.
pub(super) fn parse_title(text: &str) -> Result<String, String> {
    const MOST: usize = 200;
    match text.trim() {
        "" => Err("a title must not be empty".to_owned()),
        title if !is_harmless(title) => Err("a title must be one line of plain text".to_owned()),
        title if title.chars().count() > MOST => Err(format!("a title has at most {MOST} characters")),
        title => Ok(title.to_owned()),
    }
}

/// Reads from which directory to which.
pub(super) fn parse_mapping(text: &str) -> Result<(PathBuf, PathBuf), String> {
    mapping::pair(text)
}

/// Reads a number of items.
pub(super) fn parse_number<N: FromStr>(text: &str) -> Result<N, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let why = if is_number { "the number is too large" } else { "use a whole number, such as 20" };
    text.parse().map_err(|_| why.to_owned())
}

/// Reads a number that counts from 1.
pub(super) fn parse_from_one<N: FromStr + Default + PartialEq>(text: &str) -> Result<N, String> {
    match parse_number(text)? {
        number if number == N::default() => Err("use a number from 1".to_owned()),
        number => Ok(number),
    }
}

/// Reads a time to wait.
pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    // A number alone would be days.
    let period = if text.ends_with(char::is_alphabetic) { when::period(text)? } else { None };
    let time = period.and_then(|period| Duration::try_from(period).ok());
    time.ok_or_else(|| "use a time such as 500ms, 10s or 5min".to_owned())
}

/// Reads a time ahead, in the forms of an age; a number alone is days.
pub(super) fn parse_days(text: &str) -> Result<SignedDuration, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = if is_number { format!("{text}d") } else { text.to_owned() };
    when::period(&text)?.ok_or_else(|| "use a time such as 7, 36h, 2w or 3mo; a number alone is days".to_owned())
}

/// Reads a number of bytes; K, M, G and T count in 1024 as sizes are shown, KB, MB, GB and TB in 1000.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || "use a number of bytes, or a size such as 500M, 1.5G or 10GiB".to_owned();
    let digits = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_uppercase();
    let power = |letter: &str| ["", "K", "M", "G", "T"].iter().position(|known| *known == letter);
    let (base, power) = match unit.as_str() {
        "" | "B" => (1024, Some(0)),
        unit => match (unit.strip_suffix("IB"), unit.strip_suffix('B')) {
            (Some(letter), _) => (1024, power(letter)),
            (None, Some(letter)) => (1000, power(letter)),
            (None, None) => (1024, power(unit)),
        },
    };
    let factor = u64::pow(base, u32::try_from(power.ok_or_else(wrong)?).map_err(|_| wrong())?);
    if let Ok(number) = number.parse::<u64>() {
        return number.checked_mul(factor).ok_or_else(|| "the size is too large".to_owned());
    }
    let (whole, part) = number.split_once('.').ok_or_else(wrong)?;
    let (whole, digits): (u64, u32) =
        (whole.parse().map_err(|_| wrong())?, part.len().try_into().map_err(|_| wrong())?);
    let part: u64 = part.parse().map_err(|_| wrong())?;
    let scale = 10_u64.checked_pow(digits).ok_or_else(wrong)?;
    let part = u128::from(part) * u128::from(factor) / u128::from(scale);
    let whole = u128::from(whole) * u128::from(factor);
    u64::try_from(whole + part).map_err(|_| "the size is too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_size_accepts_binary_and_decimal_units() {
        for (text, expected) in [
            ("0", 0),
            ("512", 512),
            ("1k", 1024),
            ("10M", 10 << 20),
            ("1.5G", 3 << 29),
            ("2 GiB", 2 << 30),
            ("1MB", 1_000_000),
            ("16777215T", 16_777_215 << 40),
        ] {
            assert_eq!(parse_size(text), Ok(expected), "{text}");
        }
        for wrong in
            ["", "G", "-1", "1X", "1.2.3", "1.", ".5G", "99999999T", "1 0", "0x1", "1E3", "18446744073709551616"]
        {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn number_without_unit_means_days() {
        for (text, hours) in [("7", 168), ("7d", 168), ("2w", 336), ("36h", 36), ("0", 0), ("3mo", 2208)] {
            assert_eq!(parse_days(text), Ok(SignedDuration::from_hours(hours)), "{text}");
        }
        for wrong in ["", "x", "-7", "7 x", "3m", "7 days ago", "monday", "99999999999999999999"] {
            assert!(parse_days(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn time_to_wait_has_a_unit() {
        assert_eq!(parse_time("5min"), Ok(Duration::from_secs(300)));
        assert_eq!(parse_time("3m"), Err("m may mean minutes or months; use 3min or 3mo".to_owned()));
        for wrong in ["30", "2026", "soon", "-5s"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn parse_mapping_splits_two_absolute_paths() {
        assert_eq!(parse_mapping("/workspace=/home/a=b"), Ok(("/workspace".into(), "/home/a=b".into())));
        assert_eq!(parse_mapping("~/a=b=~/c"), Ok(("~/a=b".into(), "~/c".into())));
        for wrong in ["", "/a", "/a=b", "a=/b", "=/b"] {
            assert!(parse_mapping(wrong).is_err(), "{wrong}");
        }
    }
}
