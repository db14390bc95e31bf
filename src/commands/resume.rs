//! `rejoin resume`

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::find::{self, Answer, Target};
use crate::agent;
use crate::apply::launch_log;
use crate::cli::ResumeArgs;
use crate::env::Env;
use crate::error::{Exit, Refusal};
use crate::format::session_info::FILE_NAME;
use crate::launch::{self, Identity, Plan, Request};
use crate::launch_log::{self as log, Launch};
use crate::moved;
use crate::plan::backfill::{self, Action, Item};
use crate::render::json::{self, FORMAT_VERSION, LastLaunchJson, LaunchDirJson, RefusalJson, ResumePlanJson};
use crate::render::{show, text};
use crate::scan::{self, Wanted};
use crate::session::{AgentKind, Evidence, Health, Pointer, Session};
use crate::ui::Ui;
use crate::wait;
use crate::written::{self, Snapshot};

pub(crate) fn run(args: &ResumeArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if args.last_launch {
        return last_launch(args, env, ui);
    }
    let request = request(args, ui)?;
    let filter = super::filter(&args.filter, None, true, env);
    let target = match &args.session {
        Some(selector) => find::one(selector, &filter, Wanted::RESUME, env, ui)?,
        None => match find::picked(&filter, Wanted::RESUME, env, ui)? {
            Answer::Session(session) => Target::Session(session),
            Answer::Left(exit) => return Ok(exit),
        },
    };
    let mut resume = match target {
        Target::Session(session) => Resume::of_session(*session, args, &request, env)?,
        Target::LostApp(pointer) if args.fresh => Resume::fresh(pointer, args, env),
        Target::LostApp(pointer) => {
            let message = format!("the session that {} points to is found nowhere", pointer.path.display());
            return Err(Refusal::new(Exit::NotFound, "not-found", message)
                .hint("--fresh starts a new session in the app's directory")
                .into());
        }
    };
    let refusals = resume.refusals(args, env);
    if args.json {
        serde_json::to_writer(ui.data(), &resume.json(&refusals, env))?;
        writeln!(ui.data())?;
        ui.flush()?;
        return Ok(Exit::Ok);
    }
    for warning in &resume.warnings {
        ui.warn(warning);
    }
    if let Some(refusal) = refusals.into_iter().next() {
        return Err(resume.explain(refusal, env).into());
    }
    if args.print {
        let line = resume.plan.shell_line(env);
        writeln!(ui.data(), "{line}")?;
        ui.flush()?;
        if let Some(words) = &resume.plan.then_type {
            ui.note(&format!("Then type there: {words}"));
        }
        return Ok(Exit::Ok);
    }
    let program = launch::find_program(&resume.plan, env)?;
    let dir = resume.plan.dir.clone().unwrap_or_default();
    if let Some(item) = &resume.backfill {
        super::backfill::after_resume(item, ui);
    }
    ui.note(&resume.announcement(env));
    ui.flush()?;
    if let Err(error) = launch_log::append(&log::file(env), &resume.launch(&dir, env)) {
        ui.warn(&format!("cannot note the launch: {error}"));
    }
    if args.wait {
        return resume.wait(&program, &dir, env, ui);
    }
    match resume.plan.exec(&program, &dir, resume.identity)? {}
}

/// Prompts longer than this do not fit on a command line.
const LONGEST_PROMPT: u64 = 100_000;

fn request(args: &ResumeArgs, ui: &mut Ui) -> anyhow::Result<Request> {
    let prompt = match args.prompt.as_deref() {
        Some("-") => {
            let text = ui.read_input(LONGEST_PROMPT).context("cannot read the prompt from standard input")?;
            Some(text.trim_end().to_owned())
        }
        prompt => prompt.map(str::to_owned),
    };
    if prompt.as_ref().is_some_and(|prompt| prompt.trim().is_empty()) {
        return Err(Refusal::new(Exit::Usage, "usage", "the prompt is empty").into());
    }
    if prompt.as_ref().is_some_and(|prompt| prompt.contains('\0')) {
        return Err(Refusal::new(Exit::Usage, "usage", "the prompt holds a NUL, which no command line takes").into());
    }
    Ok(Request { prompt, args: args.args.clone() })
}

