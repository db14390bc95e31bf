//! The model: what a session is, as plain data. Nothing here touches a disk or knows an agent.

pub(crate) mod agents;
pub(crate) mod choose;
pub(crate) mod evidence;
pub(crate) mod fields;
mod health;
pub(crate) mod marks;
pub(crate) mod matching;
pub(crate) mod select;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

pub(crate) use agents::AgentKind;
pub(crate) use health::Health;

/// How far another clock may be ahead of this one; a time further ahead is still to come, and wins nothing.
pub(crate) const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(5);

/// What sort of session it is.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub(crate) enum SessionKind {
    /// A conversation of its own.
    Main,
    /// A copy of another session that went its own way.
    Fork,
    /// Made by a non-interactive run, where the agent records that.
    Exec,
    /// Made by another session for a part of its work.
    Subagent,
    /// Put aside by its agent.
    Archived,
    /// Neither a prompt nor a reply.
    Empty,
}

impl SessionKind {
    /// Tells whether `list` shows it without `--all`.
    pub(crate) fn is_listed(self) -> bool {
        matches!(self, Self::Main | Self::Fork | Self::Exec)
    }

    /// Returns the word of the JSON contract.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

/// Whether some process is using the session now.
#[derive(Clone, Debug, Default, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Liveness {
    /// A process that is known to run holds it.
    Live {
        /// Its process id.
        pid: u32,
    },
    /// It cannot be ruled out.
    Maybe {
        /// What speaks for it.
        why: String,
    },
    /// Nobody uses it.
    #[default]
    Idle,
}

impl Liveness {
    /// Returns the word of the JSON contract.
    pub(crate) fn name(&self) -> &'static str {
        self.into()
    }
}

/// A value together with where it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact<T> {
    /// What is known.
    pub value: T,
    /// Which file or record says so, for people and for `sources` in JSON.
    pub source: &'static str,
}

impl<T> Fact<T> {
    /// Names the source of a value.
    pub(crate) fn new(value: T, source: &'static str) -> Self {
        Self { value, source }
    }
}

/// One root directory of one agent's sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Store {
    /// Whose it is.
    pub agent: AgentKind,
    /// The directory; it may be a link, nothing below it is followed.
    pub root: PathBuf,
    /// Whether the agent uses it when nobody tells it otherwise.
    pub is_default: bool,
    /// Variables that the agent needs to find this store.
    pub set: BTreeMap<&'static str, OsString>,
    /// Variables that would lead the agent to another store.
    pub unset: Vec<&'static str>,
}

impl Store {
    /// Makes the store that an agent uses when nobody tells it otherwise.
    pub(crate) fn usual(agent: AgentKind, root: impl Into<PathBuf>) -> Self {
        Self { agent, root: root.into(), is_default: true, set: BTreeMap::new(), unset: Vec::new() }
    }

    /// Makes the store that a variable leads the agent to.
    pub(crate) fn named(agent: AgentKind, root: impl Into<PathBuf>, variable: &'static str, value: &Path) -> Self {
        Self { set: BTreeMap::from([(variable, value.into())]), ..Self::usual(agent, root) }
    }
}

/// One place where a session is stored, found by names alone.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    /// The store it lies in.
    pub store: Arc<Store>,
    /// The project's name on disk, where the agent has projects.
    pub project: Option<Arc<str>>,
    /// The full id.
    pub id: String,
    /// The transcript, the session's directory, or the database that holds it.
    pub path: Arc<Path>,
    /// A directory that belongs to it and lies beside it.
    pub side_dir: Option<PathBuf>,
    /// The session that made it, where its place tells.
    pub parent_id: Option<String>,
    /// Whether its name or place says that it is a sub-agent's.
    pub is_subagent: bool,
}

impl Located {
    /// Makes a place that has nothing but an id and a path.
    pub(crate) fn new(store: &Arc<Store>, id: impl Into<String>, path: impl Into<Arc<Path>>) -> Self {
        Self {
            store: Arc::clone(store),
            project: None,
            id: id.into(),
            path: path.into(),
            side_dir: None,
            parent_id: None,
            is_subagent: false,
        }
    }

    /// Returns whose session it is.
    pub(crate) fn agent(&self) -> AgentKind {
        self.store.agent
    }
}

/// A session that was written to this lately may be in use.
const MAYBE_LIVE: SignedDuration = SignedDuration::from_secs(120);

