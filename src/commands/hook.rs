//! `rejoin hook`: the events that agents send, and the settings that make agents send them.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;

use crate::cli::{ColorWhen, HookArgs, HookCommand, HookScope, HookSettingsArgs, HookStatusArgs};
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::shell;
use crate::format::text::one_line;
use crate::hook::amplifier;
use crate::hook::claude::{self, Task};
use crate::hook::install as files;
use crate::hook::settings::{self, Without};
use crate::save::write;
use crate::system::deadline;
use crate::system::disk::SYSTEM;
use crate::system::env::{self, Env, ProgramSearch, Streams, Surroundings};
use crate::system::links;
use crate::system::own_program;
use crate::view::render::hook::{HookScopeJson, HookStatusJson, SettingsChange};
use crate::view::ui::Ui;

/// Returns the event if the command line has no other arguments, as agents call it.
pub(crate) fn plain_event(args: &[OsString]) -> Option<HookCommand> {
    let [_, hook, agent] = args else { return None };
    match agent.to_str()? {
        _ if hook != "hook" => None,
        "claude" => Some(HookCommand::Claude),
        "amplifier" => Some(HookCommand::Amplifier),
        _ => None,
    }
}

/// Answers an event. The agent continues in any case: a failure is one line.
pub(crate) fn event(event: &HookCommand, surroundings: &Surroundings, ui: &mut Ui) -> Exit {
    let outcome = match event {
        HookCommand::Amplifier => {
            let outcome = amplifier(ui);
            print_answer(amplifier::ANSWER, ui).and(outcome)
        }
        _ => claude(surroundings, ui),
    };
    if let Err(error) = outcome {
        ui.warn(&one_line(&format!("{error:#}")));
    }
    Exit::Ok
}

/// Answers invalid arguments if the caller is an agent, which must continue. Returns whether the caller is one.
///
/// For Claude Code the exit code 2 of a hook is a veto, and settings may be older or newer than rejoin.
pub(crate) fn went_on_after_wrong_usage(args: &[OsString], error: &clap::Error, streams: &Streams) -> bool {
    let has = |word: &str| args.iter().any(|arg| arg == word);
    let calls = |agent: &str| args.windows(2).any(|pair| pair[0] == "hook" && pair[1] == agent);
    let must_go_on = calls("claude") || calls("amplifier") || (has("save") && has("--best-effort"));
    if must_go_on {
        let mut ui = Ui::new(streams, None, false, ColorWhen::Never);
        if calls("amplifier") {
            let _ = print_answer(amplifier::ANSWER, &mut ui);
        }
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        ui.warn(&one_line(line.strip_prefix("error: ").unwrap_or(line)));
    }
    must_go_on
}

fn claude(surroundings: &Surroundings, ui: &mut Ui) -> anyhow::Result<()> {
    let input = ui.read_bytes(claude::MAX_INPUT).context("cannot read the event")?;
    let Some(event) = claude::read(&input)? else { return Ok(()) };
    let named = env::claude_project_dir(surroundings);
    let project = named.as_deref().or_else(|| event.project_dir()).context("CLAUDE_PROJECT_DIR is not set")?;
    match event.task {
        Task::Record => {
            if let Some(dir) = &event.dir {
                write::cwd_record::record(&SYSTEM, project, &event.session_id, dir)?;
            }
        }
        Task::Answer => {
            if let Some(dir) = write::cwd_record::recorded(&SYSTEM, project, &event.session_id)? {
                let answer = claude::answer(&dir).context("the recorded directory is too long for an answer")?;
                print_answer(&answer, ui)?;
            }
        }
        Task::Forget => write::cwd_record::forget(&SYSTEM, project, &event.session_id)?,
    }
    Ok(())
}

fn amplifier(ui: &mut Ui) -> anyhow::Result<()> {
    let input = ui.read_bytes(amplifier::MAX_INPUT).context("cannot read the event")?;
    if let Some(save) = amplifier::read(&input)? {
        write::transcript::from_list(&SYSTEM, &save.session_dir, save.messages)?;
    }
    Ok(())
}

fn print_answer(answer: &str, ui: &mut Ui) -> anyhow::Result<()> {
    writeln!(ui.data(), "{answer}").and_then(|()| ui.flush()).context("cannot answer the event")
}

/// Installs or removes the hooks, or shows their state.
pub(crate) fn run(args: &HookArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    match &args.what {
        HookCommand::Install(args) => change(args, true, env, ui),
        HookCommand::Uninstall(args) => change(args, false, env, ui),
        HookCommand::Status(args) => status(args, env, ui),
        // An event is answered before the environment is read.
        HookCommand::Claude | HookCommand::Amplifier => Ok(Exit::Ok),
    }
}

