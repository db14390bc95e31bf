//! Values that several commands read: sizes, ids and directories.

use std::path::PathBuf;

use anstyle::{Ansi256Color, Style};
use clap::builder::Styles;
use jiff::SignedDuration;

use crate::format::shown::is_harmless;
use crate::session::mapping;
use crate::session::select::Selector;

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

/// Reads a time ahead: a number of days, or an age such as 36h or 2w.
pub(super) fn parse_days(text: &str) -> Result<SignedDuration, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = if is_number { format!("{text}d") } else { text.to_owned() };
    let time = humantime::parse_duration(&text).map_err(|error| error.to_string())?;
    SignedDuration::try_from(time).map_err(|_| "the time is too long".to_owned())
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

/// The colour of matches, warnings and errors.
///
/// It has a contrast of 4.5:1 on white and on black. None of the first 16 colours has both, because each terminal has its
/// own palette for them. Everything else is bold, dim, underlined or reversed, in the terminal's own colours.
pub(crate) const HIGHLIGHT: Style = Ansi256Color(163).on_default().bold();

/// Returns the styles of help and of errors in arguments.
pub(super) const fn of_help() -> Styles {
    let bold = Style::new().bold();
    let heading = bold.underline();
    Styles::plain().header(heading).usage(heading).literal(bold).valid(bold).invalid(HIGHLIGHT).error(HIGHLIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstyle::Color;

    #[test]
    fn sizes_are_read_as_they_are_shown_and_as_disks_are_sold() {
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
    fn a_number_alone_is_days() {
        for (text, hours) in [("7", 168), ("7d", 168), ("2w", 336), ("36h", 36), ("0", 0)] {
            assert_eq!(parse_days(text), Ok(SignedDuration::from_hours(hours)), "{text}");
        }
        for wrong in ["", "x", "-7", "7 x", "99999999999999999999"] {
            assert!(parse_days(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn two_directories_are_parsed_with_any_names() {
        assert_eq!(parse_mapping("/workspace=/home/a=b"), Ok(("/workspace".into(), "/home/a=b".into())));
        assert_eq!(parse_mapping("~/a=b=~/c"), Ok(("~/a=b".into(), "~/c".into())));
        for wrong in ["", "/a", "/a=b", "a=/b", "=/b"] {
            assert!(parse_mapping(wrong).is_err(), "{wrong}");
        }
    }

    /// Returns the relative luminance of a colour of the 6 × 6 × 6 cube, as WCAG defines it.
    fn luminance(Ansi256Color(index): Ansi256Color) -> f64 {
        let levels = [0.0, 95.0, 135.0, 175.0, 215.0, 255.0].map(|level: f64| level / 255.0);
        let cube = usize::from(index.checked_sub(16).filter(|index| *index < 216).expect("a fixed colour"));
        let linear = |level: f64| if level <= 0.039_28 { level / 12.92 } else { ((level + 0.055) / 1.055).powf(2.4) };
        let [red, green, blue] = [cube / 36, cube / 6 % 6, cube % 6].map(|level| linear(levels[level]));
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    #[test]
    fn the_highlight_reads_on_white_and_on_black() {
        let Some(Color::Ansi256(color)) = HIGHLIGHT.get_fg_color() else { panic!("{HIGHLIGHT:?}") };
        let own = luminance(color) + 0.05;
        for (ground, contrast) in [("white", 1.05 / own), ("black", own / 0.05)] {
            assert!(contrast >= 4.5, "{contrast} on {ground}");
        }
        // Visual Studio Code's dark ground, #1e1e1e, leaves no colour that reads on white too; it raises contrasts itself.
        assert!(own / 0.063 >= 3.5);
    }

    #[test]
    fn help_has_no_other_colour() {
        let styles = of_help();
        let all = [styles.get_header(), styles.get_usage(), styles.get_literal(), styles.get_placeholder()];
        let all = all.into_iter().chain([styles.get_valid(), styles.get_invalid(), styles.get_error()]);
        let foreign =
            |style: &&Style| style.get_fg_color().is_some_and(|color| Some(color) != HIGHLIGHT.get_fg_color());
        assert_eq!(all.filter(foreign).count(), 0);
    }
}
