//! Writes the rows of a session as statements for the SQLite shell, for agents that cannot import a session.

use std::io::{self, BufRead, Write};

use super::capture::quoted;
use super::{OwnedValue, RowOwnership, RowReader, RowTable};
use crate::format::text::hex;

struct Script<'a> {
    out: &'a mut dyn Write,
    /// The beginning of the `INSERT` statement of each row.
    start: String,
}

/// Writes the statements; they insert all rows, or none if one of them conflicts.
pub(crate) fn script(lines: impl BufRead, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, ".bail on\nBEGIN IMMEDIATE;\nPRAGMA defer_foreign_keys = ON;")?;
    super::read(lines, &mut Script { out, start: String::new() })?;
    writeln!(out, "COMMIT;")
}

impl RowReader for Script<'_> {
    fn table(&mut self, table: &RowTable) -> io::Result<()> {
        let columns: Vec<String> = table.columns.iter().map(|column| quoted(column)).collect();
        // Rows that several sessions share may already exist.
        let verb = if table.part == RowOwnership::Context { "INSERT OR IGNORE" } else { "INSERT" };
        self.start = format!("{verb} INTO {} ({}) VALUES (", quoted(&table.table), columns.join(", "));
        Ok(())
    }

    fn row(&mut self, _: Option<i64>, values: Vec<OwnedValue>, _: &[u8]) -> io::Result<()> {
        let values: Vec<String> = values.iter().map(literal).collect();
        writeln!(self.out, "{}{});", self.start, values.join(", "))
    }
}

fn literal(value: &OwnedValue) -> String {
    match value {
        OwnedValue::Null => "NULL".to_owned(),
        OwnedValue::Integer(number) => number.to_string(),
        OwnedValue::Real(number) if number.is_infinite() => if *number > 0.0 { "9e999" } else { "-9e999" }.to_owned(),
        OwnedValue::Real(number) => format!("{number:?}"),
        OwnedValue::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) => {
                format!("'{}'", text.replace('\'', "''"))
            }
            _ => format!("CAST(x'{}' AS TEXT)", hex(bytes)),
        },
        OwnedValue::Blob(bytes) => format!("x'{}'", hex(bytes)),
    }
}
