//! Decides for each session whether its state here goes into the archive, or a newer one of another machine comes here.

use std::collections::HashSet;

use super::machines::{Held, Machine};
use super::relation::{Behind, Relate, Relation};
use super::state::{Here, Layout, State};
use super::{Brought, DIVERGED, Decision, IN_DATABASE, IN_USE, INCOMPLETE, Left, REFUSED};
use crate::agent::{Agent, FindBelongings};
use crate::archive::manifest::Node;
use crate::archive::store::Holdings;
use crate::archive::{Archive, Manifest, Snapshot, rows};
use crate::change::hindrance::left_alone;
use crate::session::mapping::Mapping;
use crate::session::{AgentKind, Located, Session, SessionCopy};
use crate::system::env::Env;

/// The archive as the machines left it.
pub(crate) struct Shared<'a> {
    pub(crate) archive: &'a Archive,
    pub(crate) holdings: &'a Holdings,
    /// This machine, at its last sync.
    pub(crate) own: &'a Machine,
    pub(crate) others: &'a [Machine],
    pub(crate) env: &'a Env,
    /// Directories of other machines, mapped to those on this machine.
    pub(crate) mapping: &'a Mapping,
}

/// The current state of some machine.
#[derive(Clone, Copy)]
struct Head<'a> {
    state: &'a str,
    machine: &'a Machine,
    /// `None` if the archive does not have it, or not yet.
    snapshot: Option<&'a Snapshot>,
}

impl<'a> Shared<'a> {
    /// Returns the states of a session in the archive.
    fn states(&self, agent: AgentKind, id: &str) -> &'a [Snapshot] {
        self.holdings.sessions.get(&(agent, id.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// Returns a state of a session, if the archive has it.
    pub(crate) fn state(&self, agent: AgentKind, id: &str, digest: &str) -> Option<&'a Manifest> {
        by_digest(self.states(agent, id), digest).map(|snapshot| &snapshot.manifest)
    }

    /// Returns the current states of other machines, without duplicates.
    fn heads(&self, agent: AgentKind, id: &str) -> Vec<Head<'a>> {
        let states = self.states(agent, id);
        let mut heads: Vec<Head<'a>> = Vec::new();
        for machine in self.others {
            let Some(held) = machine.session(agent, id).filter(|held| held.deleted_at.is_none()) else { continue };
            if heads.iter().all(|head| head.state != held.state) {
                heads.push(Head { state: &held.state, machine, snapshot: by_digest(states, &held.state) });
            }
        }
        heads
    }

