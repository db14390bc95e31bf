//! Decides what to do with every session on this machine or in the archive.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use crate::agent::{self, Agent};
use crate::archive::machine::MachineNotes;
use crate::archive::restore::{Present, Restore};
use crate::archive::store::Holdings;
use crate::archive::sync::decide::ArchiveBefore;
use crate::archive::sync::state::LocalLayout;
use crate::archive::sync::{Brought, Decision, INCOMPLETE, REFUSED, SkipReason};
use crate::archive::untrusted;
use crate::archive::write::ArchiveReport;
use crate::archive::{Archive, ArchivedState, Manifest};
use crate::change::plan::change::PlannedCopy;
use crate::cli::SyncArgs;
use crate::commands::relocate::mapping_of;
use crate::commands::restore::{roots, time_now};
use crate::commands::subagents::inner;
use crate::format::text;
use crate::scan::{ScanScope, processes};
use crate::session::mapping::Mapping;
use crate::session::select::Filter;
use crate::session::{AgentKind, Problem, Session, Store};
use crate::system::env::Env;
use crate::system::reach;
use crate::view::render::sync::{BroughtRow, LeftRow};
use crate::view::ui::Ui;

/// The archive before the sync.
pub(super) struct KnownArchive<'a> {
    pub(super) archive: &'a Archive,
    pub(super) holdings: &'a Holdings,
    /// The sessions that this machine archived.
    pub(super) notes: &'a MachineNotes,
    /// Maps directories of other machines to those here.
    pub(super) mapping: Mapping,
}

/// A session, by agent and full id.
pub(super) type SessionKey = (AgentKind, String);

/// A session as it was compared with the states of other machines.
pub(super) struct Compared {
    /// A digest of the names, sizes and times of its files.
    pub(super) stamp: String,
    /// The states that its files contain.
    pub(super) contained: Vec<String>,
}

/// The plan of a sync.
pub(super) struct SyncPlan<'a> {
    /// The sessions whose state is archived.
    pub(super) sent: HashSet<SessionKey>,
    pub(super) compared: HashMap<SessionKey, Compared>,
    /// The files that are restored on this machine.
    pub(super) restore: Restore<'a>,
    /// The session of each item of `restore`.
    pub(super) brought: Vec<BroughtRow>,
    /// Maps directories of other machines to those here.
    pub(super) mapping: &'a Mapping,
    /// Sessions that an interrupted sync brought here.
    pub(super) arriving: BTreeSet<SessionKey>,
    pub(super) left: Vec<LeftRow>,
    /// Number of archived sessions that were deleted on this machine.
    pub(super) deleted: usize,
    /// The sessions for which no other machine has a newer state.
    settled: HashSet<SessionKey>,
}

/// Reads every session and decides about each.
pub(super) fn plan<'a>(
    args: &SyncArgs,
    known: &'a KnownArchive<'a>,
    env: &'a Env,
    ui: &mut Ui,
) -> anyhow::Result<(Vec<Session>, SyncPlan<'a>)> {
    let filter = crate::commands::place_filter(&args.place, env)?;
    let mut present: HashSet<SessionKey> = HashSet::new();
    let mut scan = crate::commands::read(&filter.agents, env, ui, |places| {
        present.extend(places.places.iter().map(|place| (place.agent(), place.id.clone())));
        places.read_with_dirs(env, &filter, ScanScope::GLANCE)
    });
    let inner = inner(&scan.sessions);
    scan.sessions
        .retain(|session| !inner.contains(&session.key()) && !session.copy().is_empty() && filter.matches(session));
    processes::verify_for_change(&mut scan.sessions);
    let KnownArchive { archive, holdings, notes, mapping } = known;
    let mut plan = SyncPlan {
        sent: HashSet::new(),
        compared: HashMap::new(),
        restore: Restore::new("sync", archive, env),
        brought: Vec::new(),
        mapping,
        arriving: BTreeSet::new(),
        left: Vec::new(),
        deleted: 0,
        settled: HashSet::new(),
    };
    let shared = ArchiveBefore { archive, holdings, notes, env, mapping, blobs: OnceCell::new() };
    let find = agent::belongings_of_many();
    for session in &scan.sessions {
        let Some(agent) = agent::by_kind(session.agent) else { continue };
        match shared.present(session, agent, &find) {
            Ok(decision) => plan.add_decision(session, agent, decision, known, env),
            Err(left) => plan.left.push(LeftRow::from_skipped(session, left)),
        }
    }
    for (agent, count) in plan.add_absent(&shared, &present, &filter, args, &scan.problems) {
        let sessions = text::count(count, "session");
        ui.warn(&format!("{agent}: {sessions} not counted as deleted: the store is not found, or cannot be read"));
    }
    Ok((scan.sessions, plan))
}

