//! Plans a removal: a summary of every copy, an inspection of the candidates, and the change that removes them.
//!
//! This module only reads; `apply` carries the change out. It keeps only the facts that a decision needs, so that a
//! hundred thousand sessions fit into little memory.

mod inspection;
mod items;
mod summary;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, RwLock};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::agent;
use crate::change::pins::Pins;
use crate::change::plan::retention::{Family, Guard, Policy, RetentionCandidate, decide, guards};
use crate::format::shell;
use crate::scan::{self, ScanScope, named_logs};
use crate::session::select::{self, Filter};
use crate::session::{AgentKind, KeptBy, Liveness, Located, Problem, SessionKind};
use crate::system::env::Env;
use crate::system::watch::Watcher;
use inspection::{InspectedDir, Inspection};

pub(crate) use items::Going;
pub(crate) use items::{CWD_RECORD, DEBRIS, cwd_records, debris, is_session, outputs};
pub(crate) use summary::CopySummary;

/// Summaries of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Summaries {
    /// The copies, in order of agent and id.
    #[expect(clippy::vec_box, reason = "each is let go by itself, as soon as it is done with")]
    copies: Vec<Box<CopySummary>>,
    /// Index of each session's first copy, and the number of all copies.
    starts: Vec<usize>,
    /// The results of the inspection, by session; shorter than the list if not all were inspected.
    inspection: Vec<Option<Box<Inspection>>>,
    /// Directories of sessions of agents that keep records of working directories.
    recorded_dirs: BTreeSet<(AgentKind, PathBuf)>,
    /// Cache of directories with their links resolved, and their identities.
    resolved: RwLock<HashMap<PathBuf, Option<InspectedDir>>>,
    /// Receives the number of inspected sessions.
    watcher: Watcher,
    /// The current time.
    now: Timestamp,
    /// Ids of sessions that have sub-agents, and whose transcripts other programs renamed or moved.
    renamed: HashSet<String>,
    /// Unreadable files and directories.
    pub problems: Vec<Problem>,
    /// Set if agents may be asked to remove sessions that only they can remove.
    pub via_agent: bool,
}

impl Summaries {
    /// Reads every session of these agents, or of all agents by default. `filter` selects the requested sessions,
    /// `rules` those of each rule of the policy. `sizes` is needed if [`Self::decide`] compares the sizes of all
    /// sessions; inspected ones are measured anyway. `named` are copies outside of every store. `watcher` receives the
    /// number of copies read, and later of sessions inspected.
    pub(crate) fn read(
        env: &Env,
        agents: &[AgentKind],
        filter: &Filter,
        rules: &[Filter],
        sizes: bool,
        named: Vec<Located>,
        watcher: Watcher,
    ) -> Self {
        let recorded: Vec<AgentKind> =
            agent::all().iter().filter(|agent| agent.about().cwd_records.is_some()).map(|agent| agent.kind()).collect();
        let recorded_dirs: Mutex<BTreeSet<(AgentKind, PathBuf)>> = Mutex::default();
        let mut places = scan::locate(env, agents).watched(watcher.clone());
        places.places.extend(named);
        let (mut copies, problems) = places.digest(env, ScanScope { sizes, ..ScanScope::GLANCE }, |copy| {
            let agent = copy.place.agent();
            let dir = copy.launch_dir.as_ref().filter(|_| recorded.contains(&agent));
            if let (Some(dir), Ok(mut dirs)) = (dir, recorded_dirs.lock()) {
                dirs.insert((agent, dir.value.to_path_buf()));
            }
            Box::new(CopySummary::from_copy(copy, filter, rules))
        });
        copies.sort_unstable_by(|a, b| a.key().cmp(&b.key()).then_with(|| a.place.path.cmp(&b.place.path)));
        let mut starts = Vec::with_capacity(copies.len() + 1);
        let key = |at: usize| copies.get(at).map(|copy| copy.key());
        starts.extend((0..copies.len()).filter(|at| at.checked_sub(1).and_then(key) != key(*at)));
        starts.push(copies.len());
        let recorded_dirs = recorded_dirs.into_inner().unwrap_or_default();
        let mut all = Self { copies, starts, recorded_dirs, problems, watcher, now: env.clock.now, ..Self::default() };
        all.renamed = all.find_renamed_parents(env);
        all
    }

    /// Finds the sessions without a transcript that have sub-agents, and a log with their id in its name.
    fn find_renamed_parents(&self, env: &Env) -> HashSet<String> {
        let parents = self.copies.iter().filter_map(|copy| {
            let (agent, _, parent) = copy.key();
            Some((agent, parent.filter(|parent| self.find_session(agent, parent).is_empty())?))
        });
        let lost: HashSet<(AgentKind, &str)> = parents.collect();
        let agents: HashSet<AgentKind> = lost.iter().map(|(agent, _)| *agent).collect();
        let stores = agents.into_iter().filter_map(agent::by_kind).flat_map(|agent| agent.stores(env));
        let logs = named_logs::find(&stores.collect::<Vec<_>>(), &foldhash::HashSet::default()).into_iter();
        logs.filter(|log| lost.contains(&(log.store.agent, log.id.as_str()))).map(|log| log.id).collect()
    }

