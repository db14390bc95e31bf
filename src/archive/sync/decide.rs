//! Decides for each session whether its state here is archived, or the newer state of another machine is restored here.

use std::cell::OnceCell;
use std::collections::HashSet;

use super::relation::{Behind, Relate, Relation};
use super::state::{Here, LocalLayout, SessionState};
use super::{Brought, DIVERGED, Decision, IN_DATABASE, IN_USE, INCOMPLETE, REFUSED, SkipReason};
use crate::agent::{Agent, FindBelongings};
use crate::archive::machine::MachineNotes;
use crate::archive::manifest::EntryContent;
use crate::archive::store::Holdings;
use crate::archive::verify::blobs;
use crate::archive::{Archive, ArchivedState, Manifest};
use crate::change::hindrance::{left_alone, only_read};
use crate::session::mapping::Mapping;
use crate::session::{AgentKind, Located, Session, SessionCopy};
use crate::system::env::Env;
use changes::path_text::PathText;

/// The archive before this sync.
pub(crate) struct ArchiveBefore<'a> {
    pub(crate) archive: &'a Archive,
    pub(crate) holdings: &'a Holdings,
    /// The sessions that this machine archived.
    pub(crate) notes: &'a MachineNotes,
    pub(crate) env: &'a Env,
    /// Directories of other machines, mapped to those on this machine.
    pub(crate) mapping: &'a Mapping,
    /// The names of the blobs of this machine.
    pub(crate) blobs: OnceCell<HashSet<String>>,
}

impl<'a> ArchiveBefore<'a> {
    /// Returns the states of a session in the archive.
    fn states(&self, agent: AgentKind, id: &str) -> &'a [ArchivedState] {
        self.holdings.sessions.get(&(agent, id.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// Returns the newest state that this machine archived.
    pub(crate) fn own(&self, agent: AgentKind, id: &str) -> Option<&'a ArchivedState> {
        self.states(agent, id).last().filter(|newest| self.archive.is_own(&newest.manifest))
    }

    /// Returns the newest state of each other machine.
    fn heads(&self, agent: AgentKind, id: &str) -> Vec<&'a ArchivedState> {
        let mut heads: Vec<&ArchivedState> = Vec::new();
        for state in self.states(agent, id).iter().filter(|state| !self.archive.is_own(&state.manifest)) {
            heads.retain(|known| known.manifest.machine != state.manifest.machine);
            heads.push(state);
        }
        heads
    }

    /// Checks whether the archive has the newest state of this machine, with all its blobs.
    fn is_archived(&self, agent: AgentKind, id: &str, number: u64) -> bool {
        let Some(own) = self.own(agent, id).filter(|own| own.manifest.number == number) else { return false };
        let list = || self.archive.own().iter().flat_map(blobs).map(|(_, name)| name).collect();
        let blobs = self.blobs.get_or_init(list);
        own.manifest.files().flat_map(|(_, _, chunks)| chunks).all(|name| blobs.contains(name))
    }

