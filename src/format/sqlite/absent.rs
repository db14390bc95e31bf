//! Stands in for SQLite where rejoin was built without it: nothing can be opened.

use std::collections::HashSet;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::path::Path;

use super::{OpenMode, QueryError};

/// A database; there is none.
#[derive(Debug)]
pub struct Db(Infallible);

/// A row; there is none.
#[derive(Debug)]
pub struct Row<'a>(Infallible, PhantomData<&'a ()>);

impl Db {
    pub(super) fn open(_: &Path, _: OpenMode) -> Result<Self, QueryError> {
        Err(QueryError::BuiltWithout)
    }

    pub(super) fn begin(&self) -> Result<(), QueryError> {
        match self.0 {}
    }

    /// Returns the names of a table's columns.
    pub fn columns(&self, _: &str) -> Result<HashSet<String>, QueryError> {
        match self.0 {}
    }

    /// Checks that a table has these columns.
    pub fn require(&self, _: &str, _: &[&str]) -> Result<(), QueryError> {
        match self.0 {}
    }

    /// Shows columns of the rows of a table.
    pub fn select(&self, _: &str, _: &[&str], _: &str, _: &[&str], _: impl FnMut(&Row<'_>)) -> Result<(), QueryError> {
        match self.0 {}
    }

    /// Returns columns for a query.
    pub fn column_list(&self, _: &str, _: &str, _: &[&str]) -> Result<String, QueryError> {
        match self.0 {}
    }

    /// Shows the rows that a query gives.
    pub fn query(&self, _: &str, _: &[&str], _: impl FnMut(&Row<'_>)) -> Result<(), QueryError> {
        match self.0 {}
    }

    /// Makes a query that is asked many times.
    pub fn prepare(&self, _: &str) -> Result<Query<'_>, QueryError> {
        match self.0 {}
    }
}

/// A query; there is none.
#[derive(Debug)]
pub struct Query<'a>(Infallible, PhantomData<&'a ()>);

impl Query<'_> {
    /// Shows the rows that it gives.
    pub fn rows(&mut self, _: &[&str], _: impl FnMut(&Row<'_>)) -> Result<(), QueryError> {
        match self.0 {}
    }
}

impl Row<'_> {
    /// Returns a text.
    pub fn text(&self, _: usize) -> Option<String> {
        match self.0 {}
    }

    /// Returns a text that is not blank.
    pub fn filled(&self, _: usize) -> Option<String> {
        match self.0 {}
    }

    /// Returns a whole number.
    pub fn int(&self, _: usize) -> Option<i64> {
        match self.0 {}
    }
}
