//! All agents, generated from the list of their names.

use std::path::{Path, PathBuf};

use super::{Agent, Found};
use crate::agent::about::About;
use crate::agent::command::{LaunchPlan, LaunchRequest};
use crate::agent::relocation::Act;
use crate::error::PathError;
use crate::session::agents::agents;
use crate::session::mapping::Mapping;
use crate::session::{AgentKind, Pointer};
use crate::system::env::Env;

/// Identifies a program. The registry implements this from the lines of the list.
pub(crate) trait Listed {
    /// Returns the kind of the program.
    fn kind(&self) -> AgentKind;
}

/// A program without its own sessions: its files name those of another agent.
pub(crate) trait PointerWriter: Listed + Sync {
    /// Returns the name of its file in a directory.
    fn file_name(&self) -> &'static str;

    /// Reads the pointer in a directory; `None` if there is none.
    fn pointer_in(&self, dir: &Path, env: &Env) -> Result<Option<Pointer>, PathError>;

    /// Returns the directories that may contain a pointer: the program's own ones, and all directories that sessions of
    /// the other agent record.
    fn dirs(&self, env: &Env, known: &mut dyn Iterator<Item = &Path>, found: &mut Found) -> Vec<PathBuf>;

    /// Finds the pointers in the program's own directories and in every directory that sessions of the other agent
    /// record.
    fn pointers(&self, env: &Env, known: &mut dyn Iterator<Item = &Path>) -> (Vec<Pointer>, Found);

    /// Returns the edit of the pointer in a directory after a move; `None` if there is no pointer, or it names nothing
    /// that has moved.
    fn moved_pointer(&self, dir: &Path, mapping: &Mapping, env: &Env) -> Option<Act>;

    /// Returns the project in which the program searches for the session of a directory.
    fn project_of(&self, dir: &Path) -> String;

    /// Returns whether the sessions of a project could be those of a directory, by the program's own rule or the other
    /// agent's.
    fn may_be_filed_under(&self, project: &str, dir: &Path) -> bool;

    /// Returns the minimum size of a transcript in bytes; a smaller one is a failed start by the program's rule.
    fn meaningful_bytes(&self) -> u64;

    /// Returns the plan of a new session of the other agent in a directory.
    fn start_new(&self, dir: PathBuf, request: &LaunchRequest, env: &Env) -> LaunchPlan;
}

macro_rules! readers {
    (
        sessions { $($kind:ident $module:ident $help:literal;)* }
        pointers { $($pointer:ident $pointer_module:ident $owner:ident $pointer_help:literal;)* }
    ) => {
        /// Returns every agent that keeps sessions.
        pub(crate) fn all() -> &'static [&'static dyn Agent] {
            &[$(&super::$module::$kind),*]
        }

        /// Returns every program whose files point to sessions of another agent.
        pub(crate) fn pointer_writers() -> &'static [&'static dyn PointerWriter] {
            &[$(&super::$pointer_module::$pointer),*]
        }

        /// Returns the description of an agent.
        pub(crate) fn about(kind: AgentKind) -> &'static About {
            match kind {
                $(AgentKind::$kind => &super::$module::about::ABOUT,)*
                $(AgentKind::$pointer => &super::$pointer_module::about::ABOUT,)*
            }
        }

        $(impl Listed for super::$module::$kind {
            fn kind(&self) -> AgentKind {
                AgentKind::$kind
            }
        })*

        $(impl Listed for super::$pointer_module::$pointer {
            fn kind(&self) -> AgentKind {
                AgentKind::$pointer
            }
        })*
    };
}
agents!(readers);

/// Returns the agent that reads sessions of this kind; `None` for a program that only points to sessions.
pub(crate) fn by_kind(kind: AgentKind) -> Option<&'static dyn Agent> {
    all().iter().copied().find(|agent| agent.kind() == kind)
}

