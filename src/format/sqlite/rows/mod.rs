//! All rows of one session in a database as records, one per line: the form in which an archive stores such a session.
//!
//! docs/archive.md specifies the format. Every value keeps its type and its bytes; the statements that created the
//! tables are kept for human readers and are never run.

use std::io::{self, BufRead, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub(crate) use super::OwnedValue;
use super::SqlValue;

mod capture;
mod rebuilt;
mod script;

pub(crate) use capture::{CapturedRows, Owned, SessionTables};
pub(crate) use rebuilt::rebuild;
pub(crate) use script::script;

/// The version of the records; a program that does not know it cannot use them.
const VERSION: u32 = 1;

/// The way in which the rows of a table belong to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RowOwnership {
    /// Rows that the session shares with others, and that its own row refers to.
    Context,
    /// The session's own row, which changes with every turn.
    Session,
    /// All other rows of the session.
    Rows,
}

/// A table whose rows follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RowTable {
    /// Its name.
    pub table: String,
    /// The way in which its rows belong to the session.
    pub part: RowOwnership,
    /// Its columns, in the order of the values.
    pub columns: Vec<String>,
    /// The statement that created it.
    pub sql: String,
}

/// A row whose values are not parsed yet.
#[derive(Debug, Deserialize)]
struct RowLine<'a> {
    rowid: Option<i64>,
    #[serde(borrow)]
    row: Vec<&'a RawValue>,
}

#[derive(Serialize, Deserialize)]
struct TableHead {
    rows: u32,
}

/// A value that JSON cannot represent.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Odd {
    Blob(String),
    Text(String),
    Real(String),
}

/// A receiver of records.
pub(crate) trait RowReader {
    /// Begins a table.
    fn table(&mut self, table: &RowTable) -> io::Result<()>;

    /// Receives a row of the table; `line` is the row as written.
    fn row(&mut self, rowid: Option<i64>, values: Vec<OwnedValue>, line: &[u8]) -> io::Result<()>;
}

/// Parses all records and passes them to `reader`.
pub(crate) fn read(mut lines: impl BufRead, reader: &mut dyn RowReader) -> io::Result<()> {
    let (mut line, mut columns) = (Vec::new(), None);
    let mut next = |line: &mut Vec<u8>| {
        line.clear();
        lines.read_until(b'\n', line).map(|count| count > 0)
    };
    let is_there = next(&mut line)?;
    match serde_json::from_slice::<TableHead>(&line).ok().filter(|_| is_there) {
        Some(head) if head.rows == VERSION => {}
        Some(head) => {
            return Err(odd(format!("its rows are of version {}, which this rejoin does not know", head.rows)));
        }
        None => return Err(odd("it does not begin as rows do")),
    }
    while next(&mut line)? {
        if let Ok(RowLine { rowid, row }) = serde_json::from_slice(&line) {
            let values = row.into_iter().map(value).collect::<io::Result<Vec<_>>>()?;
            if columns != Some(values.len()) {
                return Err(odd("one of its rows does not fit its table"));
            }
            reader.row(rowid, values, &line)?;
        } else {
            let table: RowTable = serde_json::from_slice(&line).map_err(|error| odd(error.to_string()))?;
            columns = Some(table.columns.len());
            reader.table(&table)?;
        }
    }
    Ok(())
}

