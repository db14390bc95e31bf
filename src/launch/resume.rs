//! A whole resume: the session, the plan, the refusals, and the files that are written first.

use std::path::{Path, PathBuf};

use super::{LaunchPlan, LaunchRequest};
use crate::agent::{self, Unable};
use crate::change::plan::backfill::{self, Action, SessionBackfill};
use crate::error::{PathError, Refusal, RefusalCode};
use crate::format::command_line;
use crate::launch::checks::{self, DirIdentity};
use crate::launch::copies;
use crate::launch::log::append::LockedLog;
use crate::launch::log::{self, Launch};
use crate::launch::worktree::Recreation;
use crate::scan::git;
use crate::scan::{self, ScanScope};
use crate::session::{AgentKind, Health, Pointer, Session, SessionKind};
use crate::system::disk::SYSTEM;
use crate::system::env::Env;
use crate::system::{names, reach};

/// Another agent: a briefing on the session is its first prompt.
#[derive(Clone, Debug)]
pub(crate) struct Briefed {
    pub agent: AgentKind,
    /// The file with the whole conversation; `None` until it is written.
    pub file: Option<PathBuf>,
    /// The prompt as recorded in the log of launches, without quotes of the conversation.
    pub noted: String,
}

/// A resume that can be printed or carried out.
#[derive(Clone, Debug)]
pub(crate) struct Resume {
    /// The agent of the session.
    pub agent: AgentKind,
    /// The session; `None` for a new one.
    pub session: Option<Session>,
    /// The command and the directory.
    pub plan: LaunchPlan,
    /// Source of the launch directory, as in `launch_dir.source` of the JSON contract.
    pub dir_source: &'static str,
    /// The missing git worktree to recreate before the start.
    pub worktree: Option<Recreation>,
    /// The session-info.json to write before the start.
    pub backfill: Option<SessionBackfill>,
    /// Possible problems that do not stop the resume.
    pub warnings: Vec<String>,
    /// The identity of the launch directory when it was checked.
    pub identity: Option<DirIdentity>,
    /// Set if the installed program may be unable to resume the session, but may report success.
    pub is_unsure: bool,
    /// The agent to start in place of the session's.
    pub briefed: Option<Briefed>,
    /// Set if the user added arguments for the agent.
    pub has_arguments: bool,
    /// The options that hints repeat.
    typed: Vec<String>,
}

/// Choices of the user.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// The directory to start in.
    pub dir: Option<PathBuf>,
    /// Set to take over a session that is in use.
    pub force: bool,
    /// Set to resume a session that others may have written, or whose place in the store contradicts its directory, and
    /// to let git run the hooks and filters of a repository when it recreates a worktree.
    pub trust: bool,
    /// Set to ignore the limit on resumes.
    pub no_limit: bool,
    /// Set to let git recreate a launch directory that was a worktree.
    pub recreate_worktree: bool,
    /// Set if a user can type to the agent.
    pub has_terminal: bool,
    /// The words of the command line that hints repeat: all but those that find the session and format the answer.
    pub typed: Vec<String>,
}

impl Resume {
    fn new(
        agent: AgentKind,
        session: Option<Session>,
        plan: LaunchPlan,
        dir_source: &'static str,
        (options, request): (&Options, &LaunchRequest),
    ) -> Self {
        Self {
            agent,
            session,
            plan,
            dir_source,
            worktree: None,
            backfill: None,
            warnings: Vec::new(),
            identity: None,
            is_unsure: false,
            briefed: None,
            has_arguments: !request.args.is_empty(),
            typed: options.typed.clone(),
        }
    }

