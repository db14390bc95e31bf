//! Collects the facts for `doctor`: one scan of all agents, and the facts that only its checks need. The checks in
//! `check` then decide without reading a disk.

mod copies;
mod first_records;
mod gone;
mod line_repairs;
mod lines;
mod orphans;
mod parked;
pub(crate) mod sweeps;
mod unread;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use foldhash::HashSet;
use jiff::{SignedDuration, Timestamp};

use crate::agent::mentions::Mention;
use crate::agent::upkeep::{CwdRecord, Orphan, OrphanKind, Retention};
use crate::agent::{self, Inspector};
use crate::archive::Archive;
use crate::archive::coverage::archived_sessions;
use crate::change::rewinds::Rewinds;
use crate::doctor::code::Code;
use crate::format::command_line;
use crate::format::jsonl::is_line_wise;
use crate::scan::aliases::drop_repeated;
use crate::scan::deleted;
use crate::scan::expiry::{Retentions, is_own};
use crate::scan::moved::{self, LinkedDir};
use crate::scan::off_branch::OffBranch;
use crate::scan::{self, Scan, processes, stuck};
use crate::session::select::Filter;
use crate::session::stuck::Stuck;
use crate::session::{AgentKind, Problem, Session, SessionKind, Store};
use crate::system::env::Env;
use crate::system::watch::Watcher;
use crate::system::{fsio, parallel, process, reach};

pub(crate) use copies::{CopyFacts, file_only_in};
pub(crate) use gone::Gone;
pub(crate) use line_repairs::LineRepairs;
pub(crate) use lines::{LastLine, LineNumber, READ_WHOLE, TranscriptLines, line_edits};
use orphans::ExistingDirs;
pub(crate) use parked::{Parked, ParkedLog};
pub(crate) use unread::UnreadLogs;

/// The facts that the survey collects.
#[derive(Clone, Debug)]
pub(crate) struct SurveyScope {
    /// The checks that will run; facts that only other checks need are not collected.
    pub codes: BTreeSet<Code>,
    /// Set to read every transcript whole, regardless of its size.
    pub deep: bool,
    /// Time span in which upcoming deletions by an agent are reported.
    pub expires_within: SignedDuration,
}

/// The checks that need the lines of transcripts.
const OF_LINES: [Code; 5] =
    [Code::TornTranscript, Code::BadLines, Code::BrokenChain, Code::OtherBranches, Code::StuckSession];

/// The checks for which it matters whether a transcript is there under another name.
const OF_UNREAD: [Code; 4] = [Code::UnreadFile, Code::OrphanBelongings, Code::DanglingPointer, Code::StaleCwdRecord];

impl SurveyScope {
    fn wants_any(&self, codes: &[Code]) -> bool {
        codes.iter().any(|code| self.codes.contains(code))
    }
}