fn change(args: &HookSettingsArgs, is_install: bool, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if !args.dry_run {
        super::recover_first("hook", args.lock, env, ui)?;
    }
    let path = settings_file(args.scope, env)?;
    refuse_link(args.scope, &path, env)?;
    let command = is_install.then(|| command(args.scope, env));
    let refuse = |why: settings::RefusedSettings| {
        Refusal::new(RefusalCode::SettingsNotUnderstood, format!("cannot change {}: {why}", path.display()))
            .hint("fix the file first; it was not changed")
    };
    let reason = if is_install { "have its events sent" } else { "have no events sent any more" };
    let end = deadline::after(args.lock.lock_timeout);
    let (old, new, run) = loop {
        let old = files::read(&path)?;
        let new = match (&command, &old.text) {
            (Some(command), old) => Some(settings::install(old.as_deref(), command).map_err(refuse)?),
            (None, Some(old)) => match settings::uninstall(old).map_err(refuse)? {
                Without::Text(text) => Some(text),
                Without::Nothing => None,
            },
            (None, None) => None,
        };
        if args.dry_run || new == old.text {
            break (old, new, None);
        }
        match files::apply(&old, new.as_deref(), reason, env, end.saturating_duration_since(Instant::now())) {
            Ok(run) => break (old, new, run),
            // Another process was faster; read its file and change that.
            Err(_) if Instant::now() < end && files::read(&path).is_ok_and(|now| now != old) => {}
            Err(error) => return Err(error),
        }
    };
    let change = SettingsChange {
        is_install,
        is_dry_run: args.dry_run,
        scope: args.scope,
        path: &path,
        old: &old.text,
        new: &new,
        command: command.as_deref(),
        run: run.as_deref(),
    };
    ui.answer(args.format, env, &change.answer())?;
    if is_install && new.as_deref().is_some_and(settings::are_disabled) {
        ui.warn("disableAllHooks is set in this file, so Claude Code runs no hook");
    }
    Ok(Exit::Ok)
}

fn status(args: &HookStatusArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let all = [HookScope::User, HookScope::Project, HookScope::Local];
    let requested = all.into_iter().filter(|scope| args.scope.is_none_or(|chosen| chosen == *scope));
    let scopes = requested.map(|scope| read_scope(scope, env)).collect::<Result<_, _>>()?;
    ui.answer(args.format, env, &HookStatusJson::new(scopes))?;
    Ok(Exit::Ok)
}

fn read_scope(scope: HookScope, env: &Env) -> Result<HookScopeJson, Refusal> {
    let path = settings_file(scope, env)?;
    let (text, unreadable) = match files::read(&path) {
        Ok(file) => (file.text, None),
        Err(error) => (None, Some(error.reason())),
    };
    let found = text.as_deref().map_or(Ok(Vec::new()), settings::installed);
    let (events, not_understood) = match found {
        Ok(events) => (events, None),
        Err(why) => (Vec::new(), Some(why.to_string())),
    };
    Ok(HookScopeJson {
        exists: text.is_some(),
        disabled: text.as_deref().is_some_and(settings::are_disabled),
        problem: unreadable.or(not_understood),
        ..HookScopeJson::new(scope, &path, events)
    })
}

/// Returns the settings of a scope; those of a project are in the caller's directory.
fn settings_file(scope: HookScope, env: &Env) -> Result<PathBuf, Refusal> {
    let project = || {
        let gone = || Refusal::new(RefusalCode::NoDirectory, "the current directory is gone");
        env.cwd.as_ref().map(|cwd| cwd.join(".claude")).ok_or_else(gone)
    };
    Ok(match scope {
        HookScope::User => match env.agent_variable("CLAUDE_CONFIG_DIR") {
            Some(dir) => env.absolute(Path::new(dir)).join("settings.json"),
            None => env.home.join(".claude/settings.json"),
        },
        HookScope::Project => project()?.join("settings.json"),
        HookScope::Local => project()?.join("settings.local.json"),
    })
}

/// Refuses settings of a project that are a link out of it: the repository may come from others.
fn refuse_link(scope: HookScope, path: &Path, env: &Env) -> Result<(), Refusal> {
    let project = env.cwd.as_ref().filter(|_| scope != HookScope::User);
    match project.and_then(|project| links::out_of(project, path)) {
        None => Ok(()),
        Some(link) => Err(Refusal::new(
            RefusalCode::SettingsElsewhere,
            format!("{} is a link that leads out of the project, so nothing was changed", link.display()),
        )
        .hint("replace it with a file of the project, or use --scope user")),
    }
}

/// Returns the command that the client runs: the bare name if it is found on PATH, or for a project that others share;
/// else the path of the running program.
fn command(scope: HookScope, env: &Env) -> String {
    let own = own_program::path().filter(|own| own.file_name() == Some(OsStr::new("rejoin")));
    let program = match (env.find_program("rejoin"), own) {
        (ProgramSearch::Found(_), _) | (_, None) => "rejoin".to_owned(),
        _ if scope == HookScope::Project => "rejoin".to_owned(),
        (_, Some(own)) => shell::word(&own.to_string_lossy()).into_owned(),
    };
    format!("{program} hook claude")
}
