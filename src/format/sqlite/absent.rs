//! Stands in for SQLite where rejoin was built without it: nothing can be opened.

use std::collections::HashSet;
use std::convert::Infallible;
use std::io;
use std::marker::PhantomData;
use std::path::Path;

use super::{OpenMode, Owner, QueryError, Value};

/// A database; there is none.
#[derive(Debug)]
pub(crate) struct Db(Infallible);

/// A row; there is none.
#[derive(Debug)]
pub(crate) struct Row<'a>(Infallible, PhantomData<&'a ()>);

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

    /// Shows the rows that a query gives.
    pub(crate) fn query(&self, _: &str, _: &[&str], _: impl FnMut(&Row<'_>)) -> Result<(), QueryError> {
        match self.0 {}
    }

    /// Makes a query that is asked many times.
    pub(crate) fn prepare(&self, _: &str) -> Result<Query<'_>, QueryError> {
        match self.0 {}
    }
}

/// A query; there is none.
#[derive(Debug)]
pub(crate) struct Query<'a>(Infallible, PhantomData<&'a ()>);

impl Query<'_> {
    /// Shows the rows that it gives.
    pub(crate) fn rows(&mut self, _: &[&str], _: impl FnMut(&Row<'_>)) -> Result<(), QueryError> {
        match self.0 {}
    }
}

impl Row<'_> {
    /// Returns a value.
    pub(crate) fn value(&self, _: usize) -> Value<'_> {
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

    /// Returns a whole number.
    pub(crate) fn int(&self, _: usize) -> Option<i64> {
        match self.0 {}
    }
}

/// A database that is made anew; none can be.
#[derive(Debug)]
pub(crate) struct Fresh(Infallible);

impl Fresh {
    pub(super) fn create(_: &Path) -> io::Result<Self> {
        Err(io::Error::other(QueryError::BuiltWithout.to_string()))
    }

    pub(super) fn make_table(&mut self, _: &str, _: &[String]) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn insert(&mut self, _: Option<i64>, _: Vec<Owner>) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self.0 {}
    }
}
