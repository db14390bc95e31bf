//! Writes the picker to the terminal, only the changed lines.

use super::draw::{Pair, screen};
use super::head::prompt;
use super::layout::ScreenLayout;
use super::pane::PreviewContent;
use super::state::PickerState;
use crate::view::ui::Styles;

/// Writes only the lines that differ from those on the screen, then moves the cursor to the prompt line.
#[derive(Debug, Default)]
pub(super) struct Painter {
    columns: usize,
    before: Vec<String>,
}

impl Painter {
    /// Forgets the contents of the screen.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Returns the bytes for the terminal.
    pub(super) fn frame(
        &mut self,
        state: &mut PickerState,
        shown: PreviewContent<'_>,
        layout: ScreenLayout,
        styles: &Styles,
    ) -> String {
        let column = prompt(state, layout).1 + 1;
        let frame = self.lines(&screen(state, shown, layout, styles), layout);
        format!("{frame}\x1b[1;{column}H\x1b[?25h")
    }

    /// Returns the bytes that draw these lines and hide the cursor.
    pub(super) fn lines(&mut self, lines: &[Pair], layout: ScreenLayout) -> String {
        let mut lines: Vec<String> = lines.iter().map(codes).collect();
        lines.resize(layout.rows, String::new());
        let mut frame = "\x1b[?25l".to_owned();
        if self.columns != layout.columns || self.before.len() != lines.len() {
            frame.push_str("\x1b[2J");
            self.before.clear();
            self.columns = layout.columns;
        }
        for (row, line) in lines.iter().enumerate() {
            let before = self.before.get(row).map_or("", String::as_str);
            if line != before {
                // If a line is wider than computed, the line below overwrites the rest.
                frame.push_str(&format!("\x1b[{};1H\x1b[K{}", row + 1, line.replace(ROW, &(row + 1).to_string())));
            }
        }
        self.before = lines;
        frame
    }
}

/// Placeholder for the row in the escape code that moves the cursor; no shown text contains it.
const ROW: &str = "\u{0}";

fn codes((left, right): &Pair) -> String {
    match right {
        // An absolute column, so that a character that a terminal shows wider does not shift it.
        Some((column, right)) => format!("{}\x1b[{ROW};{}H\x1b[K{}", left.codes(), column + 1, right.codes()),
        None => left.codes(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::draw::tests::LIST;
    use super::super::keys::PickerKey;
    use super::super::state::tests::listed;
    use super::*;
    use crate::format::shown;
    use crate::system::terminal::Size;

    #[test]
    fn painter_sends_only_changed_lines() {
        let mut state = listed(&LIST);
        let (layout, styles) = (ScreenLayout::for_size(Size { columns: 40, rows: 6 }), Styles::default());
        state.fit(layout.list.rows);
        let mut painter = Painter::default();
        let shown = PreviewContent { facts: &[], preview: None };
        let first = painter.frame(&mut state, shown, layout, &styles);
        assert!(first.starts_with("\x1b[?25l\x1b[2J\x1b[1;1H\x1b[K> "), "{first:?}");
        assert!(first.ends_with("\x1b[1;3H\x1b[?25h"), "{first:?}");
        let again = painter.frame(&mut state, shown, layout, &styles);
        assert_eq!(again, "\x1b[?25l\x1b[1;3H\x1b[?25h");
        state.press(PickerKey::Char('日'));
        state.press(PickerKey::Char('x'));
        state.press(PickerKey::Left);
        let typed = painter.frame(&mut state, shown, layout, &styles);
        assert!(typed.contains("> 日x") && typed.ends_with("\x1b[1;5H\x1b[?25h"), "{typed:?}");
        painter.forget();
        assert!(painter.frame(&mut state, shown, layout, &styles).contains("\x1b[2J"));
    }

    proptest! {
        #[test]
        fn frame_never_contains_injected_escape_codes(
            title in ".{0,60}", pasted in ".{0,60}", columns in 1_usize..150, rows in 1_usize..30,
        ) {
            let mut state = listed(&[(&title, &pasted)]);
            state.press(PickerKey::Pasted(pasted));
            let size = Size { columns, rows };
            let shown = PreviewContent { facts: &[], preview: None };
            let frame = Painter::default().frame(&mut state, shown, ScreenLayout::for_size(size), &Styles::default());
            for part in frame.split('\x1b').skip(1) {
                let end = part.find(|c: char| c.is_ascii_alphabetic()).map_or("", |at| &part[at..=at]);
                prop_assert!(part.starts_with('[') && ["H", "K", "J", "h", "l", "m"].contains(&end), "{part:?}");
            }
            let own = |c: char| c == '\x1b';
            prop_assert!(frame.chars().filter(|c| !own(*c)).all(|c| shown::is_harmless(c.encode_utf8(&mut [0; 4]))));
        }
    }
}
