//! The interface of every agent: the paths, the contents and the resume command of its sessions.
//!
//! An agent is one folder here and one line in `session::agents`. This room only reads.

use crate::session::{Belongings, Located};
use crate::system::env::Env;
use crate::system::reach;
use about::About;
use command::{Command, as_last_argument, as_prompt_option};

pub(crate) mod about;
mod activity;
mod agent_managed;
mod aider;
mod amp;
pub(crate) mod amplifier;
mod antigravity;
mod auggie;
pub(crate) mod cat;
pub(crate) mod claude;
mod cline;
mod codex;
pub(crate) mod command;
mod commandcode;
mod context;
mod r#continue;
mod copies;
mod copilot;
mod crush;
mod cursor;
mod database;
mod devin;
mod document;
mod droid;
mod engine;
mod found;
mod gemini;
mod goose;
mod gptme;
mod grok;
mod hermes;
mod housekeeping;
pub(crate) mod ids;
pub(crate) mod installed;
pub(crate) mod jido;
mod kept;
mod kilo;
mod kimi;
mod kimicode;
mod kiro;
pub(crate) mod leo;
mod letta;
mod lines;
mod listing;
mod locks;
pub(crate) mod log_places;
pub(crate) mod mentions;
mod moving;
mod nanocoder;
mod observers;
mod omp;
mod open_file;
mod opencode;
mod openhands;
mod outputs;
mod pi;
mod prelude;
mod prime;
mod programs;
mod qoder;
mod qwen;
mod reading;
mod registry;
pub(crate) mod relocation;
mod resuming;
pub(crate) mod rewind;
mod roo;
mod said;
mod small_file;
mod stores;
mod tree;
mod unable;
mod unknown_format;
pub(crate) mod unread;
pub(crate) mod upkeep;
pub(crate) mod usage;
pub(crate) mod version;
mod vibe;

pub(crate) use agent_managed::{AgentManaged, typed};
pub(crate) use context::{Depth, Inspector, LiveRecord, ReadContext, StoreNotes, decide_launch_dir};
use context::{judge_by_age, last_activity};
pub(crate) use copies::{FindBelongings, belongings_of_many, measure, observe, read, read_usage};
pub(crate) use engine::SessionEnd;
pub(crate) use found::Found;
pub(crate) use housekeeping::Housekeeping;
use listing::{Listings, each_file_below, is_there};
pub(crate) use listing::{extent, tree_size};
pub(crate) use moving::Moving;
pub(crate) use moving::{counts, follow_hint, is_lost_behind_link, leads_back};
pub(crate) use observers::Observers;
pub(crate) use open_file::mark_writers;
pub(crate) use outputs::Outputs;
pub(crate) use programs::Programs;
pub(crate) use reading::Reading;
pub(crate) use registry::{Listed, PointerWriter, about, all, by_kind, pointer_writers, roots, writer_of};
pub(crate) use resuming::{Resuming, changes_by_itself};
pub(crate) use said::{Interest, Said};
pub(crate) use unable::Unable;

/// A program that writes sessions. Each agent implements four traits; those without required methods may be empty.
pub(crate) trait Agent: Listed + Reading + Resuming + Moving + Housekeeping {
    /// Returns the description of the agent.
    fn about(&self) -> &'static About {
        about(self.kind())
    }

    /// Returns whether sessions of the agent can be in any working directory, and the agent has run in this home.
    fn is_anywhere(&self, env: &Env) -> bool {
        self.about().is_anywhere && self.stores(env).iter().any(|store| reach::is_dir(&store.root) == Some(true))
    }

    /// Finds the files of one copy like [`Housekeeping::find_belongings`].
    fn belongings(&self, place: &Located) -> Result<Belongings, Unable> {
        self.find_belongings(place, &Listings::default())
    }

    /// Returns the agent's commands for a copy in its database; `None` for a copy in files.
    fn agent_managed(&self, place: &Located) -> Option<&'static AgentManaged> {
        self.engine_of(place).agent_managed()
    }
}

impl<T: Listed + Reading + Resuming + Moving + Housekeeping> Agent for T {}

// The example of docs/adding-an-agent.md, which the tests compile.
#[cfg(test)]
#[path = "../../examples/adding-an-agent/otter/mod.rs"]
mod example;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::AgentKind;

    impl Listed for example::Otter {
        fn kind(&self) -> AgentKind {
            AgentKind::Pi
        }
    }

    #[test]
    fn example_of_the_guide_is_an_agent() {
        let otter: &dyn Agent = &example::Otter;
        assert_eq!((otter.kind(), example::about::ABOUT.title), (AgentKind::Pi, "Otter"));
    }
}