/// What reading one copy gave.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    /// Where it is.
    pub place: Located,
    /// What sort of session its content shows.
    pub kind: SessionKind,
    /// What the agent's own picker would show beyond the first prompt.
    pub title: Option<Fact<String>>,
    /// The first thing that a person typed.
    pub first_prompt: Option<Fact<String>>,
    /// Where `resume` starts the agent.
    pub launch_dir: Option<Fact<PathBuf>>,
    /// Where the session was started.
    pub start_dir: Option<Fact<PathBuf>>,
    /// Where it last worked.
    pub last_dir: Option<Fact<PathBuf>>,
    /// When it was started.
    pub created_at: Option<Fact<Timestamp>>,
    /// The newest time inside the session.
    pub active_at: Option<Fact<Timestamp>>,
    /// Everything that belongs to it, in bytes.
    pub size_bytes: u64,
    /// Whether that size is known: a session in a database has none until its rows are counted.
    pub is_size_known: bool,
    /// The transcript alone, in bytes.
    pub transcript_bytes: u64,
    /// When the transcript's file was last changed, where its agent deletes by that; it tells nothing of activity.
    pub modified_at: Option<Timestamp>,
    /// Temporary files of its agent in the copy's own directory.
    pub temporary: Vec<PathBuf>,
    /// What a person typed, counted; `None` until the whole file was read.
    pub prompts: Option<u64>,
    /// Assistant messages, counted; `None` until the whole file was read.
    pub replies: Option<u64>,
    /// The model that answered last.
    pub model: Option<Fact<String>>,
    /// The branch it last worked on.
    pub git_branch: Option<Fact<String>>,
    /// The session that it came from.
    pub parent_id: Option<String>,
    /// Whether some process uses it.
    pub liveness: Liveness,
    /// Whether the agent would look for it here when started in its launch directory.
    pub is_filed_right: bool,
    /// What is wrong with it.
    pub health: BTreeSet<Health>,
    /// What speaks for one launch directory or another, strongest first.
    pub evidence: Vec<Evidence>,
    /// Further words on it, a line each.
    pub notes: Vec<String>,
}

/// Something that speaks for a launch directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Evidence {
    /// The directory.
    #[serde(serialize_with = "lossy")]
    #[schemars(with = "String")]
    pub dir: PathBuf,
    /// The kind of source.
    pub source: &'static str,
    /// Which file or which sessions say so.
    pub detail: String,
    /// Whether the directory encodes to the session's project; if not, it does not count.
    pub counts: bool,
}

impl Copy {
    /// Makes a copy that has nothing but its place.
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
            size_bytes: 0,
            is_size_known: true,
            transcript_bytes: 0,
            modified_at: None,
            temporary: Vec::new(),
            prompts: None,
            replies: None,
            model: None,
            git_branch: None,
            liveness: Liveness::Idle,
            is_filed_right: false,
            health: BTreeSet::new(),
            evidence: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Returns the size of everything that belongs to it; `None` where nobody has counted it.
    pub(crate) fn size(&self) -> Option<u64> {
        Some(self.size_bytes).filter(|bytes| self.is_size_known || *bytes > 0)
    }

    /// Says that the session may be in use if it was written to just now, where its agent keeps no lock; `why` is given
    /// how many seconds ago that was.
    pub(crate) fn judge_by_age(&mut self, last: Option<Timestamp>, now: Timestamp, why: impl FnOnce(i64) -> String) {
        let age = last.map(|last| now.duration_since(last));
        if let Some(age) = age.filter(|age| !age.is_negative() && *age < MAYBE_LIVE) {
            self.liveness = Liveness::Maybe { why: why(age.as_secs()) };
        }
    }

    /// Notes what is wrong with it, if that is so.
    pub(crate) fn mark_if(&mut self, is_so: bool, health: Health) {
        if is_so {
            self.health.insert(health);
        }
    }

    /// Takes the time of its file for its activity where nothing inside tells one.
    pub(crate) fn set_active_by_file(&mut self, modified: Option<Timestamp>) {
        let of_file = modified.map(|at| Fact::new(at, "mtime"));
        self.active_at = self.active_at.take().or(of_file);
    }

