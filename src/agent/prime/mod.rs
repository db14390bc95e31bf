//! Prime Agent, a fork of Pi: `<agent dir>/sessions/<id>.jsonl` with Pi's records, sub-agents in
//! `<agent dir>/session-artifacts/<id>/sub-<8 digits>/`.
//!
//! Facts: read in PrimeIntellect-ai/prime-agent e319a66d (0.8.0), packages/coding-agent: docs/session-format.md,
//! docs/sessions.md, and src/config.ts, src/migrations.ts, src/cli/args.ts, src/core/session-manager.ts,
//! src/core/session-resolver.ts and src/core/agent-session.ts; never measured.

pub(super) mod about;

use super::ids::is_word;
use super::lines::Lines;
use super::pi::log::{Dialect, PiTree};
use super::pi::{prompt_words, records};
use super::stores;
use super::unknown_format::has_any;
use crate::agent::prelude::*;

/// The variables with a directory of sessions, the one with the higher precedence first.
const SESSION_DIRS: [&str; 2] = ["PRIME_AGENT_SESSION_DIR", "PRIME_AGENT_CODING_AGENT_SESSION_DIR"];
/// Types of records that Pi lacks; none of them has messages.
const SILENT: [&str; 5] =
    ["service_tier_change", "child_usage_attributed", "session_state", "agent_status", "git_state"];
/// Maximum nesting of sub-agents that are read.
const MAX_DEPTH: usize = 8;

/// Implements [`Agent`](super::Agent) for Prime Agent.
pub(super) struct Prime;

impl Reading for Prime {
    fn usual_stores(&self, env: &Env) -> Vec<Store> {
        let mut all = stores::selected_stores(AgentKind::Prime, env);
        let dir = |name: &&'static str| Some((*name, env.absolute(Path::new(env.agent_variable(name)?))));
        let flat = SESSION_DIRS.iter().find_map(dir);
        for store in &mut all {
            store.is_default &= flat.is_none();
            store.unset.extend(SESSION_DIRS);
        }
        let flat = flat.map(|(name, dir)| Store::named(AgentKind::Prime, &dir, name, &dir));
        flat.into_iter().chain(all).collect()
    }

    fn engine(&self) -> &'static dyn Engine {
        &Lines(PiTree(Self))
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        has_any(record, &[("/type", &SILENT)]) || records::is_silent(record)
    }
}

impl Resuming for Prime {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        // Prime Agent finds a session by its id only in the directory of sessions.
        refuse_subagent(copy)?;
        refuse_invalid(copy)?;
        Ok(Command::new(&["prime-agent", "--resume", &copy.place.id], prompt_words(prompt)))
    }
}

impl Moving for Prime {}

impl Housekeeping for Prime {}

impl Dialect for Prime {
    const NAME: &'static str = "Prime Agent";
    const HAS_TITLE_LINE: bool = false;
    const HEADLESS: &'static str = "its first line is not a session header, so Prime Agent would start the file over";
    const BRANCHES: &'static str = "use /tree in Prime Agent to go there";

    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        let id_of: &(dyn Fn(&str) -> Option<&str> + Sync) =
            &|name| Self::id_of_file(name).filter(|id| only.is_none_or(|only| only == *id));
        let mut found = Found::default();
        if SESSION_DIRS.iter().any(|name| store.set.contains_key(*name)) {
            found.add_named(store, &store.root, None, id_of);
            return found;
        }
        found.add_named(store, &store.root.join("sessions"), None, id_of);
        found.extend(Found::in_projects(&store.root.join("session-artifacts"), |dir, parent, found| {
            add_subagents(store, dir, parent, id_of, MAX_DEPTH, found);
        }));
        found
    }

    /// Returns the id in the name of a file; a migration from a directory with projects keeps the time before the id.
    fn id_of_file(name: &str) -> Option<&str> {
        records::id_of_file(name).or_else(|| name.strip_suffix(".jsonl").filter(|id| is_word(id)))
    }
}

/// Adds the sub-agents of a session, with their own ones.
fn add_subagents(
    store: &Arc<Store>,
    dir: &Path,
    parent: &str,
    id_of: &(dyn Fn(&str) -> Option<&str> + Sync),
    depth: usize,
    found: &mut Found,
) {
    let is_subagent = |dir: &PathBuf| {
        let name = dir.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix("sub-"));
        name.is_some_and(|digits| digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    for dir in found.dirs(dir).into_iter().filter(is_subagent) {
        let first = found.places.len();
        found.add_named(store, &dir, None, id_of);
        for place in &mut found.places[first..] {
            (place.parent_id, place.is_subagent) = (Some(parent.to_owned()), true);
        }
        if let Some(depth) = depth.checked_sub(1) {
            add_subagents(store, &dir, parent, id_of, depth, found);
        }
    }
}
