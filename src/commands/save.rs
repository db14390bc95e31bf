//! `rejoin save`

use std::path::Path;

use anyhow::Context as _;
use serde_json::value::RawValue;

use crate::agent::amplifier::session_info;
use crate::agent::jido::records::MAX_FILE_BYTES;
use crate::agent::jido::signature::{APP_SALTS, derive_key};
use crate::agent::{ids, jido};
use crate::change::apply::state_dir::refuse_other_owner;
use crate::cli::{Format, SaveArgs, SaveCommand};
use crate::error::{Exit, PathError, Refusal, RefusalCode};
use crate::save;
use crate::save::write;
use crate::system::disk::{self, Access};
use crate::system::env::Env;
use crate::view::render::save as render;
use crate::view::render::save::Saved;
use crate::view::ui::Ui;

pub(crate) fn run(args: &SaveArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    refuse_other_owner(env)?;
    let saved = match &args.what {
        SaveCommand::SessionInfo { session_dir, working_dir } => session_info(session_dir, working_dir, env)?,
        SaveCommand::Transcript { session_dir } => transcript(session_dir, args.best_effort, env, ui)?,
        SaveCommand::Leo { app_dir, session_id, context_json, working_dir } => {
            leo(app_dir, session_id, context_json.as_deref(), working_dir.as_deref(), env, ui)?
        }
        SaveCommand::Jido => jido(env, ui)?,
    };
    if args.json {
        ui.answer(Format::Json, env, &render::answer(&saved))?;
    } else {
        ui.print_note(&render::text(&saved));
    }
    Ok(Exit::Ok)
}

fn session_info(session_dir: &Path, working_dir: &Path, env: &Env) -> anyhow::Result<Saved> {
    let session_dir = env.absolute(session_dir);
    let disk = disk::with_faults_of(env);
    disk::make_dirs(&disk, &session_dir, Access::Usual)
        .map_err(|error| PathError::new("create", &session_dir, error))?;
    write::session_info::record(&disk, &session_dir, &env.resolve(working_dir), env.clock.now)?;
    Ok(Saved::new("session-info", session_dir.join(session_info::FILE_NAME)))
}

fn transcript(session_dir: &Path, is_lenient: bool, env: &Env, ui: &mut Ui) -> anyhow::Result<Saved> {
    let session_dir = env.absolute(session_dir);
    let outcome = write::transcript::from_reader(&disk::with_faults_of(env), &session_dir, &mut ui.input(), is_lenient)
        .with_context(|| format!("cannot save the transcript in {}", session_dir.display()))?;
    if outcome.counts.unusable > 0 {
        ui.warn(&match outcome.counts.unusable {
            1 => "1 message was skipped, because it is not an object".to_owned(),
            count => format!("{count} messages were skipped, because they are not objects"),
        });
    }
    Ok(Saved { is_written: outcome.is_written, counts: Some(outcome.counts), ..Saved::new("transcript", outcome.path) })
}

fn leo(
    app_dir: &Path,
    session_id: &str,
    context: Option<&str>,
    cwd: Option<&Path>,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<Saved> {
    let app_dir = env.resolve(app_dir);
    if !ids::is_uuid(session_id) {
        // Leo does not save its own placeholders either.
        return Err(refused(format!("{session_id:?} is not the id of a Claude Code session: it is not a UUID")).into());
    }
    let context: Option<&RawValue> = context
        .map(|text| serde_json::from_str(text).map_err(|error| refused(format!("--context-json is not JSON: {error}"))))
        .transpose()?;
    if context.is_some_and(|context| !context.get().starts_with('{')) {
        return Err(refused("--context-json is not a JSON object").into());
    }
    let cwd = match (cwd, &env.cwd) {
        (Some(cwd), _) => env.resolve(cwd),
        (None, Some(cwd)) => cwd.clone(),
        (None, None) => return Err(refused("the current directory is gone; name one with --working-dir").into()),
    };
    let entry = save::leo::PointerEntry { session_id, app_dir: &app_dir, cwd: &cwd, context };
    let outcome = write::pointer::save(&disk::with_faults_of(env), &entry, env.clock.now, &env.clock.zone)?;
    if outcome.was_unusable {
        ui.warn(&format!("{} was not a JSON object, so its contents were replaced", outcome.path.display()));
    }
    Ok(Saved::new("leo", outcome.path))
}

fn jido(env: &Env, ui: &mut Ui) -> anyhow::Result<Saved> {
    let input = ui.read_bytes(MAX_FILE_BYTES).context("cannot read the session from standard input")?;
    let document = save::jido::complete(&input, env.clock.now)?;
    let session = save::jido::judge(&document)?;
    let root = jido::root(env);
    let in_use = |path: &Path| refused(format!("session {} is already saved: {}", session.id, path.display()));
    if let Some(path) = write::jido::in_use(&root, &session.id) {
        return Err(in_use(&path).into());
    }
    let disk = disk::with_faults_of(env);
    let key = derive_key(APP_SALTS[0], &write::jido::secret(&disk, &root)?, jido::short_name(&env.hostname));
    let signed = save::jido::signed(&document, &key)?;
    let path = write::jido::save(&disk, &root, &signed)?.ok_or_else(|| in_use(&jido::file_of(&root, &session.id)))?;
    Ok(Saved::new("jido", path))
}

fn refused(message: impl Into<String>) -> Refusal {
    Refusal::new(RefusalCode::CannotSave, message)
}