    /// Plans the resume of a session with a chosen copy.
    pub(crate) fn of_session(
        mut session: Session,
        options: &Options,
        request: &LaunchRequest,
        env: &Env,
    ) -> Result<Self, Refusal> {
        let Some(agent) = agent::by_kind(session.agent) else {
            return Err(Refusal::new(RefusalCode::NotResumable, format!("no agent resumes {}", session.id())));
        };
        let mut warnings = Vec::new();
        agent::mark_writers(&mut [&mut session.copies[0]]);
        let mut plan = super::plan(&session, request, env).map_err(|unable| {
            let message = format!("{} session {} cannot be resumed: {unable}", session.agent, session.id());
            let hint = unable.hint.or_else(|| resume_parent(&session, env));
            Refusal { hint, ..Refusal::new(RefusalCode::NotResumable, message) }
        })?;
        let mut dir_source = session.copy().launch_dir.as_ref().map_or("", |dir| dir.source);
        let mut backfill = None;
        if let Some(dir) = &options.dir {
            let dir = env.resolve(dir);
            // A missing directory is refused later.
            let is_found_anywhere = agent.changes_to(session.copy()).is_some();
            if !is_found_anywhere && !agent::counts(&session.copy().place, &dir) && reach::exists(&dir) != Some(false) {
                warnings.push(format!(
                    "{} is not filed under {}, so {} may not find it there",
                    session.id(),
                    dir.display(),
                    session.agent
                ));
            }
            plan.dir = Some(dir);
            dir_source = "option";
        } else if agent.about().needs_session_info {
            let item = backfill::plan(&session, None);
            backfill = matches!(item.action, Action::Write { .. }).then_some(item);
        }
        let is_refused_for = |health: &Health| {
            let contradicts = matches!(health, Health::MisfiledSession | Health::SessionInfoMismatch);
            !options.trust && (*health == Health::Planted || (contradicts && options.dir.is_none()))
        };
        let health = session.copy().health.iter();
        let health = health.filter(|health| health.warns_before_resume() && !is_refused_for(health));
        warnings.extend(health.map(|health| format!("{}: {}", session.id(), health.meaning())));
        warnings.extend(checks::check_records(&session));
        warnings.extend(agent.warning(session.copy(), env));
        warnings.extend(own_change_of_dir(&session, &plan, env));
        warnings.extend(plan.dir.as_deref().and_then(|dir| checks::check_worktree(&session, dir, env)));
        warnings.extend(plan.dir.as_deref().and_then(|dir| checks::check_retention(&session, dir, env)));
        Ok(Self { backfill, warnings, ..Self::new(session.agent, Some(session), plan, dir_source, (options, request)) })
    }

    /// Plans a new session of another agent in the directory of a session. [`Resume::set_first_prompt`] adds its first prompt.
    pub(crate) fn briefed(
        mut session: Session,
        other: AgentKind,
        options: &Options,
        request: &LaunchRequest,
        env: &Env,
    ) -> Result<Self, Refusal> {
        if other == session.agent {
            let message = format!("session {} is a {other} session already", session.id());
            let hint = format!("resume it with `{}`; {other} itself may be able to fork it", checks::resume(&session));
            return Err(Refusal::new(RefusalCode::Usage, message).hint(hint));
        }
        let mut plan = super::new_session(other, request, env)?;
        agent::mark_writers(&mut [&mut session.copies[0]]);
        let mut dir_source = session.copy().launch_dir.as_ref().map_or("", |dir| dir.source);
        plan.dir = session.copy().launch_dir.as_ref().map(|dir| dir.value.to_path_buf());
        if let Some(dir) = &options.dir {
            plan.dir = Some(env.resolve(dir));
            dir_source = "option";
        }
        let briefed = Some(Briefed { agent: other, file: None, noted: String::new() });
        Ok(Self { briefed, ..Self::new(session.agent, Some(session), plan, dir_source, (options, request)) })
    }

    /// Adds the first prompt of a new session, and the prompt for the log of launches.
    pub(crate) fn set_first_prompt(&mut self, prompt: String, noted: String, file: PathBuf) {
        if let Some(briefed) = &mut self.briefed {
            self.plan.argv.push(prompt);
            briefed.noted = noted;
            briefed.file = Some(file);
        }
    }

    /// Plans a new session in the directory of an app that has lost its old one.
    pub(crate) fn fresh(
        pointer: &Pointer,
        options: &Options,
        request: &LaunchRequest,
        env: &Env,
    ) -> Result<Self, Refusal> {
        let agent = pointer.agent.session_owner();
        let Some(writer) = agent::writer_of(pointer) else {
            return Err(Refusal::new(RefusalCode::NotResumable, format!("{} starts no session", pointer.agent)));
        };
        let dir = options.dir.as_deref().map_or_else(|| pointer.dir.clone(), |dir| env.resolve(dir));
        let plan = writer.start_new(dir, request, env);
        let dir_source = if options.dir.is_some() { "option" } else { "pointer" };
        Ok(Self::new(agent, None, plan, dir_source, (options, request)))
    }