/// Returns every root directory of these agents, or of all agents if none is named.
pub(crate) fn roots(env: &Env, agents: &[AgentKind]) -> Vec<PathBuf> {
    let is_asked_for = |kind| agents.is_empty() || agents.iter().any(|asked| asked.session_owner() == kind);
    let asked = all().iter().filter(|agent| is_asked_for(agent.kind()));
    asked.flat_map(|agent| agent.stores(env)).map(|store| store.root).collect()
}

/// Returns the program that wrote a pointer.
pub(crate) fn writer_of(pointer: &Pointer) -> Option<&'static dyn PointerWriter> {
    pointer_writers().iter().copied().find(|writer| writer.kind() == pointer.agent)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;
    use crate::agent::version;

    #[test]
    fn registry_lists_every_agent_kind_in_order() {
        let listed = all().iter().map(|agent| agent.kind()).chain(pointer_writers().iter().map(|writer| writer.kind()));
        assert_eq!(listed.collect::<Vec<_>>(), AgentKind::value_variants());
    }

    #[test]
    fn every_agent_has_a_store_below_the_home() {
        let env = crate::system::env::tests::fixed();
        for store in all().iter().flat_map(|agent| agent.stores(&env)) {
            assert_ne!(
                store.root, env.home,
                "agent {}: it has a root: its store is the home; see src/agent/about.rs",
                store.agent
            );
        }
    }

    /// Returns the newest version in the sources of an agent on the page. If a version was measured, versions that were
    /// only read do not count.
    fn newest(sources: &str) -> Option<&str> {
        let measured = sources.split(';').find(|part| part.trim_start().starts_with("measured on "));
        let words = measured.unwrap_or(sources).split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
        let versions = words.map(|word| word.trim_end_matches('.')).filter(|word| version::parts(word).is_some());
        versions.max_by_key(|word| version::parts(word))
    }

    #[test]
    fn page_describes_every_agent_and_its_tested_version() {
        let page = include_str!("../../docs/agents.md");
        let (_, page) = page.split_once("\n<!-- agents -->\n").expect("the part of the agents");
        let parts: Vec<&str> = page.split("\n## ").skip(1).collect();
        for (at, kind) in AgentKind::value_variants().iter().enumerate() {
            let rule = format!("agent {kind}: docs/agents.md describes it");
            let (title, rows) = parts.get(at).and_then(|part| part.split_once('\n')).unwrap_or_default();
            let is_its = title == about(*kind).title && rows.starts_with(&format!("* **`{kind}` sessions**: "));
            assert!(
                is_its,
                "{rule}: add its section, in the order of src/session/agents.rs; see docs/adding-an-agent.md"
            );
            for row in ["launch directory", "its own resume from elsewhere", "`rejoin resume` starts"] {
                assert!(
                    rows.contains(&format!("\n* **{row}**: ")),
                    "{rule}: there is no row **{row}**; see docs/agents.md"
                );
            }
            let sources = rows.split_once("**known from**: ").map_or("", |(_, sources)| sources);
            let (newest, tested) = (newest(sources), about(*kind).tested_version);
            assert_eq!(
                newest, tested,
                "{rule}: **known from** and `tested_version` differ; see src/agent/{kind}/about.rs"
            );
        }
        assert_eq!(parts.len(), AgentKind::value_variants().len());
    }

    #[test]
    fn newest_measured_version_ignores_versions_read_in_code() {
        let facts = "measured on 1.18.34; anomalyco/opencode 063e8306; the import by its code of 2.0";
        assert_eq!(newest(facts), Some("1.18.34"));
        assert_eq!(newest("measured on 1.45.0 and 1.52.0; 1.53.0 by its code"), Some("1.52.0"));
        assert_eq!(newest("read in the packages of 0.215.0 and 0.225.2 alone"), Some("0.225.2"));
        assert_eq!(newest("read in agentjido/jido_code 03efe8eb"), None);
    }
}
