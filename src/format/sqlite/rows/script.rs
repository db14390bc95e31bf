//! The rows of a session as statements for SQLite's own shell: for an agent that takes no session in by itself.

use std::io::{self, BufRead, Write};

use super::capture::quoted;
use super::{Owner, Part, Reader, Table};
use crate::format::text::hex;

struct Script<'a> {
    out: &'a mut dyn Write,
    /// How the statement of each row begins.
    start: String,
}

/// Writes the statements; they add all rows, or none if one is in the way.
pub(crate) fn script(lines: impl BufRead, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, ".bail on\nBEGIN IMMEDIATE;\nPRAGMA defer_foreign_keys = ON;")?;
    super::read(lines, &mut Script { out, start: String::new() })?;
    writeln!(out, "COMMIT;")
}

impl Reader for Script<'_> {
    fn table(&mut self, table: &Table) -> io::Result<()> {
        let columns: Vec<String> = table.columns.iter().map(|column| quoted(column)).collect();
        // What several sessions have in common may be there already.
        let verb = if table.part == Part::Context { "INSERT OR IGNORE" } else { "INSERT" };
        self.start = format!("{verb} INTO {} ({}) VALUES (", quoted(&table.table), columns.join(", "));
        Ok(())
    }

    fn row(&mut self, _: Option<i64>, values: Vec<Owner>, _: &[u8]) -> io::Result<()> {
        let values: Vec<String> = values.iter().map(literal).collect();
        writeln!(self.out, "{}{});", self.start, values.join(", "))
    }
}

fn literal(value: &Owner) -> String {
    match value {
        Owner::Null => "NULL".to_owned(),
        Owner::Integer(number) => number.to_string(),
        Owner::Real(number) if number.is_infinite() => if *number > 0.0 { "9e999" } else { "-9e999" }.to_owned(),
        Owner::Real(number) => format!("{number:?}"),
        Owner::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) => {
                format!("'{}'", text.replace('\'', "''"))
            }
            _ => format!("CAST(x'{}' AS TEXT)", hex(bytes)),
        },
        Owner::Blob(bytes) => format!("x'{}'", hex(bytes)),
    }
}