    /// Returns the number of sessions.
    pub(crate) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns the copies of a session.
    pub(crate) fn copies(&self, at: usize) -> &[Box<CopySummary>] {
        &self.copies[self.starts[at]..self.starts[at + 1]]
    }

    /// Returns the agent and id of a session.
    pub(crate) fn key(&self, at: usize) -> (AgentKind, &str) {
        let place = &self.copies(at)[0].place;
        (place.agent(), &place.id)
    }

    /// Like [`Self::key`], with an owned id.
    pub(crate) fn owned_key(&self, at: usize) -> (AgentKind, String) {
        let (agent, id) = self.key(at);
        (agent, id.to_owned())
    }

    /// Finds a session by its full id; sub-agents of several sessions may share one.
    pub(crate) fn find_session(&self, agent: AgentKind, id: &str) -> Range<usize> {
        let starts = &self.starts[..self.len()];
        let key = |start: &usize| {
            let place = &self.copies[*start].place;
            (place.agent(), place.id.as_str())
        };
        let first = starts.partition_point(|start| key(start) < (agent, id));
        let count = starts[first..].iter().take_while(|start| key(start) == (agent, id)).count();
        first..first + count
    }

    /// Returns the sessions whose id is the typed one or starts with it.
    pub(crate) fn by_id(&self, agent: Option<AgentKind>, typed: &str) -> Vec<(AgentKind, String)> {
        let keys = (0..self.len()).map(|at| self.key(at));
        let keys = keys.filter(|key| agent.is_none_or(|agent| agent == key.0));
        let candidates = keys.map(|key| select::NameCandidate { key, id: key.1, title: None, is_subagent: false });
        select::all_by_id(typed, candidates).map(|(agent, id)| (agent, id.to_owned())).collect()
    }

    /// Returns the disk space of a session's copies with their belongings, in bytes.
    pub(crate) fn size_bytes(&self, at: usize) -> u64 {
        self.copies(at).iter().map(|copy| copy.size_bytes).sum()
    }

    /// Checks whether a sub-agent is in its session's belongings, whose size includes it.
    fn is_inside_parent(&self, at: usize) -> bool {
        let (agent, _, parent) = self.copies(at)[0].key();
        let Some(parent) = parent else { return false };
        let parents = self.find_session(agent, parent).flat_map(|parent| self.copies(parent)).map(|copy| &copy.place);
        let dirs: Vec<&Path> =
            parents.flat_map(|place| [Some(&*place.path), place.side_dir.as_deref()]).flatten().collect();
        self.copies(at).iter().all(|copy| dirs.iter().any(|dir| copy.place.path.starts_with(dir)))
    }

    fn inspection(&self, at: usize) -> Option<&Inspection> {
        self.inspection.get(at)?.as_deref()
    }

    /// Returns the reason why only its agent can remove a session, if it was inspected.
    pub(crate) fn its_agents(&self, at: usize) -> Option<&Arc<str>> {
        self.inspection(at)?.its_agents()
    }

    /// Returns the reason for which the user keeps a session in its agent.
    pub(crate) fn kept_by(&self, at: usize) -> Option<&KeptBy> {
        self.copies(at).iter().find_map(|copy| copy.kept_by.as_deref())
    }

    /// Checks whether only the agent can remove a session, and the user did not let it.
    fn is_left_to_its_agent(&self, at: usize) -> bool {
        self.its_agents(at).is_some() && !(self.via_agent && self.removes_unasked(at))
    }

    /// Checks whether the agent can remove a session by a command without a confirmation.
    pub(crate) fn removes_unasked(&self, at: usize) -> bool {
        self.copies(at).iter().all(|copy| {
            let agent = agent::by_kind(copy.place.agent());
            agent
                .and_then(|agent| agent.agent_managed(&copy.place))
                .is_some_and(|agent_managed| agent_managed.removes_unasked)
        })
    }

    /// Returns the agent that can remove these sessions by a command; `None` if there is another obstacle as well.
    pub(crate) fn agent_that_removes(&self, sessions: &[usize]) -> Option<AgentKind> {
        let is_removable = sessions.iter().all(|at| self.its_agents(*at).is_some() && self.removes_unasked(*at));
        sessions.first().filter(|_| is_removable).map(|at| self.key(*at).0)
    }

