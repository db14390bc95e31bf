//! Finds sessions that rejoin does not read: those of other agents, with the command that lists or resumes them, and
//! those in further homes of its agents.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::{about, registry, stores};
use crate::format::path_json;
use crate::system::env::Env;
use crate::system::reach;

/// An agent that rejoin does not read. docs/agents.md has the reason, and the source of these facts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnreadAgent {
    /// The agent's name as its makers write it.
    pub name: &'static str,
    /// The locations of its sessions, on Linux and macOS.
    places: &'static [StorePath],
    /// The command to use instead of `rejoin list` or `rejoin resume`, in Markdown.
    pub instead: &'static str,
}

/// A file or a directory that holds sessions.
#[derive(Clone, Copy, Debug)]
struct StorePath {
    base: Base,
    /// The path below the base.
    path: &'static str,
    /// Paths below `path`; at least one must exist. A part `*` matches any name. Empty if `path` is sufficient.
    with: &'static [&'static str],
}

/// The directory from which a path starts.
#[derive(Clone, Copy, Debug)]
enum Base {
    /// The directory in a variable of the agent.
    Variable(&'static str),
    Home,
    /// `$XDG_CONFIG_HOME`, or `~/.config`.
    Config,
    /// `$XDG_DATA_HOME`, or `~/.local/share`.
    Data,
    /// `~/Library/Application Support`, which is checked on every system: a home may be a copy from another one.
    ApplicationSupport,
}

/// A store of an agent that rejoin does not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct UnreadStore {
    /// The name of that agent as its makers write it.
    pub name: &'static str,
    /// The directory, or the database.
    #[serde(serialize_with = "path_json::serialize")]
    pub root: PathBuf,
    /// Set for a directory with sessions of an agent whose other stores rejoin reads.
    #[serde(skip)]
    pub is_further_home: bool,
    /// The command of that agent that lists or resumes its sessions, or the lines of the config file with which rejoin reads
    /// them, in Markdown.
    pub instead: Cow<'static, str>,
}

const fn store_path(base: Base, path: &'static str) -> StorePath {
    StorePath { base, path, with: &[] }
}

/// Returns the user directory of an editor that is derived from VS Code.
const fn editor(base: Base, path: &'static str) -> StorePath {
    StorePath { base, path, with: CHATS }
}

/// The chats of VS Code below its user directory. Newer versions on a server write only transcripts.
const CHATS: &[&str] = &[
    "workspaceStorage/*/chatSessions",
    "workspaceStorage/*/GitHub.copilot-chat/transcripts",
    "globalStorage/emptyWindowChatSessions",
];

use Base::{ApplicationSupport, Config, Data, Home, Variable};