/// Shows what was really launched last.
fn last_launch(args: &ResumeArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let Some(launch) = log::read(&log::file(env))?.into_iter().next() else {
        return Err(Refusal::new(Exit::NotFound, "not-found", "nothing was launched yet").into());
    };
    if args.json {
        serde_json::to_writer(ui.data(), &LastLaunchJson::from(&launch))?;
        writeln!(ui.data())?;
    } else {
        let argv: Vec<_> = launch.argv.iter().map(|word| text::shell_word(word)).collect();
        let dir = text::shell_word(&launch.dir.to_string_lossy()).into_owned();
        writeln!(ui.data(), "{}  cd {dir} && {}", launch.at, argv.join(" "))?;
    }
    ui.flush()?;
    Ok(Exit::Ok)
}

/// A resume that is ready to be printed or carried out.
struct Resume {
    session: Option<Session>,
    plan: Plan,
    dir_source: &'static str,
    backfill: Option<Item>,
    warnings: Vec<String>,
    /// What the launch directory was when it was checked.
    identity: Option<Identity>,
}

impl Resume {
    fn of_session(mut session: Session, args: &ResumeArgs, request: &Request, env: &Env) -> Result<Self, Refusal> {
        let Some(agent) = agent::by_kind(session.agent) else {
            return Err(Refusal::new(Exit::Refused, "not-resumable", format!("no agent resumes {}", session.id)));
        };
        if let Some(copy) = &args.copy {
            find::take_copy(&mut session, copy, env)?;
        }
        if !session.choice.is_decided {
            let message = format!(
                "{} session {} has {} copies, and {}",
                session.agent,
                session.id,
                session.copies.len(),
                session.choice.why
            );
            return Err(Refusal::new(Exit::Ambiguous, "ambiguous-copy", message)
                .hint("say which one with --copy N; `rejoin show` tells more of them")
                .candidates(find::candidates(&session, false)));
        }
        agent.verify(&mut session.copies[0], env);
        let mut warnings = Vec::new();
        let project = session.copy().place.project.clone();
        let encodes = |dir: &PathBuf| project.as_deref().is_some_and(|project| agent.is_filed_under(project, dir));
        // The caller's directory is no evidence, but one that encodes to the project is where the agent would look.
        if session.launch_dir().is_none()
            && let Some(cwd) = env.cwd.clone().filter(encodes)
        {
            let detail = "the caller's directory".to_owned();
            session.copies[0].evidence.push(Evidence { dir: cwd, source: "caller", detail, counts: true });
            agent.decide_launch_dir(&mut session.copies[0]);
        }
        let mut plan = launch::plan(&session, request, env).map_err(|why| {
            Refusal::new(
                Exit::Refused,
                "not-resumable",
                format!("{} cannot be resumed: {why}", show::in_words(&session)),
            )
        })?;
        let mut dir_source = session.copy().launch_dir.as_ref().map_or("", |dir| dir.source);
        let mut backfill = None;
        if let Some(dir) = &args.dir {
            let dir = env.resolve(dir);
            if project.is_some() && !encodes(&dir) {
                warnings.push(format!(
                    "{} is not filed under {}, so {} may not find it there",
                    session.id,
                    dir.display(),
                    session.agent
                ));
            }
            plan.dir = Some(dir);
            dir_source = "option";
        } else if session.agent == AgentKind::Amplifier {
            let item = backfill::plan(&session, None);
            backfill = matches!(item.action, Action::Write { .. }).then_some(item);
        }
        let is_refused_for = |health: &Health| {
            let contradicts = matches!(health, Health::MisfiledSession | Health::SessionInfoMismatch);
            contradicts && !args.trust && args.dir.is_none()
        };
        let health = session.copy().health.iter();
        let health = health.filter(|health| health.warns_before_resume() && !is_refused_for(health));
        warnings.extend(health.map(|health| format!("{}: {}", session.id, health.meaning())));
        Ok(Self { session: Some(session), plan, dir_source, backfill, warnings, identity: None })
    }

    /// A new session in the directory of an app whose old one is lost.
    fn fresh(pointer: Pointer, args: &ResumeArgs, env: &Env) -> Self {
        let dir = args.dir.as_deref().map_or(pointer.dir, |dir| env.resolve(dir));
        let mut plan = agent::claude_anew(dir, env);
        plan.argv.extend(args.args.iter().cloned());
        Self { session: None, plan, dir_source: "pointer", backfill: None, warnings: Vec::new(), identity: None }
    }

