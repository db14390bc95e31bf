//! Finds the items to leave alone because a process uses their session, or may.

use std::collections::HashMap;
use std::sync::Arc;

use crate::agent::{self, Agent};
use crate::change::apply::run;
use crate::change::hindrance;
use crate::session::{AgentKind, Located, Problem};
use crate::system::env::Env;
use changes::journal::{ItemRecord, StepRecord};
use changes::undo::Hindrance;

/// Returns the agent of an item; `None` if the item is not about a session.
pub(crate) fn agent_of(record: &ItemRecord) -> Option<AgentKind> {
    AgentKind::named(record.agent.as_deref()?)
}

/// Finds sessions that processes use; reads all sessions of an agent at once.
#[derive(Default)]
pub(super) struct InUse {
    known: HashMap<AgentKind, AgentSessions>,
}

/// The sessions of an agent.
#[derive(Default)]
struct AgentSessions {
    places: HashMap<String, Vec<Located>>,
    problems: Vec<Problem>,
}

impl AgentSessions {
    fn read_agent(agent: &dyn Agent, env: &Env) -> Self {
        let mut known = Self::default();
        for store in agent.stores(env) {
            let found = agent.locate(&Arc::new(store), None);
            known.problems.extend(found.problems);
            for place in found.places {
                known.places.entry(place.id.clone()).or_default().push(place);
            }
        }
        known
    }

    /// Returns the unreadable part of a session, or of the directories around it.
    fn unreadable(&self, record: &ItemRecord, id: &str) -> Option<String> {
        let hides = |problem: &&Problem| {
            let is_around = |step: &StepRecord| step.path().starts_with(&problem.path);
            problem.path.to_string_lossy().contains(id) || record.steps.iter().any(is_around)
        };
        let problem = self.problems.iter().find(hides)?;
        Some(format!("{}: {}", problem.path.display(), problem.reason))
    }
}

impl InUse {
    /// Returns the reason to leave the session of an item alone.
    pub(super) fn why(&mut self, record: &ItemRecord, env: &Env) -> Option<Hindrance> {
        let (kind, id) = (agent_of(record)?, record.id.as_ref()?);
        let agent = agent::by_kind(kind)?;
        let known = self.known.entry(kind).or_insert_with(|| AgentSessions::read_agent(agent, env));
        let mut unreadable = known.unreadable(record, id);
        for place in known.places.get(id).into_iter().flatten() {
            match run::read_again(agent, place, env) {
                Ok(mut copy) => {
                    agent::mark_writers(&mut [&mut copy]);
                    if let Some(why) = hindrance::in_use(&copy) {
                        return Some(Hindrance { why, is_held: true });
                    }
                }
                Err(error) => unreadable = unreadable.or_else(|| Some(error.to_string())),
            }
        }
        let why = format!("it is unknown whether a process uses it: {}", unreadable?);
        Some(Hindrance { why, is_held: false })
    }
}
