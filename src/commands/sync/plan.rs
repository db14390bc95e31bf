//! Decides about every session: here, in the archive, or both.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use crate::agent::{self, Agent};
use crate::archive::restore::{self, Present, Restore};
use crate::archive::store::Holdings;
use crate::archive::sync::decide::Shared;
use crate::archive::sync::machines::{Held, Machine};
use crate::archive::sync::state::Layout;
use crate::archive::sync::{Brought, Decision, INCOMPLETE, Left, REFUSED};
use crate::archive::{Archive, Manifest, Snapshot};
use crate::change::plan::change::Seen;
use crate::cli::SyncArgs;
use crate::commands::relocate::mapping_of;
use crate::commands::restore::{roots, time_now};
use crate::commands::subagents::inner;
use crate::format::text;
use crate::scan::{Wanted, processes};
use crate::session::mapping::Mapping;
use crate::session::select::Filter;
use crate::session::{AgentKind, Problem, Session, SessionKind, Store};
use crate::system::env::Env;
use crate::system::reach;
use crate::view::render::sync::{BroughtRow, LeftRow};
use crate::view::ui::Ui;

/// The archive as it is before a sync.
pub(super) struct Known<'a> {
    pub(super) archive: &'a Archive,
    pub(super) holdings: &'a Holdings,
    pub(super) own: Machine,
    /// Set if the archive had a record of this machine.
    pub(super) has_record: bool,
    pub(super) others: Vec<Machine>,
    /// Maps directories of other machines to those here.
    pub(super) mapping: Mapping,
}

/// A session, by agent and full id.
pub(super) type Key = (AgentKind, String);

/// The plan of a sync.
pub(super) struct Plan<'a> {
    /// The record of this machine before; `None` if the archive had none.
    pub(super) before: Option<Machine>,
    /// The record with every entry that is certain already.
    pub(super) own: Machine,
    /// The sessions whose state goes into the archive, with a digest of their files.
    pub(super) sent: HashMap<Key, String>,
    /// The files that come here.
    pub(super) restore: Restore<'a>,
    /// The session of each item of `restore`.
    pub(super) brought: Vec<BroughtRow>,
    /// The digest of each state that comes here.
    pub(super) states: HashMap<Key, String>,
    /// Sessions with files that stay here and that those states lack.
    pub(super) has_more: HashSet<Key>,
    /// Maps directories of other machines to those here.
    pub(super) mapping: &'a Mapping,
    /// Sessions that an interrupted sync brought here.
    pub(super) unsettled: Vec<Key>,
    pub(super) left: Vec<LeftRow>,
    /// Number of sessions of other machines that were deleted here.
    pub(super) deleted: usize,
    pub(super) unchanged: usize,
}

/// Reads every session and decides about each.
pub(super) fn plan<'a>(
    args: &SyncArgs,
    known: &'a Known<'a>,
    env: &'a Env,
    ui: &mut Ui,
) -> anyhow::Result<(Vec<Session>, Plan<'a>)> {
    let filter = crate::commands::place_filter(&args.place, env)?;
    let mut present: HashSet<Key> = HashSet::new();
    let mut scan = crate::commands::read(&filter.agents, env, ui, |places| {
        present.extend(places.places.iter().map(|place| (place.agent(), place.id.clone())));
        places.read_with_dirs(env, &filter, Wanted::GLANCE)
    });
    let inner = inner(&scan.sessions);
    scan.sessions.retain(|session| {
        !inner.contains(&session.key()) && session.copy().kind != SessionKind::Empty && filter.matches(session)
    });
    processes::verify(&mut scan.sessions);
    let Known { archive, holdings, own, others, mapping, .. } = known;
    let mut plan = Plan {
        before: known.has_record.then(|| own.clone()),
        own: own.clone(),
        sent: HashMap::new(),
        restore: Restore::new("sync", archive, env),
        brought: Vec::new(),
        states: HashMap::new(),
        has_more: HashSet::new(),
        mapping,
        unsettled: Vec::new(),
        left: Vec::new(),
        deleted: 0,
        unchanged: 0,
    };
    let shared = Shared { archive, holdings, own, others, env, mapping };
    let find = agent::belongings_of_many();
    for session in &scan.sessions {
        let Some(agent) = agent::by_kind(session.agent) else { continue };
        match shared.present(session, agent, &find) {
            Ok(decision) => plan.take(session, agent, decision, known, env),
            Err(left) => plan.left.push(LeftRow::of(session, left)),
        }
    }
    for (agent, count) in plan.add_absent(&shared, &present, &filter, args, &scan.problems) {
        let sessions = text::count(count, "session");
        ui.warn(&format!("{agent}: {sessions} not counted as deleted: the store is not found, or cannot be read"));
    }
    Ok((scan.sessions, plan))
}

