//! Reads single values from a TOML file.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The settings of a file; empty if the file is not valid TOML.
pub(crate) struct TomlSettings<'t>(DeTable<'t>);

impl<'t> TomlSettings<'t> {
    /// Parses the settings.
    pub(crate) fn parse(text: &'t str) -> Self {
        Self::read(text).unwrap_or_else(|| Self(DeTable::default()))
    }

    /// Parses the settings; `None` if the file is not valid TOML.
    pub(crate) fn read(text: &'t str) -> Option<Self> {
        DeTable::parse(text).ok().map(|table| Self(table.into_inner()))
    }

    /// Returns the keys of a table.
    pub(crate) fn keys(&self, table: &str) -> Vec<String> {
        let table = self.0.get(table).and_then(|table| table.get_ref().as_table());
        table.into_iter().flat_map(|table| table.keys()).map(|key| key.get_ref().to_string()).collect()
    }

    fn value(&self, table: &str, key: &str) -> Option<&Spanned<DeValue<'t>>> {
        self.0.get(table)?.get_ref().get(key)
    }

    /// Returns the byte range of the value of a key in a table.
    pub(crate) fn span(&self, table: &str, key: &str) -> Option<Range<usize>> {
        self.value(table, key).map(Spanned::span)
    }

    /// Returns the string value of a key in a table; `None` if it is blank.
    pub(crate) fn text(&self, table: &str, key: &str) -> Option<String> {
        let text = self.value(table, key)?.get_ref().as_str()?;
        Some(text.to_owned()).filter(|text| !text.trim().is_empty())
    }

    /// Returns the string value of a top-level key; `None` if it is blank.
    pub(crate) fn top_text(&self, key: &str) -> Option<String> {
        let text = self.0.get(key)?.get_ref().as_str()?;
        Some(text.to_owned()).filter(|text| !text.trim().is_empty())
    }

    /// Returns the boolean value of a key in a table.
    pub(crate) fn flag(&self, table: &str, key: &str) -> Option<bool> {
        self.value(table, key)?.get_ref().as_bool()
    }
}

/// Quotes a text as a TOML string, which is a JSON string except for the character DEL.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parser_reads_toml_value_from_its_table() {
        let settings = TomlSettings::parse(
            "name = \"x\"\n[other]\nname = \"y\"\nat = 2026-03-01T10:00:00Z\n[ chat ] # here\ntools = [\"a\",\n  \"b\"]\n\
            interactive = false # no\nname = \"z \\\"1\\\"\" # a comment\npath = '~/a\\b'\nblank = \" \"\n[env]\nlast = 'l'\n",
        );
        assert_eq!(settings.text("chat", "name").as_deref(), Some("z \"1\""));
        assert_eq!(settings.text("chat", "path").as_deref(), Some("~/a\\b"));
        assert_eq!((settings.top_text("name").as_deref(), settings.top_text("chat")), (Some("x"), None));
        assert_eq!(settings.flag("chat", "interactive"), Some(false));
        for (table, key) in
            [("chat", "blank"), ("chat", "last"), ("chat", "interactive"), ("none", "name"), ("name", "x")]
        {
            assert_eq!(settings.text(table, key), None, "{table} {key}");
        }
        let text = "[chat]\npath = '''\nold'''\n";
        let span = TomlSettings::parse(text).span("chat", "path").expect("a place");
        let odd = "a \"b\" \\ \u{7f}\n\u{1}é";
        let edited = [&text[..span.start], &quoted(odd), &text[span.end..]].concat();
        assert_eq!(TomlSettings::parse(&edited).text("chat", "path").as_deref(), Some(odd));
        assert_eq!(TomlSettings::parse("[a.b]\nx = 1\n[a.\"c d\"]\n").keys("a"), ["b", "c d"]);
        for broken in ["[chat]\nname = \"x", "[chat]\nname = 'x", "[chat]\nname =", "[chat"] {
            assert_eq!(TomlSettings::parse(broken).text("chat", "name"), None, "{broken}");
        }
    }
}
