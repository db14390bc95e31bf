//! The pictures of the documentation: the program's screen as SVG. `SNAPSHOTS=overwrite` redraws them.

use std::fmt::Write as _;
use std::num::NonZeroU16;
use std::path::Path;
use std::time::Duration;

use anstyle::{Ansi256Color, AnsiColor, Effects, RgbColor, Style};
use anstyle_svg::{Palette, Term};

use crate::sample_home::{NOW, sample_home};
use crate::terminal::Seat;
use crate::world::World;

/// The size of a terminal.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub columns: u16,
    pub rows: u16,
}

/// Colours that are readable on a dark background, which the pictures include for light and dark pages.
const PALETTE: Palette = Palette([
    RgbColor(0x1c, 0x21, 0x28),
    RgbColor(0xf4, 0x70, 0x67),
    RgbColor(0x57, 0xab, 0x5a),
    RgbColor(0xc6, 0x90, 0x26),
    RgbColor(0x53, 0x9b, 0xf5),
    RgbColor(0xb0, 0x83, 0xf0),
    RgbColor(0x39, 0xc5, 0xcf),
    RgbColor(0xd0, 0xd7, 0xde),
    RgbColor(0x63, 0x6e, 0x7b),
    RgbColor(0xff, 0x93, 0x8a),
    RgbColor(0x6b, 0xc4, 0x6d),
    RgbColor(0xda, 0xaa, 0x3f),
    RgbColor(0x6c, 0xb6, 0xff),
    RgbColor(0xdc, 0xbd, 0xfb),
    RgbColor(0x56, 0xd4, 0xdd),
    RgbColor(0xff, 0xff, 0xff),
]);

/// Characters with placeholders while a picture is drawn, and their escapes; without these, the drawing counts an
/// escape as several characters of the background.
const ESCAPED: [(char, &str, &str); 3] =
    [('&', "\u{e000}", "&amp;"), ('<', "\u{e001}", "&lt;"), ('>', "\u{e002}", "&gt;")];

/// Runs the program at a terminal in the sample home.
pub(crate) fn at_terminal(world: &World, size: Size, args: &[&str]) -> Seat {
    let mut command = world.from(world.home()).with("REJOIN_NOW", NOW).command(env!("CARGO_BIN_EXE_rejoin"));
    command.args(args);
    Seat::run(&command, size.columns, size.rows)
}

/// Draws the final screen of a terminal with the given size, after all input in `sent`.
pub(crate) fn picture(world: &World, size: Size, command: &str, sent: &str) -> String {
    let [rows, columns] = [size.rows, size.columns].map(|count| NonZeroU16::new(count).expect("a size"));
    let mut terminal = vt100::Parser::new(rows, columns, 0);
    let home = world.home();
    terminal.process(sent.replace(home.to_str().expect("a path in UTF-8"), "/home/ana").as_bytes());
    let rows: Vec<String> = (0..size.rows).map(|row| row_in_colours(terminal.screen(), row)).collect();
    assert_only_highlight(terminal.screen());
    let screen = format!("{command}{}", rows.join("\n"));
    let screen = ESCAPED.iter().fold(screen, |screen, (c, placeholder, _)| screen.replace(*c, placeholder));
    let svg = Term::new().palette(PALETTE).min_width_px(0).render_svg(screen.trim_end());
    let svg = ESCAPED.iter().fold(svg, |svg, (_, placeholder, escape)| svg.replace(placeholder, escape));
    scalable(&svg).replace("opacity: 0.4;", "fill-opacity: 0.6;")
}

/// Compares a checked-in picture with the drawn one.
#[track_caller]
pub(crate) fn assert_picture(name: &str, picture: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    snapbox::Assert::new()
        .action_env(snapbox::assert::DEFAULT_ACTION_ENV)
        .normalize_paths(false)
        .eq(picture, snapbox::Data::read_from(&path, Some(snapbox::data::DataFormat::Text)).raw());
}