    /// Decides about a session on this machine.
    pub(crate) fn present(
        &self,
        session: &Session,
        agent: &dyn Agent,
        find: &FindBelongings,
    ) -> Result<Decision<'a>, Left> {
        let (id, copy) = (session.id(), session.copy());
        let here = Here::look(session, agent, find).map_err(|why| Left::new(REFUSED, why))?;
        let (stamp, states) = (here.stamp(), self.states(session.agent, id));
        let mine = self.own.session(session.agent, id).filter(|held| held.deleted_at.is_none());
        let base = mine.and_then(|held| by_digest(states, &held.state));
        let is_unchanged = base.is_some() && mine.is_some_and(|held| held.stamp.as_ref() == Some(&stamp));
        let heads = self.heads(session.agent, id);
        let is_in_step = is_unchanged && mine.is_some_and(|held| heads.iter().all(|head| head.state == held.state));
        if is_in_step {
            return Ok(Decision::default());
        }
        if agent.agent_managed(&copy.place).is_some() {
            return Ok(self.in_database(base.filter(|_| is_unchanged), &heads, stamp));
        }
        let is_archived = |sha256: &str| has_file(states, sha256);
        let comparison = Comparison {
            shared: self,
            relate: Relate { is_archived: &is_archived, ..self.relate(agent, &copy.place) },
            agent,
            copy,
        };
        let mut decision = Decision::default();
        let ours = match base.filter(|_| is_unchanged).and_then(|base| comparison.state(base)) {
            Some(state) => state,
            None => {
                let state = here.state(copy);
                let known = base.into_iter().chain(heads.iter().filter_map(|head| head.snapshot)).chain(states.last());
                match comparison.known(&state, known).filter(|_| session.copies.len() == 1) {
                    None => decision.sent = Some(stamp),
                    Some(None) => {}
                    Some(Some(state)) => decision.held = Some(Held { state, stamp: Some(stamp), deleted_at: None }),
                }
                state
            }
        };
        let at = decision.held.as_ref().or(mine.filter(|_| is_unchanged)).map(|held| held.state.clone());
        let others: Vec<Head<'a>> = heads.into_iter().filter(|head| Some(head.state) != at.as_deref()).collect();
        let brought = match session.copies.len() {
            _ if others.is_empty() => Ok(None),
            1 => comparison.brought(&ours, &others),
            copies => Err(Left::new(REFUSED, format!("it has {copies} copies here; keep one first"))),
        };
        match brought {
            Ok(brought) => decision.brought = brought,
            Err(left) => decision.left = Some(left),
        }
        Ok(decision)
    }

    /// Decides about a session that other machines have and this one does not: returns the newest state and its
    /// machine's name.
    pub(crate) fn absent(
        &self,
        (kind, id): (AgentKind, &str),
        agent: &dyn Agent,
    ) -> Result<Option<(&'a Snapshot, String)>, Left> {
        let heads = self.heads(kind, id);
        if let Some(head) = heads.iter().find(|head| head.snapshot.is_none()) {
            return Err(self.not_there(head));
        }
        let Some(first) = heads.first().and_then(|head| head.snapshot) else { return Ok(None) };
        if first.manifest.rows().is_some() {
            return Err(Left::new(IN_DATABASE, format!("only {kind} writes into its database")));
        }
        let place = first.manifest.place();
        let newest = self.newest(&heads, &place, agent)?;
        Ok(newest.and_then(|head| Some((head.snapshot?, self.label(&head)))))
    }

    /// Returns the state that continues all the others.
    fn newest(&self, heads: &[Head<'a>], place: &Located, agent: &dyn Agent) -> Result<Option<Head<'a>>, Left> {
        let [first, rest @ ..] = heads else { return Ok(None) };
        let relate = self.relate(agent, place);
        let mut newest = *first;
        for head in rest {
            let (Some(our), Some(their)) = (newest.snapshot, head.snapshot) else { return Err(self.not_there(head)) };
            let state = |it: &'a Snapshot| State::archived(&it.manifest, &layout(&it.manifest, place, agent, self.env));
            let (Some(ours), Some(theirs)) = (state(our), state(their)) else {
                return Err(Left::new(REFUSED, "it has several copies there"));
            };
            match relate.relate(&ours, &theirs) {
                Ok(Relation::Same | Relation::Ahead) => {}
                Ok(Relation::Behind(_)) => newest = *head,
                Ok(Relation::Diverged(why)) => {
                    let reason = format!("{why} on {} and on {}", self.label(&newest), self.label(head));
                    return Err(Left::new(DIVERGED, reason));
                }
                Err(why) => return Err(Left::new(INCOMPLETE, why)),
            }
        }
        Ok(Some(newest))
    }

    /// Decides about the rows of a session in a database.
    fn in_database(&self, base: Option<&Snapshot>, heads: &[Head<'_>], stamp: String) -> Decision<'a> {
        let Some(base) = base else { return Decision { sent: Some(stamp), ..Decision::default() } };
        let mut decision = Decision::default();
        for head in heads.iter().filter(|head| head.state != base.digest()) {
            let Some(snapshot) = head.snapshot else {
                decision.left = Some(self.not_there(head));
                continue;
            };
            let (Some(ours), Some(theirs)) = (base.manifest.rows(), snapshot.manifest.rows()) else { continue };
            // Unreadable rows do not count as different rows.
            if let Some(fault) = ours.1.iter().chain(theirs.1).find_map(|chunk| self.archive.chunk(chunk).err()) {
                decision.left = Some(Left::new(INCOMPLETE, format!("a chunk of its rows cannot be read: {fault}")));
                continue;
            }
            let host = self.label(head);
            if rows::are_within(theirs, ours, self.archive) {
                continue;
            }
            decision.left = Some(if rows::are_within(ours, theirs, self.archive) {
                let reason =
                    format!("{host} has a newer state, and only {} writes into its database", snapshot.manifest.agent);
                Left::new(IN_DATABASE, reason)
            } else {
                Left::diverged(format!("it was continued separately here and on {host}"), snapshot)
            });
        }
        decision
    }

    fn relate<'r>(&'r self, agent: &'r dyn Agent, place: &'r Located) -> Relate<'r> {
        let Self { archive, env, mapping, .. } = *self;
        Relate { agent, place, archive, env, mapping, is_archived: &|_| true }
    }

    fn label(&self, head: &Head<'_>) -> String {
        head.machine.label(self.own)
    }

    fn not_there(&self, head: &Head<'_>) -> Left {
        Left::new(INCOMPLETE, format!("the archive does not have the state of {} yet", self.label(head)))
    }

    /// Returns every session that another machine has.
    pub(crate) fn elsewhere(&self) -> HashSet<(AgentKind, String)> {
        let sessions = self.others.iter().flat_map(Machine::sessions);
        let there = sessions.filter(|(_, _, held)| held.deleted_at.is_none());
        there.map(|(agent, id, _)| (agent, id.to_owned())).collect()
    }
}

/// A session on this machine, compared with states in the archive.
struct Comparison<'c, 'a> {
    shared: &'c Shared<'a>,
    relate: Relate<'c>,
    agent: &'c dyn Agent,
    copy: &'c SessionCopy,
}

impl<'a> Comparison<'_, 'a> {
    fn layout(&self, snapshot: &Snapshot) -> Layout {
        layout(&snapshot.manifest, &self.copy.place, self.agent, self.shared.env)
    }

    fn state<'s>(&self, snapshot: &'s Snapshot) -> Option<State<'s>> {
        State::archived(&snapshot.manifest, &self.layout(snapshot))
    }

    fn relation(&self, ours: &State<'_>, snapshot: &Snapshot) -> Result<Relation, String> {
        self.relate.relate(ours, &self.state(snapshot).ok_or("it has several copies there")?)
    }

    /// Returns the digest of the same state in the archive; `Some(None)` if a state there has more, and `None` if the
    /// state here is new.
    fn known<'s>(&self, ours: &State<'_>, known: impl Iterator<Item = &'s Snapshot>) -> Option<Option<String>> {
        let mut found = None;
        for snapshot in known {
            match self.relation(ours, snapshot) {
                Ok(Relation::Same) => return Some(Some(snapshot.digest().to_owned())),
                Ok(Relation::Behind(behind)) if !behind.has_more => found = Some(None),
                // A state that cannot be compared may be a different one.
                _ => {}
            }
        }
        found
    }

    /// Returns the newest current state of another machine, if it continues the state here.
    fn brought(&self, ours: &State<'_>, others: &[Head<'a>]) -> Result<Option<Brought<'a>>, Left> {
        let mut newer: Vec<(Head<'a>, Behind)> = Vec::new();
        for head in others {
            let snapshot = head.snapshot.ok_or_else(|| self.shared.not_there(head))?;
            match self.relation(ours, snapshot).map_err(|why| Left::new(INCOMPLETE, why))? {
                Relation::Same | Relation::Ahead => {}
                Relation::Behind(behind) => newer.push((*head, behind)),
                Relation::Diverged(why) => {
                    let reason = format!("{why} here and on {}", self.shared.label(head));
                    return Err(Left::diverged(reason, snapshot));
                }
            }
        }
        let heads: Vec<Head<'a>> = newer.iter().map(|(head, _)| *head).collect();
        let Some(newest) = self.shared.newest(&heads, &self.copy.place, self.agent)? else { return Ok(None) };
        if let Some(why) = left_alone(self.copy) {
            return Err(Left::new(IN_USE, why));
        }
        let behind = newer.into_iter().find(|(head, _)| head.state == newest.state).map(|(_, behind)| behind);
        Ok(behind.zip(newest.snapshot).map(|(behind, snapshot)| Brought {
            snapshot,
            machine: self.shared.label(&newest),
            layout: self.layout(snapshot),
            behind,
        }))
    }
}

