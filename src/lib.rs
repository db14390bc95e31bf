//! Finds, repairs, cleans up and resumes coding-agent sessions of any agent in any directory.
//!
//! [`run`] is the program. Data flows one way; docs/architecture.md draws it. Programs that keep their own sessions can
//! call [`write_session_info`] and [`read_working_dir`].

#![cfg_attr(test, expect(clippy::arithmetic_side_effects, reason = "tests reckon with times of their own"))]

use std::ffi::OsString;
use std::path::Path;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};

mod agent;
mod archive;
mod change;
mod cli;
mod commands;
mod config;
mod doctor;
mod error;
mod fleet;
mod format;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod hook;
mod launch;
mod save;
mod scan;
mod session;
mod system;
mod verbs;
mod view;

#[doc(hidden)]
pub use agent::jido::signature as jido_signature;
pub use error::Exit;
pub use save::write::session_info::{read_working_dir, write_session_info};
#[doc(hidden)]
pub use system::env::{CapturedStreams, Surroundings};

use cli::{Cli, ColorWhen, Command, Format, HookArgs, HookCommand, add_tips, split_from_options, suggest_nearest};
use error::{Refusal, is_closed_pipe};
use format::{command_line, text};
use system::env::Env;
use verbs::verbs;
use view::render;
use view::ui::Ui;

/// Runs the program with these arguments; the first one is the program name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> Exit {
    let mut args = args.into_iter();
    let first = [args.next(), args.next(), args.next()];
    if let Some(exit) = commands::version::answer(&first).or_else(|| system::reach::answer(&first)) {
        return exit;
    }
    let args: Vec<OsString> = first.into_iter().flatten().chain(args).collect();
    view::ui::tell_of_bugs();
    system::signals::survive_file_size_limit();
    if let Some(exit) = commands::complete::answer(&args) {
        return exit;
    }
    run_in(&Surroundings::from_process(args))
}