/// The facts from which the checks decide.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// The sessions of all agents, pointers tied to them.
    pub scan: Scan,
    /// Every store that was read.
    pub stores: Vec<Store>,
    /// The current time.
    pub now: Timestamp,
    /// Time span in which upcoming deletions by an agent are reported.
    pub expires_within: SignedDuration,
    /// Facts about extra copies, by the index of their session in the scan; the chosen copy is left out.
    pub copies: BTreeMap<usize, Vec<CopyFacts>>,
    /// Problems in the lines of files that a resume reads, by the index of their session in the scan; valid files are left
    /// out.
    pub lines: BTreeMap<usize, Vec<(PathBuf, TranscriptLines)>>,
    /// The messages that a resume does not show, by the index of their session in the scan.
    pub off_branch: BTreeMap<usize, OffBranch>,
    /// The stuck conversations, by the index of their session in the scan.
    pub stuck: BTreeMap<usize, Stuck>,
    /// The large transcripts that their agents may not open, by the index of their session in the scan.
    pub large: BTreeSet<usize>,
    /// Number of transcripts that were read only at both ends.
    pub read_at_both_ends: usize,
    /// Missing launch directories, with the facts about each.
    pub gone: BTreeMap<PathBuf, Gone>,
    /// Launch directories that lead to others, where the agents do not find the sessions.
    pub linked: BTreeMap<PathBuf, LinkedDir>,
    /// Directories of projects that have sessions of several directories, with links resolved as far as they exist.
    pub resolved: BTreeMap<PathBuf, PathBuf>,
    /// Files in the stores that belong to no session.
    pub orphans: Vec<Orphan>,
    /// Logs that may hold a conversation and are not read.
    pub unread: UnreadLogs,
    /// Sessions that a list of their agent names, and that have no files.
    pub gone_sessions: Vec<Mention>,
    /// Large output directories of sessions that did not change for a day.
    pub outputs: Vec<OldOutput>,
    /// Temporary files that some process holds open.
    pub held: BTreeSet<PathBuf>,
    /// The rules by which agents delete sessions themselves, by the roots of their stores.
    pub retentions: BTreeMap<PathBuf, (AgentKind, Retention)>,
    /// Sessions that their agent deletes soon and that the archive holds completely.
    pub archived: BTreeSet<(AgentKind, String)>,
    /// Records of directories in which sessions worked, and whether each directory exists.
    pub cwd_records: Vec<(CwdRecord, bool)>,
    /// Runs of this program that were interrupted.
    pub interrupted: Vec<InterruptedRun>,
    /// The sessions that the user named; empty if none was named.
    pub named: BTreeSet<(AgentKind, String)>,
}

/// The facts from the lines of one file of a session.
struct TranscriptFacts {
    /// The index of the session in the scan.
    at: usize,
    path: PathBuf,
    lines: Result<TranscriptLines, Problem>,
    off_branch: Option<OffBranch>,
    stuck: Option<Stuck>,
}

/// A large directory with output of a session's background tasks that did not change for a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OldOutput {
    /// The agent and the full id of the session.
    pub session: (AgentKind, String),
    /// The directory.
    pub dir: PathBuf,
    /// Size of its files in bytes.
    pub size_bytes: u64,
    /// The newest change of a file in it.
    pub modified_at: Timestamp,
}

/// Size in bytes from which output is large.
const LARGE_OUTPUT: u64 = 1024 * 1024 * 1024;
/// The time without a change after which output is old.
const OLD_OUTPUT: SignedDuration = SignedDuration::from_hours(24);

/// A run of this program that was interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InterruptedRun {
    /// The id of the run, for `undo`.
    pub run: String,
    /// The command that it carried out.
    pub verb: String,
    /// Its start time.
    pub started_at: Timestamp,
    /// Number of its completed steps, and of all its steps.
    pub steps: (usize, usize),
    /// Path of its journal.
    pub journal: PathBuf,
}

/// Returns whether a transcript is large and a smaller copy can be made of it. If its agent refuses it, that is
/// reported instead.
fn is_large(session: &Session) -> bool {
    session.copy().obstacle.is_none() && agent::about(session.agent).can_slim(session.copy())
}

