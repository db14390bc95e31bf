//! Shared code of OpenCode and its forks: one database per release channel, in a directory with the program's name.

use std::collections::HashSet;

use crate::agent::agent_managed::{AgentManaged, ImportCommand};
use crate::agent::command::{Command, as_last_argument};
use crate::agent::database;
use crate::agent::opencode::tables::OpenCodeTables;
use crate::agent::opencode::transfer;
use crate::agent::prelude::*;
use crate::format::sqlite::rows::Owned;
use crate::format::{shell, sqlite};
use crate::session::repository::Repository;
use crate::session::usage::Tokens;

/// The columns of the sums; older versions lack all of them.
const SUMS: [&str; 5] =
    ["tokens_input", "tokens_cache_read", "tokens_cache_write", "tokens_output", "tokens_reasoning"];

/// One of these programs.
#[derive(Debug)]
pub(in crate::agent) struct OpenCodeProgram {
    /// The agent of the program.
    pub kind: AgentKind,
    /// Name of the program, of its data directory, and prefix of its databases.
    pub name: &'static str,
    /// Variable that names another database, absolute or below the data directory.
    pub variable: &'static str,
    /// Prefixes of the databases of channels, starting with the one that the program creates. If a channel has several
    /// databases, the program uses the first one of this list.
    pub channels: &'static [&'static str],
}

impl OpenCodeProgram {
    /// Returns the data directories, and the database that the variable names.
    pub(in crate::agent) fn stores(&self, env: &Env) -> Vec<Store> {
        let mut stores = database::stores(self.kind, self.name, env);
        // A database other than the usual one is a separate store, whose root is that file.
        let chosen = env.agent_variable(self.variable).filter(|name| *name != ":memory:");
        let chosen = chosen.zip(stores.first()).map(|(name, store)| store.root.join(name));
        stores.iter_mut().for_each(|store| store.unset.push(self.variable));
        if env.foreign_home {
            // Commands in messages should also find the store.
            let home = env.home.clone().into_os_string();
            stores.iter_mut().for_each(|store| drop(store.set.insert("HOME".into(), home.clone())));
        }
        let is_other = |root: &PathBuf| stores.iter().all(|store| *root != self.usual(store));
        if let Some(root) = chosen.filter(is_other) {
            stores.iter_mut().for_each(|store| store.is_default = false);
            stores.insert(0, Store::named(self.kind, &root, self.variable, &root));
        }
        stores
    }

    fn usual(&self, store: &Store) -> PathBuf {
        store.root.join(format!("{}.db", self.name))
    }

    /// Checks whether a store is a single named database.
    pub(super) fn is_one_database(store: &Store) -> bool {
        store.root.extension().is_some_and(|extension| extension == "db") && reach::is_file(&store.root)
    }

