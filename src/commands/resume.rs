//! `rejoin resume`

use std::path::Path;

use anyhow::Context as _;

use crate::agent::command::LaunchRequest;
use crate::change::apply::state_dir::refuse_other_owner;
use crate::cli::{FilterArgs, Format, ResumeArgs};
use crate::commands::find::{self, PickAnswer, SelectorTarget, SessionBackend};
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::command_line::in_home;
use crate::format::{command_line, shell};
use crate::launch;
use crate::launch::checks;
use crate::launch::log;
use crate::launch::resume::{Options, Resume};
use crate::launch::wait;
use crate::launch::written::{self, AgentFiles};
use crate::scan::ScanScope;
use crate::session::select::CopySelector;
use crate::session::{AgentKind, Session};
use crate::system::env::Env;
use crate::view::pick::Purpose;
use crate::view::render::resume as render;
use crate::view::render::resume::ResumeAnswer;
use crate::view::ui::Ui;

/// Options that find the session or format the answer, and that hints name otherwise.
const NOT_REPEATED: &[&str] = &[
    "resume",
    "--home=",
    "--host=",
    "--hosts=",
    "--agent=",
    "-a=",
    "--dir=",
    "--here",
    "--tag=",
    "--since=",
    "--until=",
    "--before=",
    "--older-than=",
    "--copy=",
    "--with=",
    "--format=",
    "--json",
];

pub(crate) fn run(args: &ResumeArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let left_out: Vec<&str> = args.session.iter().map(String::as_str).chain(NOT_REPEATED.iter().copied()).collect();
    begin(args, "", command_line::without(&env.invocation.words, &left_out, &[]), env, ui)
}

/// Resumes the session that the user picks among those that pass the filters; `words` is the first search text.
pub(super) fn pick(filter: FilterArgs, words: &str, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    begin(&ResumeArgs { filter, ..ResumeArgs::default() }, words, Vec::new(), env, ui)
}