/// Every known agent that rejoin does not read; docs/agents.md says what was measured.
pub(crate) static UNREAD: [UnreadAgent; 17] = [
    UnreadAgent {
        name: "Kiro CLI",
        places: &[store_path(Data, "kiro-cli/data.sqlite3"), store_path(ApplicationSupport, "kiro-cli/data.sqlite3")],
        instead: "`kiro-cli chat --list-sessions` in the directory, then `kiro-cli chat --resume-id ID`",
    },
    UnreadAgent {
        name: "Codex before 0.2",
        places: &[StorePath { base: Home, path: ".codex/sessions", with: &["rollout-*.json"] }],
        instead: "`npx @openai/codex@0.1.2505172129 --view FILE`, which shows one session",
    },
    UnreadAgent {
        name: "Copilot CLI before 0.0.342",
        places: &[
            StorePath { base: Variable("COPILOT_HOME"), path: "history-session-state", with: &["*"] },
            StorePath { base: Home, path: ".copilot/history-session-state", with: &["*"] },
        ],
        instead: "`npx @github/copilot@1.0.40 --resume`, which imports the session that you pick; newer versions refuse an imported one",
    },
    UnreadAgent {
        name: "Copilot Chat",
        places: &[
            editor(Config, "Code/User"),
            editor(Config, "Code - Insiders/User"),
            editor(Config, "VSCodium/User"),
            editor(ApplicationSupport, "Code/User"),
            editor(ApplicationSupport, "Code - Insiders/User"),
            editor(ApplicationSupport, "VSCodium/User"),
            editor(Home, ".vscode-server/data/User"),
            editor(Home, ".vscode-server-insiders/data/User"),
        ],
        instead: "`code DIR`, then *Show Chats* in its chat view",
    },
    UnreadAgent {
        name: "Zed",
        places: &[store_path(Data, "zed/threads/threads.db"), store_path(ApplicationSupport, "Zed/threads/threads.db")],
        instead: "`zed DIR`, then the history of its agent panel",
    },
    UnreadAgent {
        name: "OpenClaw",
        places: &[store_path(Variable("OPENCLAW_STATE_DIR"), "agents"), store_path(Home, ".openclaw/agents")],
        instead: "`openclaw sessions --all-agents`, then `openclaw agent --session-id ID --message TEXT`",
    },
    UnreadAgent {
        name: "Junie",
        places: &[StorePath { base: Home, path: ".junie/sessions", with: &["index.jsonl"] }],
        instead: "`junie --resume --session-id ID` in the directory",
    },
    UnreadAgent {
        name: "Kilo Code before 7",
        places: &[
            store_path(Config, "Code/User/globalStorage/kilocode.kilo-code/tasks"),
            store_path(ApplicationSupport, "Code/User/globalStorage/kilocode.kilo-code/tasks"),
            store_path(Home, ".vscode-server/data/User/globalStorage/kilocode.kilo-code/tasks"),
        ],
        instead: "`code DIR`, then the history in Kilo Code's panel",
    },
    UnreadAgent {
        name: "Antigravity",
        places: &[
            store_path(Home, ".gemini/antigravity/conversations"),
            store_path(Home, ".gemini/antigravity-ide/brain"),
        ],
        instead: "Antigravity itself, in its list of conversations",
    },
    UnreadAgent {
        name: "Warp",
        places: &[store_path(Home, ".local/state/warp-terminal/warp.sqlite")],
        instead: "Warp itself, in its list of conversations",
    },
    UnreadAgent {
        name: "Windsurf",
        places: &[store_path(Home, ".codeium/windsurf/cascade")],
        instead: "`windsurf DIR`, then the history of its Cascade panel",
    },
    UnreadAgent {
        name: "Kiro IDE",
        places: &[
            store_path(Config, "Kiro/User/globalStorage/kiro.kiroagent"),
            store_path(ApplicationSupport, "Kiro/User/globalStorage/kiro.kiroagent"),
        ],
        instead: "`kiro DIR`, then the history of its chat panel",
    },
    UnreadAgent {
        name: "QoderWork",
        places: &[store_path(Home, ".qoderwork/projects")],
        instead: "QoderWork itself, in its list of tasks",
    },
    UnreadAgent {
        name: "Qoder IDE",
        places: &[
            store_path(Config, "Qoder/SharedClientCache/cli/projects"),
            store_path(ApplicationSupport, "Qoder/SharedClientCache/cli/projects"),
        ],
        instead: "`qoder DIR`, then the history of its chat panel",
    },
    UnreadAgent {
        name: "iFlow CLI",
        places: &[store_path(Home, ".iflow/projects")],
        instead: "`iflow --help`, which names its options for sessions",
    },
    UnreadAgent {
        name: "LLxprt Code",
        places: &[StorePath { base: Home, path: ".llxprt/tmp", with: &["*/chats"] }],
        instead: "`llxprt --help`, which names its options for sessions",
    },
    UnreadAgent {
        name: "Amp on its server",
        places: &[StorePath { base: Home, path: ".cache/amp/logs/threads", with: &["T-*.log"] }],
        instead: "`amp threads list`, then `amp threads continue ID`",
    },
];

impl StorePath {
    /// Returns every possible path: the one below a variable and the default one.
    fn paths(&self, env: &Env) -> Vec<PathBuf> {
        let named = |name: &str| env.agent_variable(name).map(|dir| env.absolute(Path::new(dir)));
        let bases = match self.base {
            Variable(name) => [named(name), None],
            Home => [Some(env.home.clone()), None],
            Config => [named("XDG_CONFIG_HOME"), Some(env.home.join(".config"))],
            Data => [named("XDG_DATA_HOME"), Some(env.home.join(".local/share"))],
            ApplicationSupport => [Some(env.home.join("Library/Application Support")), None],
        };
        bases.into_iter().flatten().map(|base| base.join(self.path)).collect()
    }

    /// Returns whether a path contains sessions.
    fn is_at(&self, path: &Path) -> bool {
        reach::exists_itself(path) != Some(false)
            && (self.with.is_empty() || self.with.iter().any(|with| has_path(path, with)))
    }
}

