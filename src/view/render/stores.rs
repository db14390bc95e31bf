//! Which agents there are: their stores, and where was looked in vain.

use std::io::{self, Write};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::unread::UnreadStore;
use crate::format::text;
use crate::scan::stores::StoreFacts;
use crate::session::AgentKind;
use crate::system::env::Env;
use crate::view::grid::{self, Column, Fit};
use crate::view::render::answer::Answer;
use crate::view::render::items::List;
use crate::view::render::json::PathJson;
use crate::view::render::table::shown_dir;
use crate::view::ui::Styles;

/// What `agents` answers.
#[derive(Debug)]
pub(crate) struct Agents {
    /// Every store.
    pub stores: Vec<StoreFacts>,
    /// How many pointers each program has that keeps no sessions of its own, and how many of them lead nowhere.
    pub pointers: Vec<Pointers>,
    /// The stores of agents that rejoin does not read.
    pub not_read: Vec<UnreadStore>,
}

/// The files of one program that point to sessions of another.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Pointers {
    /// Whose they are.
    pub agent: AgentKind,
    /// Whose sessions they name.
    pub of: AgentKind,
    /// How many there are.
    pub pointers: usize,
    /// How many of them name a session that cannot be found.
    pub dangling: usize,
}

/// The answer of `agents`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AgentList", deny_unknown_fields)]
pub(crate) struct AgentListJson<'a> {
    /// Every store that was looked for, in the order of the agents.
    pub stores: List<'a, StoreJson<'a>>,
    /// The programs that only point to sessions of another agent.
    pub pointers: &'a [Pointers],
    /// Stores that exist of agents that rejoin does not read; empty if `--agent` names others.
    pub not_read: Vec<NotReadJson<'a>>,
}

/// A store of an agent that rejoin does not read.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NotRead", deny_unknown_fields)]
pub(crate) struct NotReadJson<'a> {
    /// The name of that agent as its makers write it.
    pub name: &'a str,
    /// The directory, or the database.
    pub root: PathJson<'a>,
    /// The command of that agent that lists or resumes its sessions, in Markdown.
    pub instead: &'a str,
}

impl<'a> From<&'a UnreadStore> for NotReadJson<'a> {
    fn from(store: &'a UnreadStore) -> Self {
        Self { name: store.name, root: PathJson::from(store.root.as_path()), instead: store.instead }
    }
}

/// One store of one agent.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Store", deny_unknown_fields)]
pub(crate) struct StoreJson<'a> {
    /// The agent that it belongs to.
    pub agent: AgentKind,
    /// What its makers call that agent.
    pub name: &'a str,
    /// The directory, or the database.
    pub root: PathJson<'a>,
    /// Whether it is there.
    pub exists: bool,
    /// Whether the agent uses it when nobody tells it otherwise.
    pub is_default: bool,
    /// How many sessions it holds that `list` shows.
    pub sessions: usize,
    /// How many sub-agents, archived and empty sessions it holds.
    pub others: usize,
    /// Their bytes; a database counts whole.
    pub size_bytes: u64,
    /// When one of them was last active.
    pub active_at: Option<Timestamp>,
    /// The version of the agent that wrote the newest of them; `null` when its records do not say.
    pub version: Option<&'a str>,
    /// Other stores in which links of this one lead to sessions, which count there.
    pub shared_with: Vec<PathJson<'a>>,
    /// The newest version of the agent that rejoin was tested with; `null` for one that was read as source code only.
    pub tested_version: Option<&'a str>,
}

impl<'a> From<&'a StoreFacts> for StoreJson<'a> {
    fn from(store: &'a StoreFacts) -> Self {
        Self {
            agent: store.agent,
            name: store.name,
            root: PathJson::from(store.root.as_path()),
            exists: store.exists,
            is_default: store.is_default,
            sessions: store.sessions,
            others: store.others,
            size_bytes: store.size_bytes,
            active_at: store.active_at,
            version: store.version.as_deref(),
            shared_with: store.shared_with.iter().map(|root| PathJson::from(root.as_path())).collect(),
            tested_version: store.tested_version,
        }
    }
}

impl Answer for Agents {
    const COUNTS_ITEMS: bool = true;

    fn object(&self) -> (&'static str, impl Serialize) {
        let stores = List::of(&self.stores, StoreJson::from);
        (
            "agent-list",
            AgentListJson {
                stores,
                pointers: &self.pointers,
                not_read: self.not_read.iter().map(NotReadJson::from).collect(),
            },
        )
    }

    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        if env.terminal.stdout { self.text(out, env, styles) } else { self.lines(out) }
    }
}

impl Agents {
    /// Writes a line a store: agent, store, sessions, others, bytes, last activity, version.
    fn lines(&self, out: &mut impl Write) -> io::Result<()> {
        for store in &self.stores {
            let root = store.root.to_string_lossy();
            let at = store.active_at.map(|at| at.to_string()).unwrap_or_default();
            let version = store.version.as_deref().map(text::field).unwrap_or_default();
            let StoreFacts { agent, sessions, others, size_bytes, .. } = store;
            writeln!(out, "{agent}\t{}\t{sessions}\t{others}\t{size_bytes}\t{at}\t{version}", text::field(&root))?;
        }
        Ok(())
    }

    /// Writes a table of the stores that are there, and names the others.
    fn text(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let width = env.terminal.columns();
        let (there, in_vain): (Vec<&StoreFacts>, Vec<&StoreFacts>) = self.stores.iter().partition(|store| store.exists);
        let Styles { header, faint, .. } = styles;
        if !there.is_empty() {
            grid::write(out, columns(&there, env), width, *header)?;
        }
        for store in there.iter().filter(|store| store.is_newer_than_tested()) {
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
            let lost =
                if *dangling > 0 { format!(", {dangling} of them to none that is there") } else { String::new() };
            writeln!(out, "{agent} points to {} of {of}{lost}.", text::count(*pointers, "session"))?;
        }
        let not_read = self.not_read.iter().map(|store| format!("{} ({})", store.name, shown_dir(&store.root, env)));
        let not_read: Vec<String> = not_read.collect();
        if !not_read.is_empty() {
            for line in text::flowed("Found, not read:", &not_read, width) {
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

fn columns(stores: &[&StoreFacts], env: &Env) -> Vec<Column> {
    let active =
        |store: &&StoreFacts| store.active_at.map(|at| text::short_ago(Some(at), env.clock.now)).unwrap_or_default();
    let version = |store: &&StoreFacts| store.version.as_deref().map(text::one_line).unwrap_or_default().into_owned();
    vec![
        Column::new("AGENT", Fit::Whole, stores.iter().map(|store| store.agent.name())),
        Column::new("STORE", Fit::Path, stores.iter().map(|store| shown_dir(&store.root, env))),
        Column::new("SESSIONS", Fit::Number, stores.iter().map(|store| store.sessions.to_string())),
        Column::new("OTHERS", Fit::Number, stores.iter().map(|store| store.others.to_string())),
        Column::new("SIZE", Fit::Number, stores.iter().map(|store| text::size(store.size_bytes))),
        Column::new("ACTIVE", Fit::Whole, stores.iter().map(active)),
        Column::new("VERSION", Fit::Whole, stores.iter().map(version)),
        Column::new("TESTED", Fit::Whole, stores.iter().map(|store| store.tested_version.unwrap_or_default())),
    ]
}