/// Collects the facts for the requested checks; `watcher` receives each copy and each transcript.
pub(crate) fn collect(env: &Env, scope: &SurveyScope, watcher: &Watcher) -> Survey {
    let compares = scope.wants_any(&[Code::DuplicateSession]);
    let depth = if compares { scan::ScanScope::RESUME } else { scan::ScanScope::GLANCE };
    let wants_lines = scope.wants_any(&OF_LINES);
    let seen = lines::SeenLines::default();
    // Some agents find with it what keeps them from opening a session.
    let inspector =
        if wants_lines || scope.wants_any(&[Code::CannotOpen]) { seen.inspector() } else { Inspector::default() };
    let mut scan = scan::locate(env, &[]).watched(watcher.clone()).inspected(inspector).read_all(env, depth);
    if scope.wants_any(&[Code::Planted]) {
        scan.add_those_in_dirs(env, &Filter::default(), depth, watcher);
    }
    if scope.wants_any(&[Code::DanglingPointer]) {
        scan.add_pointers(env);
    }
    let stores = agent::all().iter().flat_map(|agent| agent.stores(env)).collect();
    let mut survey =
        Survey { scan, stores, now: env.clock.now, expires_within: scope.expires_within, ..Survey::default() };
    // A repair must not change sessions that a process has open, so this is checked whatever checks are requested.
    processes::verify(&mut survey.scan.sessions);
    if compares {
        survey.copies = copies::collect_copy_facts(&survey.scan);
    }
    if wants_lines {
        survey.survey_lines(scope.deep, seen, watcher);
    }
    if scope.wants_any(&[Code::OtherBranches, Code::StuckSession]) {
        survey.survey_databases();
    }
    let sessions = survey.scan.sessions.iter().enumerate();
    survey.large = sessions.filter(|(_, session)| is_large(session)).map(|(at, _)| at).collect();
    survey.drop_rewound(env);
    survey.look_around(scope, env);
    if scope.wants_any(&[Code::GoneSession]) {
        let ids = |session: &Session| (session.agent, session.id().to_owned());
        let files = || (survey.scan.sessions.iter().map(ids).collect(), survey.scan.problems.clone());
        survey.gone_sessions = deleted::without_files(env, &|_| true, &files);
    }
    if scope.wants_any(&[Code::LargeOutput]) {
        survey.survey_outputs(env);
    }
    if scope.wants_any(&[Code::ExpiresSoon, Code::GoneSession]) {
        survey.survey_retentions(env);
    }
    for Problem { path, reason } in &mut survey.scan.problems {
        let owner = fsio::other_owner(path, reason);
        reason.extend(owner.map(|owner| command_line::chown(owner, path, false)));
    }
    survey.scan.problems.sort();
    // Stores that share a directory report the same problem.
    drop_repeated(&mut survey.scan.problems);
    survey
}

impl Survey {
    /// Finds a session by its full id.
    pub(crate) fn session(&self, agent: AgentKind, id: &str) -> Option<&Session> {
        // The scan is in order of agent and id.
        let sessions = &self.scan.sessions;
        let at = sessions.binary_search_by(|session| (session.agent, session.id()).cmp(&(agent, id)));
        at.ok().map(|at| &sessions[at])
    }

    /// Returns the facts about a copy of a session other than the chosen one.
    pub(crate) fn copy_facts(&self, session: &Session, number: usize) -> Option<&CopyFacts> {
        let sessions = &self.scan.sessions;
        let at = sessions.binary_search_by(|other| (other.agent, other.id()).cmp(&(session.agent, session.id())));
        self.copies.get(&at.ok()?)?.get(number.checked_sub(1)?)
    }

    /// Collects facts other than the sessions themselves. Parts that use one thread each run in parallel.
    fn look_around(&mut self, scope: &SurveyScope, env: &Env) {
        let (mut gone, mut linked, mut orphans, mut unread, mut records, mut resolved) = Default::default();
        {
            let survey: &Self = self;
            let (scan, stores) = (&survey.scan, &survey.stores);
            let existing = LazyLock::new(|| ExistingDirs::from_scan(scan));
            let wants = |codes: &[Code]| scope.wants_any(codes);
            let parts: [&mut (dyn FnMut() + Send); _] = [
                &mut || gone = wants(&[Code::MissingDirectory]).then(|| gone::examine_missing_dirs(scan, env)),
                &mut || linked = wants(&[Code::LinkedDirectory]).then(|| moved::linked_dirs(&scan.sessions)),
                &mut || {
                    let is_wanted = wants(&[Code::OrphanBelongings, Code::LeftoverTemp]);
                    orphans = is_wanted.then(|| orphans::find_orphans(scan, stores, &existing, env));
                },
                &mut || records = wants(&[Code::StaleCwdRecord]).then(|| orphans::cwd_records(stores, &existing)),
                &mut || resolved = wants(&[Code::SlugCollision]).then(|| survey.resolve_shared()),
                &mut || unread = wants(&OF_UNREAD).then(|| unread::find_unread_logs(survey, env)),
            ];
            parallel::map(parts, |part| part());
        }
        self.linked = linked.unwrap_or_default();
        (self.gone, self.resolved) = (gone.unwrap_or_default(), resolved.unwrap_or_default());
        self.unread = unread.unwrap_or_default();
        let mut problems;
        (self.orphans, problems) = orphans.unwrap_or_default();
        self.scan.problems.append(&mut problems);
        (self.cwd_records, problems) = records.unwrap_or_default();
        self.scan.problems.append(&mut problems);
        let is_file = |kind| matches!(kind, OrphanKind::Temporary | OrphanKind::Debris);
        let temporary = self.orphans.iter().filter(|orphan| is_file(orphan.kind));
        self.held = process::held_files(&temporary.map(|orphan| orphan.path.as_path()).collect::<Vec<_>>());
    }