/// Checks that text has no colour but the highlight, whose contrast on light and dark backgrounds `cli::colors` tests.
#[track_caller]
fn assert_only_highlight(screen: &vt100::Screen) {
    let (rows, columns) = screen.size();
    let cells = (0..rows.get()).flat_map(|row| (0..columns.get()).filter_map(move |column| screen.cell(row, column)));
    for color in cells.flat_map(|cell| [cell.fgcolor(), cell.bgcolor()]) {
        assert!(matches!(color, vt100::Color::Default | vt100::Color::Idx(163)), "{color:?}");
    }
}

/// Adds a view box to a picture, without which a narrower page cuts it off.
fn scalable(svg: &str) -> String {
    let number = |name: &str| {
        let (_, rest) = svg.split_once(&format!("{name}=\"")).expect("a size");
        rest.split_once("px").expect("a unit").0.to_owned()
    };
    svg.replacen("<svg ", &format!("<svg viewBox=\"0 0 {} {}\" ", number("width"), number("height")), 1)
}

/// Returns a row of a screen as text with escape codes for its colours.
fn row_in_colours(screen: &vt100::Screen, row: u16) -> String {
    let color = |color| match color {
        vt100::Color::Default => None,
        vt100::Color::Idx(index) => {
            Some(Ansi256Color(index).into_ansi().map_or_else(|| Ansi256Color(index).into(), AnsiColor::into))
        }
        vt100::Color::Rgb(red, green, blue) => Some(RgbColor(red, green, blue).into()),
    };
    let mut text = String::new();
    let mut last = Style::new();
    for cell in (0..screen.size().1.get()).filter_map(|column| screen.cell(row, column)) {
        let effects = [
            (cell.bold(), Effects::BOLD),
            (cell.dim(), Effects::DIMMED),
            (cell.italic(), Effects::ITALIC),
            (cell.underline(), Effects::UNDERLINE),
            (cell.inverse(), Effects::INVERT),
        ];
        let effects = effects.into_iter().filter(|(is_on, _)| *is_on).fold(Effects::new(), |all, (_, one)| all | one);
        let style = Style::new().effects(effects).fg_color(color(cell.fgcolor())).bg_color(color(cell.bgcolor()));
        if !cell.is_wide_continuation() {
            let contents = if cell.has_contents() { cell.contents() } else { " " };
            if style != last {
                let _ = write!(text, "{last:#}{style}");
                last = style;
            }
            text.push_str(contents);
        }
    }
    let _ = write!(text, "{last:#}");
    text.trim_end().to_owned()
}

#[test]
fn picture_of_list_matches_output() {
    let world = sample_home();
    let size = Size { columns: 110, rows: 30 };
    let (status, sent) = at_terminal(&world, size, &["list"]).ends();
    assert_eq!(status, Some(0), "{sent}");
    assert_picture("docs/pictures/list.svg", &picture(&world, size, "$ rejoin list\n", &sent));
}

#[test]
fn picture_of_statistics_matches_output() {
    let world = sample_home();
    let size = Size { columns: 90, rows: 40 };
    let (status, sent) = at_terminal(&world, size, &["stats"]).ends();
    assert_eq!(status, Some(0), "{sent}");
    assert_picture("docs/pictures/stats.svg", &picture(&world, size, "$ rejoin stats\n", &sent));
}

/// Compares screens of many widths with stored ones.
#[test]
fn screens_of_every_width_match_snapshots() {
    let world = sample_home();
    let grouped: &[&str] = &["list", "--group", "project", "--wide"];
    let screens: [(&str, &[&str], u16, Option<&str>); 9] = [
        ("list", &["list"], 30, None),
        ("list-grouped", grouped, 40, None),
        ("agents", &["agents"], 20, None),
        ("stats", &["stats"], 50, None),
        ("doctor", &["doctor"], 60, None),
        ("doctor-check", &["doctor", "--check", "duplicate-session", "--all-findings"], 30, None),
        ("doctor-fix", &["doctor", "--fix"], 40, Some("n\n")),
        ("delete", &["delete", "licence"], 20, Some("n\n")),
        ("cleanup", &["cleanup", "--any-age", "--allow-all"], 30, Some("n\n")),
    ];
    for (name, args, rows, keys) in screens {
        for columns in [60, 80, 120, 200] {
            let size = Size { columns, rows };
            let mut seat = at_terminal(&world, size, args);
            if let Some(keys) = keys {
                seat.sees("[y/N] ");
                seat.types(keys);
            }
            let (_, sent) = seat.ends();
            let command = format!("$ rejoin {}\n", args.join(" "));
            let name = format!("tests/it/screens/{name}-{columns}.svg");
            assert_picture(&name, &picture(&world, size, &command, &sent));
        }
    }
}

