//! Actions of the mouse: a click highlights a session, a second one chooses it, and the wheel moves or scrolls.

use super::keys::PickerKey as Pressed;
use super::layout::ScreenLayout;
use super::mouse::{Mouse, Point};
use super::press::KeyResult;
use super::state::{ListRow, PickerState};

/// The part of the screen at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScreenPart {
    /// A line of the list.
    List(usize),
    Preview,
    Other,
}

impl ScreenLayout {
    fn part(self, point: Point) -> ScreenPart {
        let Some(line) = point.row.checked_sub(1 + usize::from(self.has_status)) else { return ScreenPart::Other };
        match () {
            () if line < self.list.rows && point.column < self.list.columns => ScreenPart::List(line),
            // A separating line is between the two parts.
            () if line < self.body().rows && line != self.list.rows => ScreenPart::Preview,
            () => ScreenPart::Other,
        }
    }
}

impl PickerState {
    /// Carries out an event of the mouse on the list or the preview.
    pub(super) fn point(&mut self, mouse: Mouse) -> KeyResult {
        let (Mouse::Click(point) | Mouse::WheelUp(point) | Mouse::WheelDown(point)) = mouse;
        match (mouse, self.layout.part(point)) {
            (Mouse::Click(_), ScreenPart::List(line)) => return self.click(line),
            (Mouse::WheelUp(_), ScreenPart::List(_)) => return self.press(Pressed::Up),
            (Mouse::WheelDown(_), ScreenPart::List(_)) => return self.press(Pressed::Down),
            (Mouse::WheelUp(_), ScreenPart::Preview) => return self.press(Pressed::PreviewUp),
            (Mouse::WheelDown(_), ScreenPart::Preview) => return self.press(Pressed::PreviewDown),
            _ => {}
        }
        KeyResult::Stay
    }

    fn click(&mut self, line: usize) -> KeyResult {
        let Some(ListRow::Session(at) | ListRow::Said(at)) = self.window().get(line) else { return KeyResult::Stay };
        let at = *at;
        let clicked = self.clicked.take();
        self.move_cursor(at);
        if clicked.is_some() && clicked == self.key() {
            return self.act(&Pressed::Enter);
        }
        self.clicked = self.key();
        KeyResult::Stay
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::tests::{ids, many};
    use super::*;
    use crate::system::terminal::Size;

    fn click(state: &mut PickerState, column: usize, row: usize) -> KeyResult {
        state.press(Pressed::Mouse(Mouse::Click(Point { column, row })))
    }

    fn screen_of_size(columns: usize, rows: usize) -> PickerState {
        let mut state = many(9);
        state.layout = ScreenLayout::for_size(Size { columns, rows });
        state.fit(state.layout.list.rows);
        state
    }

    #[test]
    fn second_click_on_session_chooses_it() {
        let mut state = screen_of_size(80, 24);
        // The first row is highlighted from the beginning, but not by a click.
        assert_eq!(click(&mut state, 5, 2), KeyResult::Stay);
        assert_eq!((click(&mut state, 5, 4), state.highlighted()), (KeyResult::Stay, Some(2)));
        assert_eq!((click(&mut state, 5, 3), state.highlighted()), (KeyResult::Stay, Some(1)));
        assert_eq!(click(&mut state, 40, 3), KeyResult::Take(vec![1]));
        assert_eq!(click(&mut state, 5, 3), KeyResult::Stay);
        state.press(Pressed::Down);
        state.press(Pressed::Up);
        assert_eq!(click(&mut state, 5, 3), KeyResult::Stay, "a key parts two clicks");
        for row in [0, 1, 11, 13, 18, 23, 99] {
            assert_eq!((click(&mut state, 5, row), state.highlighted()), (KeyResult::Stay, Some(1)), "row {row}");
        }
    }

    #[test]
    fn wheel_scrolls_list_or_preview() {
        for (columns, rows, preview) in [(80, 24, (5, 20)), (200, 24, (150, 5))] {
            let mut state = screen_of_size(columns, rows);
            let wheel = |down, (column, row)| {
                let point = Point { column, row };
                Pressed::Mouse(if down { Mouse::WheelDown(point) } else { Mouse::WheelUp(point) })
            };
            state.press(wheel(true, (5, 3)));
            assert_eq!(ids(&state)[1], ">0001");
            state.press(wheel(false, (5, 3)));
            assert_eq!(ids(&state)[0], ">0000");
            state.most_scroll = 9;
            state.press(wheel(false, preview));
            assert_eq!((state.scroll, ids(&state)[0].as_str()), (3, ">0000"));
            state.press(wheel(true, preview));
            assert_eq!(state.scroll, 0);
        }
    }
}
