//! The effective settings from the config file, the environment and the defaults.

use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use crate::cli::Format;
use crate::format::path_json;
use crate::format::text;
use crate::launch::briefings;
use crate::system::env::Env;
use crate::view::grid::{self, Column, Fit};
use crate::view::render::answer::Answer;
use crate::view::render::rows;
use crate::view::ui::Styles;

/// The answer of `config`.
#[derive(Debug, Serialize)]
pub(crate) struct Holding {
    /// Every key, and each rule and group of the file.
    pub settings: Vec<Setting>,
    /// The config file.
    #[serde(serialize_with = "path_json::serialize")]
    pub file: PathBuf,
    /// True if the file exists.
    pub exists: bool,
    /// The directory of the briefings that `resume --with` writes, and that `cleanup` removes after 30 days.
    #[serde(serialize_with = "path_json::serialize")]
    pub briefings: PathBuf,
}

/// The source of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SettingSource {
    File,
    Environment,
    Default,
}

/// The effective value of a key.
#[derive(Debug, Serialize)]
pub(crate) struct Setting {
    /// The key with its table.
    pub key: String,
    /// The effective value in the form of the file; `null` if there is none.
    pub value: Value,
    /// The effective value as text.
    #[serde(skip)]
    pub words: String,
    /// The source: `file`, `environment` or `default`.
    pub source: SettingSource,
    /// The line in the file.
    pub line: Option<usize>,
}

impl Setting {
    /// Returns the key, its value, and the source of that.
    fn cells(&self) -> [String; 3] {
        let from = match (self.source, self.line) {
            (_, Some(line)) => format!("line {line}"),
            (SettingSource::Environment, _) => "environment".to_owned(),
            _ => "default".to_owned(),
        };
        [self.key.clone(), self.words.clone(), from]
    }
}

impl Answer for Holding {
    fn object(&self) -> (&'static str, impl Serialize) {
        ("config", self)
    }

    fn is_list(&self) -> bool {
        true
    }

    fn rows(&self, out: &mut impl Write, format: Format) -> io::Result<()> {
        rows::head(out, format, ["key", "value", "from"])?;
        self.settings.iter().try_for_each(|setting| rows::row(out, format, setting.cells()))
    }

    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let rows: Vec<[String; 3]> = self.settings.iter().map(Setting::cells).collect();
        let width = env.terminal.columns();
        let column = |at: usize| rows.iter().map(move |row| text::field(&row[at]).into_owned());
        let columns = vec![
            Column::new("KEY", Fit::Whole, column(0)),
            Column::new("VALUE", Fit::Text, column(1)),
            Column::new("FROM", Fit::Whole, column(2)),
        ];
        let Styles { header, faint, .. } = styles;
        let there = if self.exists { "" } else { ", which does not exist" };
        writeln!(out, "{faint}{}{there}{faint:#}", text::one_line(&env.tilde(&self.file)))?;
        grid::write(out, columns, width, *header)?;
        let dir = env.tilde(&self.briefings);
        let days = briefings::DAYS;
        writeln!(out, "{faint}Briefings: {}; cleanup removes them after {days} days{faint:#}", text::one_line(&dir))
    }
}
