//! Tables: comfy-table aligns and cuts the cells, so that each row is one line that fits the terminal.

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::Style;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row, Table, presets};
use unicode_width::UnicodeWidthStr as _;

use crate::format::text;

/// Blanks between two columns.
const GAP: u16 = 2;
/// Minimum width of a text column and of a path column.
const LEAST: [usize; 2] = [8, 12];
/// Widths that text columns keep: before a path column gets more than its minimum, and before it gets more than 16
/// characters.
const TEXTS: [usize; 2] = [40, 60];
const PATH: usize = 16;
/// A character that no cell contains, so that a long cell is broken at the width and not at a blank.
const NO_DELIMITER: char = '\0';

/// The alignment of a column, and how its cells fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Shown whole.
    Whole,
    /// Shown whole, at the right edge.
    Number,
    /// Cut at the end.
    Text,
    /// Cut in the middle, because the last part of a path is the most informative.
    Path,
}

/// One column of a table.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Its heading, which also names it.
    pub head: String,
    pub fit: Fit,
    /// The style of its cells.
    pub style: Style,
    /// One cell per row, without escape codes.
    pub cells: Vec<String>,
}

impl Column {
    /// Makes a column of cells in no style.
    pub(crate) fn new(head: &str, fit: Fit, cells: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let cells = cells.into_iter().map(Into::into).collect();
        Self { head: head.to_owned(), fit, style: Style::new(), cells }
    }

    /// Sets the style of the cells.
    pub(crate) fn styled(self, style: Style) -> Self {
        Self { style, ..self }
    }

    /// Shortens each cell.
    pub(crate) fn cut(&mut self, shorten: impl Fn(&str) -> Cow<'_, str>) {
        for cell in &mut self.cells {
            // A part of the cell is short and borrowed.
            let short = shorten(cell);
            if short != *cell {
                *cell = short.into_owned();
            }
        }
    }

    /// Returns the width of the widest cell or of the heading.
    fn width(&self) -> usize {
        let widest = self.cells.iter().map(|cell| cell.width()).max().unwrap_or_default();
        widest.max(self.head.len())
    }

    /// Moves a cell with its style into the table.
    fn take_cell(&mut self, row: usize) -> Cell {
        let (style, cell) = (self.style, std::mem::take(&mut self.cells[row]));
        let is_plain = style == Style::new() || cell.is_empty();
        Cell::new_owned(if is_plain { cell } else { format!("{style}{cell}{style:#}") })
    }
}

/// Returns the width of a row in which texts and paths have at most these widths.
pub(crate) fn needed(columns: &[Column], [text, path]: [usize; 2]) -> usize {
    let width = |column: &Column| match column.fit {
        Fit::Text => column.width().min(text),
        Fit::Path => column.width().min(path),
        Fit::Whole | Fit::Number => column.width(),
    };
    columns.iter().map(width).sum::<usize>() + columns.len().saturating_sub(1) * usize::from(GAP)
}

/// Writes a table, with its headings in a style.
pub(crate) fn write(out: &mut impl Write, columns: Vec<Column>, width: usize, header: Style) -> io::Result<()> {
    let mut lines = lines(columns, width);
    writeln!(out, "{header}{}{header:#}", lines.next().unwrap_or_default())?;
    lines.try_for_each(|line| writeln!(out, "{line}"))
}

/// Writes a table without headings, at its full width.
pub(crate) fn write_bare(out: &mut impl Write, columns: Vec<Column>) -> io::Result<()> {
    lines(columns, usize::MAX).try_for_each(|line| writeln!(out, "{line}"))
}

