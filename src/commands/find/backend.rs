//! The backend of the picker: reads, checks, removes and pins sessions with the code of the commands.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::{again, description, ready, with_a_chosen_copy};
use crate::agent;
use crate::agent::command::LaunchRequest;
use crate::change::apply::pins::update;
use crate::change::apply::run;
use crate::change::apply::undo;
use crate::change::labels::Labels;
use crate::change::outcome::ChangeOutcome;
use crate::change::pins::Pins;
use crate::change::plan::change::Change;
use crate::commands::removal;
use crate::error::{Refusal, RefusalCandidate, RefusalCode};
use crate::format::command_line::in_home;
use crate::format::shell;
use crate::launch;
use crate::launch::checks;
use crate::launch::missing_dir::MissingDirRemedies;
use crate::launch::resume::{Options, Resume};
use crate::scan::{self, Places, ScanScope, processes, stuck};
use crate::session::select::{self, CopySelector, Filter, SortKey, short_among};
use crate::session::{AgentKind, Located, Session, SessionKind};
use crate::system::env::Env;

use crate::system::parallel;
use crate::view::pick::{Backend, How, Ready, RefusedResume};
use crate::view::render::labels::REMOVE;
use crate::view::render::show;
use crate::view::ui::Styles;

/// With more sessions than this, this number of the newest is read before the others.
const FIRST: usize = 256;
/// Time to wait for the lock of another change, while the user waits.
const PATIENCE: Duration = Duration::from_secs(3);

/// The data that the picker needs for its actions.
pub(crate) struct SessionBackend {
    pub env: Env,
    pub filter: Filter,
    /// The options of a resume.
    pub options: Options,
    pub request: LaunchRequest,
    pub copy: Option<CopySelector>,
    /// The agent to start in place of the session's own.
    pub with: Option<AgentKind>,
    /// Set if the agent's program is started on this machine, so that it must be installed.
    pub is_started: bool,
}

impl Backend for SessionBackend {
    fn load(&self, hand_over: &mut dyn FnMut(Vec<Session>, Option<usize>)) {
        let env = &self.env;
        let places = scan::locate(env, &self.filter.agents);
        if places.places.len() > 4 * FIRST {
            let newest = newest(&places.places);
            let is_new = |place: &Located| newest.contains(&(place.agent(), place.id.as_str()));
            let some = Places {
                places: places.places.iter().filter(|place| is_new(place)).cloned().collect(),
                ..Places::default()
            };
            let scan = some.read_all(env, ScanScope { sizes: false, ..ScanScope::GLANCE });
            let mut sessions = self.in_order(scan.sessions);
            stuck::note(&mut sessions);
            hand_over(sessions, None);
        }
        let scan = places.read_with_dirs(env, &self.filter, ScanScope::GLANCE);
        let problems = scan.problems.len();
        let mut sessions = self.in_order(scan.sessions);
        // Reading the end of every transcript is slower than reading all beginnings.
        if sessions.len() > FIRST {
            hand_over(sessions.clone(), None);
        }
        stuck::note(&mut sessions);
        hand_over(sessions, Some(problems));
    }

    fn check(&self, session: &Session, how: &How) -> Result<(), RefusedResume> {
        let resume = self.resume(session, how, self.is_started)?;
        let warning = resume.session.as_ref().filter(|_| resume.briefed.is_none() && !how.stuck);
        match warning.and_then(checks::check_stuck) {
            Some((why, rewind)) => Err(self.stuck(session, why, rewind, how)),
            None => Ok(()),
        }
    }

    fn command(&self, session: &Session) -> Result<String, RefusedResume> {
        // The printed command may be for another terminal, in which the program is found.
        let resume = self.resume(session, &How::default(), false)?;
        if let Some(other) = self.with {
            // That command writes the briefing.
            let how = How { with: Some(other), ..How::default() };
            return Ok(in_home(&Self::line(session, &how), &self.env.invocation.elsewhere).into_owned());
        }
        resume.plan.shell_line(&self.env).ok_or_else(|| RefusedResume {
            why: "the command cannot be printed: a part of it holds control characters or is not UTF-8".to_owned(),
            ready: vec![show_it(session)],
        })
    }

