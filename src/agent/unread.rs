//! Agents whose sessions rejoin does not read: their stores, the reason, and the command that lists or resumes them.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::format::path_json::{self, PathJson};
use crate::system::env::Env;
use crate::system::reach;

/// An agent that rejoin does not read. Its texts are Markdown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unread {
    /// The name for `rejoin generate not-read`.
    pub id: &'static str,
    /// The agent's name as its makers write it.
    pub name: &'static str,
    /// The locations of its sessions, on Linux and macOS.
    places: &'static [Place],
    /// The reason why rejoin does not read it, and the source of these facts.
    why: &'static str,
    /// The command to use instead of `rejoin list` or `rejoin resume`.
    pub instead: &'static str,
}

/// A file or a directory that holds sessions.
#[derive(Clone, Copy, Debug)]
struct Place {
    base: Base,
    /// The path below the base.
    path: &'static str,
    /// Paths below `path`, at least one of which must exist; a part `*` matches any name. Empty if `path` is
    /// sufficient.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "NotRead", deny_unknown_fields)]
pub(crate) struct UnreadStore {
    /// The name of that agent as its makers write it.
    pub name: &'static str,
    /// The directory, or the database.
    #[serde(serialize_with = "path_json::serialize")]
    #[schemars(with = "PathJson<'_>")]
    pub root: PathBuf,
    /// The command of that agent that lists or resumes its sessions, in Markdown.
    pub instead: &'static str,
}

const fn at(base: Base, path: &'static str) -> Place {
    Place { base, path, with: &[] }
}

/// Returns the user directory of an editor that is derived from VS Code.
const fn editor(base: Base, path: &'static str) -> Place {
    Place { base, path, with: CHATS }
}

/// The chats of VS Code below its user directory. Newer versions on a server write only transcripts.
const CHATS: &[&str] = &[
    "workspaceStorage/*/chatSessions",
    "workspaceStorage/*/GitHub.copilot-chat/transcripts",
    "globalStorage/emptyWindowChatSessions",
];

use Base::{ApplicationSupport, Config, Data, Home, Variable};

/// Every known agent that is not read. None of them was measured.
pub(crate) static UNREAD: [Unread; 6] = [
    Unread {
        id: "antigravity",
        name: "Antigravity CLI",
        places: &[at(Home, ".gemini/antigravity-cli/conversations")],
        why: "a conversation is a database of protobuf messages without a published schema, and its program has no public code \
            (by google-antigravity/antigravity-cli #7, #602 and #672, tenequm/pond #201)",
        instead: "`agy --conversation ID`, or `/resume` in `agy`, which lists the conversations",
    },
    Unread {
        id: "kiro",
        name: "Kiro CLI",
        places: &[
            at(Variable("KIRO_HOME"), "sessions"),
            at(Home, ".kiro/sessions"),
            at(Data, "kiro-cli/data.sqlite3"),
            at(ApplicationSupport, "kiro-cli/data.sqlite3"),
        ],
        why: "it has three formats, two of them still change, and no registry has its program (by kirodotdev/Kiro #6440 and \
            #10422, vshulcz/deja-vu #3103, ingo-eichhorst/Irrlicht #1074, chattymin/PokeTokenBar #236)",
        instead: "`kiro-cli chat --list-sessions` in the directory, then `kiro-cli chat --resume-id ID`",
    },
    Unread {
        id: "cursor",
        name: "Cursor CLI",
        places: &[at(Variable("CURSOR_CONFIG_DIR"), "chats"), at(Config, "cursor/chats"), at(Home, ".cursor/chats")],
        why: "a chat is a database of blobs without a published format, below the MD5 of its directory, and no registry has its \
            program (by rimio-ai/rimz #399, which read the bundle of 2026.09.10, and entireio/cli #1063)",
        instead: "`cursor-agent ls` in the directory, or `cursor-agent --resume ID`",
    },
    Unread {
        id: "copilot-chat",
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
        why: "its chats are in `workspaceStorage` and `globalStorage` there, and VS Code opens none by its id from outside (by vshulcz/deja-vu #3061, \
            Dicklesworthstone/franken_agent_detection #16, microsoft/AI-Engineering-Coach #80)",
        instead: "`code DIR`, then *Show Chats* in its chat view",
    },
    Unread {
        id: "zed",
        name: "Zed",
        places: &[at(Data, "zed/threads/threads.db"), at(ApplicationSupport, "Zed/threads/threads.db")],
        why: "it is an editor, which opens no thread by id from outside (by vshulcz/deja-vu #1281, zed-industries/zed #58684)",
        instead: "`zed DIR`, then the history of its agent panel",
    },
    Unread {
        id: "openclaw",
        name: "OpenClaw",
        places: &[at(Variable("OPENCLAW_STATE_DIR"), "agents"), at(Home, ".openclaw/agents")],
        why: "its sessions belong to no directory, so there is none to bring them back to (by the pages in the package of 2026.9)",
        instead: "`openclaw sessions --all-agents`, then `openclaw agent --session-id ID --message TEXT`",
    },
];

impl Unread {
    /// Returns its row of the table in docs/agents.md.
    pub(crate) fn row(&self) -> String {
        let places: Vec<String> = self.places.iter().map(Place::shown).collect();
        format!("| {} | {} | {} | {} |\n", self.name, places.join(", "), self.why, self.instead)
    }
}

impl Place {
    /// Returns the path for the page.
    fn shown(&self) -> String {
        let Self { path, .. } = self;
        match self.base {
            Variable(name) => format!("`${name}/{path}`"),
            Home => format!("`~/{path}`"),
            Config => format!("`~/.config/{path}`"),
            Data => format!("`~/.local/share/{path}`"),
            ApplicationSupport => format!("`~/Library/Application Support/{path}` (macOS)"),
        }
    }

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
            && (self.with.is_empty() || self.with.iter().any(|with| has(path, with)))
    }
}

/// Returns whether a directory has a path, in which `*` matches any name.
fn has(dir: &Path, path: &str) -> bool {
    match path.split_once("*/") {
        None => reach::exists(&dir.join(path)) == Some(true),
        Some((before, after)) => {
            let entries = reach::read_dir(&dir.join(before)).into_iter().flatten().flatten();
            entries.into_iter().any(|entry| has(&entry.path(), after))
        }
    }
}

/// Returns every store that exists, or whose disk does not answer. Each is returned once, even if two bases lead to it.
pub(crate) fn found(env: &Env) -> Vec<UnreadStore> {
    let mut found: Vec<UnreadStore> = Vec::new();
    for Unread { name, places, instead, .. } in &UNREAD {
        for place in *places {
            for root in place.paths(env) {
                if found.iter().all(|known| known.root != root) && place.is_at(&root) {
                    found.push(UnreadStore { name, root, instead });
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_fits_into_a_table() {
        for unread in &UNREAD {
            let row = unread.row();
            assert!(row.matches('|').count() == 5 && row.matches('\n').count() == 1, "{row}");
            assert!(row.matches('`').count() % 2 == 0, "{row}");
        }
    }
}