/// Resumes the named session, or the one that the user picks; `words` is the first search text. Hints repeat `typed`.
fn begin(args: &ResumeArgs, words: &str, typed: Vec<String>, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if args.last_launch {
        return last_launch(args, env, ui);
    }
    super::warn_of_interrupted(env, ui);
    let is_started = !args.prints() && args.plan().is_none();
    if is_started || args.with.is_some() {
        refuse_other_owner(env)?;
    }
    let request = request(args, ui)?;
    let filter = super::filter(&args.filter, true, env)?;
    let mut options = Options {
        dir: args.in_dir.clone(),
        force: args.force,
        trust: args.trust,
        recreate_worktree: args.recreate_worktree,
        // Nothing is launched, so a loop is impossible.
        no_limit: args.no_limit || args.prints(),
        has_terminal: env.terminal.stdin || !is_started,
        typed,
    };
    let (mut copy, mut with) = (args.copy.clone(), args.with);
    // A session, or the first search text of the picker.
    let found = if args.session.is_empty() {
        find::needs_a_picker(&env.terminal)?;
        Err(words.to_owned())
    } else {
        let selector = super::selector(&args.session)?;
        match find::Finder::new(&filter, ScanScope::RESUME, env, ui).unambiguous(&selector) {
            Ok(target) => Ok(target),
            Err(error) => Err(find::words_to_pick(&error, &env.terminal)
                .ok_or_else(|| super::or_in(error, &args.filter.place, env))?),
        }
    };
    let backend = |options: &Options, copy: &Option<CopySelector>, with: Option<AgentKind>| {
        let (env, filter, request) = (env.clone(), filter.clone(), request.clone());
        SessionBackend { env, filter, request, options: options.clone(), copy: copy.clone(), with, is_started }
    };
    let target = match found {
        Ok(target) => target,
        Err(words) => {
            let purpose = Purpose { verb: "resume", takes_several: false, is_checked: true };
            match find::picked(backend(&options, &copy, with), purpose, &words, ui)? {
                PickAnswer::Sessions(sessions, how) => {
                    copy = how.copy.map(CopySelector::Number).or(copy);
                    with = how.with.or(with);
                    options = find::options_with(&options, &how);
                    let session = sessions.first().context("nothing chosen")?;
                    SelectorTarget::Session(Box::new(find::again(session, ScanScope::RESUME, env)?))
                }
                PickAnswer::Left(exit) => return Ok(exit),
            }
        }
    };
    let planned = |session: Session, options: &Options| match with {
        Some(other) => Resume::briefed(session, other, options, &request, env),
        None => Resume::of_session(session, options, &request, env),
    };
    let mut resume = match target {
        SelectorTarget::Session(session) => {
            planned(find::with_a_copy(*session, copy.as_ref(), "resume", env, ui)?, &options)?
        }
        SelectorTarget::LostApp(pointer) if args.fresh => Resume::fresh(&pointer, &options, &request, env)?,
        SelectorTarget::LostApp(pointer) => {
            let message = format!("cannot find the session that {} points to", pointer.path.display());
            return Err(Refusal::new(RefusalCode::NotFound, message)
                .hint(format!("start a new session there with `{}`", command_line::again(env, &[], &["--fresh"])))
                .into());
        }
    };
    let mut refusals = resume.check(&options, env);
    if is_started
        && let Some(refusal) = refusals.first()
        && let Some(session) = resume.session.clone()
        && let Some(how) = find::another_dir(&backend(&options, &copy, with), &session, &resume, refusal, ui)?
    {
        options = find::options_with(&options, &how);
        resume = planned(session, &options)?;
        refusals = resume.check(&options, env);
    }
    let warning = resume.session.as_ref().filter(|_| resume.briefed.is_none()).and_then(checks::check_chain);
    resume.warnings.extend(warning);
    let stuck = resume.session.as_ref().filter(|_| resume.briefed.is_none()).and_then(checks::check_stuck);
    resume.warnings.extend(stuck.map(|(why, rewind)| match rewind {
        Some(rewind) => format!(
            "{why}; `{}` makes a new session up to its last good reply",
            in_home(&rewind, &env.invocation.elsewhere)
        ),
        None => format!("{why}; go back in the conversation with the agent's own command"),
    }));
    if resume.briefed.is_some() && refusals.is_empty() {
        if is_started {
            launch::find_program(&resume.plan, env)?;
        }
        super::briefing::give_briefing(&mut resume, request.prompt.as_deref(), env, ui)?;
    }
    if let Some(format) = args.plan() {
        ui.answer(format, env, &ResumeAnswer { resume: &resume, refusals: &refusals, env })?;
        return Ok(refusals.first().map_or(Exit::Ok, |refusal| refusal.exit));
    }
    for warning in &resume.warnings {
        ui.warn(warning);
    }
    if let Some(refusal) = refusals.into_iter().next() {
        return Err(resume.explain(refusal, env).into());
    }
    if args.prints() {
        if render::shell_line(&resume, env).is_none() {
            let message = "the command cannot be printed: a part of it holds control characters or is not UTF-8";
            return Err(Refusal::new(RefusalCode::NotPrintable, message)
                .hint(format!(
                    "run it with `{}`, or read it with `{}`",
                    command_line::again(env, &["--print", "-p"], &[]),
                    command_line::again(env, &["--print", "-p"], &["--json"])
                ))
                .into());
        }
        ui.answer(Format::Table, env, &ResumeAnswer { resume: &resume, refusals: &[], env })?;
        if let Some(file) = resume.briefed.as_ref().and_then(|briefed| briefed.file.as_deref()) {
            ui.print_note(&format!("The whole conversation is in {}.", env.tilde(file)));
        }
        if let Some(words) = &resume.plan.then_type {
            ui.print_note(&format!("Then type there: {words}"));
        }
        return Ok(Exit::Ok);
    }
    let program = launch::find_program(&resume.plan, env)?;
    if let Some(worktree) = &resume.worktree {
        if !args.yes {
            super::confirm_or_refuse(&[], &worktree.question(), env, ui)?;
        }
        worktree.run(env)?;
        resume.check_dir(env)?;
    }
    let dir = resume.plan.dir.clone().unwrap_or_default();
    if let Some((session, item)) = resume.session.as_ref().zip(resume.backfill.as_ref()) {
        super::backfill::after_resume(session, item, env, ui);
    }
    // The session may have gone since it was read.
    resume.check_start()?;
    if let Some(error) = resume.log_launch(&dir, &options, env)? {
        ui.warn(&format!("cannot note the launch: {error}"));
    }
    render::announcement(&resume, env).lines().for_each(|line| ui.print_note(line));
    super::warn_of_silent_mounts(ui);
    ui.flush()?;
    // A program that cannot resume the session may still exit with success.
    if args.wait || (resume.is_unsure && resume.plan.has_prompt) {
        return wait_for(&resume, &program, &dir, env, ui);
    }
    match resume.plan.exec(&program, &dir, resume.identity, env)? {}
}