/// Lays out a table: a line of headings if there are any, and one line per row, at most as wide as this. The last columns
/// are left out if there is not enough room for all of them.
pub(crate) fn lines(mut columns: Vec<Column>, width: usize) -> impl Iterator<Item = String> {
    while columns.len() > 1 && needed(&columns, LEAST) > width {
        columns.pop();
    }
    cut_paths(&mut columns, width);
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .force_no_tty()
        .set_content_arrangement(ContentArrangement::Dynamic)
        // The gap after the last column is trimmed.
        .set_width(u16::try_from(width).unwrap_or(u16::MAX).saturating_add(GAP))
        .set_delimiter(NO_DELIMITER)
        .set_truncation_indicator("…");
    if columns.iter().any(|column| !column.head.is_empty()) {
        table.set_header(line(columns.iter().map(|column| Cell::new(&column.head))));
    }
    for row in 0..columns.first().map_or(0, |column| column.cells.len()) {
        table.add_row(line(columns.iter_mut().map(|column| column.take_cell(row))));
    }
    // A single column is cut, regardless of its kind.
    let is_alone = columns.len() == 1;
    for (shown, column) in table.column_iter_mut().zip(&columns) {
        shown.set_padding((0, GAP));
        if column.fit != Fit::Text && !is_alone {
            shown.set_constraint(ColumnConstraint::ContentWidth);
        }
        if column.fit == Fit::Number {
            shown.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.into_iter()
}

/// Makes a row that is one line high.
fn line(cells: impl Iterator<Item = Cell>) -> Row {
    let mut row = Row::from(cells.collect::<Vec<_>>());
    row.max_height(1);
    row
}

/// Divides the width that the other columns leave: paths shrink to their minimum before texts do.
fn cut_paths(columns: &mut [Column], width: usize) {
    let mut room = width.saturating_sub(needed(columns, [0, 0]));
    let texts = needed(columns, [usize::MAX, 0]) - needed(columns, [0, 0]);
    let mut left = columns.iter().filter(|column| column.fit == Fit::Path).count();
    for column in columns.iter_mut().filter(|column| column.fit == Fit::Path) {
        let least = room.saturating_sub(texts.min(TEXTS[0])).min(PATH).max(LEAST[1].min(room));
        let own = (room.saturating_sub(texts.min(TEXTS[1])) / left).max(least).min(column.width());
        column.cut(|path| text::truncated_path(path, own));
        room -= own;
        left -= 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn columns() -> Vec<Column> {
        let column = |head, fit, cells: [&str; 2]| Column::new(head, fit, cells.map(str::to_owned));
        vec![
            column("ID", Fit::Whole, ["5d1f", "6a"]),
            column("TITLE", Fit::Text, ["Fix the parser of the configuration", "日本語の題名です"]),
            column("DIRECTORY", Fit::Path, ["/srv/clients/acme/shop", "~/app"]),
            column("SIZE", Fit::Number, ["1.9 KiB", "12 B"]),
        ]
    }

    fn laid_out(width: usize) -> Vec<String> {
        lines(columns(), width).collect()
    }

    #[test]
    fn grid_truncates_text_at_end_path_in_middle() {
        assert_eq!(
            laid_out(76),
            [
                "ID    TITLE                                DIRECTORY                  SIZE",
                "5d1f  Fix the parser of the configuration  /srv/clients/acme/shop  1.9 KiB",
                "6a    日本語の題名です                     ~/app                      12 B",
            ]
        );
        assert_eq!(
            laid_out(50),
            [
                "ID    TITLE                   DIRECTORY       SIZE",
                "5d1f  Fix the parser of the…  /srv/…/shop  1.9 KiB",
                "6a    日本語の題名です        ~/app           12 B",
            ]
        );
        assert_eq!(laid_out(20), ["ID    TITLE", "5d1f  Fix the parse…", "6a    日本語の題名…"]);
        assert_eq!(laid_out(3), ["ID", "5d…", "6a"]);
    }

    #[test]
    fn column_style_takes_no_width() {
        let styled = columns().into_iter().map(|column| column.styled(Style::new().bold()));
        let styled: Vec<String> = lines(styled.collect(), 76).collect();
        assert_eq!(styled[0], laid_out(76)[0]);
        let plain: Vec<String> =
            styled.iter().map(|line| line.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "")).collect();
        assert_eq!(plain, laid_out(76));
        assert!(styled[1].starts_with("\u{1b}[1m5d1f\u{1b}[0m  "), "{styled:?}");
    }

    /// Lays out the table with another title and path.
    fn laid_out_with(title: String, path: String, width: usize) -> Vec<String> {
        let mut columns = columns();
        columns[1].cells[0] = title;
        columns[2].cells[1] = path;
        lines(columns, width).collect()
    }

    #[test]
    fn empty_title_and_long_path_fit_the_terminal() {
        let lines = laid_out_with(String::new(), "/aaaaa/aaa/a/aaaaaaaaaaa".to_owned(), 28);
        assert_eq!(
            lines,
            ["ID    TITLE      DIRECTORY", "5d1f             /srv/…/shop", "6a    日本語の…  aaaaaaaaaaa"]
        );
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(title in "[ -~é日]{0,40}", path in "/[a-z/]{0,40}", width in 4_usize..120) {
            let lines = laid_out_with(title, path, width);
            prop_assert_eq!(lines.len(), 3);
            prop_assert!(lines.iter().all(|line| line.width() <= width), "{:?}", lines);
        }
    }
}
