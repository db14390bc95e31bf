//! Rebuilds a database from the rows of one session, in a private directory, so that its agent's reader can read it.
//!
//! Its tables have the columns and nothing else: no statement of the records is run, and every value is kept unchanged.

use std::io::{self, BufRead};
use std::path::Path;

use super::{OwnedValue, RowReader, RowTable};
use crate::format::sqlite::NewDb;

/// Creates the database; the path must be free.
pub(crate) fn rebuild(lines: impl BufRead, path: &Path) -> io::Result<()> {
    let mut fresh = NewDb::create(path)?;
    super::read(lines, &mut fresh)?;
    fresh.finish()
}

impl RowReader for NewDb {
    fn table(&mut self, table: &RowTable) -> io::Result<()> {
        self.make_table(&table.table, &table.columns)
    }

    fn row(&mut self, rowid: Option<i64>, values: Vec<OwnedValue>, _: &[u8]) -> io::Result<()> {
        self.insert(rowid, values)
    }
}
