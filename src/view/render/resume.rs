//! A resume as text and as JSON.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::agent::amplifier::session_info::FILE_NAME;
use crate::error::Refusal;
use crate::format::{shell, text};
use crate::launch;
use crate::launch::log::Launch;
use crate::launch::resume::Resume;
use crate::system::env::Env;
use crate::system::reach;
use crate::view::render::answer::Answer;
use crate::view::render::json::{self, LastLaunchJson, LaunchDirJson, RefusalJson, ResumePlanJson, WorktreeJson};
use crate::view::render::show;
use crate::view::ui::Styles;

/// Announces the resume, with the reason for the choice of the copy.
pub(crate) fn announcement(resume: &Resume, env: &Env) -> String {
    let dir = resume.plan.dir.as_deref().map(|dir| env.tilde(dir)).unwrap_or_default();
    let dir = text::unbroken(&dir);
    let mut words = match (&resume.session, &resume.briefed) {
        (Some(session), Some(briefed)) => {
            let of = show::in_words(session);
            let file = briefed.file.as_deref().map(|file| env.tilde(file)).unwrap_or_default();
            format!(
                "Starting {} in {dir} with a briefing on {of}.\nThe whole conversation is in {}.",
                briefed.agent,
                text::unbroken(&file)
            )
        }
        (Some(session), None) => format!("Resuming {} in {dir}.", show::in_words(session)),
        (None, _) => format!("Starting a new session in {dir}."),
    };
    if let Some(session) = resume.session.as_ref().filter(|session| session.copies.len() > 1) {
        words.push_str(&format!(
            "\nIt has {} copies; this one was chosen because {}.",
            session.copies.len(),
            session.choice.why
        ));
    }
    if let Some(line) = &resume.plan.then_type {
        words.push_str(&format!("\nType there: {}", text::unbroken(line)));
    }
    words
}

/// Returns all commands of a resume as a line for a shell; `None` if a word cannot be printed.
pub(crate) fn shell_line(resume: &Resume, env: &Env) -> Option<String> {
    let line = resume.plan.shell_line(env)?;
    match &resume.worktree {
        Some(worktree) => Some(format!("{} && {line}", worktree.shell_line()?)),
        None => Some(line),
    }
}

/// The answer of `resume --json`: the plan.
pub(crate) struct ResumeAnswer<'a> {
    /// The planned resume.
    pub resume: &'a Resume,
    /// The refusals that the resume would get.
    pub refusals: &'a [Refusal],
    /// The environment, in which agents' programs are searched for.
    pub env: &'a Env,
}

impl Answer for ResumeAnswer<'_> {
    const HAS_ITEMS: bool = false;

    fn object(&self) -> (&'static str, impl Serialize) {
        let Self { resume, refusals, env } = self;
        let session = resume.session.as_ref();
        let dir = resume.plan.dir.as_deref();
        let path_text = |path: &Path| path.to_string_lossy().into_owned().into();
        let fields = ResumePlanJson {
            agent: resume.agent,
            id: session.map(|session| session.id()),
            path: session.map(|session| session.copy().place.path.to_string_lossy()),
            why: session.map(|session| &*session.choice.why),
            launch_dir: dir.map(|dir| LaunchDirJson::new(dir, resume.dir_source, reach::is_dir(dir))),
            resume: json::resume(&resume.plan),
            program: launch::find_program(&resume.plan, env).ok().map(|program| path_text(&program)),
            worktree: resume.worktree.as_ref().map(|worktree| WorktreeJson::from(&worktree.lost)),
            backfill: resume.backfill.as_ref().map(|item| path_text(&item.session_dir.join(FILE_NAME))),
            briefing: resume.briefed.as_ref().and_then(|briefed| Some(path_text(briefed.file.as_deref()?))),
            refusals: refusals.iter().map(|refusal| RefusalJson::new(refusal, &env.invocation.elsewhere)).collect(),
            warnings: &resume.warnings,
        };
        ("resume-plan", fields)
    }

    fn is_literal(&self) -> bool {
        true
    }

    fn table(&self, out: &mut impl Write, env: &Env, _: &Styles) -> io::Result<()> {
        // A command that cannot be printed was already refused.
        writeln!(out, "{}", shell_line(self.resume, env).unwrap_or_default())
    }
}

impl Answer for Launch {
    const HAS_ITEMS: bool = false;

    fn object(&self) -> (&'static str, impl Serialize) {
        ("last-launch", LastLaunchJson::from(self))
    }

    fn is_literal(&self) -> bool {
        true
    }

    /// Writes a launch as a line with its time and its command for a shell.
    fn table(&self, out: &mut impl Write, _: &Env, _: &Styles) -> io::Result<()> {
        let argv: Vec<_> = self.argv.iter().map(|word| shell::word(word)).collect();
        let dir = self.dir.to_string_lossy();
        let line = format!("cd {} && {}", shell::word(&dir), argv.join(" "));
        writeln!(out, "{}  {}", self.at, text::unbroken(&line))
    }
}
