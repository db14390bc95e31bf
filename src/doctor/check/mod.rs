//! The checks of `doctor`: pure functions from collected facts to findings, one group per file.

mod broken_lines;
mod content;
mod copies;
mod orphans;
mod place;
mod session_info;
mod size;
mod unread;
mod upkeep;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::agent;
use crate::doctor::code::{Code, Severity};
use crate::doctor::survey::Survey;
use crate::format::shell;
use crate::session::select::Filter;
use crate::session::{AgentKind, Liveness, Session};
use crate::system::parallel;

/// A problem, or a fact worth knowing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The kind of finding.
    pub code: Code,
    /// Its severity.
    pub severity: Severity,
    /// The agents of the finding.
    pub agents: BTreeSet<AgentKind>,
    /// The sessions of the finding, by agent and full id.
    pub sessions: Vec<(AgentKind, String)>,
    /// The files and directories of the finding.
    pub paths: Vec<PathBuf>,
    /// Description of the problem, as sentences.
    pub evidence: String,
    /// The actual state.
    pub measured: String,
    /// The expected state.
    pub expected: String,
    /// The subject in a few words; `None` if that is just the session or the first path.
    pub subject: Option<String>,
    /// The title or first prompt of its session.
    pub title: Option<String>,
    /// Complete commands to type, the best first, each with its effect.
    pub remedies: Vec<Remedy>,
    /// The repair by `doctor --fix`; `None` if a user has to decide.
    pub repair: Option<Repair>,
}

/// A command that helps with a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Remedy {
    /// The whole command, for a shell.
    pub command: String,
    /// The effect of the command, as a sentence without a subject: "resumes it".
    pub effect: String,
}

/// A repair that loses nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    /// The session-info.json of a session is written from evidence.
    Backfill {
        /// The agent that the session belongs to.
        agent: AgentKind,
        /// The full id.
        id: String,
        /// The session's directory.
        path: PathBuf,
    },
    /// Moves these paths to the trash, each with everything in it.
    Trash {
        /// The paths to move.
        paths: Vec<PathBuf>,
        /// The noun for the paths as a part of the session: "a copy".
        what: &'static str,
    },
    /// Adds the records of a stray directory to the log of the session, and moves the directory to the trash.
    Fold {
        /// The stray directory.
        from: PathBuf,
        /// The session's own directory.
        into: PathBuf,
    },
    /// Ends the torn last line of a transcript with a newline.
    EndLine {
        /// The transcript.
        path: PathBuf,
    },
    /// Makes records of lines that are not.
    EditLines {
        /// The transcript.
        path: PathBuf,
    },
    /// Changes the files that keep an agent from opening a session.
    Mend {
        /// The session.
        path: PathBuf,
    },
    /// Makes the record before each break in the active branch the parent of the record after it.
    JoinChain {
        /// The transcript.
        path: PathBuf,
    },
    /// Removes the torn last line of a transcript, or the NUL bytes in its place.
    CutLine {
        /// The transcript.
        path: PathBuf,
    },
}

/// The commands that change sessions.
const CHANGING: [&str; 5] = ["backfill", "cleanup", "delete", "doctor --fix", "move"];

