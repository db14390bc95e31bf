//! A picture of figures: time and memory over the number of sessions, both axes by powers of ten.

use std::fmt::Write as _;

/// The inner size of one of the two panels.
const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 300.0;
/// The room left of a panel, above it, and below it.
const LEFT: f64 = 70.0;
const ABOVE: f64 = 50.0;
const BELOW: f64 = 80.0;
/// The room between two panels, and to the right of the last one for half of a number.
const BETWEEN: f64 = 20.0;
const RIGHT: f64 = 20.0;
/// A colour for each line, as readable on white as on black.
const COLOURS: [&str; 4] = ["#2563a8", "#b45309", "#6b7280", "#7c3aed"];

/// One line of a panel.
pub(crate) struct Line {
    pub(crate) name: String,
    /// Numbers of sessions with what was measured.
    pub(crate) points: Vec<(f64, f64)>,
}

/// Draws panels side by side, each with its title and its lines.
pub(crate) fn draw(panels: &[(&str, Vec<Line>)]) -> String {
    let (width, height) = (panels.len() as f64 * (LEFT + WIDTH + BETWEEN) + RIGHT, ABOVE + HEIGHT + BELOW);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (at, (title, lines)) in panels.iter().enumerate() {
        panel(&mut svg, at as f64 * (LEFT + WIDTH + BETWEEN) + LEFT, title, lines);
    }
    svg.push_str("</svg>\n");
    svg
}

fn panel(svg: &mut String, left: f64, title: &str, lines: &[Line]) {
    let of = |pick: fn(&(f64, f64)) -> f64| lines.iter().flat_map(|line| &line.points).map(pick).collect::<Vec<_>>();
    let (xs, ys) = (Axis::of(&of(|point| point.0)), Axis::of(&of(|point| point.1)));
    let (x, y) = (|value| left + xs.at(value) * WIDTH, |value| ABOVE + (1.0 - ys.at(value)) * HEIGHT);
    let mut put = |text: std::fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        let _ = svg.write_fmt(text);
    };
    put(format_args!("<text x=\"{left}\" y=\"{}\" font-weight=\"bold\">{title}</text>\n", ABOVE - 20.0));
    for value in xs.marks() {
        let at = x(value);
        put(format_args!(
            "<path d=\"M{at:.1} {ABOVE}v{HEIGHT}\" stroke=\"#d1d5db\"/><text x=\"{at:.1}\" y=\"{}\" \
             text-anchor=\"middle\">{}</text>\n",
            ABOVE + HEIGHT + 20.0,
            number(value)
        ));
    }
    for value in ys.marks() {
        let at = y(value);
        put(format_args!(
            "<path d=\"M{left} {at:.1}h{WIDTH}\" stroke=\"#d1d5db\"/><text x=\"{}\" y=\"{:.1}\" \
             text-anchor=\"end\">{}</text>\n",
            left - 8.0,
            at + 4.0,
            number(value)
        ));
    }
    for (line, (at, colour)) in lines.iter().zip(COLOURS.iter().enumerate()) {
        let points: Vec<String> = line.points.iter().map(|(a, b)| format!("{:.1},{:.1}", x(*a), y(*b))).collect();
        put(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n",
            points.join(" ")
        ));
        for point in &points {
            let (a, b) = point.split_once(',').unwrap_or_default();
            put(format_args!("<circle cx=\"{a}\" cy=\"{b}\" r=\"3\" fill=\"{colour}\"/>\n"));
        }
        let (a, b) = (left + at as f64 * WIDTH / lines.len() as f64, ABOVE + HEIGHT + 50.0);
        put(format_args!(
            "<circle cx=\"{:.1}\" cy=\"{}\" r=\"4\" fill=\"{colour}\"/><text x=\"{:.1}\" y=\"{b}\">{}</text>\n",
            a + 4.0,
            b - 4.0,
            a + 14.0,
            line.name
        ));
    }
}

/// Whole powers of ten that hold every value, with marks at 1, 3 and 10 of each.
struct Axis {
    first: f64,
    last: f64,
}

impl Axis {
    fn of(values: &[f64]) -> Self {
        let first = values.iter().copied().fold(f64::INFINITY, f64::min).log10();
        let last = values.iter().copied().fold(f64::NEG_INFINITY, f64::max).log10();

        Self { first: (first * 2.0).floor() / 2.0, last: (last * 2.0).ceil() / 2.0 }
    }

    fn at(&self, value: f64) -> f64 {
        (value.log10() - self.first) / (self.last - self.first).max(f64::EPSILON)
    }

    fn marks(&self) -> Vec<f64> {
        let powers = (self.first.floor() as i32)..=(self.last.ceil() as i32);
        let marks = powers.flat_map(|power| [1.0, 3.0].map(|digit| digit * 10_f64.powi(power)));
        marks.filter(|mark| (-0.02..=1.02).contains(&self.at(*mark))).collect()
    }
}

fn number(value: f64) -> String {
    let digits = format!("{value:.0}");
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap_or("")).collect();
    groups.join(",")
}
