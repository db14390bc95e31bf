//! Keys and contents of the config file. Pure: takes the text and the file's name.
//!
//! rejoin never writes the file; users edit it.

mod keys;
mod table;
mod value;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::ToSpan as _;

use crate::error::{Refusal, RefusalCode};
use crate::session::AgentKind;
use crate::session::fields::Field;
use crate::session::select::SortKey;
use crate::session::when::When;
pub(crate) use keys::{ConfigKey, KEYS, example};
use table::{ConfigTable, Mistake};
pub(crate) use table::{SetKey, in_words};
pub(crate) use value::is_destination;

/// The contents of the config file, with defaults for everything that it does not set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    /// The file that was read, if there is one.
    pub file: Option<PathBuf>,
    /// The program that shows output longer than a screen.
    pub pager: Option<String>,
    /// The directory of the archive.
    pub archive_dir: Option<PathBuf>,
    /// Directories of other machines, each with the same directory on this one.
    pub sync_map: Vec<(PathBuf, PathBuf)>,
    /// Defaults for tables of `list`.
    pub list: ListConfig,
    /// Defaults for `cleanup`.
    pub cleanup: CleanupConfig,
    /// Names of groups of machines, and the machines.
    pub hosts: BTreeMap<String, Vec<String>>,
    /// Further stores of agents.
    pub stores: Vec<StoreRule>,
    /// Each key that it sets, in the order of the file.
    pub set_keys: Vec<SetKey>,
}

/// Defaults for tables of `list`.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListConfig {
    /// The agents; all if empty.
    pub agents: Vec<AgentKind>,
    /// The earliest time of activity.
    pub since: Option<When>,
    /// Maximum number of sessions; 0 for all.
    pub limit: Option<usize>,
    /// The columns; the usual ones if empty.
    pub fields: Vec<Field>,
    /// The sort order.
    pub sort: Option<SortKey>,
    /// Set to show marks as words in narrow tables, too.
    pub is_wide: bool,
    /// Directories that sessions record, each with the directory here that has the same files.
    pub map: Vec<(PathBuf, PathBuf)>,
}

/// Defaults for `cleanup`.
#[derive(Clone, Debug, Default)]
pub(crate) struct CleanupConfig {
    /// The age from which sessions are removed, if no option sets it.
    pub older_than: Option<When>,
    /// Number of sessions per project that stay.
    pub keep_last: Option<usize>,
    /// Time that removed files stay in the trash.
    pub trash_keep: Option<When>,
    /// Set to archive everything before it is removed.
    pub archives: bool,
    /// Sessions that stay, regardless of options.
    pub keep: Vec<KeepRule>,
}

impl CleanupConfig {
    /// Returns the time that removed files stay in the trash, by default 14 days.
    pub(crate) fn trash_keep(&self) -> When {
        self.trash_keep.unwrap_or_else(|| When::Ago(14.days()))
    }
}

/// A further store of an agent.
#[derive(Clone, Debug)]
pub(crate) struct StoreRule {
    /// The agent, or the one from which the store's program was made.
    pub agent: AgentKind,
    /// The directory that replaces the agent's usual one, or the home directory.
    pub home: PathBuf,
    /// The program that resumes its sessions; by default, that of the agent.
    pub program: Option<String>,
    /// Further variables that the program needs.
    pub variables: BTreeMap<String, String>,
}

/// Sessions that no cleanup removes.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeepRule {
    /// Limited to these agents; all if empty.
    pub agents: Vec<AgentKind>,
    /// Limited to this directory and its subdirectories.
    pub dir: Option<PathBuf>,
    /// Limited to sessions active since then.
    pub since: Option<When>,
    /// Limited to this number of the newest per project.
    pub last: Option<usize>,
}

impl Config {
    /// Parses the text of a file; a mistake is an error that names the line.
    pub(crate) fn parse(text: &str, file: &Path) -> Result<Self, Refusal> {
        let config = Self::read(text).map_err(|mistake| {
            let line = table::line(text, mistake.at);
            let message = format!("{}:{line}: {}", file.display(), mistake.message);
            let hint = mistake.hint.map(|hint| format!("{hint}; ")).unwrap_or_default();
            let hint = format!("{hint}run `rejoin help config` to see every key, or use --no-config this time");
            Refusal::new(RefusalCode::BadConfig, message).hint(hint)
        })?;
        Ok(Self { file: Some(file.to_owned()), ..config })
    }