    /// Decides about a session on this machine.
    pub(crate) fn present(
        &self,
        session: &Session,
        agent: &dyn Agent,
        find: &FindBelongings,
    ) -> Result<Decision<'a>, SkipReason> {
        let (kind, id, copy) = (session.agent, session.id(), session.copy());
        let here = Here::read_session(session, agent, find).map_err(|why| SkipReason::new(REFUSED, why))?;
        let stamp = here.stamp();
        let noted = self.notes.get(kind, id).filter(|noted| noted.stamp.as_ref() == Some(&stamp));
        let contained = noted.map(|noted| noted.contained.clone()).unwrap_or_default();
        let is_sent = !noted.is_some_and(|noted| self.is_archived(kind, id, noted.number));
        let mut decision = Decision { stamp, contained, is_sent, ..Decision::default() };
        let mut heads = self.heads(kind, id);
        heads.retain(|head| decision.contained.iter().all(|known| known != head.digest()));
        if heads.is_empty() {
            return Ok(decision);
        }
        if let [_, _, ..] = session.copies.as_slice() {
            let why = format!("it has {} copies here; keep one first", session.copies.len());
            decision.left = Some(SkipReason::new(REFUSED, why));
            return Ok(decision);
        }
        let is_in_database = agent.agent_managed(&copy.place).is_some();
        // Rows are compared as archived; the next sync compares the rows that this one archives.
        let archived = || self.state(self.own(kind, id).filter(|_| !is_sent)?, &copy.place, agent);
        let ours = if is_in_database { archived() } else { Some(here.state(copy)) };
        let Some(ours) = ours else { return Ok(decision) };
        let is_archived = |sha256: &str| has_file(self.states(kind, id), sha256);
        let relate = Relate { is_archived: &is_archived, ..self.relate(agent, &copy.place) };
        let mut newer: Vec<(&ArchivedState, Behind)> = Vec::new();
        for head in heads {
            let Some(theirs) = self.state(head, &copy.place, agent) else {
                decision.left =
                    Some(SkipReason::new(REFUSED, format!("it has several copies on {}", self.label(head))));
                continue;
            };
            match relate.relate(&ours, &theirs) {
                Ok(Relation::Same | Relation::Ahead) => decision.contained.push(head.digest().to_owned()),
                Ok(Relation::Behind(behind)) => newer.push((head, behind)),
                Ok(Relation::Diverged(why)) => {
                    let reason = format!("{why} here and on {}", self.label(head));
                    decision.left = Some(SkipReason::new(DIVERGED, reason).with_state(head, self.archive));
                }
                Err(why) => decision.left = Some(SkipReason::new(INCOMPLETE, why)),
            }
        }
        if decision.left.is_none() {
            match self.brought(newer, copy, agent) {
                Ok(brought) => decision.brought = brought,
                Err(left) => decision.left = Some(left),
            }
        }
        Ok(decision)
    }

    /// Returns the newest state that continues the local one.
    fn brought(
        &self,
        newer: Vec<(&'a ArchivedState, Behind)>,
        copy: &SessionCopy,
        agent: &dyn Agent,
    ) -> Result<Option<Brought<'a>>, SkipReason> {
        let heads: Vec<&ArchivedState> = newer.iter().map(|(head, _)| *head).collect();
        let Some(newest) = self.newest(&heads, &copy.place, agent)? else { return Ok(None) };
        let machine = self.label(newest);
        if agent.agent_managed(&copy.place).is_some() {
            let why = format!("{machine} has a newer state, and only {} writes into its database", copy.place.agent());
            return Err(SkipReason::new(IN_DATABASE, why).with_state(newest, self.archive));
        }
        if let Some(why) = only_read(&copy.place) {
            return Err(SkipReason::new(REFUSED, why));
        }
        if let Some(why) = left_alone(copy) {
            return Err(SkipReason::new(IN_USE, why));
        }
        let behind = newer.into_iter().find(|(head, _)| head.path == newest.path).map(|(_, behind)| behind);
        let layout = layout(&newest.manifest, &copy.place, agent, self.env);
        Ok(behind.map(|behind| Brought { snapshot: newest, machine, layout, behind }))
    }

    /// Decides about a session that other machines have and this one does not: returns the newest state and its
    /// machine's name.
    pub(crate) fn absent(
        &self,
        (kind, id): (AgentKind, &str),
        agent: &dyn Agent,
    ) -> Result<Option<(&'a ArchivedState, String)>, SkipReason> {
        let heads = self.heads(kind, id);
        let Some(first) = heads.first() else { return Ok(None) };
        let newest = self.newest(&heads, &first.manifest.place(), agent)?;
        if let Some(newest) = newest.filter(|newest| newest.manifest.rows().is_some()) {
            return Err(SkipReason::new(IN_DATABASE, format!("only {kind} writes into its database"))
                .with_state(newest, self.archive));
        }
        Ok(newest.map(|newest| (newest, self.label(newest))))
    }

    /// Returns the state that continues all others.
    fn newest(
        &self,
        heads: &[&'a ArchivedState],
        place: &Located,
        agent: &dyn Agent,
    ) -> Result<Option<&'a ArchivedState>, SkipReason> {
        let [first, rest @ ..] = heads else { return Ok(None) };
        let relate = self.relate(agent, place);
        let mut newest = *first;
        for head in rest {
            let (Some(ours), Some(theirs)) = (self.state(newest, place, agent), self.state(head, place, agent)) else {
                return Err(SkipReason::new(REFUSED, "it has several copies there"));
            };
            match relate.relate(&ours, &theirs) {
                Ok(Relation::Same | Relation::Ahead) => {}
                Ok(Relation::Behind(_)) => newest = head,
                Ok(Relation::Diverged(why)) => {
                    let reason = format!("{why} on {} and on {}", self.label(newest), self.label(head));
                    return Err(SkipReason::new(DIVERGED, reason).with_state(head, self.archive));
                }
                Err(why) => return Err(SkipReason::new(INCOMPLETE, why)),
            }
        }
        Ok(Some(newest))
    }

    fn state(&self, snapshot: &'a ArchivedState, place: &Located, agent: &dyn Agent) -> Option<SessionState<'a>> {
        let layout = layout(&snapshot.manifest, place, agent, self.env);
        SessionState::archived(&snapshot.manifest, &layout, self.archive)
    }

    fn relate<'r>(&'r self, agent: &'r dyn Agent, place: &'r Located) -> Relate<'r> {
        let Self { archive, env, mapping, .. } = *self;
        Relate { agent, place, archive, env, mapping, is_archived: &|_| true }
    }

    /// Returns the host name of the machine that archived a state; with its home directory if the host name is that of
    /// this machine.
    fn label(&self, snapshot: &ArchivedState) -> String {
        let Manifest { hostname, home, .. } = &snapshot.manifest;
        if *hostname == self.env.hostname { format!("{hostname} ({})", home.0.display()) } else { hostname.clone() }
    }

    /// Returns every session that another machine has archived.
    pub(crate) fn elsewhere(&self) -> impl Iterator<Item = &'a (AgentKind, String)> {
        let sessions = self.holdings.sessions.iter();
        sessions
            .filter(|(_, states)| states.iter().any(|state| !self.archive.is_own(&state.manifest)))
            .map(|(key, _)| key)
    }
}

fn has_file(states: &[ArchivedState], sha256: &str) -> bool {
    let mut entries = states.iter().flat_map(|snapshot| &snapshot.manifest.entries);
    entries.any(|entry| matches!(&entry.node, EntryContent::File { sha256: known, .. } if known == sha256))
}

/// Returns the layout of an archived session whose copy here is at `place`.
fn layout(manifest: &Manifest, place: &Located, agent: &dyn Agent, env: &Env) -> LocalLayout {
    let stores = agent.stores(env);
    let first = manifest.copies.first().map_or(0, |copy| copy.store);
    let root = |(at, recorded): (usize, &PathText)| {
        if at == first {
            return Some(place.store.root.clone());
        }
        manifest.candidates(&recorded.0, env).find(|root| stores.iter().any(|store| store.root == *root))
    };
    let roots = manifest.stores.iter().enumerate().map(root).collect();
    let project = manifest.facts.project.as_deref().zip(place.project.as_deref());
    let project =
        project.filter(|(there, here)| there != here).map(|(there, here)| (there.to_owned(), here.to_owned()));
    LocalLayout { roots, project }
}
