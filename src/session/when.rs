//! Parses points in time: ages, names of days, dates and times. Pure: the current time and the zone are arguments.

use std::str::FromStr;
use std::time::Duration;

use jiff::civil::{Date, DateTime, Weekday, date};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp, ToSpan as _, Zoned};

/// A point in time that was given as an age, as a day, or as a time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    /// A duration before now; a number alone is days. Months and years are those of the calendar, and a day has 24 hours, even if the clocks
    /// change.
    Ago(Span),
    /// The first moment of a day, relative to the current day.
    Day(Day),
    /// The first moment of a date.
    Date(Date),
    /// The local time of a clock.
    Local(DateTime),
    /// A moment, independent of the zone.
    At(Timestamp),
}

/// A day or a period relative to the current day; a period means its first day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Day {
    Today,
    Yesterday,
    /// The latest day that is this weekday, which may be today.
    Latest(Weekday),
    /// The latest day before today that is this weekday.
    Last(Weekday),
    /// The Monday of the week this many weeks ago.
    Week(i32),
    Month(i32),
    Year(i32),
}

/// The accepted forms, for error messages.
pub(crate) const FORMS: &str = "use an age such as 2h, 2w, 7 days ago or 30 for days; a day such as yesterday, monday, last week or 2026-11; or a \
                     time such as 2026-11-20 14:00 or 2026-11-20T14:00Z";

/// Parses a length of time in the forms of an age; `None` if the text has another form. A month has at most 31 days.
pub(crate) fn period(text: &str) -> Result<Option<SignedDuration>, String> {
    match text.parse() {
        Ok(When::Ago(span)) if !text.trim_end().to_lowercase().ends_with("ago") => {
            Ok(span.to_duration(date(2023, 7, 1)).ok())
        }
        // `m` has two meanings.
        Err(why) if why != FORMS => Err(why),
        _ => Ok(None),
    }
}

/// Formats a length of time as [`period`] reads it: `1min 5s`.
pub(crate) fn shown_period(time: Duration) -> String {
    let shown = humantime::format_duration(time).to_string();
    let unit = |part: &str| if part.ends_with('m') { format!("{part}in") } else { part.to_owned() };
    shown.split(' ').map(unit).collect::<Vec<_>>().join(" ")
}

impl When {
    /// Returns the moment that is meant at the time `now` in the time zone `zone`.
    pub(crate) fn before(self, now: Timestamp, zone: &TimeZone) -> Timestamp {
        let here = now.to_zoned(zone.clone());
        let found = match self {
            Self::Ago(span) => ago(span, &here),
            Self::Day(day) => day.date_from(&here).and_then(|day| first_moment(day, zone)),
            Self::Date(date) => first_moment(date, zone),
            Self::Local(at) => zone.to_ambiguous_zoned(at).compatible().map(|at| at.timestamp()),
            Self::At(at) => Ok(at),
        };
        found.unwrap_or(Timestamp::MIN)
    }

    /// Returns whether the point in time depends on the current time.
    pub(crate) fn is_relative(self) -> bool {
        matches!(self, Self::Ago(_) | Self::Day(_))
    }
}

fn ago(span: Span, here: &Zoned) -> Result<Timestamp, jiff::Error> {
    let (months, years) = (span.get_months(), span.get_years());
    let rest = span.try_months(0)?.try_years(0)?.to_duration(SpanRelativeTo::days_are_24_hours())?;
    here.checked_sub(Span::new().try_months(months)?.try_years(years)?)?.timestamp().checked_sub(rest)
}

fn first_moment(day: Date, zone: &TimeZone) -> Result<Timestamp, jiff::Error> {
    Ok(day.to_zoned(zone.clone())?.start_of_day()?.timestamp())
}

