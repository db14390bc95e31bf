//! The agents: their stores, and the stores that do not exist.

use std::io::{self, Write};

use serde::Serialize;

use crate::agent;
use crate::agent::unread::UnreadStore;
use crate::cli::Format;
use crate::format::text;
use crate::scan::stores::StoreFacts;
use crate::session::AgentKind;
use crate::system::env::Env;
use crate::view::grid::{self, Column, Fit};
use crate::view::render::answer::Answer;
use crate::view::render::rows as lines;
use crate::view::render::table::shown_dir;
use crate::view::ui::Styles;

/// The answer of `agents`.
#[derive(Debug, Serialize)]
pub(crate) struct Agents {
    /// Every known store, in the order of the agents.
    pub stores: Vec<StoreFacts>,
    /// The programs that only point to sessions of another agent.
    pub pointers: Vec<Pointers>,
    /// Stores that exist of agents that rejoin does not read; empty if `--agent` names others.
    pub not_read: Vec<UnreadStore>,
}

/// The files of one program that point to sessions of another.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Pointers {
    /// The program that wrote the pointers.
    pub agent: AgentKind,
    /// The agent whose sessions the pointers name.
    pub of: AgentKind,
    /// Number of pointers.
    pub pointers: usize,
    /// Number of pointers whose session cannot be found.
    pub dangling: usize,
}

impl Answer for Agents {
    const COUNTS_ITEMS: bool = true;

    fn object(&self) -> (&'static str, impl Serialize) {
        ("agent-list", self)
    }

    fn is_list(&self) -> bool {
        true
    }

    fn rows(&self, out: &mut impl Write, format: Format) -> io::Result<()> {
        lines::head(out, format, ["agent", "store", "sessions", "others", "size_bytes", "active_at", "version"])?;
        for store in &self.stores {
            let StoreFacts { agent, sessions, others, size_bytes, .. } = store;
            let root = store.root.to_string_lossy().into_owned();
            let at = store.active_at.map(|at| at.to_string()).unwrap_or_default();
            let version = store.version.clone().unwrap_or_default();
            let [agent, sessions, others] = [agent.to_string(), sessions.to_string(), others.to_string()];
            lines::row(out, format, [agent, root, sessions, others, size_bytes.to_string(), at, version])?;
        }
        Ok(())
    }

    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        self.text(out, env, styles)
    }
}

impl Agents {
    /// Writes a table of the existing stores, with one row for those of one program's tasks, and names the others.
    fn text(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let width = env.terminal.columns();
        let (there, in_vain): (Vec<&StoreFacts>, Vec<&StoreFacts>) = self.stores.iter().partition(|store| store.exists);
        let Styles { header, faint, .. } = styles;
        let rows = rows(&there);
        if !rows.is_empty() {
            grid::write(out, columns(&rows, env), width, *header)?;
        }
        for store in rows.iter().map(StoreRow::newest).filter(|store| store.is_newer_than_tested()) {
            let [version, tested] = [store.version.as_deref(), store.tested_version].map(Option::unwrap_or_default);
            let name = store.agent;
            writeln!(
                out,
                "{name} {} is newer than {tested}, the newest that rejoin was tested with.",
                text::one_line(version)
            )?;
        }
        for store in &there {
            for other in &store.shared_with {
                let [root, other] = [&store.root, other].map(|root| shown_dir(root, env));
                writeln!(
                    out,
                    "{} shares sessions in {other} with {root} through links; they are counted once.",
                    store.agent
                )?;
            }
        }
        for Pointers { agent, of, pointers, dangling } in &self.pointers {
            let lost = match dangling {
                0 => String::new(),
                1 => "; 1 is gone".to_owned(),
                gone => format!("; {gone} are gone"),
            };
            let [whose, of] = [*agent, *of].map(|agent| agent::about(agent).title);
            writeln!(out, "{whose} names {}{lost}.", text::count(*pointers, &format!("{of} session")))?;
        }
        let not_read = self.not_read.iter().map(|store| format!("{} ({})", store.name, shown_dir(&store.root, env)));
        let not_read: Vec<String> = not_read.collect();
        if !not_read.is_empty() {
            for line in text::flowed("Found, not read:", &not_read, width) {
                writeln!(out, "{line}")?;
            }
        }
        if self.not_read.iter().any(|store| store.is_further_home) {
            let head = "`[[stores]]` in the config file reads a further home:";
            for line in text::flowed(head, &["`rejoin help config`".to_owned()], width) {
                writeln!(out, "{line}")?;
            }
        }
        let name = |store: &&StoreFacts| format!("{} ({})", store.agent, shown_dir(&store.root, env));
        let names: Vec<String> = in_vain.iter().map(name).collect();
        if !names.is_empty() {
            for line in text::flowed("Not found:", &names, width) {
                writeln!(out, "{faint}{line}{faint:#}")?;
            }
        }
        Ok(())
    }
}