    fn survey_outputs(&mut self, env: &Env) {
        let mut outputs = agent::Outputs::read(env);
        self.scan.problems.append(&mut outputs.problems);
        let look = |(agent, id, dir): (AgentKind, &str, &Path)| {
            let (size_bytes, modified_at) = agent::extent(dir);
            let modified_at =
                modified_at.filter(|at| size_bytes >= LARGE_OUTPUT && self.now.duration_since(*at) >= OLD_OUTPUT)?;
            Some(OldOutput { session: (agent, id.to_owned()), dir: dir.to_owned(), size_bytes, modified_at })
        };
        self.outputs = outputs.iter().filter_map(look).collect();
    }

    fn survey_lines(&mut self, deep: bool, seen: lines::SeenLines, watcher: &Watcher) {
        let seen = seen.all();
        watcher.turn_to("Reading lines");
        watcher.begin(self.scan.sessions.len());
        let look = |(at, session): (usize, &Session)| {
            let copy = session.copy();
            let agent = agent::by_kind(session.agent)?;
            let mut files = agent.resumed_files(&copy.place);
            files.retain(|path| is_line_wise(path));
            let look_at = |path: PathBuf| {
                let seen = seen.get(path.as_os_str()).cloned();
                let is_subagent = copy.kind == SessionKind::Subagent;
                let lines = seen.map_or_else(|| lines::look(&path, agent, is_subagent, deep), Ok);
                let found = lines.as_ref().ok();
                let off_branch = found.filter(|lines| lines.may_branch).and_then(|_| OffBranch::read_copy(copy));
                let stuck = found.filter(|lines| lines.may_be_stuck).and_then(|_| stuck::of(copy));
                let lines = lines.map_err(|error| Problem { reason: error.reason(), path: path.clone() });
                TranscriptFacts { at, path, lines, off_branch, stuck }
            };
            Some(files.into_iter().map(look_at).collect::<Vec<_>>())
        };
        let looked = parallel::map(self.scan.sessions.iter().enumerate(), |session| {
            let facts = look(session);
            watcher.done(1);
            facts
        });
        for TranscriptFacts { at, path, lines, off_branch, stuck } in looked.into_iter().flatten().flatten() {
            self.stuck.extend(stuck.map(|stuck| (at, stuck)));
            self.off_branch.extend(off_branch.map(|off_branch| (at, off_branch)));
            match lines {
                Ok(lines) => {
                    self.read_at_both_ends += usize::from(!lines.is_whole);
                    if !lines.is_sound() {
                        self.lines.entry(at).or_default().push((path, lines));
                    }
                }
                Err(problem) => self.scan.problems.push(problem),
            }
        }
    }