impl Day {
    fn date_from(self, now: &Zoned) -> Result<Date, jiff::Error> {
        let today = now.date();
        let monday = |weeks: i32| {
            let since = i32::from(today.weekday().since(Weekday::Monday));
            today.checked_sub((since + 7 * weeks).days())
        };
        match self {
            Self::Today => Ok(today),
            Self::Yesterday => today.yesterday(),
            Self::Latest(day) => today.checked_sub(i32::from(today.weekday().since(day)).days()),
            Self::Last(day) => Self::Latest(day).date_from(&now.start_of_day()?.yesterday()?),
            Self::Week(weeks) => monday(weeks),
            Self::Month(months) => today.first_of_month().checked_sub(months.months()),
            Self::Year(years) => today.first_of_year().checked_sub(years.years()),
        }
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        if let Some(day) = day_called(&words) {
            return Ok(Self::Day(day));
        }
        // A text of four digits is a year.
        if (1..=3).contains(&words.len()) && words.bytes().all(|byte| byte.is_ascii_digit()) {
            let days = words.parse::<i64>().map_err(|_| FORMS.to_owned())?;
            return Ok(Self::Ago(days.days()));
        }
        if let Some(why) = ambiguous(&words) {
            return Err(why);
        }
        if words.starts_with(|c: char| c.is_ascii_digit() || c == '.') && words.ends_with(char::is_alphabetic) {
            let age = words.strip_suffix("ago").unwrap_or(&words).trim_end();
            if let Ok(span) = age.parse::<Span>() {
                return Ok(Self::Ago(span));
            }
        }
        moment(text.trim()).ok_or_else(|| FORMS.to_owned())
    }
}

/// Parses a year, a month, a date or a time.
fn moment(text: &str) -> Option<When> {
    let is_shaped = |shape: &str| {
        let is_like = |(c, like): (char, char)| if like == '0' { c.is_ascii_digit() } else { c == like };
        text.len() == shape.len() && text.chars().zip(shape.chars()).all(is_like)
    };
    if is_shaped("0000") || is_shaped("0000-00") {
        let rest = if text.len() == 4 { "-01-01" } else { "-01" };
        return format!("{text}{rest}").parse().ok().map(When::Date);
    }
    if is_shaped("0000-00-00") {
        return text.parse().ok().map(When::Date);
    }
    // A zone in the text takes precedence over the local one.
    let zoned = text.parse::<Zoned>().map(|at| at.timestamp());
    zoned.or_else(|_| text.parse::<Timestamp>()).map(When::At).ok().or_else(|| text.parse().ok().map(When::Local))
}

fn day_called(words: &str) -> Option<Day> {
    let weekday = |name: &str| {
        let days = [
            ("monday", Weekday::Monday),
            ("tuesday", Weekday::Tuesday),
            ("wednesday", Weekday::Wednesday),
            ("thursday", Weekday::Thursday),
            ("friday", Weekday::Friday),
            ("saturday", Weekday::Saturday),
            ("sunday", Weekday::Sunday),
        ];
        days.into_iter().find(|(day, _)| *day == name || day[..3] == *name).map(|(_, day)| day)
    };
    match words.split_once(' ') {
        None if words == "today" => Some(Day::Today),
        None if words == "yesterday" => Some(Day::Yesterday),
        None => weekday(words).map(Day::Latest),
        Some((which @ ("this" | "last"), unit)) => {
            let back = i32::from(which == "last");
            match unit {
                "week" => Some(Day::Week(back)),
                "month" => Some(Day::Month(back)),
                "year" => Some(Day::Year(back)),
                day if back == 1 => weekday(day).map(Day::Last),
                day => weekday(day).map(Day::Latest),
            }
        }
        Some(_) => None,
    }
}