impl<'a> SyncPlan<'a> {
    /// Returns the number of sessions whose newest state is both here and in the archive.
    pub(super) fn unchanged(&self, sent: &ArchiveReport<'_>) -> usize {
        let new = sent.items.iter().map(|item| item.session.key());
        self.settled.len() - new.filter(|key| self.settled.contains(key)).count()
    }

    /// Adds the decision about a session that is here.
    fn add_decision(
        &mut self,
        session: &Session,
        agent: &dyn Agent,
        decision: Decision<'a>,
        known: &'a KnownArchive<'a>,
        env: &Env,
    ) {
        let key = session.key();
        if known.notes.get(key.0, &key.1).is_some_and(|noted| noted.is_arriving) {
            self.arriving.insert(key.clone());
        }
        let Decision { stamp, contained, is_sent, brought, left } = decision;
        if brought.is_none() && left.is_none() {
            self.settled.insert(key.clone());
        }
        self.compared.insert(key.clone(), Compared { stamp, contained });
        if is_sent {
            self.sent.insert(key);
        }
        self.left.extend(left.map(|left| LeftRow::from_skipped(session, left)));
        if let Some(Brought { snapshot, machine, layout, behind }) = brought {
            let copy = session.copy();
            let present = Some(Present { seen: PlannedCopy::from_copy(copy), replaced: &behind.replaced });
            let row = BroughtRow { machine, is_new: false, session: snapshot.manifest.session() };
            let added = self.bring(snapshot, agent, (&layout, &copy.place.store), present, row, known.archive, env);
            if let Err(left) = added {
                self.left.push(LeftRow::from_skipped(session, left));
            }
        }
    }

    /// Adds the files of a state to restore on this machine.
    #[expect(clippy::too_many_arguments, reason = "a state, its place, and what is there")]
    fn bring(
        &mut self,
        snapshot: &'a ArchivedState,
        agent: &dyn Agent,
        (layout, store): (&LocalLayout, &Store),
        present: Option<Present<'_>>,
        row: BroughtRow,
        archive: &Archive,
        env: &Env,
    ) -> Result<(), SkipReason> {
        let manifest = &snapshot.manifest;
        let damage = untrusted::damaged_chunks(manifest, archive);
        if !damage.is_empty() {
            return Err(SkipReason::new(INCOMPLETE, damage.join("; ")));
        }
        untrusted::check_places(manifest, archive, agent, store, env)
            .map_err(|error| SkipReason::new(REFUSED, format!("{error:#}")))?;
        let is_prolonged = agent.retention(store, env).is_some_and(|retention| !retention.is_by_record);
        let now = is_prolonged.then(|| time_now(env));
        match self.restore.add(manifest, layout, now, present) {
            Ok(true) => {
                self.brought.push(row);
                Ok(())
            }
            Ok(false) => Ok(()),
            Err(taken) => Err(SkipReason::new(REFUSED, format!("files are in the way: {}", taken.join("; ")))),
        }
    }

