//! Events of the mouse, as terminals report them.

/// A place on the screen, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) column: usize,
    pub(super) row: usize,
}

/// An event of the mouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mouse {
    /// The first button was pressed.
    Click(Point),
    WheelUp(Point),
    WheelDown(Point),
}

impl Mouse {
    /// Decodes a button with the bits that terminals send, and a place from 1.
    pub(super) fn from_report(button: usize, column: usize, row: usize) -> Option<Self> {
        /// Shift, alt and control.
        const HELD: usize = 4 | 8 | 16;
        let point = Point { column: column.checked_sub(1)?, row: row.checked_sub(1)? };
        match button & !HELD {
            0 => Some(Self::Click(point)),
            64 => Some(Self::WheelUp(point)),
            65 => Some(Self::WheelDown(point)),
            _ => None,
        }
    }
}