    /// Notes whether there are lines that cannot be read; a last one that was cut off is known already.
    pub(crate) fn note_bad_lines(&mut self, has_bad_lines: bool) {
        self.mark_if(has_bad_lines && !self.health.contains(&Health::TornTranscript), Health::BadLines);
    }

    /// Notes that it holds a time that is still to come.
    pub(crate) fn judge_times(&mut self, now: Timestamp) {
        if [&self.created_at, &self.active_at].into_iter().flatten().any(|at| at.value.duration_since(now) > CLOCK_SKEW)
        {
            self.health.insert(Health::FutureTime);
        }
    }

    /// Tells whether its times can be true.
    pub(crate) fn is_dated(&self) -> bool {
        !self.health.contains(&Health::FutureTime)
    }

    /// Tells whether its agent does not know it, so that anybody may have written it.
    pub(crate) fn is_planted(&self) -> bool {
        self.health.contains(&Health::Planted)
    }

    /// Returns every directory that the copy records, without repeats.
    pub(crate) fn directories(&self) -> impl Iterator<Item = &Path> {
        let all = [&self.launch_dir, &self.start_dir, &self.last_dir]
            .map(|fact| fact.as_ref().map(|fact| fact.value.as_path()));
        let [launch, start, last] = all;
        launch
            .into_iter()
            .chain(start.filter(|dir| Some(*dir) != launch))
            .chain(last.filter(|dir| Some(*dir) != launch && Some(*dir) != start))
    }
}

/// A file elsewhere that names a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Pointer {
    /// Whose file it is.
    pub agent: AgentKind,
    /// The file.
    #[serde(serialize_with = "lossy")]
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The directory that it stands for.
    #[serde(serialize_with = "lossy")]
    #[schemars(with = "String")]
    pub dir: PathBuf,
    /// The directory that the session belongs to, if the file tells.
    #[serde(skip)]
    pub cwd: Option<PathBuf>,
    /// The id that it names; `null` when it names none that could be one.
    pub session_id: Option<String>,
    /// The name of what it is about.
    pub name: Option<String>,
    /// When it was written.
    pub written_at: Option<Timestamp>,
}

/// One conversation as its agent would resume it.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// Whose it is.
    pub agent: AgentKind,
    /// The full id.
    pub id: String,
    /// Every copy, the chosen one first; never empty.
    pub copies: Vec<Copy>,
    /// Why the first copy is the chosen one, and whether evidence decided it.
    pub choice: Choice,
    /// The files elsewhere that name it.
    pub pointers: Vec<Pointer>,
    /// Whether the launch directory exists; `None` when there is none or nobody looked.
    pub launch_dir_exists: Option<bool>,
    /// What is wrong with it.
    pub health: BTreeSet<Health>,
    /// Whether a person pinned it, so that no cleanup takes it.
    pub is_pinned: bool,
}

/// What a copy has in common with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Comparison {
    /// Both have the same records.
    Identical,
    /// This one goes on where the other ends.
    Longer {
        /// How many records both have.
        common: u64,
    },
    /// The other one goes on where this one ends.
    Shorter {
        /// How many records both have.
        common: u64,
    },
    /// Each went its own way.
    Diverged {
        /// The first record that differs, counted from 1.
        record: u64,
    },
}

impl Comparison {
    /// Returns the word of the JSON contract.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the first record that differs, counted from 1, where both went their own way.
    pub(crate) fn diverged_at(self) -> Option<u64> {
        match self {
            Self::Diverged { record } => Some(record),
            _ => None,
        }
    }

    /// Returns the same seen from the other copy.
    #[must_use]
    pub(crate) fn reversed(self) -> Self {
        match self {
            Self::Longer { common } => Self::Shorter { common },
            Self::Shorter { common } => Self::Longer { common },
            same => same,
        }
    }
}

impl std::fmt::Display for Comparison {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Identical => f.write_str("the same as the first copy"),
            Self::Longer { common: 1 } => f.write_str("continues after the only record of the first copy"),
            Self::Longer { common } => write!(f, "continues after the {common} records of the first copy"),
            Self::Shorter { common: 0 } => f.write_str("has none of the first copy's records"),
            Self::Shorter { common: 1 } => f.write_str("has only the first record of the first copy"),
            Self::Shorter { common } => write!(f, "has only the first {common} records of the first copy"),
            Self::Diverged { record } => write!(f, "differs from the first copy from record {record} on"),
        }
    }
}