    /// Decides about every session, and inspects every candidate for removal. Returns the signs that the result is a
    /// mistake. `archived` returns the sessions that are safe elsewhere, which count as kept for these signs; it reads
    /// an archive, so it is called only if needed.
    pub(crate) fn decide(
        &mut self,
        policy: &Policy,
        pins: &Pins,
        excluded: &[(AgentKind, String)],
        archived: impl FnOnce(&Self, &[Family]) -> BTreeSet<(AgentKind, String)>,
    ) -> (Vec<Family>, Vec<Guard>) {
        let unread = self.unread();
        loop {
            let candidates = self.candidates(pins, excluded, &unread);
            let families = decide(&candidates, policy);
            let going = families.iter().filter(|family| family.is_removed()).flat_map(|family| &family.members);
            let unknown: Vec<usize> = going.copied().filter(|at| self.inspection(*at).is_none()).collect();
            if unknown.is_empty() {
                let mut found = guards(&families, &candidates, policy, &BTreeSet::new());
                if found.iter().any(Guard::counts_sessions) {
                    found = guards(&families, &candidates, policy, &archived(self, &families));
                }
                return (families, found);
            }
            drop((candidates, families));
            self.look_closer(&unknown);
        }
    }

    /// Returns each of these sessions with its sub-agents, including indirect ones.
    pub(crate) fn with_subagents(&self, roots: &[usize]) -> Vec<Vec<usize>> {
        let mut children: HashMap<(AgentKind, &str), Vec<usize>> = HashMap::new();
        for at in 0..self.len() {
            for copy in self.copies(at).iter().filter(|copy| copy.kind == SessionKind::Subagent) {
                let Some(parent) = copy.parent_id.as_deref() else { continue };
                let of_parent = children.entry((copy.place.agent(), parent)).or_default();
                if of_parent.last() != Some(&at) {
                    of_parent.push(at);
                }
            }
        }
        let family = |root: &usize| {
            let (mut members, mut known) = (vec![*root], HashSet::from([*root]));
            let mut at = 0;
            while at < members.len() {
                let own = children.get(&self.key(members[at])).into_iter().flatten();
                members.extend(own.copied().filter(|child| known.insert(*child)));
                at += 1;
            }
            members
        };
        roots.iter().map(family).collect()
    }

    /// Inspects named sessions, and returns the first obstacle to their removal; `going` are all sessions to remove.
    pub(crate) fn obstacle(&mut self, sessions: &[usize], going: &HashSet<usize>, pins: &Pins) -> Option<String> {
        let unknown: Vec<usize> = sessions.iter().copied().filter(|at| self.inspection(*at).is_none()).collect();
        self.look_closer(&unknown);
        let (unread, forks) = (self.unread(), self.forks(going));
        sessions.iter().find_map(|at| {
            let (agent, id) = self.key(*at);
            let inspection = self.inspection(*at);
            let used = self.copies(*at).iter().filter_map(|copy| copy.liveness.as_deref());
            let used = used.chain(inspection.and_then(Inspection::liveness));
            let why = match used.max_by_key(|liveness| liveness_rank(liveness)) {
                Some(Liveness::Live { pid }) => format!("it is in use by process {pid}"),
                Some(Liveness::Maybe { why }) => format!("it may be in use: {why}"),
                _ if pins.contains(agent, id) => {
                    format!("it is pinned; run `rejoin pin --remove {}` first", shell::selector(agent, id))
                }
                _ if let Some(kept_by) = self.kept_by(*at) => format!("it is {kept_by}; {} first", kept_by.end),
                _ if unread.contains(id) => "one of its copies cannot be read".to_owned(),
                _ if self.is_left_to_its_agent(*at) => inspection?.its_agents()?.to_string(),
                _ => {
                    let fork = forks.get(&(agent, id)).and_then(|forks| self.dependent(*at, forks));
                    let mut links = self.copies(*at).iter().flat_map(|copy| &copy.place.linked_by).map(|link| &**link);
                    let is_kept =
                        |link: &&str| self.find_session(agent, link).into_iter().any(|at| !going.contains(&at));
                    let (by, why) = match (fork, links.find(is_kept)) {
                        (Some(fork), _) => (fork, "continues it and needs its files"),
                        (None, link) => (link?, "has a link to its files"),
                    };
                    format!("{agent} session {by} {why}; remove that one first, or both at once")
                }
            };
            Some(format!("{agent} session {id} cannot be removed: {why}"))
        })
    }

    /// Returns the copies of kept forks, by the id of their parent.
    fn forks(&self, going: &HashSet<usize>) -> HashMap<(AgentKind, &str), Vec<&CopySummary>> {
        let mut forks: HashMap<(AgentKind, &str), Vec<&CopySummary>> = HashMap::new();
        for copy in (0..self.len()).filter(|at| !going.contains(at)).flat_map(|at| self.copies(at)) {
            if let Some(parent) = copy.parent_id.as_deref().filter(|_| copy.kind != SessionKind::Subagent) {
                forks.entry((copy.place.agent(), parent)).or_default().push(copy);
            }
        }
        forks
    }