impl<'a> Plan<'a> {
    /// Adds the decision about a session that is here.
    fn take(&mut self, session: &Session, agent: &dyn Agent, decision: Decision<'a>, known: &'a Known<'a>, env: &Env) {
        let (kind, id) = (session.agent, session.id());
        let held = known.own.session(kind, id);
        if held.is_some_and(|held| held.stamp.is_none()) {
            self.unsettled.push((kind, id.to_owned()));
        }
        let Decision { held, sent, brought, left } = decision;
        let is_changed = sent.is_some() || brought.is_some() || left.is_some();
        self.unchanged += usize::from(!is_changed);
        if let Some(held) = held {
            self.own.set(kind, id, held);
        }
        if let Some(stamp) = sent {
            self.sent.insert((kind, id.to_owned()), stamp);
        }
        self.left.extend(left.map(|left| LeftRow::of(session, left)));
        if let Some(Brought { snapshot, machine, layout, behind }) = brought {
            let copy = session.copy();
            if behind.has_more {
                self.has_more.insert((kind, id.to_owned()));
            }
            let present = Some(Present { seen: Seen::of(copy), replaced: &behind.replaced });
            let row = BroughtRow { machine, is_new: false, session: snapshot.manifest.session() };
            let added = self.bring(snapshot, agent, (&layout, &copy.place.store), present, row, known.archive, env);
            if let Err(left) = added {
                self.left.push(LeftRow::of(session, left));
            }
        }
    }

    /// Adds the files of a state that comes here.
    #[expect(clippy::too_many_arguments, reason = "a state, its place, and what is there")]
    fn bring(
        &mut self,
        snapshot: &'a Snapshot,
        agent: &dyn Agent,
        (layout, store): (&Layout, &Store),
        present: Option<Present<'_>>,
        row: BroughtRow,
        archive: &Archive,
        env: &Env,
    ) -> Result<(), Left> {
        let manifest = &snapshot.manifest;
        let damage = restore::check(manifest, archive);
        if !damage.is_empty() {
            return Err(Left::new(INCOMPLETE, damage.join("; ")));
        }
        restore::check_places(manifest, archive, agent, store, env)
            .map_err(|error| Left::new(REFUSED, format!("{error:#}")))?;
        let now = agent.retention(store, env).map(|_| time_now(env));
        match self.restore.add(manifest, layout, now, present) {
            Ok(true) => {
                self.states.insert((manifest.agent, manifest.id.clone()), snapshot.digest().to_owned());
                self.brought.push(row);
                Ok(())
            }
            Ok(false) => Ok(()),
            Err(taken) => Err(Left::new(REFUSED, format!("files are in the way: {}", taken.join("; ")))),
        }
    }

