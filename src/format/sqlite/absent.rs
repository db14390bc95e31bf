//! A stub for builds without SQLite: nothing can be opened.

use std::collections::HashSet;
use std::convert::Infallible;
use std::io;
use std::marker::PhantomData;
use std::path::Path;

use super::{OpenMode, OwnedValue, QueryError, SqlValue};

/// A database; never constructed.
#[derive(Debug)]
pub(crate) struct Db(Infallible);

/// A row; never constructed.
#[derive(Debug)]
pub(crate) struct DbRow<'a>(Infallible, PhantomData<&'a ()>);

impl Db {
    pub(super) fn open(_: &Path, _: OpenMode) -> Result<Self, QueryError> {
        Err(QueryError::BuiltWithout)
    }

    pub(super) fn begin(&self) -> Result<(), QueryError> {
        match self.0 {}
    }

    /// Returns the names of a table's columns.
    pub(crate) fn columns(&self, _: &str) -> Result<HashSet<String>, QueryError> {
        match self.0 {}
    }

    /// Checks that a table has these columns.
    pub(crate) fn require(&self, _: &str, _: &[&str]) -> Result<(), QueryError> {
        match self.0 {}
    }

    /// Returns columns for a query.
    pub(crate) fn column_list(&self, _: &str, _: &str, _: &[&str]) -> Result<String, QueryError> {
        match self.0 {}
    }

    /// Calls a function with each row of a query.
    pub(crate) fn query(&self, _: &str, _: &[&str], _: impl FnMut(&DbRow<'_>)) -> Result<(), QueryError> {
        match self.0 {}
    }

    /// Prepares a query that is run repeatedly.
    pub(crate) fn prepare(&self, _: &str) -> Result<PreparedQuery<'_>, QueryError> {
        match self.0 {}
    }
}

/// A query; never constructed.
#[derive(Debug)]
pub(crate) struct PreparedQuery<'a>(Infallible, PhantomData<&'a ()>);

impl PreparedQuery<'_> {
    /// Calls a function with each row of the query.
    pub(crate) fn rows(&mut self, _: &[&str], _: impl FnMut(&DbRow<'_>)) -> Result<(), QueryError> {
        match self.0 {}
    }
}

impl DbRow<'_> {
    /// Returns a value.
    pub(crate) fn value(&self, _: usize) -> SqlValue<'_> {
        match self.0 {}
    }

    /// Returns a text.
    pub(crate) fn text(&self, _: usize) -> Option<String> {
        match self.0 {}
    }

    /// Returns a text that is not blank.
    pub(crate) fn filled(&self, _: usize) -> Option<String> {
        match self.0 {}
    }

    /// Returns an integer.
    pub(crate) fn int(&self, _: usize) -> Option<i64> {
        match self.0 {}
    }
}

/// A new database; never constructed.
#[derive(Debug)]
pub(crate) struct NewDb(Infallible);

impl NewDb {
    pub(super) fn create(_: &Path) -> io::Result<Self> {
        Err(io::Error::other(QueryError::BuiltWithout.to_string()))
    }

    pub(super) fn make_table(&mut self, _: &str, _: &[String]) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn insert(&mut self, _: Option<i64>, _: Vec<OwnedValue>) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self.0 {}
    }
}
