//! Settings in TOML: single values are read that stand on one line, and nothing is checked.

/// Returns what stands behind a key of a table, as it is written.
pub(crate) fn value<'t>(settings: &'t str, table: &str, key: &str) -> Option<&'t str> {
    let mut is_table = false;
    for line in settings.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            // A value of several lines may have a line that looks like the head of a table, but not like this one's.
            is_table = name.0.trim_start_matches('[').trim() == table;
        } else if let Some((name, value)) = line.split_once('=')
            && is_table
            && name.trim() == key
        {
            return Some(value.trim());
        }
    }
    None
}

/// Returns the text behind a key of a table; blank text is none.
pub(crate) fn text(settings: &str, table: &str, key: &str) -> Option<String> {
    let value = value(settings, table, key)?;
    // A string in single quotes is as it stands; one in double quotes is escaped as JSON is.
    let text = match value.strip_prefix('\'') {
        Some(rest) => rest.split_once('\'')?.0.to_owned(),
        None => serde_json::Deserializer::from_str(value).into_iter::<String>().next()?.ok()?,
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_that_of_its_table() {
        let settings = "name = \"x\"\n[other]\nname = \"y\"\n[ chat ] # here\ntools = [\"a\",\n  \"b\"]\n\
            interactive = false # no\nname = \"z \\\"1\\\"\" # a comment\npath = '~/a\\b'\nblank = \" \"\n[env]\nlast = 'l'\n";
        assert_eq!(text(settings, "chat", "name").as_deref(), Some("z \"1\""));
        assert_eq!(text(settings, "chat", "path").as_deref(), Some("~/a\\b"));
        assert_eq!(value(settings, "chat", "interactive"), Some("false # no"));
        for (table, key) in [("chat", "blank"), ("chat", "last"), ("chat", "interactive"), ("none", "name")] {
            assert_eq!(text(settings, table, key), None, "{table} {key}");
        }
        for broken in ["[chat]\nname = \"x", "[chat]\nname = 'x", "[chat]\nname =", "[chat"] {
            assert_eq!(text(broken, "chat", "name"), None, "{broken}");
        }
    }
}