/// Explains both meanings of an age such as `3m`: a wrong guess could remove the sessions of ten years.
fn ambiguous(words: &str) -> Option<String> {
    let mut parts = words.split(' ').filter(|part| *part != "ago");
    let (first, second) = (parts.next()?, parts.next());
    let number = first.strip_suffix('m').or_else(|| (second == Some("m")).then_some(first))?;
    let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    is_number.then(|| format!("m may mean minutes or months; use {number}min or {number}mo"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Zones by their rules, so that no system list is needed: offsets in hours, with or without 30 or 45 minutes, on
    /// either side of UTC, and a zone whose clocks change at midnight.
    const ZONES: &[&str] = &[
        "UTC0",
        "CET-1CEST,M3.5.0,M10.5.0/3",
        "EST5EDT,M3.2.0,M11.1.0",
        "<+0545>-5:45",
        "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
        "<+13>-13",
        "<-04>4<-03>,M9.1.6/24,M4.1.6/24",
    ];

    fn zone(rules: &str) -> TimeZone {
        TimeZone::posix(rules).expect("a zone")
    }

    fn meant(text: &str, now: &str, rules: &str) -> String {
        let now: Timestamp = now.parse().expect("a time");
        let at = text.parse::<When>().unwrap_or_else(|why| panic!("{text}: {why}")).before(now, &zone(rules));
        at.to_zoned(zone(rules)).strftime("%Y-%m-%d %H:%M:%S").to_string()
    }

    #[test]
    fn parser_accepts_ages_days_and_dates() {
        // A Sunday.
        for (text, expected) in [
            ("90s", "2026-03-01 11:58:30"),
            ("2h", "2026-03-01 10:00:00"),
            ("5min", "2026-03-01 11:55:00"),
            ("1day 12h", "2026-02-28 00:00:00"),
            ("7 days ago", "2026-02-22 12:00:00"),
            ("7days", "2026-02-22 12:00:00"),
            ("2w", "2026-02-15 12:00:00"),
            ("1mo", "2026-02-01 12:00:00"),
            ("2 months ago", "2026-01-01 12:00:00"),
            ("1y", "2025-03-01 12:00:00"),
            ("today", "2026-03-01 00:00:00"),
            ("Yesterday", "2026-02-28 00:00:00"),
            ("monday", "2026-02-23 00:00:00"),
            ("sun", "2026-03-01 00:00:00"),
            ("last sunday", "2026-02-22 00:00:00"),
            ("this week", "2026-02-23 00:00:00"),
            ("last  week", "2026-02-16 00:00:00"),
            ("last month", "2026-02-01 00:00:00"),
            ("this year", "2026-01-01 00:00:00"),
            ("2025", "2025-01-01 00:00:00"),
            ("2026-11", "2026-11-01 00:00:00"),
            ("2026-02-01", "2026-02-01 00:00:00"),
            ("2026-02-01 10:30", "2026-02-01 10:30:00"),
            ("2026-02-01T10:00:00Z", "2026-02-01 10:00:00"),
            ("2026-02-01T10:00:00+02:00", "2026-02-01 08:00:00"),
        ] {
            assert_eq!(meant(text, "2026-03-01T12:00:00Z", "UTC0"), expected, "{text}");
        }
        for wrong in
            ["", "-3d", "+3d", "soon", "3 parsecs", "2026-13-01", "2026-02-30", "ago", "last", "last x", "1.2.3h", "P"]
        {
            assert!(wrong.parse::<When>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn parser_refuses_ambiguous_unit_m() {
        for text in ["3m", "3M", "3 m", "3m ago"] {
            let why = text.parse::<When>().expect_err("two meanings");
            assert_eq!(why, "m may mean minutes or months; use 3min or 3mo", "{text}");
        }
    }

    #[test]
    fn period_prints_a_form_that_it_reads() {
        for (millis, shown) in [(500, "500ms"), (60_000, "1min"), (3_665_000, "1h 1min 5s"), (1_800_000, "30min")] {
            let time = Duration::from_millis(millis);
            assert_eq!(shown_period(time), shown);
            assert_eq!(period(shown), Ok(SignedDuration::try_from(time).ok()));
        }
    }

    #[test]
    fn today_begins_at_local_midnight() {
        let (berlin, chile) = (ZONES[1], ZONES[6]);
        // In summer time, and on the day after the clocks changed: a day of 23 hours is in between.
        assert_eq!(meant("today", "2026-03-29T22:30:00Z", berlin), "2026-03-30 00:00:00");
        assert_eq!(meant("1d", "2026-03-29T12:00:00Z", berlin), "2026-03-28 13:00:00");
        assert_eq!(meant("24h", "2026-03-29T12:00:00Z", berlin), "2026-03-28 13:00:00");
        // A time inside the DST gap means one hour later.
        assert_eq!(meant("2026-03-29 02:30", "2026-06-01T00:00:00Z", berlin), "2026-03-29 03:30:00");
        assert_eq!(meant("1y", "2028-02-29T12:00:00Z", berlin), "2027-02-28 13:00:00");
        assert_eq!(meant("4y", "2028-02-29T12:00:00Z", berlin), "2024-02-29 13:00:00");
        assert_eq!(meant("1mo", "2026-03-31T12:00:00Z", "UTC0"), "2026-02-28 12:00:00");
        // If the clocks change at midnight, the day begins at one o'clock.
        assert_eq!(meant("2026-09-06", "2026-12-01T00:00:00Z", chile), "2026-09-06 01:00:00");
    }

    prop_compose! {
        /// Any second of a hundred years; every other one is near a clock change or a leap day.
        fn any_now()(
            second in 0_i64..3_200_000_000,
            near in prop::option::of(prop::sample::select(vec![
                1_774_745_999_i64, 1_774_746_000, 1_792_889_999, 1_792_893_600, 1_772_953_199, 1_835_395_200, 951_782_399,
            ])),
            offset in -90_000_i64..90_000,
        ) -> Timestamp {
            let second = near.map_or(second, |near| near + offset);
            Timestamp::from_second(second).expect("a time")
        }
    }

    fn any_zone() -> impl Strategy<Value = TimeZone> {
        prop::sample::select(ZONES).prop_map(zone)
    }

    proptest! {
        #[test]
        fn parser_never_panics(text in ".*", now in any_now(), zone in any_zone()) {
            if let Ok(when) = text.parse::<When>() {
                when.before(now, &zone);
            }
        }

        #[test]
        fn day_of_an_age_has_24_hours(days in 0_i64..800, now in any_now(), zone in any_zone()) {
            let at = When::from_str(&format!("{days} days ago")).expect("an age").before(now, &zone);
            prop_assert_eq!(now.as_second() - at.as_second(), days * 86_400);
        }

        #[test]
        fn age_in_hours_is_exact(hours in 0_i64..9000, now in any_now(), zone in any_zone()) {
            let at = When::from_str(&format!("{hours}h")).expect("an age").before(now, &zone);
            prop_assert_eq!(now.as_second() - at.as_second(), hours * 3600);
        }

        #[test]
        fn named_day_starts_at_its_first_instant(now in any_now(), zone in any_zone(), which in 0_usize..12) {
            let names = ["today", "yesterday", "mon", "tuesday", "wed", "thursday", "fri", "saturday", "sun", "this week", "last week", "last friday"];
            let at = When::from_str(names[which]).expect("a day").before(now, &zone);
            prop_assert!(at <= now);
            let (day, before) = (at.to_zoned(zone.clone()).date(), at - 1.nanosecond());
            prop_assert!(before.to_zoned(zone.clone()).date() < day, "it is the first moment");
            let today = now.to_zoned(zone).date();
            let ago = (today - day).get_days();
            let week = i32::from(today.weekday().since(Weekday::Monday));
            let (weekday, range) = match which {
                0 => (today.weekday(), 0..=0),
                1 => (today.weekday().previous(), 1..=1),
                9 => (Weekday::Monday, week..=week),
                10 => (Weekday::Monday, week + 7..=week + 7),
                11 => (Weekday::Friday, 1..=7),
                at => (Weekday::Monday.wrapping_add(i8::try_from(at - 2).expect("a day")), 0..=6),
            };
            prop_assert_eq!(day.weekday(), weekday);
            prop_assert!(range.contains(&ago), "{} days", ago);
        }

        #[test]
        fn timestamp_with_zone_ignores_local_zone(at in any_now(), now in any_now(), zone in any_zone(), there in any_zone()) {
            prop_assert_eq!(When::from_str(&at.to_string()).expect("a time").before(now, &zone), at);
            let written = at.to_zoned(there).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
            prop_assert_eq!(When::from_str(&written).expect("a time").before(now, &zone), at);
        }

        #[test]
        fn timestamp_without_zone_is_local(at in any_now(), now in any_now(), zone in any_zone()) {
            let here = at.to_zoned(zone.clone());
            let found = When::from_str(&here.strftime("%Y-%m-%d %H:%M:%S").to_string()).expect("a time").before(now, &zone);
            // An hour that occurs twice means the first one.
            prop_assert_eq!(found.to_zoned(zone).datetime(), here.datetime());
            prop_assert!(found <= at);
        }
    }
}