    fn read(text: &str) -> Result<Self, Mistake> {
        let mut config = Self::default();
        let mut root = ConfigTable::root(text)?;
        config.pager = root.take_key("pager", value::filled)?;
        if let Some(mut archive) = root.table("archive")? {
            config.archive_dir = archive.take_key("dir", value::dir)?;
            root.done(archive)?;
        }
        if let Some(mut sync) = root.table("sync")? {
            config.sync_map = sync.take_key("map", value::mappings)?.unwrap_or_default();
            root.done(sync)?;
        }
        if let Some(mut list) = root.table("list")? {
            config.list = ListConfig {
                agents: list.take_key("agent", value::agents)?.unwrap_or_default(),
                since: list.take_key("since", value::when)?,
                limit: list.take_key("limit", value::number)?,
                fields: list.take_key("fields", |value| value::names(value, "field"))?.unwrap_or_default(),
                sort: list.take_key("sort", |value| value::name(value, "key"))?,
                is_wide: list.take_key("wide", value::flag)?.unwrap_or_default(),
                map: list.take_key("map", value::mappings)?.unwrap_or_default(),
            };
            root.done(list)?;
        }
        if let Some(mut cleanup) = root.table("cleanup")? {
            config.cleanup = CleanupConfig {
                older_than: cleanup.take_key("older-than", value::when)?,
                keep_last: cleanup.take_key("keep-last", value::number)?,
                trash_keep: cleanup.take_key("trash-keep", value::when)?,
                archives: cleanup.take_key("archive", value::flag)?.unwrap_or_default(),
                keep: cleanup.tables("keep")?.into_iter().map(keep_rule).collect::<Result<_, _>>()?,
            };
            root.done(cleanup)?;
        }
        if let Some(mut hosts) = root.table("hosts")? {
            config.hosts = hosts.take_all(value::hosts)?;
            root.done(hosts)?;
        }
        config.stores = root.tables("stores")?.into_iter().map(store_rule).collect::<Result<_, _>>()?;
        config.set_keys = root.finish()?;
        config.set_keys.sort_by_key(|set| set.line);
        Ok(config)
    }

    /// Drops settings that would start a program or write elsewhere. The config of another home may only set the tables
    /// `list` and `cleanup`.
    pub(crate) fn of_another_home(self) -> Self {
        let is_harmless = |set: &SetKey| ["list.", "cleanup."].iter().any(|table| set.key.starts_with(table));
        let set_keys = self.set_keys.iter().filter(|set_keys| is_harmless(set_keys)).cloned().collect();
        let (hosts, stores, sync_map) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { pager: None, archive_dir: None, sync_map, hosts, stores, set_keys, ..self }
    }

    /// Returns the value that the file sets for a key.
    pub(crate) fn setting(&self, key: &str) -> Option<&SetKey> {
        self.set_keys.iter().find(|set| set.key == key)
    }
}

fn store_rule(mut rule: ConfigTable<'_>) -> Result<StoreRule, Mistake> {
    let agent = rule.take_key("agent", |value| value::name(value, "agent"))?;
    let home = rule.take_key("home", value::dir)?;
    let program = rule.take_key("program", value::program)?;
    let variables = match rule.table("variables")? {
        Some(mut variables) => {
            let all = variables.take_all(value::filled)?;
            rule.done(variables)?;
            all
        }
        None => BTreeMap::new(),
    };
    let at = rule.at;
    rule.finish()?;
    let (Some(agent), Some(home)) = (agent, home) else {
        return Err(Mistake::error_at(at, "a store needs an agent and a home"));
    };
    match variables.keys().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        Some(name) => Err(Mistake::error_at(at, format!("{name:?} cannot be the name of a variable"))),
        None => Ok(StoreRule { agent, home, program, variables }),
    }
}

fn keep_rule(mut rule: ConfigTable<'_>) -> Result<KeepRule, Mistake> {
    let keep = KeepRule {
        agents: rule.take_key("agent", value::agents)?.unwrap_or_default(),
        dir: rule.take_key("dir", value::dir)?,
        since: rule.take_key("since", value::when)?,
        last: rule.take_key("last", value::number)?,
    };
    let at = rule.at;
    if rule.finish()?.is_empty() {
        Err(Mistake::error_at(at, "this rule says nothing, so it would keep every session"))
    } else {
        Ok(keep)
    }
}

#[cfg(test)]
mod tests;