/// Prompts longer than this do not fit on a command line.
const MAX_PROMPT: u64 = 100_000;

fn request(args: &ResumeArgs, ui: &mut Ui) -> anyhow::Result<LaunchRequest> {
    let prompt = match args.prompt.as_deref() {
        Some("-") => {
            let text = ui.read_input(MAX_PROMPT).context("cannot read the prompt from standard input")?;
            Some(text.trim_end().to_owned())
        }
        prompt => prompt.map(str::to_owned),
    };
    if prompt.as_ref().is_some_and(|prompt| prompt.trim().is_empty()) {
        return Err(Refusal::new(RefusalCode::Usage, "the prompt is empty").into());
    }
    if prompt.as_ref().is_some_and(|prompt| prompt.contains('\0')) {
        return Err(Refusal::new(
            RefusalCode::Usage,
            "the prompt contains a NUL character, which a command line cannot hold",
        )
        .into());
    }
    Ok(LaunchRequest { prompt, args: args.args.clone() })
}

/// Waits for the agent to exit. Warns if it wrote to a different session. Fails if a prompt was passed to a program
/// that may not support resuming, and the session got no new message.
fn wait_for(resume: &Resume, program: &Path, dir: &Path, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let session = resume.session.as_ref().filter(|_| resume.briefed.is_none());
    let before = session.map(|session| AgentFiles::take_snapshot(env, session.agent));
    let ended = wait::run(|| resume.plan.spawn(program, dir, resume.identity, env))?;
    let mut is_silent = false;
    if let Some((session, before)) = session.zip(before) {
        let after = AgentFiles::take_snapshot(env, session.agent);
        if let Some(message) = written::strayed(&before, &after, session) {
            ui.warn(&message);
        }
        is_silent = resume.is_unsure && resume.plan.has_prompt && !written::has_grown(&before, &after, session);
    }
    if is_silent && ended.status() == 0 {
        let id = resume.session.as_ref().map_or("", |session| session.id());
        let message = format!("{} ended without an error, but it added nothing to session {id}", program.display());
        let hint = format!(
            "check what it is with `{} --version`",
            shell::printable_word(program.as_os_str()).unwrap_or_else(|| resume.plan.argv[0].clone().into())
        );
        return Err(Refusal::new(RefusalCode::NothingSaid, message).hint(hint).into());
    }
    Ok(Exit::Agent(ended.status()))
}

/// Shows the last command that was launched.
fn last_launch(args: &ResumeArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let Some(launch) = log::read(&log::file(env))?.into_iter().next() else {
        return Err(Refusal::new(RefusalCode::NotFound, "nothing has been launched yet").into());
    };
    ui.answer(args.format, env, &launch)?;
    Ok(Exit::Ok)
}
