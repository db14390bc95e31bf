//! One copy of a session, as read from its files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::session::obstacle::Obstacle;
use crate::session::process::State;
use crate::session::recorded;
use crate::session::usage::Usage;
use crate::session::when::shown_period;
use crate::session::{CLOCK_SKEW, Evidence, Fact, Health, HealthSet, KeptBy, Liveness, Located, SessionKind};

/// A session that was written to this recently may be in use.
pub(crate) const MAYBE_LIVE: SignedDuration = SignedDuration::from_mins(2);

/// Maximum granularity of file times.
pub(crate) const FILE_TIME_STEP: SignedDuration = SignedDuration::from_secs(2);

/// The data of one copy.
#[derive(Clone, Debug)]
pub(crate) struct SessionCopy {
    /// Its location.
    pub place: Located,
    /// The kind of session that its content shows.
    pub kind: SessionKind,
    /// The title in the agent's own picker, if that differs from the first prompt.
    pub title: Option<Fact<Arc<str>>>,
    /// The first prompt that the user typed.
    pub first_prompt: Option<Fact<Arc<str>>>,
    /// The directory in which `resume` starts the agent.
    pub launch_dir: Option<Fact<Arc<Path>>>,
    /// The directory in which the session was started.
    pub start_dir: Option<Fact<Arc<Path>>>,
    /// The directory in which the session last worked.
    pub last_dir: Option<Fact<Arc<Path>>>,
    /// The time of the session's start.
    pub created_at: Option<Fact<Timestamp>>,
    /// The newest time inside the session.
    pub active_at: Option<Fact<Timestamp>>,
    /// The latest possible time of its activity, for comparisons; set if a record claims to be later than its file.
    pub not_after: Option<Timestamp>,
    /// Size in bytes of everything that belongs to the session.
    pub size_bytes: u64,
    /// Set if `size_bytes` is known: a session in a database has none until its rows are counted.
    pub is_size_known: bool,
    /// Size of the transcript alone, in bytes.
    pub transcript_bytes: u64,
    /// Time of the last change of the transcript's file, or the agent's equivalent that decides when it is deleted; not
    /// the activity.
    pub modified_at: Option<Timestamp>,
    /// Temporary files of its agent in the copy's own directory.
    pub temporary: Vec<PathBuf>,
    /// Number of prompts that the user typed; `None` until the whole file was read.
    pub prompts: Option<u64>,
    /// Number of assistant messages; `None` until the whole file was read.
    pub replies: Option<u64>,
    /// The tokens and the cost of its replies; `None` if they were not read.
    pub usage: Option<Usage>,
    /// The model that answered last.
    pub model: Option<Fact<Arc<str>>>,
    /// The git branch on which the session last worked.
    pub git_branch: Option<Fact<Arc<str>>>,
    /// The session from which this one was started or forked.
    pub parent_id: Option<String>,
    /// The reason for which the user keeps the session in the agent.
    pub kept_by: Option<Box<KeptBy>>,
    /// The evidence that a process uses the session.
    pub liveness: Liveness,
    /// The activity of that process, if the agent records it.
    pub state: Option<State>,
    /// Set if the agent, started in the launch directory, would look for the session here.
    pub is_filed_right: bool,
    /// Its problems.
    pub health: HealthSet,
    /// The evidence for launch directories, the strongest first.
    pub evidence: Vec<Evidence>,
    /// Further notes, one line each.
    pub notes: Vec<String>,
    /// The reason why the agent cannot open the copy, if one is known.
    pub obstacle: Option<Box<Obstacle>>,
}

impl SessionCopy {
    /// Creates a copy with its location only.
    pub(crate) fn new(place: Located) -> Self {
        Self {
            kind: if place.is_subagent { SessionKind::Subagent } else { SessionKind::Main },
            parent_id: place.parent_id.clone(),
            place,
            title: None,
            first_prompt: None,
            launch_dir: None,
            start_dir: None,
            last_dir: None,
            created_at: None,
            active_at: None,
            not_after: None,
            size_bytes: 0,
            is_size_known: true,
            transcript_bytes: 0,
            modified_at: None,
            temporary: Vec::new(),
            prompts: None,
            replies: None,
            usage: None,
            model: None,
            git_branch: None,
            kept_by: None,
            liveness: Liveness::Idle,
            state: None,
            is_filed_right: false,
            health: HealthSet::default(),
            evidence: Vec::new(),
            notes: Vec::new(),
            obstacle: None,
        }
    }

    /// Records why the agent cannot open the copy.
    pub(crate) fn obstruct(&mut self, obstacle: Obstacle) {
        self.health.insert(Health::CannotOpen);
        // Reading and counting may each find the same obstacle.
        if self.obstacle.as_deref() != Some(&obstacle) {
            self.notes.insert(0, obstacle.why.clone());
        }
        self.obstacle = Some(Box::new(obstacle));
    }

    /// Sets the only directory that the session records.
    pub(crate) fn set_dir(&mut self, dir: Option<&str>, detail: &'static str) {
        let Some(dir) = dir.and_then(recorded::dir) else { return };
        self.start_dir = Some(Fact::new(dir.clone(), "session"));
        self.last_dir = self.start_dir.clone();
        self.evidence.push(Evidence { dir, source: "session", detail: detail.into(), counts: true });
    }

