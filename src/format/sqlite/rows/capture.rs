//! Finds every row of a session in a database and writes each as a line.

use std::io;

use super::{RowOwnership, RowTable, TableHead, VERSION};
use crate::format::sqlite::{Db, DbRow, PreparedQuery, QueryError};

/// The tables and columns by which rows belong to a session.
#[derive(Debug)]
pub(crate) struct Owned {
    /// The tables of sessions, whose ids are in `id`.
    pub sessions: &'static [&'static str],
    /// The columns that name a session in other tables.
    pub names: &'static [&'static str],
    /// Tables of some versions without a session column: the table, its column, and the table whose `id` that column
    /// holds.
    pub through: &'static [(&'static str, &'static str, &'static str)],
}

/// The result of capturing the rows of a session.
#[derive(Debug)]
pub(crate) enum CapturedRows {
    /// All rows were passed on.
    Whole,
    /// The database does not have the session.
    Missing,
    /// The receiver of the rows failed.
    Refused(io::Error),
}

/// A table of the database.
struct SourceTable {
    table: RowTable,
    has_rowid: bool,
    /// Columns that refer to another table: the column, that table, and its column.
    links: Vec<(String, String, String)>,
    /// The condition for the rows of the session `?1`; `None` if the table has none.
    condition: Option<String>,
}

/// The tables of a database that hold rows of sessions, found once for any number of sessions.
#[derive(Debug)]
pub(crate) struct SessionTables<'a>(Vec<(RowTable, PreparedQuery<'a>)>);

impl<'a> SessionTables<'a> {
    /// Finds the tables and prepares their queries.
    pub(crate) fn find_in(db: &'a Db, owned: &Owned) -> Result<Self, QueryError> {
        let mut sources = sources(db, owned)?;
        sources.retain(|source| source.condition.is_some());
        sources.sort_by_key(|source| source.table.part as u8);
        let tables = sources.into_iter().map(|source| {
            let query = db.prepare(&source.select())?;
            Ok((source.table, query))
        });
        Ok(Self(tables.collect::<Result<_, QueryError>>()?))
    }

    /// Calls a function with each line of a session, including its line end.
    pub(crate) fn capture(
        &mut self,
        id: &str,
        see: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<CapturedRows, QueryError> {
        let mut line = Vec::new();
        let mut refusal = None;
        let mut write = |made: io::Result<()>, line: &mut Vec<u8>| {
            line.push(b'\n');
            if refusal.is_none() {
                refusal = made.and_then(|()| see(line)).err();
            }
            line.clear();
        };
        let made = serde_json::to_writer(&mut line, &TableHead { rows: VERSION });
        write(made.map_err(io::Error::from), &mut line);
        let mut is_there = false;
        for (table, query) in &mut self.0 {
            let made = serde_json::to_writer(&mut line, table);
            write(made.map_err(io::Error::from), &mut line);
            query.rows(&[id], |row| {
                is_there |= table.part == RowOwnership::Session;
                let made = row_line(row, table.columns.len(), &mut line);
                write(made, &mut line);
            })?;
        }
        Ok(match refusal {
            _ if !is_there => CapturedRows::Missing,
            Some(error) => CapturedRows::Refused(error),
            None => CapturedRows::Whole,
        })
    }
}

/// Writes a row: its row number, then its values.
fn row_line(row: &DbRow<'_>, columns: usize, line: &mut Vec<u8>) -> io::Result<()> {
    line.extend_from_slice(b"{\"rowid\":");
    row.value(0).write(line)?;
    line.extend_from_slice(b",\"row\":[");
    for at in 1..=columns {
        if at > 1 {
            line.push(b',');
        }
        row.value(at).write(line)?;
    }
    line.extend_from_slice(b"]}");
    Ok(())
}

impl SourceTable {
    fn has_column(&self, column: &str) -> bool {
        self.table.columns.iter().any(|known| known == column)
    }

