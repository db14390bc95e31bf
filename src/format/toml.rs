//! Settings in TOML, for who wants single values of them.

use toml::de::{DeTable, DeValue};

/// The settings of a file; one that is no TOML says nothing.
pub(crate) struct Settings<'t>(DeTable<'t>);

impl<'t> Settings<'t> {
    /// Reads them.
    pub(crate) fn parse(text: &'t str) -> Self {
        Self(DeTable::parse(text).map(|table| table.into_inner()).unwrap_or_default())
    }

    fn value(&self, table: &str, key: &str) -> Option<&DeValue<'t>> {
        Some(self.0.get(table)?.get_ref().get(key)?.get_ref())
    }

    /// Returns the text behind a key of a table; blank text is none.
    pub(crate) fn text(&self, table: &str, key: &str) -> Option<String> {
        let text = self.value(table, key)?.as_str()?;
        Some(text.to_owned()).filter(|text| !text.trim().is_empty())
    }

    /// Returns whether what stands behind a key of a table is true.
    pub(crate) fn flag(&self, table: &str, key: &str) -> Option<bool> {
        self.value(table, key)?.as_bool()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_that_of_its_table() {
        let settings = Settings::parse(
            "name = \"x\"\n[other]\nname = \"y\"\nat = 2026-03-01T10:00:00Z\n[ chat ] # here\ntools = [\"a\",\n  \"b\"]\n\
            interactive = false # no\nname = \"z \\\"1\\\"\" # a comment\npath = '~/a\\b'\nblank = \" \"\n[env]\nlast = 'l'\n",
        );
        assert_eq!(settings.text("chat", "name").as_deref(), Some("z \"1\""));
        assert_eq!(settings.text("chat", "path").as_deref(), Some("~/a\\b"));
        assert_eq!(settings.flag("chat", "interactive"), Some(false));
        for (table, key) in
            [("chat", "blank"), ("chat", "last"), ("chat", "interactive"), ("none", "name"), ("name", "x")]
        {
            assert_eq!(settings.text(table, key), None, "{table} {key}");
        }
        for broken in ["[chat]\nname = \"x", "[chat]\nname = 'x", "[chat]\nname =", "[chat"] {
            assert_eq!(Settings::parse(broken).text("chat", "name"), None, "{broken}");
        }
    }
}