impl Finding {
    /// Starts a finding; the other fields are empty.
    pub(crate) fn new(code: Code, severity: Severity, evidence: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            agents: BTreeSet::new(),
            sessions: Vec::new(),
            paths: Vec::new(),
            evidence: evidence.into(),
            measured: String::new(),
            expected: String::new(),
            subject: None,
            title: None,
            remedies: Vec::new(),
            repair: None,
        }
    }

    /// Returns whether the finding is about this session, or about a path inside one of its copies.
    pub(crate) fn is_about(&self, session: &Session) -> bool {
        let is_named = self.sessions.iter().any(|(agent, id)| *agent == session.agent && *id == session.id());
        let lies_there = |path: &PathBuf| session.copies.iter().any(|copy| path.starts_with(&copy.place.path));
        is_named || self.paths.iter().any(lies_there)
    }

    /// Starts a finding about the chosen copy of a session.
    fn about(session: &Session, code: Code, severity: Severity, evidence: impl Into<String>) -> Self {
        Self::new(code, severity, evidence).session(session).path(&session.copy().place.path)
    }

    fn session(mut self, session: &Session) -> Self {
        self.title = self.title.or_else(|| session.label().map(str::to_owned));
        self.id(session.agent, session.id())
    }

    fn subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
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

    /// Adds a command and its effect.
    fn remedy(mut self, command: impl Into<String>, effect: impl Into<String>) -> Self {
        self.remedies.push(Remedy { command: command.into(), effect: effect.into() });
        self
    }

    /// Adds the command that resumes a session. If that is impossible, adds the command that shows or exports it.
    fn resumed(self, session: &Session) -> Self {
        let copy = session.copy();
        let selector = selector(session);
        let is_clear = session.choice.is_decided || session.copies.len() == 1;
        let can_resume = is_clear && copy.kind.is_listed() && copy.liveness == Liveness::Idle && !copy.is_planted();
        match session.launch_dir_exists {
            Some(true) if can_resume && copy.is_filed_right => {
                self.remedy(format!("rejoin resume {selector}"), "resumes it")
            }
            exists
                if can_resume
                    && (exists == Some(false) && !agent::about(session.agent).needs_own_dir
                        || session.launch_dir().is_none()) =>
            {
                self.remedy(format!("rejoin resume {selector} --in ."), "resumes it in the directory that you are in")
            }
            _ => self.remedy(format!("rejoin show {selector}"), "shows what is known about it"),
        }
    }

    /// Adds the commands for a session whose directory is unknown: that shows it, and unless its agent opens it nowhere, that
    /// resumes it.
    fn resumed_in_its_dir(self, session: &Session) -> Self {
        let (copy, selector) = (session.copy(), selector(session));
        let shown = self.remedy(format!("rejoin show {selector} --transcript"), "shows what it was about");
        let agent = agent::by_kind(session.agent);
        if copy.obstacle.is_some() || agent.is_none_or(|agent| agent.command(copy, None).is_err()) {
            return shown;
        }
        shown.remedy(format!("rejoin resume {selector} --in ."), "resumes it, in the directory where it belongs")
    }

    /// Removes the repair and the commands that change sessions, because rejoin only reads sessions of this agent, and
    /// adds the reason.
    fn only_read(mut self) -> Self {
        let mut reasons = self.agents.iter().map(|agent| agent::about(*agent).only_read());
        let Some(Some(why)) = reasons.next().filter(|_| reasons.all(|why| why.is_some())) else { return self };
        let before = self.remedies.len();
        let changes = |command: &str| CHANGING.iter().any(|verb| command.starts_with(&format!("rejoin {verb} ")));
        self.remedies.retain(|remedy| !changes(&remedy.command));
        if self.repair.take().is_some() || self.remedies.len() < before {
            self.evidence.push_str(&format!(" It stays: {why}."));
        }
        self
    }

    /// Adds the repair, and the `doctor --fix` command for it.
    fn repaired_by(mut self, repair: Repair) -> Self {
        self.repair = Some(repair);
        let command = format!("rejoin doctor --fix --check {}", self.code.name());
        self.remedy(command, "fixes those that it can fix without loss")
    }
}

/// The findings that the options select.
struct Scope<'a> {
    filter: &'a Filter,
    /// The sessions that record one of the directories, and have the tags.
    sessions: HashSet<(AgentKind, &'a str)>,
}

impl<'a> Scope<'a> {
    fn new(filter: &'a Filter, survey: &'a Survey) -> Self {
        let is_below = |path: &Path| filter.is_below(path);
        let is_in = |session: &&Session| session.copies.iter().any(|copy| copy.directories().any(is_below));
        let narrow = survey.scan.sessions.iter().filter(|_| filter.is_narrow());
        let is_in = |session: &&Session| filter.dirs.is_empty() || is_in(session);
        let narrow = narrow.filter(is_in).filter(|session| filter.is_chosen(session.agent, session.id()));
        let sessions = narrow.map(|session| (session.agent, session.id())).collect();
        Self { filter, sessions }
    }

    /// Returns whether a finding is about one of the agents and one of the directories.
    fn includes(&self, finding: &Finding) -> bool {
        let Filter { agents, chosen, .. } = self.filter;
        let is_of_agent = agents.is_empty() || finding.agents.iter().any(|agent| agents.contains(agent));
        // A path has no tags.
        let is_in_dirs = !self.filter.is_narrow()
            || chosen.is_none() && finding.paths.iter().any(|path| self.filter.is_below(path))
            || finding.sessions.iter().any(|(agent, id)| self.sessions.contains(&(*agent, id.as_str())));
        is_of_agent && is_in_dirs
    }
}

