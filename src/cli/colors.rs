//! The one colour of the program, and the look of clap's help and errors.

use anstyle::{Ansi256Color, Style};
use clap::builder::Styles;

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
    use anstyle::Color;

    use super::*;

    /// Returns the relative luminance of a colour of the 6 × 6 × 6 cube, as WCAG defines it.
    fn luminance(Ansi256Color(index): Ansi256Color) -> f64 {
        let levels = [0.0, 95.0, 135.0, 175.0, 215.0, 255.0].map(|level: f64| level / 255.0);
        let cube = usize::from(index.checked_sub(16).filter(|index| *index < 216).expect("a fixed colour"));
        let linear = |level: f64| if level <= 0.039_28 { level / 12.92 } else { ((level + 0.055) / 1.055).powf(2.4) };
        let [red, green, blue] = [cube / 36, cube / 6 % 6, cube % 6].map(|level| linear(levels[level]));
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    #[test]
    fn highlight_has_contrast_on_white_and_black() {
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