/// A row of the table: one store, or those of one program's tasks.
struct StoreRow<'s> {
    stores: Vec<&'s StoreFacts>,
}

/// Returns the rows; the tasks of a program are at the place of the first of them.
fn rows<'s>(stores: &[&'s StoreFacts]) -> Vec<StoreRow<'s>> {
    let mut rows: Vec<StoreRow<'s>> = Vec::new();
    for store in stores {
        let is_alike = |row: &&mut StoreRow<'_>| {
            let first = row.stores[0];
            store.made_below.is_some() && (first.agent, &first.made_below) == (store.agent, &store.made_below)
        };
        match rows.iter_mut().find(is_alike) {
            Some(row) => row.stores.push(store),
            None => rows.push(StoreRow { stores: vec![store] }),
        }
    }
    rows
}

impl<'s> StoreRow<'s> {
    /// Returns the store that was active last.
    fn newest(&self) -> &'s StoreFacts {
        self.stores[1..].iter().fold(
            self.stores[0],
            |newest, store| {
                if store.active_at > newest.active_at { store } else { newest }
            },
        )
    }

    fn place(&self, env: &Env) -> String {
        match (&self.stores[..], &self.stores[0].made_below) {
            ([_, _, ..], Some(dir)) => format!("{} stores below {}", self.stores.len(), shown_dir(dir, env)),
            _ => shown_dir(&self.stores[0].root, env),
        }
    }

    fn sum<N: std::iter::Sum<N>>(&self, number: impl Fn(&StoreFacts) -> N) -> N {
        self.stores.iter().map(|store| number(store)).sum()
    }
}

/// Minimum width at which an age is written in words.
const WIDE: usize = 100;

fn columns(rows: &[StoreRow<'_>], env: &Env) -> Vec<Column> {
    let active = |row: &StoreRow<'_>| {
        let ago = if env.terminal.columns() < WIDE { text::short_ago } else { text::ago };
        row.newest().active_at.map(|at| ago(Some(at), env.clock.now)).unwrap_or_default()
    };
    let version =
        |row: &StoreRow<'_>| row.newest().version.as_deref().map(text::one_line).unwrap_or_default().into_owned();
    vec![
        Column::new("AGENT", Fit::Whole, rows.iter().map(|row| row.stores[0].agent.name())),
        Column::new("STORE", Fit::Path, rows.iter().map(|row| row.place(env))),
        Column::new("SESSIONS", Fit::Number, rows.iter().map(|row| row.sum(|store| store.sessions).to_string())),
        Column::new("OTHERS", Fit::Number, rows.iter().map(|row| row.sum(|store| store.others).to_string())),
        Column::new("SIZE", Fit::Number, rows.iter().map(|row| text::size(row.sum(|store| store.size_bytes)))),
        Column::new("ACTIVE", Fit::Whole, rows.iter().map(active)),
        Column::new("VERSION", Fit::Whole, rows.iter().map(version)),
        Column::new("TESTED", Fit::Whole, rows.iter().map(|row| row.stores[0].tested_version.unwrap_or_default())),
    ]
}