/// Runs the program in its surroundings: the process, or those that a test made.
#[doc(hidden)]
pub fn run_in(surroundings: &Surroundings) -> Exit {
    if !surroundings.is_process() {
        // The test changed files since the last run.
        system::reach::forget();
        agent::jido::keys::forget_secrets();
        surroundings.args.iter().take(1).for_each(|program| system::own_program::set(program.as_ref()));
    }
    let (mut args, streams) = (surroundings.args.clone(), &surroundings.streams);
    // The agent waits, and with a cold cache even the definition of all commands takes longer than handling the event.
    if let Some(event) = commands::hook::plain_event(&args) {
        return commands::hook::event(&event, surroundings, &mut Ui::new(streams, None, false, ColorWhen::Never));
    }
    let mut command = cli::command();
    let for_usage = || Ui::new(streams, Env::read_from(surroundings, None).ok().as_ref(), false, ColorWhen::Auto);
    if args.len() < 2 {
        if !opens_picker(surroundings) {
            for_usage().help(&command.render_help());
            return Exit::Ok;
        }
        args.push("resume".into());
    }
    // Hints repeat the arguments as typed.
    let mut split = args.clone();
    split_from_options(&mut split);
    let mut matches = command.try_get_matches_from_mut(&split);
    let lacks_command = |error: &clap::Error| error.kind() == ErrorKind::MissingSubcommand;
    if matches.as_ref().is_err_and(lacks_command) && opens_picker(surroundings) {
        [&mut args, &mut split].into_iter().for_each(|args| args.push("resume".into()));
        matches = command.try_get_matches_from_mut(&split);
    }
    // Words alone are typed into the picker.
    let in_text = || split.iter().map(|arg| arg.to_string_lossy().into_owned()).collect::<Vec<_>>();
    if let Some((at, inserted)) = matches.as_ref().err().and_then(|error| cli::for_picker(error, &command, &in_text()))
        && opens_picker(surroundings)
    {
        let inserted = || inserted.iter().map(OsString::from);
        let mut longer = split.clone();
        longer.splice(at..at, inserted());
        let of_picker = command.try_get_matches_from_mut(&longer);
        if of_picker.is_ok() {
            args.splice(at..at, inserted());
            (split, matches) = (longer, of_picker);
        }
    }
    let parsed = matches.and_then(|matches| {
        let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
        Ok((cli, asked_format(&matches)))
    });
    let (mut cli, format) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            let is_wrong = !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            if is_wrong && commands::hook::went_on_after_wrong_usage(&args, &error, streams) {
                return Exit::Ok;
            }
            if is_wrong {
                // The error message contains the arguments.
                let shown: Vec<String> =
                    split.iter().map(|arg| text::unbroken(&arg.to_string_lossy()).into_owned()).collect();
                // The subcommand's help hides the global options, which may be meant.
                let mut command = Cli::command();
                let mut error = command.try_get_matches_from_mut(&shown).err().unwrap_or(error);
                add_tips(&mut error, &command, &shown);
                suggest_nearest(&mut error, &command, &shown);
                if cli::asks_for_json(&shown) {
                    let elsewhere = command_line::elsewhere_of(&shown);
                    for_usage().error_json(&render::json::error(&cli::refusal(&error).into(), &elsewhere));
                } else {
                    for_usage().usage(&error);
                }
                return Exit::Usage;
            }
            for_usage().help(&error.render());
            return Exit::Ok;
        }
    };
    if let Command::Hook(HookArgs { what: event @ (HookCommand::Claude | HookCommand::Amplifier) }) = &cli.command {
        // Nothing is read that an event does not need, such as the zone's files.
        let mut ui = Ui::new(streams, None, cli.global.quiet, cli.global.color);
        return commands::hook::event(event, surroundings, &mut ui);
    }
    // With other hosts, `--home` is a home on those hosts.
    let home = cli.global.home.as_deref().filter(|_| cli.global.hosts.is_empty());
    let env = Env::read_from(surroundings, home).or_else(|refusal| match &cli.command {
        // These read no file of a home, and packagers may have none.
        Command::Help(_) | Command::Completions(_) => Env::read_from(surroundings, Some(Path::new("/"))),
        _ => Err(refusal),
    });
    let env = env.map(|mut env| {
        env.invocation.words = args.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        env
    });
    let mut ui = Ui::new(streams, env.as_ref().ok(), cli.global.quiet, cli.global.color);
    let elsewhere = env.as_ref().map(|env| env.invocation.elsewhere.clone()).unwrap_or_default();
    let outcome = env.map_err(anyhow::Error::from).and_then(|mut env| {
        if !cli.global.no_config && reads_config(&cli.command) {
            env.config = commands::config::read(&env)?;
        }
        commands::hosts::take_host(&mut cli, &mut env)?;
        if cli.global.hosts.is_empty() {
            dispatch(&cli.command, &env, &mut ui)
        } else {
            commands::hosts::run(&cli, format, &env, &mut ui)
        }
    });
    commands::warn_of_silent_mounts(&mut ui);
    match outcome {
        Ok(exit) => exit,
        Err(error) if is_closed_pipe(&error) => Exit::Ok,
        Err(error) if matches!(&cli.command, Command::Save(args) if args.best_effort) => {
            ui.warn(&format!("{error:#}"));
            Exit::Ok
        }
        Err(error) => {
            let exit = error.downcast_ref::<Refusal>().map_or(Exit::Failure, |refusal| refusal.exit);
            if format.is_some_and(Format::is_json) {
                ui.error_json(&render::json::error(&error, &elsewhere));
            } else {
                ui.error(&error);
            }
            exit
        }
    }
}

/// Returns whether `rejoin` without a command opens the picker.
fn opens_picker(surroundings: &Surroundings) -> bool {
    Env::read_from(surroundings, None).is_ok_and(|env| commands::find::can_pick(&env.terminal))
}

/// Returns whether a command reads the config file: commands that agents and programs call must work whatever it
/// contains.
fn reads_config(command: &Command) -> bool {
    !matches!(command, Command::Save(_) | Command::Hook(_) | Command::Completions(_) | Command::Help(_))
}

macro_rules! dispatch {
    ($($(#[$($meta:tt)*])* $name:ident($args:ident) $module:ident $rest:tt)*) => {
        fn dispatch(command: &Command, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
            match command {
                $(Command::$name(args) => commands::$module::run(args, env, ui),)*
            }
        }
    };
}
verbs!(dispatch);

/// Returns the requested format.
fn asked_format(mut matches: &ArgMatches) -> Option<Format> {
    while let Some((_, inner)) = matches.subcommand() {
        matches = inner;
    }
    let json = matches.try_get_one::<bool>("json").ok().flatten().filter(|json| **json);
    json.map(|_| Format::Json).or(matches.try_get_one::<Format>("format").ok().flatten().copied())
}