    /// Returns the query for the rows of the session: the row number, if there is one, then the values.
    fn select(&self) -> String {
        let number = ["rowid", "_rowid_", "oid"]
            .into_iter()
            .find(|name| self.has_rowid && !self.table.columns.iter().any(|column| column.eq_ignore_ascii_case(name)));
        let columns: Vec<String> = self.table.columns.iter().map(|column| quoted(column)).collect();
        format!(
            "SELECT {}, {} FROM {} WHERE {} ORDER BY {}",
            number.unwrap_or("NULL"),
            columns.join(", "),
            quoted(&self.table.table),
            self.condition.as_deref().unwrap_or("0"),
            number.map_or_else(|| columns.join(", "), str::to_owned)
        )
    }
}

/// Returns all tables; those that hold rows of a session have a condition.
fn sources(db: &Db, owned: &Owned) -> Result<Vec<SourceTable>, QueryError> {
    let mut sources = tables(db)?;
    for source in &mut sources {
        if owned.sessions.contains(&source.table.table.as_str()) && source.has_column("id") {
            source.table.part = RowOwnership::Session;
            source.condition = Some("\"id\" = ?1".to_owned());
            continue;
        }
        let names = owned.names.iter().filter(|name| source.has_column(name));
        let names: Vec<String> = names.map(|name| format!("{} = ?1", quoted(name))).collect();
        source.condition = (!names.is_empty()).then(|| names.join(" OR "));
    }
    // Rows that refer to a row of the session belong to the session too.
    loop {
        let found = sources.iter().enumerate().find_map(|(at, source)| {
            if source.condition.is_some() {
                return None;
            }
            let name = source.table.table.as_str();
            let through = owned.through.iter().filter(|(of, column, _)| *of == name && source.has_column(column));
            let through = through.map(|(_, column, table)| (*column, *table, "id"));
            let links = source.links.iter().map(|(from, table, to)| (from.as_str(), table.as_str(), to.as_str()));
            let mut links = through.chain(links);
            links.find_map(|(from, table, to)| {
                let above = sources.iter().find(|above| above.table.table == table)?;
                let condition = above.condition.as_deref().filter(|_| above.table.part == RowOwnership::Rows)?;
                Some((at, among(from, to, table, condition)))
            })
        });
        match found {
            Some((at, condition)) => sources[at].condition = Some(condition),
            None => break,
        }
    }
    let mut contexts = Vec::new();
    for session in sources.iter().filter(|source| source.table.part == RowOwnership::Session) {
        for (from, table, to) in &session.links {
            let condition = session.condition.as_deref().unwrap_or_default();
            let condition = among(to, from, &session.table.table, condition);
            let is_free = |source: &SourceTable| source.table.table == *table && source.condition.is_none();
            contexts.extend(sources.iter().position(is_free).map(|at| (at, condition)));
        }
    }
    for (at, condition) in contexts {
        let source = &mut sources[at];
        source.table.part = RowOwnership::Context;
        source.condition =
            Some(source.condition.take().map_or(condition.clone(), |other| format!("{other} OR {condition}")));
    }
    Ok(sources)
}

/// Returns the condition that a column equals another column in the matching rows of a table.
fn among(column: &str, other: &str, table: &str, condition: &str) -> String {
    format!("{} IN (SELECT {} FROM {} WHERE {condition})", quoted(column), quoted(other), quoted(table))
}

/// Returns the tables that store rows, without those that SQLite derives from others.
fn tables(db: &Db) -> Result<Vec<SourceTable>, QueryError> {
    let mut sources = Vec::new();
    let sql = "SELECT list.name, made.sql, list.wr FROM pragma_table_list AS list JOIN sqlite_schema AS made \
               ON made.type = 'table' AND made.name = list.name \
               WHERE list.schema = 'main' AND list.type = 'table' AND substr(list.name, 1, 7) <> 'sqlite_' ORDER BY 1";
    db.query(sql, &[], |row| {
        let table = RowTable {
            table: row.text(0).unwrap_or_default(),
            part: RowOwnership::Rows,
            columns: Vec::new(),
            sql: row.text(1).unwrap_or_default(),
        };
        sources.push(SourceTable { table, has_rowid: row.int(2) == Some(0), links: Vec::new(), condition: None });
    })?;
    for source in &mut sources {
        let SourceTable { table, links, .. } = source;
        db.query("SELECT name FROM pragma_table_info(?1) ORDER BY cid", &[&table.table], |row| {
            table.columns.extend(row.text(0));
        })?;
        // A column of a composite key does not identify a row.
        let sql = "SELECT \"from\", \"table\", \"to\" FROM pragma_foreign_key_list(?1) \
                   WHERE \"to\" IS NOT NULL GROUP BY id HAVING count(*) = 1 ORDER BY id";
        db.query(sql, &[&table.table], |row| {
            links.extend(row.text(0).zip(row.text(1)).zip(row.text(2)).map(|((from, table), to)| (from, table, to)));
        })?;
    }
    Ok(sources)
}

/// Quotes a name for SQL, whatever characters it contains.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