    /// Drops recorded directories that are relative, which are not evidence; returns whether there was one.
    pub(crate) fn drop_relative_dirs(&mut self) -> bool {
        let before = self.evidence.len();
        self.evidence.retain(|evidence| recorded::is_absolute(&evidence.dir));
        let mut is_changed = self.evidence.len() < before;
        for dir in [&mut self.start_dir, &mut self.last_dir, &mut self.launch_dir] {
            is_changed |= dir.take_if(|dir| !recorded::is_absolute(&dir.value)).is_some();
        }
        is_changed
    }

    /// Returns whether the agent has closed the session: it archived it, or keeps only closed sessions.
    pub(crate) fn is_closed(&self) -> bool {
        self.kind == SessionKind::Archived || self.active_at.as_ref().is_some_and(|at| at.source == "closed_at")
    }

    /// Returns the size of everything that belongs to the session; `None` if that was not counted.
    pub(crate) fn size(&self) -> Option<u64> {
        Some(self.size_bytes).filter(|bytes| self.is_size_known || *bytes > 0)
    }

    /// Marks the session as possibly in use if it was written to just now and its agent keeps no lock; `why` gets the
    /// time since then.
    pub(crate) fn judge_by_age(&mut self, last: Option<Timestamp>, now: Timestamp, why: impl FnOnce(String) -> String) {
        let age = last.map(|last| now.duration_since(last));
        if let Some(age) = age.filter(|age| !age.is_negative() && *age < MAYBE_LIVE) {
            let seconds = Duration::from_secs(age.unsigned_abs().as_secs());
            self.liveness = Liveness::Maybe { why: why(shown_period(seconds)) };
        }
    }

    /// Adds the last and the first recorded directory as evidence, each with its source in words.
    pub(crate) fn add_dirs(&mut self, last: &'static str, start: &'static str) {
        for (dir, detail) in [(&self.last_dir, last), (&self.start_dir, start)] {
            if let Some(Fact { value, source }) = dir {
                self.evidence.push(Evidence { dir: value.clone(), source, detail: detail.into(), counts: true });
            }
        }
        self.last_dir = self.last_dir.take().or_else(|| self.start_dir.clone());
    }

    /// Marks the session as empty.
    pub(crate) fn be_empty(&mut self) {
        self.health.insert(Health::EmptySession);
        if self.kind.is_listed() {
            self.kind = SessionKind::Empty;
        }
    }

    /// Returns whether no file of the session has text by the user or a model.
    pub(crate) fn is_empty(&self) -> bool {
        self.kind == SessionKind::Empty || self.health.contains(Health::EmptySession)
    }

    /// Adds a problem if the condition is true.
    pub(crate) fn mark_if(&mut self, is_so: bool, health: Health) {
        if is_so {
            self.health.insert(health);
        }
    }

    /// Uses the time of its file as its activity if no record has a time.
    pub(crate) fn set_active_by_file(&mut self, modified: Option<Timestamp>) {
        let of_file = modified.map(|at| Fact::new(at, "mtime"));
        self.active_at = self.active_at.take().or(of_file);
    }

    /// Limits the activity to the last change of its file, if a record claims to be later.
    pub(crate) fn bound_activity(&mut self, changed: Option<Timestamp>) {
        let latest = changed.and_then(|at| at.checked_add(FILE_TIME_STEP).ok());
        self.not_after = latest.filter(|latest| self.active_at.as_ref().is_some_and(|at| at.value > *latest));
    }

    /// Records whether there are unreadable lines; a torn last line is recorded separately.
    pub(crate) fn note_bad_lines(&mut self, has_bad_lines: bool) {
        self.mark_if(has_bad_lines && !self.health.contains(Health::TornTranscript), Health::BadLines);
    }

    /// Records whether the copy contains a time in the future.
    pub(crate) fn judge_times(&mut self, now: Timestamp) {
        if [&self.created_at, &self.active_at].into_iter().flatten().any(|at| at.value.duration_since(now) > CLOCK_SKEW)
        {
            self.health.insert(Health::FutureTime);
        }
    }

    /// Returns whether no time is in the future.
    pub(crate) fn is_dated(&self) -> bool {
        !self.health.contains(Health::FutureTime)
    }

    /// Returns whether the agent does not know the copy, so that anyone may have written it.
    pub(crate) fn is_planted(&self) -> bool {
        self.health.contains(Health::Planted)
    }

    /// Returns every directory that the copy records, without repeats.
    pub(crate) fn directories(&self) -> impl Iterator<Item = &Path> {
        let all =
            [&self.launch_dir, &self.start_dir, &self.last_dir].map(|fact| fact.as_ref().map(|fact| &*fact.value));
        let [launch, start, last] = all;
        // Usually the texts are equal, which is cheaper to check than equal paths.
        let is = |dir: &Path, other: Option<&Path>| {
            other.is_some_and(|other| other.as_os_str() == dir.as_os_str() || other == dir)
        };
        launch
            .into_iter()
            .chain(start.filter(move |dir| !is(dir, launch)))
            .chain(last.filter(move |dir| !is(dir, launch) && !is(dir, start)))
    }
}
