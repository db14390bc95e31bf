//! A resume in words and in JSON.

use crate::agent::amplifier::session_info::FILE_NAME;
use crate::error::Refusal;
use crate::format::text;
use crate::launch;
use crate::launch::log::Launch;
use crate::launch::resume::Resume;
use crate::system::env::Env;
use crate::view::render::json;
use crate::view::render::json::{FORMAT_VERSION, LaunchDirJson, RefusalJson, ResumePlanJson};
use crate::view::render::show;

/// Says what is about to happen, and why this copy.
pub(crate) fn announcement(resume: &Resume, env: &Env) -> String {
    let dir = resume.plan.dir.as_deref().map(|dir| env.tilde(dir)).unwrap_or_default();
    let mut words = match &resume.session {
        Some(session) => format!("Resuming {} in {dir}.", show::in_words(session)),
        None => format!("Starting a new session in {dir}."),
    };
    if let Some(session) = resume.session.as_ref().filter(|session| session.copies.len() > 1) {
        words.push_str(&format!(
            "\nIt has {} copies; this one was chosen because: {}.",
            session.copies.len(),
            session.choice.why
        ));
    }
    if let Some(line) = &resume.plan.then_type {
        words.push_str(&format!("\nType there: {line}"));
    }
    words
}

/// Puts a resume into the contract's form.
pub(crate) fn json<'a>(resume: &'a Resume, refusals: &'a [Refusal], env: &Env) -> ResumePlanJson<'a> {
    let session = resume.session.as_ref();
    let dir = resume.plan.dir.as_deref();
    ResumePlanJson {
        format_version: FORMAT_VERSION,
        kind: "resume-plan",
        agent: resume.agent,
        id: session.map(|session| session.id.as_str()),
        path: session.map(|session| session.copy().place.path.to_string_lossy()),
        why: session.map(|session| session.choice.why.as_str()),
        launch_dir: dir.map(|dir| LaunchDirJson {
            path: dir.to_string_lossy(),
            path_bytes_base64: json::path_bytes(dir),
            source: resume.dir_source,
            exists: Some(dir.is_dir()),
        }),
        resume: json::resume(&resume.plan),
        program: launch::find_program(&resume.plan, env)
            .ok()
            .map(|program| program.to_string_lossy().into_owned().into()),
        backfill: resume
            .backfill
            .as_ref()
            .map(|item| item.session_dir.join(FILE_NAME).to_string_lossy().into_owned().into()),
        refusals: refusals.iter().map(RefusalJson::from).collect(),
    }
}

/// Writes a launch as a line with its time and its command for a POSIX shell.
pub(crate) fn launched(launch: &Launch) -> String {
    let argv: Vec<_> = launch.argv.iter().map(|word| text::shell_word(word)).collect();
    let dir = launch.dir.to_string_lossy();
    format!("{}  cd {} && {}", launch.at, text::shell_word(&dir), argv.join(" "))
}
