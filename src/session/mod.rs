//! The data model of sessions. Nothing in this room accesses a disk or depends on a particular agent.

pub(crate) mod agents;
pub(crate) mod branches;
pub(crate) mod causes;
mod choice;
pub(crate) mod choose;
mod copy;
pub(crate) mod evidence;
pub(crate) mod facts;
pub(crate) mod fields;
mod health;
mod kept;
pub(crate) mod mapping;
pub(crate) mod marks;
pub(crate) mod matching;
mod message;
pub(crate) mod nearly;
pub(crate) mod obstacle;
mod place;
pub(crate) mod process;
pub(crate) mod recorded;
pub(crate) mod repository;
pub(crate) mod select;
pub(crate) mod state_name;
pub(crate) mod stats;
pub(crate) mod stuck;
pub(crate) mod tag;
pub(crate) mod terms;
pub(crate) mod usage;
pub(crate) mod when;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use changes::error::Problem;
use changes::path_text::lossy;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

pub(crate) use agents::AgentKind;
pub(crate) use choice::{Comparison, CopyChoice};
pub(crate) use copy::{FILE_TIME_STEP, MAYBE_LIVE, SessionCopy};
pub(crate) use health::{Health, HealthSet};
pub(crate) use kept::KeptBy;
pub(crate) use message::{Message, Role, Visitor};
pub(crate) use place::Origin;
pub(crate) use place::{Located, Store};
use process::Process;
use tag::Tag;

/// Maximum lead of another clock; a later time is in the future and is ignored.
pub(crate) const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(5);

/// The period before a deletion by its agent in which a session is marked; the default of `doctor --expiring`.
pub(crate) const SOON: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The kind of session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub(crate) enum SessionKind {
    /// A separate conversation.
    Main,
    /// A copy of another session that continued separately.
    Fork,
    /// Made by a non-interactive run, if the agent records that.
    Exec,
    /// A part of another session, saved by the user under a name.
    Saved,
    /// A sub-agent: started by another session for a part of its work.
    Subagent,
    /// Archived by its agent.
    Archived,
    /// Neither a prompt nor a reply.
    Empty,
}

impl SessionKind {
    /// Returns whether `list` shows sessions of this kind without `--all`.
    pub(crate) fn is_listed(self) -> bool {
        matches!(self, Self::Main | Self::Fork | Self::Exec | Self::Saved)
    }

    /// Returns the word of the JSON contract.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

/// The evidence that a process is using the session now.
#[derive(Clone, Debug, Default, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Liveness {
    /// A process that is known to run has it open.
    Live {
        /// Its process id.
        pid: u32,
    },
    /// The session may be in use.
    Maybe {
        /// The reason for this assumption.
        why: String,
    },
    /// No process uses it.
    #[default]
    Idle,
}

impl Liveness {
    /// Returns the word of the JSON contract.
    pub(crate) fn name(&self) -> &'static str {
        self.into()
    }
}

/// A value with its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact<T> {
    /// The value.
    pub value: T,
    /// The file or record that contains it, for display and for `sources` in JSON.
    pub source: &'static str,
}

impl<T> Fact<T> {
    /// Creates a value with its source.
    pub(crate) fn new(value: impl Into<T>, source: &'static str) -> Self {
        Self { value: value.into(), source }
    }
}

/// A source that points to a launch directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Evidence {
    /// The directory.
    #[serde(serialize_with = "lossy")]
    pub dir: Arc<Path>,
    /// The kind of source.
    pub source: &'static str,
    /// The file or the sessions that record it.
    pub detail: Cow<'static, str>,
    /// True if the directory encodes to the session's project; others do not count.
    pub counts: bool,
}

/// A file elsewhere that names a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Pointer {
    /// The program that wrote the file.
    pub agent: AgentKind,
    /// The file.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// The directory that it names.
    #[serde(serialize_with = "lossy")]
    pub dir: PathBuf,
    /// The directory of the session, if the file names one.
    #[serde(skip)]
    pub cwd: Option<PathBuf>,
    /// The id that the file names; `null` if it has none, or an invalid one.
    pub session_id: Option<String>,
    /// The name of the app.
    pub name: Option<String>,
    /// The time at which the file was written.
    pub written_at: Option<Timestamp>,
}

/// One conversation as its agent would resume it.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// The agent that it belongs to.
    pub agent: AgentKind,
    /// Every copy, the chosen one first; never empty.
    pub copies: Vec<SessionCopy>,
    /// The reason why the first copy was chosen, and whether evidence decided it.
    pub choice: Arc<CopyChoice>,
    /// The files elsewhere that name it.
    pub pointers: Vec<Pointer>,
    /// Set if the launch directory exists; `None` if it is unknown or was not checked.
    pub launch_dir_exists: Option<bool>,
    /// Its problems.
    pub health: HealthSet,
    /// Set if the user pinned it, so that no cleanup removes it.
    pub is_pinned: bool,
    /// The tags that the user assigned to it.
    pub tags: Box<[Tag]>,
    /// The time from which its agent deletes it, if that is soon; `None` unless `scan::expiry` noted it.
    pub expires_at: Option<Timestamp>,
    /// Set if the conversation is stuck; false unless `scan::stuck` checked it.
    pub is_stuck: bool,
    /// The session that this one continues; `None` unless `change::links` set it.
    pub continues: Option<Box<Origin>>,
    /// The id of the session that `rewind` made from this one; `None` unless `show` searched for it.
    pub rewound_as: Option<Box<str>>,
    /// The relation of its directory to the requested one, if it is another.
    pub kin: Option<Kin>,
    /// The process that uses it; `None` for an idle session, and unless `scan::processes` noted it.
    pub process: Option<Process>,
}