/// Returns whether a directory has a path, in which `*` matches any name, or a part of the last one.
fn has_path(dir: &Path, path: &str) -> bool {
    let entries = |dir: &Path| reach::read_dir(dir).into_iter().flatten().flatten();
    if let Some((before, after)) = path.split_once("*/") {
        return entries(&dir.join(before)).any(|entry| has_path(&entry.path(), after));
    }
    match path.split_once('*') {
        Some((start, end)) => entries(dir).any(|entry| {
            let name = entry.file_name();
            let rest = name.as_encoded_bytes().strip_prefix(start.as_bytes());
            rest.is_some_and(|rest| rest.ends_with(end.as_bytes()))
        }),
        None => reach::exists(&dir.join(path)) == Some(true),
    }
}

/// Returns every store that exists, or is on a mount that does not answer. Each is returned once, even if two bases
/// lead to it.
pub(crate) fn found(env: &Env) -> Vec<UnreadStore> {
    let mut found: Vec<UnreadStore> = Vec::new();
    for UnreadAgent { name, places, instead, .. } in &UNREAD {
        for place in *places {
            for root in place.paths(env) {
                if found.iter().all(|known| known.root != root) && place.is_at(&root) {
                    found.push(UnreadStore { name, root, is_further_home: false, instead: (*instead).into() });
                }
            }
        }
    }
    let further = further_homes(&found, env);
    found.extend(further);
    found
}

/// Returns the directories in the home and in `~/.config` that have sessions of an agent but that it does not read:
/// those with a part of its usual name, such as `~/.claudeHome`, and those of forks. Links are left out, and the stores
/// of other agents, which write similar records.
fn further_homes(unread: &[UnreadStore], env: &Env) -> Vec<UnreadStore> {
    let mut known = registry::roots(env, &[]);
    known.extend(unread.iter().map(|store| store.root.clone()));
    let is_known = |dir: &Path| known.iter().any(|root| root.starts_with(dir) || dir.starts_with(root));
    let entries = |dir: &Path| reach::read_dir(dir).into_iter().flatten().flatten().collect::<Vec<_>>();
    let hidden = entries(&env.home).into_iter().filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"."));
    let all = hidden.chain(entries(&env.home.join(".config")));
    let dirs = all.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path());
    let mut dirs: Vec<PathBuf> = dirs.filter(|dir| !is_known(dir)).collect();
    dirs.sort();
    let mut found = Vec::new();
    for dir in dirs {
        let name = dir.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let has_sessions = |agent: &&&dyn super::Agent| {
            let about = about(agent.kind());
            let may_be = about.has_forks || about.program.is_some_and(|program| name.contains(program));
            let store = (may_be && !about.variables.is_empty())
                .then(|| stores::in_home(agent.kind(), &dir, env, &|env| agent.usual_stores(env)));
            store.flatten().is_some_and(|store| !agent.locate(&Arc::new(store), None).places.is_empty())
        };
        if let Some(agent) = registry::all().iter().find(has_sessions) {
            let lines = format!("`[[stores]]`, `agent = \"{}\"`", agent.kind());
            let home = format!("`home = \"{}\"`", env.tilde(&dir));
            // The program of the agent must not be started on the files of a fork.
            let is_own = about(agent.kind()).program.is_some_and(|program| name.contains(program));
            let instead = if is_own {
                format!("{lines} and {home} in the config file")
            } else {
                format!("{lines}, {home} and `program = \"NAME\"`, the program that wrote it, in the config file")
            };
            found.push(UnreadStore {
                name: about(agent.kind()).title,
                root: dir,
                is_further_home: true,
                instead: instead.into(),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_has_a_row_of_each_unread_agent() {
        let page = include_str!("../../docs/agents.md");
        for UnreadAgent { name, places, instead } in &UNREAD {
            let row = page.lines().find(|line| line.starts_with(&format!("| {name} | "))).expect("a row");
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            assert!(cells.len() == 4 && cells.iter().all(|cell| !cell.is_empty()), "{row}");
            assert_eq!(cells[3], *instead);
            let shown = |place: &StorePath| match place.base {
                Variable(variable) => format!("`${variable}/{}`", place.path),
                Home => format!("`~/{}`", place.path),
                Config => format!("`~/.config/{}`", place.path),
                Data => format!("`~/.local/share/{}`", place.path),
                ApplicationSupport => format!("`~/Library/Application Support/{}` (macOS)", place.path),
            };
            assert_eq!(cells[1], places.iter().map(shown).collect::<Vec<_>>().join(", "));
        }
    }
}
