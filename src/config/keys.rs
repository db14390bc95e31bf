//! Every key of the config file, for `rejoin help config` and for `rejoin config`.

use serde_json::Value;

use super::table::in_words;

/// A key of the config file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Its name, with that of its table.
    pub name: &'static str,
    /// An example of a line that sets it.
    pub example: &'static str,
    /// The default as JSON, or a description if it is not a value.
    pub default: &'static str,
    /// Its purpose.
    pub meaning: &'static str,
}

impl Key {
    /// Returns the default, if it is a value.
    pub(crate) fn default(&self) -> Option<Value> {
        serde_json::from_str(self.default).ok()
    }

    /// Describes the default.
    pub(crate) fn default_in_words(&self) -> String {
        self.default().map_or_else(|| self.default.to_owned(), |value| in_words(&value))
    }

    /// Returns whether a file may set several of this kind.
    pub(crate) fn is_for_many(&self) -> bool {
        ["cleanup.keep", "hosts.GROUP"].contains(&self.name)
    }
}

const fn key(name: &'static str, example: &'static str, default: &'static str, meaning: &'static str) -> Key {
    Key { name, example, default, meaning }
}

/// Every key. The key for a group of hosts has the group's name.
pub(crate) const KEYS: &[Key] = &[
    key(
        "pager",
        "\"less -R\"",
        "\"less\"",
        "the program that shows what is longer than the screen, cat for none; PAGER wins over it",
    ),
    key("archive.dir", "\"/backup/rejoin\"", "", "where the archive is, as --archive-dir says"),
    key(
        "sync.map",
        "[\"/home/ana=/Users/ana\"]",
        "",
        "which directories of other machines are which here, as --map of sync says",
    ),
    key("list.agent", "[\"claude\", \"codex\"]", "every agent", "whose sessions a table shows, as --agent says"),
    key("list.since", "\"30d\"", "any time", "since when the sessions of a table were active, as --since says"),
    key("list.limit", "50", "what fits the terminal", "how many rows a table has, as --limit says"),
    key(
        "list.fields",
        "[\"agent\", \"id\", \"title\", \"dir\"]",
        "[\"agent\", \"id\", \"title\", \"dir\", \"active\", \"size\", \"marks\"]",
        "which columns a table has, as --fields says",
    ),
    key("list.sort", "\"size\"", "\"active\"", "in which order its rows are, as --sort says"),
    key("list.wide", "true", "false", "whether narrow tables have marks as words too, as --wide says"),
    key(
        "cleanup.older-than",
        "\"60d\"",
        "\"30d\"",
        "what cleanup takes unless options say otherwise, as --older-than says",
    ),
    key("cleanup.keep-last", "3", "0", "how many sessions of each project cleanup leaves, as --keep-last says"),
    key("cleanup.trash-keep", "\"30d\"", "\"14d\"", "how long the trash keeps what cleanup took, as --trash-keep says"),
    key("cleanup.archive", "true", "false", "whether cleanup archives everything first, as --archive says"),
    key(
        "cleanup.keep",
        "agent = \"claude\"\ndir = \"~/work\"\nsince = \"1y\"\nlast = 10",
        "nothing",
        "what no cleanup takes: of an agent or directory, what was active since, and the last N",
    ),
    key("hosts.GROUP", "[\"build1\", \"ana@box\"]", "no group", "the machines that --host GROUP means"),
];

/// Returns a file that sets every key.
pub(crate) fn example() -> String {
    let mut text = String::new();
    let mut table = "";
    for key in KEYS {
        let (of, name) = key.name.split_once('.').unwrap_or(("", key.name));
        if of != table {
            text.push_str(&format!("\n[{of}]\n"));
            table = of;
        }
        match key.name {
            "cleanup.keep" => text.push_str(&format!("\n[[{}]]\n{}\n", key.name, key.example)),
            _ => text.push_str(&format!("{} = {}\n", name.to_lowercase(), key.example)),
        }
    }
    text
}