    fn other_agents(&self, session: &Session) -> Result<Vec<Ready>, String> {
        let others = agent::all().iter().map(|agent| agent.kind()).filter(|kind| *kind != session.agent);
        let is_ready = |kind: &AgentKind| {
            let plan = launch::new_session(*kind, &self.request, &self.env);
            plan.is_ok_and(|plan| !self.is_started || launch::find_program(&plan, &self.env).is_ok())
        };
        let ready = |kind: AgentKind| {
            let how = How { with: Some(kind), ..How::default() };
            let line = in_home(&Self::line(session, &how), &self.env.invocation.elsewhere).into_owned();
            let why = format!("starts {} with a briefing on it, as a new session", agent::about(kind).title);
            Ready { line, why, how: Some(how) }
        };
        let ready: Vec<Ready> = others.filter(is_ready).map(ready).collect();
        if ready.is_empty() { Err("No other agent that takes a briefing is installed.".to_owned()) } else { Ok(ready) }
    }

    fn plan_removal(&self, sessions: &[Arc<Session>]) -> Result<Change, String> {
        undo::recover_first(&self.env, "delete", PATIENCE).map_err(|error| in_words(&error))?;
        // The line for it is as short as the terminal.
        let short =
            |words: String, session: &Arc<Session>| words.replacen(session.id(), short_among(session.id(), []), 1);
        removal::plan(sessions, false, &self.env).map_err(|error| sessions.iter().fold(in_words(&error), short))
    }

    fn remove(&self, change: &Change) -> Result<ChangeOutcome, String> {
        run::run(change, &self.env, PATIENCE).map_err(|error| in_words(&error))
    }

    fn pin(&self, sessions: &[Arc<Session>], is_wanted: bool) -> Result<(), String> {
        let verb = if is_wanted { "pin" } else { REMOVE };
        let change = |pins: &mut Pins| {
            for session in sessions {
                if is_wanted {
                    pins.add(session.agent, session.id(), self.env.clock.now)
                } else {
                    pins.remove(session.agent, session.id())
                };
            }
        };
        update(&self.env, verb, PATIENCE, change).map_err(|error| in_words(&error))
    }