    /// Finds all sessions of the databases of a store, or the requested one.
    pub(in crate::agent) fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        let mut found = Found::default();
        if Self::is_one_database(store) {
            database::locate(store, &store.root, &OpenCodeTables, only, &mut found);
            return found;
        }
        let usual = self.usual(store);
        let of_channels = self.of_channels(store, &mut found);
        // Each channel's build opens its own database. With several of them, which build is installed is unknown.
        let named = |path: &Path, is_default| {
            let mut named = Store { is_default, ..Store::clone(store) };
            named.set.insert(self.variable.into(), path.into());
            named.unset.retain(|name| *name != self.variable);
            Arc::new(named)
        };
        let default = if of_channels.is_empty() { Arc::clone(store) } else { named(&usual, store.is_default) };
        database::locate(&default, &usual, &OpenCodeTables, only, &mut found);
        for path in of_channels {
            database::locate(&named(&path, false), &path, &OpenCodeTables, only, &mut found);
        }
        found
    }

    fn of_channels(&self, store: &Store, found: &mut Found) -> Vec<PathBuf> {
        let entries = found.entries(&store.root).into_iter().filter(|(_, kind)| kind.is_file());
        let names: HashSet<String> = entries.filter_map(|(entry, _)| entry.file_name().into_string().ok()).collect();
        let file = |start: &str, channel: &str| format!("{start}-{channel}.db");
        let is_used = |name: &str| {
            self.channels.iter().enumerate().any(|(at, start)| {
                let channel = name.strip_prefix(start).and_then(|rest| rest.strip_prefix('-')?.strip_suffix(".db"));
                channel.is_some_and(|channel| {
                    let earlier = &self.channels[..at];
                    !channel.is_empty() && !earlier.iter().any(|start| names.contains(&file(start, channel)))
                })
            })
        };
        let mut used: Vec<PathBuf> =
            names.iter().filter(|name| is_used(name)).map(|name| store.root.join(name)).collect();
        used.sort();
        used
    }

    /// Returns the tokens and the cost of a session's replies: its row has the sums (OpenCode 1.18.33, Kilo 7.7.9).
    ///
    /// The cost is in US dollars, by the prices of models.dev or of the user's configuration, or by the credits that
    /// Copilot reports; a model without a price adds zero.
    pub(in crate::agent) fn usage(place: &Located) -> Result<Usage, PathError> {
        sqlite::read(&place.path, |db| {
            let known = db.columns("session")?;
            let mut tokens = None;
            if SUMS.iter().all(|column| known.contains(*column)) {
                let sql = format!("SELECT {} FROM session WHERE id = ?1", SUMS.join(", "));
                db.query(&sql, &[&place.id], |row| {
                    let sum = |at: usize| row.int(at).and_then(|sum| u64::try_from(sum).ok()).unwrap_or(0);
                    let [input, cached, made, output, thought] = [0, 1, 2, 3, 4].map(sum);
                    tokens = Some(Tokens {
                        input: input.saturating_add(cached).saturating_add(made),
                        cached,
                        output: output.saturating_add(thought),
                    });
                })?;
            }
            Ok(Usage { tokens, cost: database::cost_in(db, place, "session", &["cost"])? })
        })
    }

    /// Returns the repository in which a session began: its project's id is the root commit (1.18.33; Kilo 7.7.9).
    pub(in crate::agent) fn repository(place: &Located) -> Repository {
        let mut repository = Repository::default();
        // A database that cannot be read has no repository.
        let _ = sqlite::read(&place.path, |db| {
            for table in ["session_v2", "session"] {
                if db.columns(table)?.contains("project_id") {
                    db.query(&format!("SELECT project_id FROM {table} WHERE id = ?1"), &[&place.id], |row| {
                        repository.add_root(&row.text(0).unwrap_or_default());
                    })?;
                }
            }
            Ok(())
        });
        repository
    }

    /// Returns the operations of OpenCode or a fork of it, from the words of two of its commands, the default database
    /// and the variable that names another.
    pub(in crate::agent) const fn agent_managed(
        removal: &'static [&'static str],
        import: &'static [&'static str],
        (usual, variable): (&'static str, &'static str),
    ) -> AgentManaged {
        let owned = Owned {
            sessions: &["session_v2", "session"],
            names: &["session_id", "aggregate_id"],
            through: &[("part", "message_id", "message")],
        };
        let import = ImportCommand { words: import, usual, variable, write: transfer::write };
        AgentManaged { owned, removal, removes_unasked: true, import: Some(import) }
    }

    /// Returns the directory in the database, unless it is the one in which the program is started.
    pub(in crate::agent) fn elsewhere<'c>(copy: &'c SessionCopy, dir: &Path) -> Option<&'c Path> {
        let own = copy.start_dir.as_ref().map(|own| &*own.value)?;
        let is_same = dir == own
            || reach::canonicalize(own).is_ok_and(|own| reach::canonicalize(dir).is_ok_and(|dir| dir == own));
        (!is_same).then_some(own)
    }

    /// Returns the hint for giving a session another directory: importing the session again changes only its directory.
    pub(in crate::agent) fn taken_along(&self, copy: &SessionCopy) -> String {
        let Located { id, store, .. } = &copy.place;
        let command = |verb: &str| {
            let argv = [self.name, verb].map(str::to_owned);
            shell::command(&[], &store.set, &argv).unwrap_or_else(|| argv.join(" "))
        };
        format!(
            "run `{} {id} > ~/{id}.json`, then in the new directory `{} ~/{id}.json`, which takes it there",
            command("export"),
            command("import")
        )
    }

    /// Returns the command that resumes a session.
    pub(in crate::agent) fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Command {
        let verb = prompt.map(|_| "run");
        let words = [self.name].into_iter().chain(verb).chain(["--session", &copy.place.id]);
        let argv = words.map(str::to_owned).collect();
        Command { argv, last: as_last_argument(prompt), unset: Vec::new(), then_type: None }
    }
}