    /// Decides about the sessions that are not here; returns the number of those whose store is not found or cannot be
    /// read, by agent.
    fn add_absent(
        &mut self,
        shared: &Shared<'a>,
        present: &HashSet<Key>,
        filter: &Filter,
        args: &SyncArgs,
        problems: &[Problem],
    ) -> BTreeMap<AgentKind, usize> {
        let env = shared.env;
        let gone: Vec<(AgentKind, String, Held)> = shared
            .own
            .sessions()
            .filter(|(kind, id, _)| filter.has_agent(*kind) && !present.contains(&(*kind, (*id).to_owned())))
            .map(|(kind, id, held)| (kind, id.to_owned(), held.clone()))
            .collect();
        let elsewhere = shared.elsewhere();
        let mut unknown: BTreeMap<AgentKind, usize> = BTreeMap::new();
        for (kind, id, held) in gone {
            let was_deleted = held.deleted_at.is_some();
            let is_gone = if was_deleted {
                Some(true)
            } else {
                is_gone(kind, shared.state(kind, &id, &held.state), problems, env)
            };
            // A sync that was interrupted before it wrote the session here left no stamp.
            let is_unsettled = held.stamp.is_none() && !was_deleted;
            match is_gone {
                Some(_) if is_unsettled || args.restore_deleted => self.own.forget(kind, &id),
                Some(true) => {
                    self.deleted += usize::from(elsewhere.contains(&(kind, id.clone())));
                    if !was_deleted {
                        self.own.set(kind, &id, Held { deleted_at: Some(env.clock.now), ..held });
                    }
                }
                Some(false) | None => *unknown.entry(kind).or_default() += 1,
            }
        }
        let mut absent: Vec<Key> = elsewhere
            .into_iter()
            .filter(|(kind, id)| {
                filter.has_agent(*kind)
                    && !present.contains(&(*kind, id.clone()))
                    && self.own.session(*kind, id).is_none()
            })
            .collect();
        absent.sort();
        for (kind, id) in absent {
            let Some(agent) = agent::by_kind(kind) else { continue };
            let found = match shared.absent((kind, &id), agent) {
                Ok(None) => continue,
                Ok(Some(found)) => found,
                Err(left) => {
                    self.left.push(LeftRow { agent: kind, id, title: None, left });
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
            let roots = roots.map_err(|refusal| Left::new(REFUSED, refusal.message));
            let added = roots.and_then(|(roots, store)| {
                let layout = Layout::below(roots);
                self.bring(snapshot, agent, (&layout, &store), None, row, shared.archive, env)
            });
            if let Err(left) = added {
                let title = snapshot.manifest.facts.title.clone();
                self.left.push(LeftRow { agent: kind, id, title, left });
            }
        }
        unknown
    }

    /// Returns an archived session with the paths of its directories here.
    fn as_here(&self, manifest: &Manifest) -> Session {
        let mut session = manifest.session();
        for copy in &mut session.copies {
            for fact in [&mut copy.launch_dir, &mut copy.start_dir, &mut copy.last_dir].into_iter().flatten() {
                if let Some(here) = self.mapping.to(&fact.value) {
                    fact.value = here.into();
                }
            }
        }
        session
    }
}

/// Returns whether a session that is missing in the stores of an agent is certainly deleted: its store is still one of
/// the agent's, and is there. `None` if the store cannot be read.
fn is_gone(kind: AgentKind, state: Option<&Manifest>, problems: &[Problem], env: &Env) -> Option<bool> {
    let Some((agent, state)) = agent::by_kind(kind).zip(state) else { return Some(false) };
    let roots = state.roots_here(env);
    let stores = agent.stores(env);
    let Some(store) = stores.iter().find(|store| roots.contains(&store.root)) else { return Some(false) };
    reach::is_dir(&store.root).filter(|_| problems.iter().all(|problem| !problem.path.starts_with(&store.root)))
}

/// Maps directories of other machines by the options and the config file; by default, each home to the one here.
pub(super) fn mapping(args: &SyncArgs, holdings: &Holdings, others: &[Machine], env: &Env) -> Mapping {
    let archived = holdings.snapshots().map(|snapshot| snapshot.manifest.home.0.clone());
    let homes = archived.chain(others.iter().map(|machine| machine.home.0.clone()));
    let homes: BTreeSet<PathBuf> = homes.filter(|home| *home != env.home).collect();
    let homes: Vec<(PathBuf, PathBuf)> = homes.into_iter().map(|home| (home, env.home.clone())).collect();
    let pairs = args.map.iter().chain(&env.config.sync_map).chain(&homes);
    mapping_of(pairs.map(|(from, to)| (from, to)), env)
}