    fn refusals(&mut self, args: &ResumeArgs, env: &Env) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        if let Some(session) = &self.session {
            if !args.force {
                match launch::check_liveness(session) {
                    Ok(warning) => self.warnings.extend(warning),
                    Err(refusal) => refusals.push(refusal),
                }
            }
            if !args.trust && args.dir.is_none() {
                refusals.extend(launch::check_trust(session).err());
            }
            if !args.no_limit && !args.print {
                // A log that cannot be read must not keep anybody from working.
                let launches = log::read(&log::file(env)).unwrap_or_default();
                refusals.extend(launch::check_limit(session, &launches, env).err());
            }
        }
        self.identity = self.plan.dir.as_deref().and_then(Identity::of);
        match &self.plan.dir {
            Some(dir) => refusals.extend(launch::check_dir(dir).err()),
            None => {
                let id = self.session.as_ref().map_or("", |session| session.id.as_str());
                let message = format!("nothing tells which directory session {id} belongs to");
                refusals.push(
                    Refusal::new(Exit::Refused, "unknown-directory", message)
                        .hint("if you know it, start there with --dir DIR"),
                );
            }
        }
        refusals
    }

    /// Adds what is left of a launch directory that is gone.
    fn explain(&self, refusal: Refusal, env: &Env) -> Refusal {
        let Some(gone) = self.plan.dir.as_deref().filter(|_| refusal.code == "missing-directory") else {
            return refusal;
        };
        let scan = scan::locate(env, &[]).read_all(env, Wanted::GLANCE);
        let known = scan.sessions.iter().flat_map(|session| session.copy().directories()).map(Path::to_owned).collect();
        let found = moved::instead_of(gone, &known);
        if found.is_empty() {
            return refusal;
        }
        let lines = found.iter().map(|found| {
            let dir = found.dir.to_string_lossy();
            format!("\n      --dir {}  ({})", text::shell_word(&dir), found.why)
        });
        let hint = format!(
            "if it was moved, name its new place with --dir DIR; what is left of it:{}",
            lines.collect::<String>()
        );
        refusal.hint(hint)
    }

    fn announcement(&self, env: &Env) -> String {
        let dir = self.plan.dir.as_deref().map(|dir| env.tilde(dir)).unwrap_or_default();
        let mut words = match &self.session {
            Some(session) => format!("Resuming {} in {dir}.", show::in_words(session)),
            None => format!("Starting a new session in {dir}."),
        };
        if let Some(session) = self.session.as_ref().filter(|session| session.copies.len() > 1) {
            words.push_str(&format!(
                "\nIt has {} copies; this one was chosen because: {}.",
                session.copies.len(),
                session.choice.why
            ));
        }
        if let Some(line) = &self.plan.then_type {
            words.push_str(&format!("\nType there: {line}"));
        }
        words
    }

    /// Stays until the agent ends, and says where it wrote if that is not where it was asked to.
    fn wait(&self, program: &Path, dir: &Path, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
        let before = self.session.as_ref().map(|session| Snapshot::take(env, session.agent));
        let ended = wait::run(|| self.plan.spawn(program, dir, self.identity))?;
        if let Some((session, before)) = self.session.as_ref().zip(before)
            && let Some(message) = written::strayed(&before, &Snapshot::take(env, session.agent), session)
        {
            ui.warn(&message);
        }
        Ok(Exit::Agent(ended.status()))
    }

    fn launch(&self, dir: &Path, env: &Env) -> Launch {
        let session = self.session.as_ref();
        Launch {
            format_version: log::VERSION,
            at: env.now,
            agent: session.map_or(AgentKind::Claude, |session| session.agent),
            id: session.map(|session| session.id.clone()),
            path: session.map(|session| session.copy().place.path.clone()),
            dir: dir.to_owned(),
            argv: self.plan.argv.clone(),
        }
    }

    fn json<'a>(&'a self, refusals: &'a [Refusal], env: &Env) -> ResumePlanJson<'a> {
        let session = self.session.as_ref();
        let dir = self.plan.dir.as_deref();
        ResumePlanJson {
            format_version: FORMAT_VERSION,
            kind: "resume-plan",
            agent: session.map_or(AgentKind::Claude, |session| session.agent),
            id: session.map(|session| session.id.as_str()),
            path: session.map(|session| session.copy().place.path.to_string_lossy()),
            why: session.map(|session| session.choice.why.as_str()),
            launch_dir: dir.map(|dir| LaunchDirJson {
                path: dir.to_string_lossy(),
                path_bytes_base64: json::path_bytes(dir),
                source: self.dir_source,
                exists: Some(dir.is_dir()),
            }),
            resume: json::resume(&self.plan),
            program: launch::find_program(&self.plan, env)
                .ok()
                .map(|program| program.to_string_lossy().into_owned().into()),
            backfill: self
                .backfill
                .as_ref()
                .map(|item| item.session_dir.join(FILE_NAME).to_string_lossy().into_owned().into()),
            refusals: refusals.iter().map(RefusalJson::from).collect(),
        }
    }
}
