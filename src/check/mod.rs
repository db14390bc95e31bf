//! The checks of `doctor`: pure functions from what was collected to findings, one group a file.

mod code;
mod content;
mod copies;
mod place;
mod session_info;
mod strays;
mod upkeep;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use code::{Code, Severity};

use crate::render::text::shell_word;
use crate::select::Filter;
use crate::session::{AgentKind, Session};
use crate::survey::Survey;

/// One thing that is not as it should be, or worth knowing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub code: Code,
    /// How serious it is.
    pub severity: Severity,
    /// The agents that it is about.
    pub agents: BTreeSet<AgentKind>,
    /// The sessions that it is about, by agent and full id.
    pub sessions: Vec<(AgentKind, String)>,
    /// The files and directories that it is about.
    pub paths: Vec<PathBuf>,
    /// What was found, as sentences.
    pub evidence: String,
    /// What is.
    pub measured: String,
    /// What should be.
    pub expected: String,
    /// What to type, or what to do in the agent.
    pub remedy: String,
    /// What `doctor --fix` does about it; `None` when somebody has to decide.
    pub repair: Option<Repair>,
}

/// A repair that loses nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    /// The session-info.json of a session is written from evidence.
    Backfill {
        /// Whose session it is.
        agent: AgentKind,
        /// The full id.
        id: String,
        /// The session's directory.
        path: PathBuf,
    },
    /// These are moved to the trash, each with everything in it.
    Trash {
        /// What is moved.
        paths: Vec<PathBuf>,
    },
    /// The records of a stray directory are added to the log of the session, and the directory goes to the trash.
    Fold {
        /// The stray directory.
        from: PathBuf,
        /// The session's own directory.
        into: PathBuf,
    },
}

impl Finding {
    /// Begins a finding; what is not said yet is empty.
    fn new(code: Code, severity: Severity, evidence: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            agents: BTreeSet::new(),
            sessions: Vec::new(),
            paths: Vec::new(),
            evidence: evidence.into(),
            measured: String::new(),
            expected: String::new(),
            remedy: String::new(),
            repair: None,
        }
    }

    /// Begins a finding about the chosen copy of a session.
    fn about(session: &Session, code: Code, severity: Severity, evidence: impl Into<String>) -> Self {
        Self::new(code, severity, evidence).session(session).path(&session.copy().place.path)
    }

    fn session(self, session: &Session) -> Self {
        self.id(session.agent, &session.id)
    }

    fn id(mut self, agent: AgentKind, id: &str) -> Self {
        self.agents.insert(agent);
        self.sessions.push((agent, id.to_owned()));
        self
    }

    fn agent(mut self, agent: AgentKind) -> Self {
        self.agents.insert(agent);
        self
    }

    fn path(mut self, path: &Path) -> Self {
        self.paths.push(path.to_owned());
        self
    }

    fn measured(mut self, measured: impl Into<String>, expected: impl Into<String>) -> Self {
        (self.measured, self.expected) = (measured.into(), expected.into());
        self
    }

    fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// Says that `doctor --fix` mends it.
    fn mended_by(mut self, repair: Repair) -> Self {
        self.remedy = format!("rejoin doctor --fix --check {}", self.code.name());
        self.repair = Some(repair);
        self
    }

    /// Tells whether it is about one of the agents or directories that were asked for.
    fn concerns(&self, filter: &Filter, survey: &Survey) -> bool {
        let is_of_agent = filter.agents.is_empty() || self.agents.iter().any(|agent| filter.agents.contains(agent));
        let is_in_dirs = || {
            let below = |path: &Path| filter.dirs.iter().any(|dir| path.starts_with(dir));
            let in_dirs = |session: &Session| {
                session.copies.iter().any(|copy| copy.directories().any(below))
                    && self.sessions.iter().any(|(agent, id)| *agent == session.agent && *id == session.id)
            };
            self.paths.iter().any(|path| below(path)) || survey.scan.sessions.iter().any(in_dirs)
        };
        is_of_agent && (filter.dirs.is_empty() || is_in_dirs())
    }
}

/// Makes the checks, and returns what was found: the worst first, then in the order of the codes, sessions and paths.
pub fn all(survey: &Survey, codes: &BTreeSet<Code>, filter: &Filter) -> Vec<Finding> {
    let groups = [copies::check, place::check, session_info::check, content::check, strays::check, upkeep::check];
    let mut findings: Vec<Finding> = groups.iter().flat_map(|check| check(survey)).collect();
    findings.retain(|finding| codes.contains(&finding.code) && finding.concerns(filter, survey));
    findings
        .sort_by(|a, b| (a.severity, a.code, &a.sessions, &a.paths).cmp(&(b.severity, b.code, &b.sessions, &b.paths)));
    findings
}

/// Names a session in a sentence.
fn name(session: &Session) -> String {
    format!("{} session {}", session.agent, session.id)
}

/// Returns the selector that means just this session, for a shell.
fn selector(session: &Session) -> String {
    shell_word(&format!("{}:{}", session.agent, session.id)).into_owned()
}

/// Returns a path for a shell.
fn word(path: &Path) -> String {
    shell_word(&path.to_string_lossy()).into_owned()
}

/// Says how many there are of something.
fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}