    /// Runs every check and returns all refusals; the first one is to be reported.
    pub(crate) fn check(&mut self, options: &Options, env: &Env) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        if let Some(session) = &self.session {
            let joins = (agent::about(session.agent).joins)(session.copy());
            if self.briefed.is_some() {
                self.warnings.extend(checks::use_while_read(session));
            } else if !options.force && !joins {
                match checks::check_liveness(session) {
                    Ok(warning) => self.warnings.extend(warning),
                    Err(refusal) => refusals.push(refusal),
                }
            }
            if self.briefed.is_none() {
                // Arguments of the user may avoid the obstacle.
                if !self.has_arguments {
                    refusals.extend(checks::check_opens(session).err());
                    refusals.extend(checks::check_lines(session).err());
                }
                match checks::check_program(session, env) {
                    Ok(warning) => {
                        self.is_unsure = warning.is_some();
                        self.warnings.extend(warning);
                    }
                    Err(refusal) => refusals.push(refusal),
                }
            }
            if let (Some(dir), None) = (&self.plan.dir, &self.briefed) {
                refusals.extend(copies::check_copy(session, dir).err());
            }
            if !options.trust {
                refusals.extend(checks::check_origin(session).err());
            }
            // Trust does not help in a directory that is gone.
            let is_gone = |dir: &PathBuf| !options.recreate_worktree && reach::exists(dir) == Some(false);
            if !options.trust && options.dir.is_none() && !self.plan.dir.as_ref().is_some_and(is_gone) {
                refusals.extend(checks::check_trust(session).err());
            }
            if !options.no_limit {
                // An unreadable log does not prevent a resume.
                let launches = log::read(&log::file(env)).unwrap_or_default();
                refusals.extend(checks::check_limit(session, &launches, env).err());
            }
        }
        if let Some(words) = self.plan.then_type.as_ref().filter(|_| !options.has_terminal) {
            let message = format!("you resume the session by typing {words} to the agent, but there is no terminal");
            let command = self.session.as_ref().map_or_else(|| command_line::again(env, &[], &[]), checks::resume);
            let hint = format!("run it in a terminal; see the command with `{command} --print`");
            refusals.push(Refusal::new(RefusalCode::NeedsTerminal, message).hint(hint));
        }
        if let (Some(session), Some(dir), None) = (&self.session, &self.plan.dir, &self.briefed) {
            match checks::check_elsewhere(session, dir, options.has_terminal) {
                Ok(warning) => self.warnings.extend(warning),
                Err(refusal) => refusals.push(refusal),
            }
        }
        match &self.plan.dir {
            Some(_) => match self.check_dir(env) {
                Err(refusal) if options.recreate_worktree && refusal.code == RefusalCode::MissingDirectory => {
                    refusals.extend(self.plan_worktree(options, env).err());
                }
                checked => refusals.extend(checked.err()),
            },
            None => {
                let id = self.session.as_ref().map_or("", |session| session.id());
                let message = format!("the directory of session {id} is unknown");
                let command = self.session.as_ref().map_or_else(|| command_line::again(env, &[], &[]), checks::resume);
                let hint = format!("go to the directory where it belongs and run `{command} --in .`");
                refusals.push(Refusal::new(RefusalCode::UnknownDirectory, message).hint(hint));
            }
        }
        refusals.into_iter().map(|refusal| self.repeating_options(refusal)).collect()
    }

    /// Adds the option for another agent, and the typed options, to the commands in a hint that resume the session.
    pub(super) fn repeating_options(&self, refusal: Refusal) -> Refusal {
        let (Some(session), Some(hint)) = (&self.session, &refusal.hint) else { return refusal };
        let with = self.briefed.iter().flat_map(|briefed| ["--with".to_owned(), briefed.agent.to_string()]);
        let typed: Vec<String> = with.chain(self.typed.iter().cloned()).collect();
        let hint = command_line::repeat(hint, &checks::resume(session), &typed);
        Refusal { hint: Some(hint), ..refusal }
    }

    /// Checks the launch directory, and records its identity.
    pub(crate) fn check_dir(&mut self, env: &Env) -> Result<(), Refusal> {
        let Some(dir) = &self.plan.dir else { return Ok(()) };
        self.identity = DirIdentity::read_dir(dir);
        let movable = self.session.as_ref().filter(|_| !self.needs_own_dir());
        checks::check_dir(movable, dir, env).map_err(|refusal| match refusal.code {
            // No facts are collected about a directory that the user typed.
            RefusalCode::MissingDirectory | RefusalCode::NotADirectory if self.has_named_dir() => {
                Refusal { hint: None, ..refusal }
            }
            _ => refusal,
        })?;
        self.check_start()
    }

    /// Returns whether the user named the launch directory.
    pub(super) fn has_named_dir(&self) -> bool {
        self.dir_source == "option"
    }

    /// Returns whether the agent finds the session from its own directory alone.
    pub(super) fn needs_own_dir(&self) -> bool {
        let session = self.session.as_ref().filter(|_| self.briefed.is_none());
        session.is_some_and(|session| agent::about(session.agent).needs_own_dir)
    }

    /// Returns whether the agent, started in a directory, would find and resume the session.
    pub(crate) fn starts_in(&self, dir: &Path) -> bool {
        let (Some(session), None) = (&self.session, &self.briefed) else { return true };
        let Some(agent) = agent::by_kind(session.agent) else { return true };
        let copy = session.copy();
        let is_own = || agent::leads_back(&copy.place, dir) == Some(true);
        // An agent finds a session that is filed right only in its own directory, and any other one in every
        // directory of its project.
        (!self.needs_own_dir() || (!copy.is_filed_right && is_own())) && agent.check_start(copy, dir).is_ok()
    }

    /// Returns the selector that matches just this session, quoted for a shell.
    pub(super) fn name(&self) -> String {
        self.session.as_ref().map(checks::name).unwrap_or_default()
    }

    /// Checks whether the agent would find the session in the launch directory. Called again right before the launch.
    pub(crate) fn check_start(&self) -> Result<(), Refusal> {
        let (Some(session), Some(dir), None) = (&self.session, &self.plan.dir, &self.briefed) else { return Ok(()) };
        let Some(agent) = agent::by_kind(session.agent) else { return Ok(()) };
        let refuse = |code, unable: Unable| {
            let message = format!("session {} cannot be resumed in {}: {unable}", session.id(), dir.display());
            Refusal { hint: unable.hint, ..Refusal::new(code, message) }
        };
        if let Some(target) = checks::lost_behind_link(session).filter(|_| session.launch_dir() == Some(dir))
            && !agent.about().asks_elsewhere
        {
            let effect = match agent.check_start(session.copy(), dir) {
                Ok(()) => format!("where {} does not find the session", session.agent),
                Err(unable) => format!("and {unable}"),
            };
            let why = format!("it leads to {}, {effect}", target.display());
            return Err(refuse(RefusalCode::WouldStartAnew, why.into()).hint(agent::follow_hint(dir, &target)));
        }
        agent.check_start(session.copy(), dir).map_err(|unable| refuse(RefusalCode::WouldStartAnew, unable))?;
        let answers = if self.plan.has_prompt { (agent.about().check_prompt)(session.copy(), dir) } else { Ok(()) };
        answers.map_err(|unable| refuse(RefusalCode::WouldNotEnd, unable))
    }

    /// Logs the launch, or refuses it because of the limit; returns the error if it could not be logged.
    ///
    /// The log stays locked from the check to the new entry, so that concurrent resumes do not exceed the limit.
    pub(crate) fn log_launch(&self, dir: &Path, options: &Options, env: &Env) -> Result<Option<PathError>, Refusal> {
        let file = log::file(env);
        let held = match LockedLog::lock_log(&SYSTEM, &file) {
            Ok(held) => held,
            // An unwritable log does not prevent a resume.
            Err(error) => return Ok(Some(error)),
        };
        if let Some(session) = self.session.as_ref().filter(|_| !options.no_limit) {
            checks::check_limit(session, &log::read(&file).unwrap_or_default(), env)
                .map_err(|refusal| self.repeating_options(refusal))?;
        }
        Ok(held.append(&self.launch(dir, env)).err())
    }

    /// Returns the line for the log of launches.
    fn launch(&self, dir: &Path, env: &Env) -> Launch {
        let session = self.session.as_ref().filter(|_| self.briefed.is_none());
        let mut argv = self.plan.argv.clone();
        if let (Some(briefed), Some(prompt)) = (&self.briefed, argv.last_mut()) {
            prompt.clone_from(&briefed.noted);
        }
        Launch {
            format_version: log::VERSION,
            at: env.clock.now,
            agent: self.briefed.as_ref().map_or(self.agent, |briefed| briefed.agent),
            id: session.map(|session| session.id().to_owned()),
            path: session.map(|session| session.copy().place.path.to_path_buf()),
            dir: dir.to_owned(),
            argv,
            git_remote: git::remote_of(dir),
        }
    }
}