/// Opens the picker in the sample home, presses keys, and compares a picture with the screen that then has these texts.
/// Results of threads are drawn as they arrive, so the screen must be stable, or be the expected one.
#[track_caller]
fn assert_picker(name: &str, size: Size, keys: &str, texts: &[&str]) {
    let world = sample_home();
    world.install("claude", "");
    let mut seat = at_terminal(&world, size, &["resume"]);
    seat.shows("15 of 15 sessions");
    seat.types(keys);
    seat.shows_what(|screen| texts.iter().all(|text| screen.contains(text)) && !screen.contains("searching"));
    let expected = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap_or_default();
    while picture(&world, size, "", &seat.sent()) != expected && seat.is_sent_more_within(Duration::from_secs(3)) {}
    assert_picture(name, &picture(&world, size, "", &seat.sent()));
    seat.types("\x03");
    assert_eq!(seat.ends().0, Some(130));
}

#[test]
fn pictures_of_picker_match_screens() {
    let back = "It is back and the queue is empty again.";
    let queue = &["> cron", "1 of 15 sessions", back];
    let draw = |name: &str, size, keys, texts: &[&str]| {
        assert_picker(&format!("docs/pictures/{name}.svg"), size, keys, texts);
    };
    draw("picker", Size { columns: 100, rows: 24 }, "cron", queue);
    let wide = &["> lic re", "1 of 15 sessions", "report is in /tmp", "user: collect the"];
    draw("picker-wide", Size { columns: 176, rows: 22 }, "lic re", wide);
    draw("picker-widest", Size { columns: 200, rows: 22 }, "\x07", &["/var/log", "queue is empty again"]);
    let texts = &["> shopping list", "by its messages", "user: Add a shopping list", "by shelf"];
    draw("picker-said", Size { columns: 80, rows: 20 }, "shopping list", texts);
    draw("picker-refused", Size { columns: 100, rows: 14 }, "misfiled\r", &["--trust", "rejoin show"]);
    let question = &["Delete 2 sessions", "cron mails"];
    draw("picker-delete", Size { columns: 80, rows: 12 }, "\t\t\x18", question);
    draw("picker-narrow", Size { columns: 60, rows: 16 }, "dump", &["1 of 15 sessions", "user:"]);
    draw("picker-keys", Size { columns: 90, rows: 36 }, "?", &["LOOK"]);
}

/// The screens of the picker at terminals of many widths.
#[test]
fn picker_screens_of_every_width_match_snapshots() {
    let screens: [(&str, &str, &[&str]); 6] = [
        ("list", "", &["15 of 15 sessions", "assistant:"]),
        ("found", "cron", &["> cron", "1 of 15 sessions", "queue is empty"]),
        ("said", "shopping list", &["by its messages", "user: Add a shopping list", "started"]),
        ("refused", "misfiled\r", &["> rejoin resume", "rejoin show", "enter runs it"]),
        ("delete", "\t\t\x18", &["Delete 2 sessions", "cron"]),
        ("keys", "?", &["ACT"]),
    ];
    for (name, keys, texts) in screens {
        for columns in [60, 80, 120, 200] {
            let name = format!("tests/it/screens/picker-{name}-{columns}.svg");
            assert_picker(&name, Size { columns, rows: 24 }, keys, texts);
        }
    }
}
