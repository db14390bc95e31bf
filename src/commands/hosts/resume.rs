//! `rejoin resume` over several hosts: resumes the session on the only host that has it, or lists the candidates.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::Deserialize;

use crate::cli::{Format, ResumeArgs};
use crate::commands::find;
use crate::commands::hosts::{Asking, answers, conclude, enter};
use crate::error::{CandidateTexts, Exit, Refusal, RefusalCandidate, RefusalCode};
use crate::fleet::rows::HostReport;
use crate::fleet::{self, Host, of_others};
use crate::format::{shell, text};
use crate::session::AgentKind;
use crate::system::env::Env;
use crate::view::render::hosts::HostAnswer;
use crate::view::ui::Ui;

/// Options that matter once the session is resumed, and those that conflict with `--json`.
const LATER: &[&str] = &["--print", "-p", "--format=", "--prompt=", "--wait", "--with="];
/// Maximum candidates of one host.
const MOST: usize = 12;

/// The members of a `resume-plan` or an `error` that identify a session.
#[derive(Deserialize)]
struct HostResolution {
    code: Option<String>,
    #[serde(default)]
    candidates: Vec<HostCandidate>,
    agent: Option<AgentKind>,
    id: Option<String>,
    launch_dir: Option<LaunchDir>,
}

#[derive(Deserialize)]
struct LaunchDir {
    path: PathBuf,
}

/// A candidate of a host.
#[derive(Deserialize)]
struct HostCandidate {
    agent: Option<AgentKind>,
    select: String,
    dir: Option<PathBuf>,
    title: Option<String>,
    active_at: Option<Timestamp>,
}

impl HostResolution {
    /// Returns the sessions of the host that the typed name matches; `None` for a refusal without any.
    fn sessions(self, typed: &str) -> Option<Vec<HostCandidate>> {
        let code = self.code.as_deref();
        let is = |codes: &[RefusalCode]| codes.iter().any(|known| code == Some(known.name()));
        if is(&[RefusalCode::Ambiguous]) {
            return Some(self.candidates);
        }
        if is(&[RefusalCode::NotFound, RefusalCode::Filtered]) {
            return Some(Vec::new());
        }
        let is_found = self.id.is_some() || is(&[RefusalCode::AmbiguousCopy]);
        let session = HostCandidate {
            agent: self.agent,
            select: self.id.unwrap_or_else(|| typed.to_owned()),
            dir: self.launch_dir.map(|dir| dir.path),
            title: None,
            active_at: None,
        };
        is_found.then(|| vec![session])
    }
}

impl HostCandidate {
    fn candidate(self, host: &str, env: &Env) -> RefusalCandidate {
        let dir = self.dir.map_or_else(|| "?".to_owned(), |dir| dir.display().to_string());
        RefusalCandidate {
            agent: self.agent.map(|agent| agent.name().to_owned()).unwrap_or_default(),
            select: format!("{host}:{}", self.select),
            title: self.title,
            row: CandidateTexts { dir, active: text::ago(self.active_at, env.clock.now) },
            ..RefusalCandidate::default()
        }
    }
}

pub(super) fn run(args: &ResumeArgs, asking: &Asking<'_>, ui: &mut Ui) -> anyhow::Result<Exit> {
    let (env, hosts) = (asking.env, &asking.hosts);
    let typed = args.session.join(" ");
    if typed.is_empty() {
        let message = format!("no SESSION was given, and {} were named", text::count(hosts.len(), "host"));
        return Err(Refusal::new(RefusalCode::Usage, message).hint(format!("see them with {}", list(hosts))).into());
    }
    let words = of_others(&env.invocation.words, LATER, &["--json".to_owned()]);
    let mut reports = Vec::new();
    let mut found: Vec<(&Host, HostCandidate)> = Vec::new();
    let mut unknown = 0;
    for (host, answering) in hosts.iter().zip(fleet::ask_hosts(hosts, &words, asking.manner, env)?) {
        let HostAnswer { host: name, status, fault, answer } = answers::answer(answering);
        let resolved = answer.and_then(|answer| serde_json::from_str::<HostResolution>(answer.get()).ok());
        let sessions = resolved.and_then(|resolved| resolved.sessions(&typed));
        unknown += usize::from(sessions.is_none());
        found.extend(sessions.into_iter().flatten().take(MOST).map(|session| (host, session)));
        reports.push(HostReport { host: name, status, fault, ..HostReport::default() });
    }
    let exit = conclude(&reports, Format::Table, ui);
    match found.as_slice() {
        [] if exit != Exit::Ok => Ok(exit),
        [] => {
            let message = format!("no session on {} matches {typed:?}", text::count(hosts.len(), "host"));
            Err(Refusal::new(RefusalCode::NotFound, message).hint(format!("see them with {}", list(hosts))).into())
        }
        [(host, first)] if unknown > 0 && !find::is_whole_id(&typed) => {
            let message = format!(
                "a session on {} matches {typed:?}, and {} did not say whether one matches there",
                host.name,
                text::count(unknown, "host")
            );
            Err(Refusal::new(RefusalCode::Ambiguous, message).hint(named_on(host, first)).into())
        }
        [(host, _)] => enter::resume(host, args, env, ui),
        [(host, first), ..] => {
            let message = format!("several sessions on {} match {typed:?}", text::count(hosts.len(), "host"));
            let hint = named_on(host, first);
            let candidates = found.into_iter().map(|(host, session)| session.candidate(&host.name, env));
            Err(Refusal::new(RefusalCode::Ambiguous, message).candidates(candidates.collect()).hint(hint).into())
        }
    }
}

/// Returns the command that names a session with its host.
fn named_on(host: &Host, session: &HostCandidate) -> String {
    let [host, name] = [&host.name, &session.select].map(|word| shell::word(word));
    format!("name one with its host, as in `rejoin resume --host {host} {name}`")
}

/// Returns the command that lists the sessions of these hosts.
fn list(hosts: &[Host]) -> String {
    let hosts: Vec<_> = hosts.iter().map(|host| shell::word(&host.name)).collect();
    format!("`rejoin list --all --host {}`", hosts.join(","))
}