/// How the copy to use was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The reason, in words.
    pub why: String,
    /// Whether evidence ranks the chosen copy over every other.
    pub is_decided: bool,
    /// What each copy has in common with the first; `None` where they were not compared.
    pub comparisons: Vec<Option<Comparison>>,
}

impl Choice {
    /// Makes a choice that needed no comparison.
    pub(crate) fn new(why: impl Into<String>, is_decided: bool) -> Self {
        Self { why: why.into(), is_decided, comparisons: Vec::new() }
    }
}

impl Session {
    /// Returns the chosen copy.
    pub(crate) fn copy(&self) -> &Copy {
        &self.copies[0]
    }

    /// Puts a copy first, as a person asked.
    pub(crate) fn put_first(&mut self, at: usize) {
        self.copies[..=at].rotate_right(1);
        self.choice = Choice::new("it was named", true);
        self.launch_dir_exists = self.launch_dir().map(Path::is_dir);
        self.assess();
    }

    /// Says anew what is wrong with the session, from its first copy and what is known of the rest.
    pub(crate) fn assess(&mut self) {
        let copy = self.copy();
        let has_no_directory = copy.launch_dir.is_none() && copy.kind != SessionKind::Empty;
        let problems = [
            (self.copies.len() > 1, Health::DuplicateSession),
            (has_no_directory, Health::UnknownDirectory),
            (self.launch_dir_exists == Some(false), Health::MissingDirectory),
        ];
        let own = copy.health.iter().copied();
        self.health = own.chain(problems.into_iter().filter(|(is, _)| *is).map(|(_, problem)| problem)).collect();
    }

    /// Returns what people call it: its title, or else its first prompt.
    pub(crate) fn label(&self) -> Option<&str> {
        let copy = self.copy();
        copy.title.as_ref().or(copy.first_prompt.as_ref()).map(|fact| fact.value.as_str())
    }

    /// Returns where `resume` would start the agent.
    pub(crate) fn launch_dir(&self) -> Option<&Path> {
        self.copy().launch_dir.as_ref().map(|fact| fact.value.as_path())
    }

    /// Returns the newest time inside the session.
    pub(crate) fn active_at(&self) -> Option<Timestamp> {
        self.copy().active_at.as_ref().map(|fact| fact.value)
    }

    /// Returns how late it was active, to compare with others: a time that is still to come is none of the latest.
    pub(crate) fn recency(&self) -> (bool, Option<Timestamp>) {
        (self.copy().is_dated(), self.active_at())
    }
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said; tool calls and results are put in words.
    pub text: String,
    /// When.
    pub at: Option<Timestamp>,
}

/// Who speaks in a message.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
    clap::ValueEnum,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Role {
    /// A person.
    User,
    /// The model.
    Assistant,
    /// A tool's call or result.
    Tool,
    /// The program itself.
    System,
}

impl Role {
    /// Returns the word for people and for JSON.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

/// What goes where a session goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Belongings {
    /// What belongs to one copy; a directory stands for everything in it.
    pub own: Vec<PathBuf>,
    /// What belongs to the session whichever copy is meant, so that it stays as long as one copy does.
    pub shared: Vec<PathBuf>,
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Problem {
    /// Where.
    #[serde(serialize_with = "lossy")]
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// Writes a path with replacement characters where it is not UTF-8.
fn lossy<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&path.display())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A copy for unit tests that has nothing but its id.
    pub(crate) fn copy(id: &str) -> Copy {
        let store = Store {
            agent: AgentKind::Claude,
            root: "/s".into(),
            is_default: true,
            set: BTreeMap::new(),
            unset: Vec::new(),
        };
        Copy::new(Located {
            store: Arc::new(store),
            project: Some("-p".into()),
            id: id.to_owned(),
            path: PathBuf::from(format!("/s/projects/-p/{id}.jsonl")).into(),
            side_dir: None,
            parent_id: None,
            is_subagent: false,
        })
    }

    /// A session of these copies; the first one is the chosen one.
    pub(crate) fn session(copies: Vec<Copy>) -> Session {
        Session {
            agent: copies[0].place.agent(),
            id: copies[0].place.id.clone(),
            choice: Choice::new("it is the only copy", true),
            copies,
            pointers: Vec::new(),
            launch_dir_exists: None,
            health: BTreeSet::new(),
            is_pinned: false,
        }
    }
}