    /// Returns the id of the first kept fork that needs the files of a session.
    fn dependent<'s>(&'s self, at: usize, forks: &[&'s CopySummary]) -> Option<&'s str> {
        let reader = agent::by_kind(self.key(at).0)?;
        let belongings = self.copies(at).iter().filter_map(|copy| reader.belongings(&copy.place).ok());
        let own: HashSet<PathBuf> = belongings.flat_map(|belongings| belongings.own).collect();
        let needs = |copy: &&&CopySummary| reader.companions(&copy.place).iter().any(|path| own.contains(path));
        forks.iter().find(needs).map(|copy| copy.place.id.as_str())
    }

    /// Returns the facts about each session that a decision needs.
    pub(crate) fn candidates<'a>(
        &'a self,
        pins: &Pins,
        excluded: &[(AgentKind, String)],
        unread: &HashSet<String>,
    ) -> Vec<RetentionCandidate<'a>> {
        const IDLE: &Liveness = &Liveness::Idle;
        let candidate = |at: usize| {
            let copies = self.copies(at);
            let inspection = self.inspection(at);
            let (agent, id) = self.key(at);
            let parent_id = copies.iter().find_map(|copy| copy.parent_id.as_deref());
            let kind = copies.iter().map(|copy| copy.kind).find(|kind| *kind != SessionKind::Empty);
            let used = copies.iter().find_map(|copy| copy.liveness.as_deref());
            let is_unread = unread.contains(id) || parent_id.is_some_and(|parent| unread.contains(parent));
            // A start time in the future is as wrong as an end time.
            let active_at = copies.iter().filter_map(|copy| copy.active_at).max();
            let newest_at = copies.iter().filter_map(|copy| copy.newest_at()).max();
            RetentionCandidate {
                agent,
                id,
                kind: kind.unwrap_or(SessionKind::Empty),
                parent_id,
                linked_by: copies.iter().flat_map(|copy| &copy.place.linked_by).map(|by| &**by).collect(),
                project: copies[0].place.project.as_deref().or(copies[0].dir.as_deref()),
                active_at: active_at.and(newest_at),
                recorded_at: inspection.and_then(|inspection| inspection.recorded_at),
                undated_at: inspection.and_then(|inspection| inspection.undated_at),
                size_bytes: if self.is_inside_parent(at) { 0 } else { self.size_bytes(at) },
                liveness: used.or_else(|| inspection?.liveness()).unwrap_or(IDLE),
                is_empty: copies.iter().all(|copy| copy.is_empty),
                is_unparsable: is_unread || copies.iter().any(|copy| copy.is_unparsable),
                is_unknown_format: copies.iter().any(|copy| copy.is_unknown_format),
                is_pinned: pins.contains(agent, id),
                is_kept_by_agent: self.kept_by(at).is_some(),
                is_excluded: excluded.iter().any(|(of, excluded)| (*of, &**excluded) == (agent, id)),
                rules: match copies {
                    [copy] => copy.rules.as_deref().unwrap_or_default().into(),
                    copies => copies.iter().flat_map(|copy| copy.rules.iter().flatten()).copied().collect(),
                },
                is_asked_for: copies.iter().any(|copy| copy.is_asked_for),
                is_its_agents: self.is_left_to_its_agent(at) && agent::about(agent).measured,
                is_only_read: inspection.is_some() && !agent::about(agent).measured,
            }
        };
        (0..self.len()).map(candidate).collect()
    }

    /// Returns the names that may be ids of sessions with an unreadable copy, or whose transcript has another name.
    pub(crate) fn unread(&self) -> HashSet<String> {
        /// The length of a UUID; many file names end with one.
        const UUID: usize = 36;
        let mut names = self.renamed.clone();
        for name in self.problems.iter().flat_map(|problem| problem.path.iter()).filter_map(|name| name.to_str()) {
            let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
            names.extend([name, stem].map(str::to_owned));
            names.extend(stem.len().checked_sub(UUID).and_then(|at| stem.get(at..)).map(str::to_owned));
        }
        names
    }
}

fn liveness_rank(liveness: &Liveness) -> u8 {
    match liveness {
        Liveness::Idle => 0,
        Liveness::Maybe { .. } => 1,
        Liveness::Live { .. } => 2,
    }
}

/// Returns the day of a time in UTC, which is the same for two runs on one day.
pub(crate) fn day(at: Timestamp) -> Date {
    at.to_zoned(TimeZone::UTC).date()
}
