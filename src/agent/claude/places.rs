//! Finds transcripts: one directory per project below the client's own, and sub-agents next to or below their session.

use std::ffi::OsString;

use foldhash::{HashSet, HashSetExt as _};

use super::desktop;
use crate::agent::ids::is_uuid;
use crate::agent::prelude::*;

/// Number of digits of the lead's id in the name of a team.
const LEAD: usize = 8;

/// Returns the client's own directory, and those that the user may keep next to it.
pub(super) fn stores(env: &Env) -> Vec<Store> {
    let default = env.home.join(".claude");
    let chosen = env.agent_variable("CLAUDE_CONFIG_DIR").map(|dir| env.absolute(Path::new(dir)));
    let mut roots: Vec<PathBuf> = chosen.iter().cloned().collect();
    if !roots.contains(&default) {
        roots.push(default.clone());
    }
    // A user may keep one root per account, named after the default one. Other links in the home are ignored, because
    // one may lead to a mount that does not answer.
    let accounts = reach::read_dir(&env.home)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b".claude-"))
        .map(|entry| entry.path());
    // The variable often names this directory, and cron and other shells do not have the variable. Claude Code 1.0.30 used
    // it without one (anthropics/claude-code 1455 and 67853).
    let configs = [env.config_dir(), env.home.join(".config")].map(|config| config.join("claude"));
    let mut others: Vec<PathBuf> = accounts
        .chain(configs)
        .filter(|root| reach::is_dir(&root.join("projects")) != Some(false) && !roots.contains(root))
        .filter(|root| links::is_dir(root))
        .collect();
    others.sort();
    others.dedup();
    roots.append(&mut others);
    roots.extend(desktop::roots(env));
    roots
        .into_iter()
        .map(|root| {
            let is_default = root == *chosen.as_ref().unwrap_or(&default);
            let mut store = Store { is_default, ..Store::usual(AgentKind::Claude, root) };
            store.made_below = desktop::tasks(&store.root).map(Path::to_path_buf);
            // The variable moves the client's global file too, even if it names the default directory.
            if store.root == default && chosen.as_ref() != Some(&default) {
                store.unset = vec!["CLAUDE_CONFIG_DIR"];
            } else {
                store.set.insert("CLAUDE_CONFIG_DIR".into(), OsString::from(&store.root));
            }
            store
        })
        .collect()
}

/// Finds every transcript in a store, or those of one session.
pub(super) fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
    if let Some(id) = only {
        return locate_id(store, id);
    }
    Found::in_projects(&store.root.join("projects"), |dir, project, found| {
        let mut side_dirs: HashSet<String> = HashSet::new();
        let mut files = Vec::new();
        for (entry, kind) in found.entries(dir) {
            let Ok(mut name) = entry.file_name().into_string() else { continue };
            if kind.is_dir() {
                side_dirs.insert(name);
            } else if let Some(stem) = name.strip_suffix(".jsonl").map(str::len) {
                name.truncate(stem);
                files.push((name, kind.is_file()));
            }
        }
        // Sequential, so that each path is built in the same buffer.
        let mut path = dir.to_owned();
        found.places.reserve(files.len());
        for (id, is_file) in files {
            let is_subagent = id.starts_with("agent-");
            if !is_subagent && !is_uuid(&id) {
                continue;
            }
            path.push(&id);
            path.as_mut_os_string().push(".jsonl");
            let whole: Arc<Path> = Arc::from(path.as_path());
            path.pop();
            if !is_file {
                found.problem(&whole, "it is not a regular file");
                continue;
            }
            let side_dir = (!is_subagent && side_dirs.contains(&id)).then(|| dir.join(&id));
            found.places.push(Located { side_dir, is_subagent, ..Located::in_project(store, project, id, whole) });
        }
        for parent in side_dirs.into_iter().filter(|name| is_uuid(name)) {
            locate_subagents(store, project, &dir.join(&parent).join("subagents"), &parent, found);
        }
    })
}

/// Finds the transcripts of one session.
fn locate_id(store: &Arc<Store>, id: &str) -> Found {
    if !is_uuid(id) {
        return Found::default();
    }
    Found::in_projects(&store.root.join("projects"), |dir, project, found| {
        let path = dir.join(format!("{id}.jsonl"));
        if links::is_file(&path) {
            let side_dir = Some(dir.join(id)).filter(|side_dir| reach::is_dir(side_dir) == Some(true));
            found.places.push(Located { side_dir, ..Located::in_project(store, project, id, path) });
        }
    })
}

fn locate_subagents(store: &Arc<Store>, project: &Arc<str>, dir: &Path, parent: &str, found: &mut Found) {
    for (entry, kind) in found.entries(dir) {
        let path = entry.path();
        if kind.is_dir() {
            locate_subagents(store, project, &path, parent, found);
            continue;
        }
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Some(stem) = name.strip_suffix(".jsonl").filter(|stem| stem.starts_with("agent-")) else { continue };
        if kind.is_file() {
            found.places.push(Located {
                parent_id: Some(parent.to_owned()),
                is_subagent: true,
                ..Located::in_project(store, project, stem, path)
            });
        }
    }
}

/// Returns the id of the session that leads a team, or its prefix in the name of the team; `None` for the lead itself.
///
/// The name of a team is `session-` and the first eight digits of its lead's id (2.1.220 and later).
pub(super) fn lead(mate: &Located, team: &str) -> Option<String> {
    let start = team.strip_prefix("session-").filter(|start| start.len() == LEAD && !mate.id.starts_with(start))?;
    let names = Found::default().entries(mate.path.parent()?).into_iter();
    let names = names.filter_map(|(entry, _)| entry.file_name().into_string().ok());
    let ids: Vec<String> = names
        .filter_map(|name| Some(name.strip_suffix(".jsonl")?.to_owned()))
        .filter(|id| id.starts_with(start))
        .collect();
    // If there are several, the lead is unknown.
    let id = <[String; 1]>::try_from(ids).map(|[id]| id).ok();
    Some(id.unwrap_or_else(|| start.to_owned()))
}