/// The relation of a directory to another one with the same work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kin {
    /// The earlier location of the working directory.
    Earlier,
    /// A git worktree of it, or its main checkout.
    Worktree,
}

impl Session {
    /// Creates a session from its copies, the chosen one first. Other facts are unknown.
    pub(crate) fn new(copies: Vec<SessionCopy>, choice: impl Into<Arc<CopyChoice>>) -> Self {
        Self {
            agent: copies[0].place.agent(),
            copies,
            choice: choice.into(),
            pointers: Vec::new(),
            launch_dir_exists: None,
            health: HealthSet::default(),
            is_pinned: false,
            tags: Box::default(),
            expires_at: None,
            is_stuck: false,
            continues: None,
            rewound_as: None,
            kin: None,
            process: None,
        }
    }

    /// Returns the chosen copy.
    pub(crate) fn copy(&self) -> &SessionCopy {
        &self.copies[0]
    }

    /// Returns the copy that a process uses, or else one that a process may use; `None` if the session is idle.
    pub(crate) fn copy_in_use(&self) -> Option<&SessionCopy> {
        let live = self.copies.iter().find(|copy| matches!(copy.liveness, Liveness::Live { .. }));
        live.or_else(|| self.copies.iter().find(|copy| copy.liveness != Liveness::Idle))
    }

    /// Returns the reason for which the user keeps the session in its agent.
    pub(crate) fn kept_by(&self) -> Option<&KeptBy> {
        self.copies.iter().find_map(|copy| copy.kept_by.as_deref())
    }

    /// Returns the full id.
    pub(crate) fn id(&self) -> &str {
        &self.copy().place.id
    }

    /// Returns the agent and the full id.
    pub(crate) fn key(&self) -> (AgentKind, String) {
        (self.agent, self.id().to_owned())
    }

    /// Returns the machine that stores it; `None` for this one.
    pub(crate) fn host(&self) -> Option<&str> {
        self.copy().place.store.host.as_deref()
    }

    /// Moves a copy to the front, as the user requested.
    pub(crate) fn put_first(&mut self, at: usize) {
        let number = self.number_of(at);
        self.choice =
            CopyChoice { named: Some(number), ..CopyChoice::new(format!("you asked for copy {number}"), true) }.into();
        self.copies[..=at].rotate_right(1);
        self.launch_dir_exists = None;
    }

    /// Returns the number by which the user names a copy, counted from 1. The number stays the same if another copy
    /// becomes the first one.
    pub(crate) fn number_of(&self, at: usize) -> usize {
        match self.choice.named {
            Some(named) if at == 0 => named,
            Some(named) if at < named => at,
            _ => at + 1,
        }
    }

    /// Recomputes the problems of the session from its first copy and the facts about the others.
    pub(crate) fn assess(&mut self) {
        let copy = self.copy();
        let has_no_directory = copy.launch_dir.is_none() && copy.kind != SessionKind::Empty;
        let problems = [
            (self.copies.len() > 1, Health::DuplicateSession),
            (has_no_directory, Health::UnknownDirectory),
            (self.launch_dir_exists == Some(false), Health::MissingDirectory),
        ];
        let own = copy.health.iter();
        self.health = own.chain(problems.into_iter().filter(|(is, _)| *is).map(|(_, problem)| problem)).collect();
    }

    /// Returns the title, or else the first prompt.
    pub(crate) fn label(&self) -> Option<&str> {
        let copy = self.copy();
        copy.title.as_ref().or(copy.first_prompt.as_ref()).map(|fact| &*fact.value)
    }

    /// Returns the directory in which `resume` would start the agent.
    pub(crate) fn launch_dir(&self) -> Option<&Path> {
        self.copy().launch_dir.as_ref().map(|fact| &*fact.value)
    }

    /// Returns the newest time inside the session.
    pub(crate) fn active_at(&self) -> Option<Timestamp> {
        self.copy().active_at.as_ref().map(|fact| fact.value)
    }

    /// Returns a key that is greater for a later activity. It is lowest for a session with a time in the future; a time
    /// later than the last change of the session's file is limited to that change.
    pub(crate) fn recency(&self) -> (bool, Option<Timestamp>) {
        let copy = self.copy();
        (copy.is_dated(), self.active_at().map(|at| copy.not_after.map_or(at, |latest| at.min(latest))))
    }
}

/// The files that are moved or removed together with a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Belongings {
    /// The files of one copy; a directory includes everything in it.
    pub own: Vec<PathBuf>,
    /// The files of the session as a whole, which stay as long as one copy does.
    pub shared: Vec<PathBuf>,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A copy for unit tests with its id only.
    pub(crate) fn copy(id: &str) -> SessionCopy {
        let store = Arc::new(Store::usual(AgentKind::Claude, "/s"));
        let path = PathBuf::from(format!("/s/projects/-p/{id}.jsonl"));
        SessionCopy::new(Located { project: Some("-p".into()), ..Located::new(&store, id, path) })
    }

    /// A session with these copies. The first copy is the chosen one.
    pub(crate) fn session(copies: Vec<SessionCopy>) -> Session {
        Session::new(copies, CopyChoice::new("it is the only copy", true))
    }

    #[test]
    fn live_copy_outranks_possibly_live_copy() {
        let mut all = session(vec![copy("a"), copy("a"), copy("a")]);
        assert!(all.copy_in_use().is_none());
        let maybe = Liveness::Maybe { why: "it was written to a moment ago".to_owned() };
        all.copies[1].liveness = maybe.clone();
        assert_eq!(all.copy_in_use().map(|copy| &copy.liveness), Some(&maybe));
        all.copies[2].liveness = Liveness::Live { pid: 7 };
        assert_eq!(all.copy_in_use().map(|copy| &copy.liveness), Some(&Liveness::Live { pid: 7 }));
    }
}
