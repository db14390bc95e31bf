//! `rejoin resume --with`: the file with the conversation, and the first prompt of the other agent.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::change::links::{self, BriefingLink};
use crate::commands::messages::{self, LeftOut, MessageRange};
use crate::error::{PathError, Refusal, RefusalCode};
use crate::launch::briefings;
use crate::launch::resume::Resume;
use crate::session::Session;
use crate::session::branches::BranchFilter;
use crate::system::disk::{self, Access, SYSTEM, Saving};
use crate::system::env::Env;
use crate::view::render::briefing::{Briefing, Digest, line};
use crate::view::render::export::{ExportPage as _, MarkdownPage};
use crate::view::ui::Ui;

/// Maximum bytes of an argument in Linux, with the byte that ends it.
const MAX_ARGUMENT: usize = 128 * 1024;

/// Writes the conversation, and gives the other agent its first prompt: the briefing, and the user's prompt if there is one.
pub(super) fn give_briefing(resume: &mut Resume, prompt: Option<&str>, env: &Env, ui: &mut Ui) -> anyhow::Result<()> {
    let Some(session) = &resume.session else { return Ok(()) };
    let Some(briefed) = &resume.briefed else { return Ok(()) };
    let (file, digest) = write(session, env, ui)?;
    let link = BriefingLink::new(session, &line(session.id()), briefed.agent, env.clock.now);
    if let Err(error) = save_link(&link.file(env), &link, env) {
        ui.warn(&format!("the new session will not be linked to this one: {error}"));
    }
    let dir = resume.plan.dir.as_deref();
    let briefing = Briefing { link: &link, session, dir, file: &file, digest: &digest, prompt, env };
    let (mut whole, short) = (briefing.whole(), briefing.short());
    if whole.len() >= MAX_ARGUMENT {
        whole.clone_from(&short);
    }
    if whole.len() >= MAX_ARGUMENT {
        return Err(Refusal::new(RefusalCode::Usage, "the prompt is too long for a command line").into());
    }
    resume.set_first_prompt(whole, short, file);
    Ok(())
}

/// Writes the file of a link between sessions.
pub(super) fn save_link(file: &Path, link: &impl Serialize, env: &Env) -> Result<(), PathError> {
    let dir = links::dir(env);
    let fail = |error| PathError::new("write", file, error);
    disk::make_own_dirs(&SYSTEM, &dir).map_err(|error| PathError::new("create", &dir, error))?;
    let mut bytes = serde_json::to_vec(link).map_err(|error| fail(error.into()))?;
    bytes.push(b'\n');
    let mut saving = Saving::begin(&SYSTEM, file, Access::Private)?;
    saving.write_all(&bytes).map_err(fail)?;
    saving.commit_soon()
}

/// Writes the active branch of a conversation as Markdown.
fn write(session: &Session, env: &Env, ui: &mut Ui) -> anyhow::Result<(PathBuf, Digest)> {
    let path = briefings::file(session, env);
    let dir = path.parent().unwrap_or_else(|| Path::new(""));
    disk::make_own_dirs(&SYSTEM, dir).map_err(|error| PathError::new("create", dir, error))?;
    let mut saving = Saving::begin(&SYSTEM, &path, Access::Private)?;
    let (mut digest, left_out) = (Digest::default(), LeftOut::default());
    let mut page = MarkdownPage::new(&mut saving, env);
    page.begin(session, &[])?;
    messages::each_message(
        session.copy(),
        &MessageRange::All(BranchFilter::Active),
        &left_out,
        &mut |message| -> anyhow::Result<()> {
            digest.add(message);
            Ok(page.message(message)?)
        },
    )?;
    page.end()?;
    saving.commit_soon()?;
    left_out.exit(ui);
    Ok((path, digest))
}
