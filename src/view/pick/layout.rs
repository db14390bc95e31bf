//! Divides the terminal between the parts of the picker.

use crate::system::terminal::Size;

/// Minimum number of lines for a preview below the list.
const LEAST_ROWS_FOR_PREVIEW: usize = 14;
/// Minimum number of lines for a footer; the counts need fewer.
const LEAST_ROWS_FOR_FOOTER: usize = 5;
const LEAST_ROWS_FOR_STATUS: usize = 3;
/// Minimum width of the list next to a preview: 60 columns for titles, the rest for other columns.
const LEAST_COLUMNS_OF_LIST: usize = 110;
const LEAST_COLUMNS_FOR_BESIDE: usize = 170;
const LEAST_ROWS_FOR_BESIDE: usize = 8;
/// Columns of the line between the list and the preview.
const BAR: usize = 3;

/// Lines and columns of each part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ScreenLayout {
    /// Number of columns that are used. The last one of the terminal stays free, because terminals treat it
    /// differently.
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) has_status: bool,
    pub(super) has_footer: bool,
    pub(super) list: Area,
    pub(super) preview: Area,
}

/// Lines and columns of a part; 0 if it is not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl ScreenLayout {
    pub(super) fn for_size(size: Size) -> Self {
        let (columns, rows) = (size.columns.saturating_sub(1).max(1), size.rows);
        let (has_status, has_footer) = (rows >= LEAST_ROWS_FOR_STATUS, rows >= LEAST_ROWS_FOR_FOOTER);
        let body = rows.saturating_sub(1 + usize::from(has_status) + usize::from(has_footer));
        let whole = Area { columns, rows: body };
        let (list, preview) = if columns >= LEAST_COLUMNS_FOR_BESIDE && rows >= LEAST_ROWS_FOR_BESIDE {
            let list = (columns * 11 / 20).max(LEAST_COLUMNS_OF_LIST);
            (Area { columns: list, ..whole }, Area { columns: columns - list - BAR, ..whole })
        } else if rows >= LEAST_ROWS_FOR_PREVIEW {
            let below = rows * 2 / 5;
            // A line separates the two.
            (Area { rows: body - below, ..whole }, Area { rows: below - 1, ..whole })
        } else {
            (whole, Area::default())
        };
        Self { columns, rows, has_status, has_footer, list, preview }
    }

    pub(super) fn is_beside(self) -> bool {
        self.preview.rows > 0 && self.list.columns < self.columns
    }

    /// Returns the area between the line for typing and the footer.
    pub(super) fn body(self) -> Area {
        let rows = self.rows.saturating_sub(1 + usize::from(self.has_status) + usize::from(self.has_footer));
        Area { columns: self.columns, rows }
    }
}