fn odd(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

/// Parses a value. A number is parsed from its text, because serde_json may round it.
fn value(raw: &RawValue) -> io::Result<OwnedValue> {
    let text = raw.get();
    let number = |text: &str| text.parse().map(OwnedValue::Real).map_err(|_| odd("a number cannot be read"));
    Ok(match text.as_bytes().first() {
        Some(b'n') => OwnedValue::Null,
        Some(b'"') => OwnedValue::Text(serde_json::from_str::<String>(text)?.into_bytes()),
        Some(b'{') => match serde_json::from_str(text)? {
            Odd::Blob(bytes) => OwnedValue::Blob(STANDARD.decode(bytes).map_err(|error| odd(error.to_string()))?),
            Odd::Text(bytes) => OwnedValue::Text(STANDARD.decode(bytes).map_err(|error| odd(error.to_string()))?),
            Odd::Real(text) => number(&text)?,
        },
        _ if text.contains(['.', 'e', 'E']) => number(text)?,
        _ => text.parse().map(OwnedValue::Integer).map_err(|_| odd("a number cannot be read"))?,
    })
}

impl SqlValue<'_> {
    /// Writes the value as JSON.
    fn write(&self, out: &mut Vec<u8>) -> io::Result<()> {
        match *self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Integer(number) => write!(out, "{number}")?,
            // `{:?}` always writes a point or an exponent, and the shortest text that parses to the same number.
            Self::Real(number) if number.is_finite() => write!(out, "{number:?}")?,
            Self::Real(number) => serde_json::to_writer(out, &Odd::Real(number.to_string()))?,
            Self::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => serde_json::to_writer(out, text)?,
                Err(_) => serde_json::to_writer(out, &Odd::Text(STANDARD.encode(bytes)))?,
            },
            Self::Blob(bytes) => serde_json::to_writer(out, &Odd::Blob(STANDARD.encode(bytes)))?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_value() -> impl Strategy<Value = OwnedValue> {
        let text = prop_oneof![any::<String>().prop_map(String::into_bytes), any::<Vec<u8>>()];
        let number = any::<f64>().prop_filter("a NaN is NULL in SQLite", |number| !number.is_nan());
        prop_oneof![
            Just(OwnedValue::Null),
            any::<i64>().prop_map(OwnedValue::Integer),
            number.prop_map(OwnedValue::Real),
            prop_oneof![Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(-0.0), Just(1e21)]
                .prop_map(OwnedValue::Real),
            text.prop_map(OwnedValue::Text),
            any::<Vec<u8>>().prop_map(OwnedValue::Blob),
        ]
    }

    fn borrowed(value: &OwnedValue) -> SqlValue<'_> {
        match value {
            OwnedValue::Null => SqlValue::Null,
            OwnedValue::Integer(number) => SqlValue::Integer(*number),
            OwnedValue::Real(number) => SqlValue::Real(*number),
            OwnedValue::Text(bytes) => SqlValue::Text(bytes),
            OwnedValue::Blob(bytes) => SqlValue::Blob(bytes),
        }
    }

    proptest! {
        #[test]
        fn values_of_every_type_round_trip(value in any_value()) {
            let mut json = Vec::new();
            borrowed(&value).write(&mut json).expect("JSON");
            let raw: &RawValue = serde_json::from_slice(&json).expect("JSON");
            let back = super::value(raw).expect("a value");
            match (&back, &value) {
                (OwnedValue::Real(back), OwnedValue::Real(value)) => prop_assert_eq!(back.to_bits(), value.to_bits()),
                _ => prop_assert_eq!(&back, &value),
            }
            prop_assert!(!json.contains(&b'\n'));
        }
    }

    #[test]
    fn reader_refuses_rows_of_unknown_version() {
        struct Nobody;
        impl RowReader for Nobody {
            fn table(&mut self, _: &RowTable) -> io::Result<()> {
                Ok(())
            }
            fn row(&mut self, _: Option<i64>, _: Vec<OwnedValue>, _: &[u8]) -> io::Result<()> {
                Ok(())
            }
        }
        let table = r#"{"table":"t","part":"rows","columns":["a"],"sql":""}"#;
        let read = |text: &str| read(text.as_bytes(), &mut Nobody).map_err(|error| error.to_string());
        assert_eq!(read(&format!("{{\"rows\":1}}\n{table}\n{{\"rowid\":1,\"row\":[2]}}\n")), Ok(()));
        for (bad, why) in [
            ("".to_owned(), "does not begin"),
            (table.to_owned(), "does not begin"),
            (r#"{"rows":2}"#.to_owned(), "version 2"),
            (format!("{{\"rows\":1}}\n{table}\n{{\"rowid\":1,\"row\":[2,3]}}\n"), "does not fit"),
            ("{\"rows\":1}\n{\"rowid\":1,\"row\":[2]}\n".to_owned(), "does not fit"),
            (format!("{{\"rows\":1}}\n{table}\n{{\"rowid\":1,\"row\":[{{\"blob\":\"!\"}}]}}\n"), "symbol"),
            ("{\"rows\":1}\n{\"table\":1}\n".to_owned(), "invalid type"),
        ] {
            let error = read(&bad).expect_err("an error");
            assert!(error.contains(why), "{bad}: {error}");
        }
    }
}