/// Runs the checks, and returns the findings: the worst first, then in the order of the codes, then those about the
/// most sessions first.
pub(crate) fn run_checks(survey: &Survey, codes: &BTreeSet<Code>, filter: &Filter) -> Vec<Finding> {
    let groups = [
        copies::check,
        place::check,
        session_info::check,
        content::check,
        orphans::check,
        unread::check,
        upkeep::check,
    ];
    let mut findings = parallel::map(groups, |check| check(survey)).concat();
    let scope = Scope::new(filter, survey);
    findings.retain(|finding| codes.contains(&finding.code) && scope.includes(finding));
    let mut findings: Vec<Finding> = findings.into_iter().map(Finding::only_read).collect();
    let order = |finding: &Finding| (finding.severity, finding.code, Reverse(finding.sessions.len()));
    findings.sort_by(|a, b| (order(a), &a.sessions, &a.paths).cmp(&(order(b), &b.sessions, &b.paths)));
    findings
}

/// Names a session within a sentence.
fn name(session: &Session) -> String {
    format!("{} session {}", session.agent, session.id())
}

/// Returns the selector that matches just this session, quoted for a shell.
fn selector(session: &Session) -> String {
    shell::selector(session.agent, session.id())
}

/// Returns a path, quoted for a shell.
fn word(path: &Path) -> String {
    shell::word(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::doctor::survey::InterruptedRun;
    use crate::session::Problem;
    use crate::session::tests::{copy, session};

    /// A survey of these sessions, at noon on the first of March.
    pub(crate) fn survey(mut sessions: Vec<Session>) -> Survey {
        sessions.sort_by(|a, b| (a.agent, a.id()).cmp(&(b.agent, b.id())));
        let mut survey = Survey { now: "2026-03-01T12:00:00Z".parse().expect("a time"), ..Survey::default() };
        survey.scan.sessions = sessions;
        survey
    }

    fn codes(survey: &Survey, filter: &Filter) -> Vec<Code> {
        run_checks(survey, &Code::ALL.iter().copied().collect(), filter).iter().map(|finding| finding.code).collect()
    }

    /// A survey with a missing directory, an unreadable file, and an interrupted run.
    fn damaged() -> Survey {
        let mut gone = copy("a");
        gone.launch_dir = Some(crate::session::Fact::new(Path::new("/gone/app"), "transcript"));
        gone.is_filed_right = true;
        let mut gone = session(vec![gone]);
        gone.launch_dir_exists = Some(false);
        let mut survey = survey(vec![gone]);
        survey.gone.insert("/gone/app".into(), crate::doctor::survey::Gone::default());
        survey.stores.push((*survey.scan.sessions[0].copy().place.store).clone());
        survey.scan.problems.push(Problem { path: "/s/projects/-q".into(), reason: "permission denied".to_owned() });
        survey.interrupted.push(InterruptedRun {
            run: "r7".to_owned(),
            verb: "doctor --fix".to_owned(),
            started_at: survey.now,
            steps: (2, 5),
            journal: "/state/runs/r7.jsonl".into(),
        });
        survey
    }

    #[test]
    fn report_sorts_findings_by_severity_then_code() {
        let expected = [Code::Unreadable, Code::InterruptedRun, Code::MissingDirectory];
        assert_eq!(codes(&damaged(), &Filter::default()), expected);
    }

    #[test]
    fn interrupted_run_is_error_with_undo_remedy() {
        let findings = run_checks(&damaged(), &BTreeSet::from([Code::InterruptedRun]), &Filter::default());
        let [finding] = findings.as_slice() else { panic!("one finding: {findings:?}") };
        assert_eq!((finding.severity, finding.remedies[0].command.as_str()), (Severity::Error, "rejoin undo r7"));
        assert_eq!(finding.measured, "2 of 5 steps");
        assert_eq!(finding.paths, [PathBuf::from("/state/runs/r7.jsonl")]);
    }

    #[test]
    fn agent_filter_applies_to_files_by_store() {
        let of = |agents: &[AgentKind]| Filter { agents: agents.to_vec(), ..Filter::default() };
        assert_eq!(codes(&damaged(), &of(&[AgentKind::Claude])), [Code::Unreadable, Code::MissingDirectory]);
        assert_eq!(codes(&damaged(), &of(&[AgentKind::Jido])), []);
    }

    #[test]
    fn dir_filter_matches_directories_and_paths() {
        let below = |dir: &str| Filter { dirs: vec![dir.into()], ..Filter::default() };
        assert_eq!(codes(&damaged(), &below("/gone")), [Code::MissingDirectory]);
        assert_eq!(codes(&damaged(), &below("/s/projects")), [Code::Unreadable]);
        assert_eq!(codes(&damaged(), &below("/go")), []);
    }

    #[test]
    fn code_allows_severity_of_finding() {
        for finding in run_checks(&damaged(), &Code::ALL.iter().copied().collect(), &Filter::default()) {
            assert!(finding.code.severities().contains(&finding.severity), "{finding:?}");
        }
    }
}