    /// Drops the stuck conversations and the large transcripts that `rewind` has already copied.
    fn drop_rewound(&mut self, env: &Env) {
        if self.stuck.is_empty() && self.large.is_empty() {
            return;
        }
        let (rewinds, sessions) = (Rewinds::read(env), &self.scan.sessions);
        let has = |agent: AgentKind, id: &str| {
            sessions.binary_search_by(|other| (other.agent, other.id()).cmp(&(agent, id))).is_ok()
        };
        let is_rewound = |session: &Session| rewinds.made_from(session).is_some_and(|id| has(session.agent, id));
        self.stuck.retain(|at, _| !is_rewound(&sessions[*at]));
        self.large.retain(|at| !is_rewound(&sessions[*at]));
    }

    /// Checks sessions in databases. Queries each database once for the last messages of all its sessions.
    fn survey_databases(&mut self) {
        let (mut stuck, mut off_branch) = (Vec::new(), Vec::new());
        for (at, end) in stuck::database_ends(&self.scan.sessions) {
            let copy = self.scan.sessions[at].copy();
            stuck.extend(end.is_error.then(|| stuck::of(copy)).flatten().map(|stuck| (at, stuck)));
            off_branch.extend(end.is_rewound.then(|| OffBranch::read_copy(copy)).flatten().map(|off| (at, off)));
        }
        self.stuck.extend(stuck);
        self.off_branch.extend(off_branch);
    }

    /// Resolves the directories of projects that have sessions of several directories, so that a link equals its
    /// target.
    fn resolve_shared(&self) -> BTreeMap<PathBuf, PathBuf> {
        let mut by_project: BTreeMap<_, BTreeSet<&Path>> = BTreeMap::new();
        for (project, dir) in self.project_dirs() {
            by_project.entry(project).or_default().insert(dir);
        }
        let shared = by_project.into_values().filter(|dirs| dirs.len() > 1).flatten();
        shared.map(|dir| (dir.to_owned(), reach::canonicalize(dir).unwrap_or_else(|_| dir.to_owned()))).collect()
    }

    /// Returns the launch directories of the sessions that are filed under them, each once with its project, unsorted.
    pub(crate) fn project_dirs(&self) -> impl Iterator<Item = ((AgentKind, &Path, &str), &Path)> {
        let dirs = self.scan.sessions.iter().filter_map(|session| {
            let copy = session.copy();
            let project = copy.place.project.as_deref().filter(|_| copy.is_filed_right)?;
            let is_own = copy.kind != SessionKind::Subagent && copy.kind != SessionKind::Empty;
            let dir = session.launch_dir().filter(|_| is_own)?;
            Some((session.agent, copy.place.store.root.as_os_str(), project, dir.as_os_str()))
        });
        let dirs: HashSet<_> = dirs.collect();
        dirs.into_iter().map(|(agent, root, project, dir)| ((agent, Path::new(root), project), Path::new(dir)))
    }

    fn survey_retentions(&mut self, env: &Env) {
        let mut retentions = Retentions::new(env);
        for store in &self.stores {
            if let Some(retention) = retentions.retention_of(store) {
                self.retentions.insert(store.root.clone(), (store.agent, retention.clone()));
            }
        }
        for session in &mut self.scan.sessions {
            retentions.expiry(&mut session.copies[0]);
        }
        let expiring = self.scan.sessions.iter().filter(|session| self.expiry(session).is_some()).collect::<Vec<_>>();
        self.archived =
            if expiring.is_empty() { BTreeSet::new() } else { archived_sessions(&expiring, &Archive::open(env, None)) };
    }

    /// Returns whether the user named the session, or none.
    pub(crate) fn is_named(&self, session: &Session) -> bool {
        self.named.is_empty() || self.named.contains(&session.key())
    }

    /// Returns when the agent of a session will delete it, if that is soon.
    pub(crate) fn expiry(&self, session: &Session) -> Option<Timestamp> {
        let copy = session.copy();
        let (_, retention) = self.retentions.get(&copy.place.store.root)?;
        let is_soon = |at: &Timestamp| at.duration_since(self.now) <= self.expires_within;
        retention.expiry(copy).filter(|_| is_own(copy)).filter(is_soon)
    }
}