/// Returns a warning if the agent changes to another directory than the one in which it is started, with the command
/// that changes that.
fn own_change_of_dir(session: &Session, plan: &LaunchPlan, env: &Env) -> Option<String> {
    let (agent, dir) = (agent::by_kind(session.agent)?, plan.dir.as_deref()?);
    let own = agent.changes_to(session.copy()).filter(|own| reach::is_dir(own) == Some(true))?;
    let words = agent::changes_by_itself(agent.about().title, &own);
    let way = match session.launch_dir() {
        _ if names::is_same_dir(&own, dir) => return None,
        // The move changes the agent's own record.
        Some(launch) if *own == *launch || dir == launch => {
            let command = format!("{} --session {}", command_line::move_command(&own, dir), checks::name(session));
            format!("; `{}` changes that", command_line::in_home(&command, &env.invocation.elsewhere))
        }
        _ => String::new(),
    };
    Some(words + &way)
}

/// Returns a hint with the command that resumes the parent of a sub-agent's session, if the parent can be resumed.
fn resume_parent(session: &Session, env: &Env) -> Option<String> {
    let copy = session.copy();
    let parent = copy.parent_id.as_deref().filter(|_| copy.kind == SessionKind::Subagent)?;
    let places = scan::locate(env, &[session.agent]);
    let found = places.read_some(env, ScanScope::GLANCE, |place| place.id == parent).sessions;
    let parent = found.iter().find(|found| found.id() == parent)?;
    super::plan(parent, &LaunchRequest::default(), env).ok()?;
    Some(format!("run `{}`", checks::resume(parent)))
}