    /// Decides about the sessions that are not here; returns the number of those whose store is not found or cannot be
    /// read, by agent.
    fn add_absent(
        &mut self,
        shared: &ArchiveBefore<'a>,
        present: &HashSet<SessionKey>,
        filter: &Filter,
        args: &SyncArgs,
        problems: &[Problem],
    ) -> BTreeMap<AgentKind, usize> {
        let env = shared.env;
        let mut elsewhere: BTreeSet<&SessionKey> = shared.elsewhere().collect();
        elsewhere.retain(|key| filter.has_agent(key.0) && !present.contains(*key));
        let mut unknown: BTreeMap<AgentKind, usize> = BTreeMap::new();
        for (kind, id, noted) in shared.notes.sessions() {
            let key = (kind, id.to_owned());
            if !filter.has_agent(kind) || present.contains(&key) {
                continue;
            }
            let may_come = noted.number == 0 || args.restore_deleted;
            match is_gone(kind, shared.own(kind, id).map(|own| &own.manifest), problems, env) {
                Some(_) if may_come => {}
                Some(true) => self.deleted += usize::from(elsewhere.remove(&key)),
                Some(false) | None => {
                    elsewhere.remove(&key);
                    *unknown.entry(kind).or_default() += 1;
                }
            }
        }
        for (kind, id) in elsewhere {
            let (kind, id) = (*kind, id.as_str());
            let Some(agent) = agent::by_kind(kind) else { continue };
            let found = match shared.absent((kind, id), agent) {
                Ok(None) => continue,
                Ok(Some(found)) => found,
                Err(left) => {
                    self.left.push(LeftRow {
                        agent: kind,
                        id: id.to_owned(),
                        title: None,
                        is_here: false,
                        left,
                        is_known: false,
                    });
                    continue;
                }
            };
            let (snapshot, machine) = found;
            let session = self.as_here(&snapshot.manifest);
            if !filter.matches(&session) {
                continue;
            }
            let row = BroughtRow { machine, is_new: true, session };
            let roots = roots(None, &snapshot.manifest, agent, env);
            let roots = roots.map_err(|refusal| SkipReason::new(REFUSED, refusal.message));
            let added = roots.and_then(|(roots, store)| {
                let layout = LocalLayout::below(roots);
                self.bring(snapshot, agent, (&layout, &store), None, row, shared.archive, env)
            });
            if let Err(left) = added {
                let title = snapshot.manifest.facts.title.clone();
                self.left.push(LeftRow {
                    agent: kind,
                    id: id.to_owned(),
                    title,
                    is_here: false,
                    left,
                    is_known: false,
                });
            }
        }
        unknown
    }

    /// Returns an archived session with the paths of its directories here.
    fn as_here(&self, manifest: &Manifest) -> Session {
        let mut session = manifest.session();
        for copy in &mut session.copies {
            for fact in [&mut copy.launch_dir, &mut copy.start_dir, &mut copy.last_dir].into_iter().flatten() {
                if let Some(here) = self.mapping.new_location(&fact.value) {
                    fact.value = here.into();
                }
            }
        }
        session
    }
}

/// Returns whether a session that is missing in the stores of an agent was deleted: its store is still one of the
/// agent's, and exists. `None` if the store cannot be read.
fn is_gone(kind: AgentKind, state: Option<&Manifest>, problems: &[Problem], env: &Env) -> Option<bool> {
    let Some((agent, state)) = agent::by_kind(kind).zip(state) else { return Some(false) };
    let roots = state.roots_here(env);
    let stores = agent.stores(env);
    let Some(store) = stores.iter().find(|store| roots.contains(&store.root)) else { return Some(false) };
    reach::is_dir(&store.root).filter(|_| problems.iter().all(|problem| !problem.path.starts_with(&store.root)))
}

/// Maps directories of other machines by the options and the config file; by default, each home to the one here.
pub(super) fn mapping(args: &SyncArgs, holdings: &Holdings, env: &Env) -> Mapping {
    let homes: BTreeSet<(PathBuf, PathBuf)> =
        holdings.snapshots().filter_map(|snapshot| snapshot.manifest.homes(env)).collect();
    let pairs = args.map.iter().chain(&env.config.sync_map).chain(&homes);
    mapping_of(&mut pairs.map(|(from, to)| (from, to)), env)
}