fn by_digest<'s>(states: &'s [Snapshot], digest: &str) -> Option<&'s Snapshot> {
    states.iter().find(|snapshot| snapshot.digest() == digest)
}

fn has_file(states: &[Snapshot], sha256: &str) -> bool {
    let mut entries = states.iter().flat_map(|snapshot| &snapshot.manifest.entries);
    entries.any(|entry| matches!(&entry.node, Node::File { sha256: known, .. } if known == sha256))
}

/// Returns the layout of an archived session whose copy here is at `place`.
fn layout(manifest: &Manifest, place: &Located, agent: &dyn Agent, env: &Env) -> Layout {
    let stores = agent.stores(env);
    let first = manifest.copies.first().map_or(0, |copy| copy.store);
    let root = |(at, recorded): (usize, &crate::format::path_text::PathText)| {
        if at == first {
            return Some(place.store.root.clone());
        }
        let below_home = recorded.0.strip_prefix(&manifest.home.0).ok().map(|path| env.home.join(path));
        let candidates = below_home.into_iter().chain([recorded.0.clone()]);
        candidates.into_iter().find(|root| stores.iter().any(|store| store.root == *root))
    };
    let roots = manifest.stores.iter().enumerate().map(root).collect();
    let project = manifest.facts.project.as_deref().zip(place.project.as_deref());
    let project =
        project.filter(|(there, here)| there != here).map(|(there, here)| (there.to_owned(), here.to_owned()));
    Layout { roots, project }
}
