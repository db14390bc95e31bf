//! Every key of the config file, for `rejoin help config` and for `rejoin config`.

use serde_json::Value;

use super::table::in_words;

/// A key of the config file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConfigKey {
    /// Its name, with that of its table.
    pub name: &'static str,
    /// An example of a line that sets it.
    pub example: &'static str,
    /// The default as JSON, or a description if it is not a value.
    pub default: &'static str,
    /// Its purpose.
    pub meaning: &'static str,
}

impl ConfigKey {
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
        ["cleanup.keep", "stores", "hosts.GROUP"].contains(&self.name)
    }
}

const fn key(name: &'static str, example: &'static str, default: &'static str, meaning: &'static str) -> ConfigKey {
    ConfigKey { name, example, default, meaning }
}

/// Every key. The key for a group of hosts has the group's name.
pub(crate) const KEYS: &[ConfigKey] = &[
    key(
        "pager",
        "\"less -R\"",
        "\"less\"",
        "the program for output longer than the screen, cat for none; PAGER wins over it",
    ),
    key("archive.dir", "\"/backup/rejoin\"", "", "directory of the archive, the default for --archive-dir"),
    key(
        "sync.map",
        "[\"/home/ana=/Users/ana\"]",
        "",
        "directories of other machines and their paths here, the default for --map of sync",
    ),
    key("list.agent", "[\"claude\", \"codex\"]", "every agent", "agents in a table, the default for --agent"),
    key("list.since", "\"30d\"", "any time", "earliest activity in a table, the default for --since"),
    key("list.limit", "50", "what fits the terminal", "rows of a table, the default for --limit"),
    key(
        "list.fields",
        "[\"agent\", \"id\", \"title\", \"launch_dir\"]",
        "[\"agent\", \"id\", \"title\", \"launch_dir\", \"active_at\", \"size_bytes\", \"marks\"]",
        "columns of a table, the default for --fields",
    ),
    key("list.sort", "\"size_bytes\"", "\"active_at\"", "order of the rows, the default for --sort"),
    key("list.wide", "true", "false", "true for marks as words in narrow tables too, the default for --wide"),
    key(
        "list.map",
        "[\"/workspaces/shop=~/code/shop\"]",
        "",
        "directories in a container or on another machine, and the same ones here: --dir and --here find both",
    ),
    key(
        "cleanup.older-than",
        "\"60d\"",
        "\"30d\"",
        "age from which cleanup removes sessions, the default for --older-than",
    ),
    key(
        "cleanup.keep-last",
        "3",
        "0",
        "newest sessions of each project that cleanup keeps, the default for --keep-last",
    ),
    key(
        "cleanup.trash-keep",
        "\"30d\"",
        "\"14d\"",
        "time that removed sessions stay in the trash, the default for --trash-keep",
    ),
    key(
        "cleanup.archive",
        "true",
        "false",
        "true to archive sessions before cleanup removes them, the default for --archive",
    ),
    key(
        "cleanup.keep",
        "agent = \"claude\"\ndir = \"~/work\"\nsince = \"1y\"\nlast = 10",
        "nothing",
        "rules for sessions that no cleanup removes: those of an agent or directory that were active since a time, and the last N",
    ),
    key(
        "stores",
        "agent = \"codex\"\nhome = \"~/.code\"\nprogram = \"code\"",
        "nothing",
        "further stores of an agent: the directory in place of its usual one, such as ~/.codex, and the program of a fork",
    ),
    key("hosts.GROUP", "[\"build1\", \"ana@box\"]", "no group", "the machines of --host GROUP"),
];

/// Returns a file that sets every key.
pub(crate) fn example() -> String {
    let mut text = String::new();
    let mut table = "";
    for key in KEYS {
        let (of, name) = key.name.split_once('.').unwrap_or(("", key.name));
        if of != table && !of.is_empty() {
            text.push_str(&format!("\n[{of}]\n"));
            table = of;
        }
        match key.name {
            "cleanup.keep" | "stores" => text.push_str(&format!("\n[[{}]]\n{}\n", key.name, key.example)),
            _ => text.push_str(&format!("{} = {}\n", name.to_lowercase(), key.example)),
        }
    }
    text
}