    fn write_whole(&self, session: &Session, mut out: &mut dyn Write) -> io::Result<()> {
        let (env, styles) = (&self.env, Styles::default());
        let session = again(session, ScanScope::RESUME, env).map_err(io::Error::other)?;
        show::session(&mut out, env, &styles, &session, &ready(&session, &self.request, env))?;
        writeln!(out)?;
        let Some(agent) = agent::by_kind(session.agent) else { return Ok(()) };
        let mut written = Ok(());
        let read = agent.messages(session.copy(), &mut |message| {
            written = show::message(&mut out, env, &styles, &message);
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        written?;
        read.map_err(io::Error::other)
    }
}

impl SessionBackend {
    /// Creates a backend for a command that only reads the picked sessions.
    pub(super) fn new(filter: &Filter, env: &Env) -> Self {
        let (options, request) = (Options::default(), LaunchRequest::default());
        let (env, filter) = (env.clone(), filter.clone());
        Self { env, filter, options, request, copy: None, with: None, is_started: false }
    }

    /// Keeps the sessions that pass the filters, newest activity first, those that a script ran last, and marks pinned
    /// ones.
    fn in_order(&self, mut sessions: Vec<Session>) -> Vec<Session> {
        sessions.retain(|session| self.filter.matches(session) && session.copy().kind.is_listed());
        select::sort(&mut sessions, SortKey::Active, false);
        // An app runs sessions for its user, so these are not ordered as sessions of scripts.
        sessions.sort_by_key(|session| session.copy().kind == SessionKind::Exec && session.pointers.is_empty());
        // Viewing continues without labels that cannot be read; changing them fails.
        Labels::read(&self.env).0.mark(&mut sessions);
        processes::note_processes(&mut sessions);
        sessions
    }

    /// Runs every check of a resume; a failure has the possible remedies.
    fn resume(&self, session: &Session, how: &How, is_started: bool) -> Result<Resume, RefusedResume> {
        let how = &How { with: how.with.or(self.with), ..how.clone() };
        let fail = |refusal: Refusal, resume: Option<&Resume>| self.refused(session, &refusal, resume, how);
        let read = again(session, ScanScope::RESUME, &self.env).map_err(|refusal| fail(refusal, None))?;
        let copy = how.copy.map(CopySelector::Number).or_else(|| self.copy.clone());
        let read = with_a_chosen_copy(read, copy.as_ref(), &self.env).map_err(|refusal| fail(refusal, None))?;
        let options = options_with(&self.options, how);
        let planned = match how.with {
            Some(other) => Resume::briefed(read, other, &options, &self.request, &self.env),
            None => Resume::of_session(read, &options, &self.request, &self.env),
        };
        let mut resume = planned.map_err(|refusal| fail(refusal, None))?;
        if let Some(refusal) = resume.check(&options, &self.env).into_iter().next() {
            return Err(fail(refusal, Some(&resume)));
        }
        if is_started {
            launch::find_program(&resume.plan, &self.env).map_err(|refusal| fail(refusal, Some(&resume)))?;
        }
        Ok(resume)
    }

    /// Returns the actions for a stuck session. It can still be resumed.
    fn stuck(&self, session: &Session, why: String, rewind: Option<String>, how: &How) -> RefusedResume {
        let rewind = rewind.map(|line| {
            let why = "makes a new session up to its last good reply";
            copied(in_home(&line, &self.env.invocation.elsewhere).into_owned(), why)
        });
        let anyway = How { stuck: true, ..how.clone() };
        let line = in_home(&Self::line(session, &anyway), &self.env.invocation.elsewhere).into_owned();
        let anyway = Ready { line, why: "resumes it anyway".to_owned(), how: Some(anyway) };
        RefusedResume { why, ready: rewind.into_iter().chain([anyway, show_it(session)]).collect() }
    }

    /// Returns the remedies of a refused resume.
    pub(super) fn refused(
        &self,
        session: &Session,
        refusal: &Refusal,
        resume: Option<&Resume>,
        how: &How,
    ) -> RefusedResume {
        let ready = |how: How, why: String| Ready { line: Self::line(session, &how), why, how: Some(how) };
        // A narrow terminal cuts the directory at the end of the command.
        let elsewhere = |dir: &Path, why: &str| {
            ready(How { dir: Some(dir.to_owned()), ..how.clone() }, format!("in {}: {why}", self.env.tilde(dir)))
        };
        let starts_in = |dir: &&Path| resume.is_none_or(|resume| resume.starts_in(dir));
        let here = || {
            let cwd = self.env.cwd.as_deref().filter(|_| !self.env.foreign_home).filter(starts_in);
            cwd.map(|cwd| elsewhere(cwd, "the current directory"))
        };
        let mut all: Vec<Ready> = match refusal.code {
            RefusalCode::MissingDirectory | RefusalCode::NotADirectory | RefusalCode::UnknownDirectory => {
                let left = resume.map(|resume| resume.left(&self.env)).unwrap_or_default();
                let MissingDirRemedies { moved, worktree, instead, may_move, made, anywhere } = left;
                let made = made.map(|made| (made, "creates it again, empty".to_owned()));
                let command = |(line, why): (String, String)| copied(line, &why);
                let (moved, made) = (moved.map(command), made.map(command));
                let may_move = may_move.into_iter().map(command);
                let worktree = worktree.map(|lost| {
                    let why = format!("makes the git worktree again on {}, and resumes there", lost.head_in_words());
                    ready(How { recreate_worktree: true, ..how.clone() }, why)
                });
                let found = instead.iter().map(|found| elsewhere(&found.dir, found.why.words()));
                let ways = moved.into_iter().chain(worktree).chain(found).chain(here()).chain(may_move);
                ways.chain(made).chain(anywhere.map(command)).collect()
            }
            RefusalCode::Live => {
                vec![ready(How { force: true, ..how.clone() }, "takes it over; end it there first".to_owned())]
            }
            RefusalCode::Planted | RefusalCode::UntrustedDirectory => {
                let trust =
                    ready(How { trust: true, ..how.clone() }, "starts it where it says, if you know it".to_owned());
                std::iter::once(trust).chain(here()).collect()
            }
            RefusalCode::UntrustedRepository => {
                vec![ready(How { trust: true, ..how.clone() }, "runs the programs of that repository".to_owned())]
            }
            RefusalCode::TooManyResumes => {
                vec![ready(How { no_limit: true, ..how.clone() }, "resumes it anyway".to_owned())]
            }
            RefusalCode::AmbiguousCopy => {
                let of = |one: &RefusalCandidate| Some(ready(How { copy: one.copy, ..how.clone() }, description(one)?));
                refusal.candidates.iter().filter_map(of).collect()
            }
            _ => Vec::new(),
        };
        let mut ways: Vec<How> = Vec::new();
        all.retain(|ready| {
            let is_new = ready.how.as_ref().is_none_or(|how| !ways.contains(how));
            ways.extend(ready.how.clone());
            is_new
        });
        all.push(show_it(session));
        for ready in &mut all {
            ready.line = in_home(&ready.line, &self.env.invocation.elsewhere).into_owned();
        }
        RefusedResume { why: refusal.message.clone(), ready: all }
    }

    /// Returns the command that resumes a session with these choices.
    fn line(session: &Session, how: &How) -> String {
        let mut line = format!("rejoin resume {}", checks::name(session));
        if let Some(copy) = how.copy {
            line.push_str(&format!(" --copy {copy}"));
        }
        if let Some(dir) = &how.dir {
            line.push_str(&format!(" --in {}", shell::word(&dir.to_string_lossy())));
        }
        if let Some(other) = how.with {
            line.push_str(&format!(" --with {other}"));
        }
        let flags = [
            (how.force, "--force"),
            (how.trust, "--trust"),
            (how.no_limit, "--no-limit"),
            (how.recreate_worktree, "--recreate-worktree"),
        ];
        flags.iter().filter(|(is, _)| *is).for_each(|(_, flag)| line.extend([" ", flag]));
        line
    }
}

/// Adds the user's choices in the picker to the options of the command line.
pub(crate) fn options_with(options: &Options, how: &How) -> Options {
    Options {
        dir: how.dir.clone().or_else(|| options.dir.clone()),
        force: options.force || how.force,
        trust: options.trust || how.trust,
        no_limit: options.no_limit || how.no_limit,
        recreate_worktree: options.recreate_worktree || how.recreate_worktree,
        has_terminal: options.has_terminal,
        typed: options.typed.clone(),
    }
}

/// Returns an action that the picker cannot run.
fn copied(line: String, why: &str) -> Ready {
    Ready { line, why: format!("{why}; enter copies it"), how: None }
}

fn show_it(session: &Session) -> Ready {
    Ready {
        line: format!("rejoin show {}", checks::name(session)),
        why: "shows everything that is known about it, in a pager".to_owned(),
        how: None,
    }
}

/// Formats an error in one line, with its hint.
fn in_words(error: &anyhow::Error) -> String {
    let hint = error.downcast_ref::<Refusal>().and_then(|refusal| refusal.hint.as_deref());
    match hint {
        Some(hint) => format!("{error:#}; {hint}"),
        None => format!("{error:#}"),
    }
}

/// Returns the names of the sessions with the most recently changed files. Only file times are read, so these need not
/// be the newest sessions; all are read soon after.
fn newest(places: &[Located]) -> HashSet<(AgentKind, &str)> {
    // A project that is named after a hash would need all other sessions to find its directory.
    let is_plain = |place: &&Located| {
        let project = place.project.as_deref();
        !project.is_some_and(|project| (agent::about(place.agent()).is_hash)(project))
    };
    let dated = parallel::map(places.iter().filter(|place| !place.is_subagent).filter(is_plain), |place| {
        Some((place.path.symlink_metadata().ok()?.modified().ok()?, (place.agent(), place.id.as_str())))
    });
    let mut dated: Vec<_> = dated.into_iter().flatten().collect();
    dated.sort_unstable_by_key(|(at, _)| Reverse(*at));
    dated.into_iter().take(FIRST).map(|(_, name)| name).collect()
}
