//! `rejoin resume` over several hosts: the picker with the sessions of all of them.

use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::Arc;

use anyhow::Context as _;

use crate::change::outcome::Outcome;
use crate::change::plan::change::Change;
use crate::cli::ResumeArgs;
use crate::commands::find;
use crate::commands::hosts::{Asking, enter};
use crate::error::{Exit, Refusal, RefusalCode};
use crate::fleet::command::Manner;
use crate::fleet::rows::Rows;
use crate::fleet::{self, Host, row};
use crate::format::{shell, text};
use crate::session::Session;
use crate::system::env::Env;
use crate::view::pick::{self, Backend, How, Picked, Purpose, Ready, Refused};
use crate::view::render::labels::REMOVE;
use crate::view::ui::Ui;

/// Lets the user pick among the sessions of all hosts, and resumes the picked one on its host.
pub(super) fn resume(args: &ResumeArgs, asking: &Asking<'_>, ui: &mut Ui) -> anyhow::Result<Exit> {
    let env = asking.env;
    if let Some(why) = find::why_nobody_picks(&env.terminal) {
        return Err(Refusal::new(RefusalCode::Usage, format!("several hosts were named, and {why}"))
            .hint("name the session with its host, as in `rejoin resume HOST:ID`")
            .into());
    }
    let (hosts, manner) =
        (asking.hosts.clone(), Manner { is_asked: false, columns: None, has_colors: false, ..asking.manner });
    let backend: Arc<dyn Backend> =
        Arc::new(HostBackend { hosts, manner, filters: filters(&env.invocation.words), env: env.clone() });
    let purpose = Purpose { verb: "resume", takes_several: false, is_checked: false };
    let words = args.session.join(" ");
    let picked = pick::pick(&backend, purpose, &words, env, ui.err_styles()).context("cannot use the terminal")?;
    let session = match picked {
        Picked::Sessions(sessions, _) => sessions.into_iter().next().context("nothing was picked")?,
        Picked::Left(exit) => return Ok(exit),
        Picked::Nothing => {
            return Err(Refusal::new(RefusalCode::NotFound, "no session is found on these hosts")
                .hint("see why with the same hosts and `rejoin list`")
                .into());
        }
    };
    let host = asking.hosts.iter().find(|host| session.host() == Some(&host.name)).context("its host is unknown")?;
    let words = words_for(args, &format!("{}:{}", session.agent, session.id()));
    enter::resume_on(host, &words, args, env, ui)
}

/// Returns the filter options among these words.
fn filters(words: &[String]) -> Vec<String> {
    const OPTIONS: [&str; 7] = ["--agent", "-a", "--dir", "--tag", "--since", "--until", "--older-than"];
    let mut filters = Vec::new();
    let mut words = words.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        if OPTIONS.contains(&name) {
            filters.push(word.clone());
            if name == word {
                filters.extend(words.next().cloned());
            }
        }
    }
    filters
}

/// Returns the words that resume a session with the requested options.
fn words_for(args: &ResumeArgs, name: &str) -> Vec<String> {
    let flags = [
        ("--print", args.print),
        ("--force", args.force),
        ("--trust", args.trust),
        ("--no-limit", args.no_limit),
        ("--wait", args.wait),
        ("--recreate-worktree", args.recreate_worktree),
        ("--yes", args.yes),
    ];
    let flags = flags.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| (*flag).to_owned());
    let dir = args.in_dir.as_ref().map(|dir| format!("--in={}", dir.display()));
    let prompt = args.prompt.as_ref().map(|prompt| format!("--prompt={prompt}"));
    let passed_on = ["--".to_owned()].into_iter().chain(args.args.iter().cloned()).filter(|_| !args.args.is_empty());
    let own = ["resume".to_owned(), name.to_owned()].into_iter().chain(flags).chain(dir).chain(prompt);
    own.chain(passed_on).collect()
}

/// The backend of the picker for the sessions of hosts. Changes of a session are made on its host.
struct HostBackend {
    hosts: Vec<Host>,
    manner: Manner,
    /// The filter options.
    filters: Vec<String>,
    env: Env,
}

impl HostBackend {
    fn ask(&self, hosts: &[Host], words: &[&str]) -> Result<Vec<fleet::Answering>, Refusal> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        fleet::ask(hosts, &words, self.manner, &self.env)
    }
}

fn command(session: &Session, verb: &str, more: &str) -> String {
    let host = shell::word(session.host().unwrap_or_default()).into_owned();
    let name = format!("{}:{}", session.agent, session.id());
    format!("rejoin --host {host} {verb} {}{more}", shell::word(&name))
}

fn on_its_host(sessions: &[Arc<Session>], verb: &str) -> String {
    let first = sessions.first().map(|session| command(session, verb, "")).unwrap_or_default();
    format!("this is done on its host: {first}")
}

impl Backend for HostBackend {
    fn load(&self, hand_over: &mut dyn FnMut(Vec<Session>, Option<usize>)) {
        let mut sessions = Vec::new();
        let mut problems = 0;
        let words = ["list", "--format=ndjson"].into_iter().chain(self.filters.iter().map(String::as_str));
        let answering = self.ask(&self.hosts, &words.collect::<Vec<_>>());
        problems += if answering.is_err() { self.hosts.len() } else { 0 };
        for answering in answering.unwrap_or_default() {
            let mut rows = Rows::of(answering, None);
            rows.begin("session-list");
            while let Some(line) = rows.next() {
                match row::session(&line, rows.host()) {
                    Ok(session) => sessions.push(session),
                    Err(_) => problems += 1,
                }
            }
            problems += usize::from(rows.report().fault.is_some());
        }
        sessions.sort_by_key(|session| std::cmp::Reverse(session.recency()));
        // If a session is on several hosts, the newest is offered; HOST:ID names the others.
        let mut known = HashSet::new();
        sessions.retain(|session| known.insert(session.key()));
        hand_over(sessions, Some(problems));
    }

    fn check(&self, _: &Session, _: &How) -> Result<(), Refused> {
        // The host reports it itself, on the terminal that it gets.
        Ok(())
    }

    fn command(&self, session: &Session) -> Result<String, Refused> {
        Ok(command(session, "resume", ""))
    }

    fn other_agents(&self, session: &Session) -> Result<Vec<Ready>, String> {
        Err(format!("this is done on its host: {}", command(session, "resume", " --with AGENT")))
    }

    fn plan_removal(&self, sessions: &[Arc<Session>]) -> Result<Change, String> {
        Err(on_its_host(sessions, "delete"))
    }

    fn remove(&self, _: &Change) -> Result<Outcome, String> {
        Err("nothing was planned".to_owned())
    }

    fn pin(&self, sessions: &[Arc<Session>], is_wanted: bool) -> Result<(), String> {
        Err(on_its_host(sessions, if is_wanted { "pin" } else { REMOVE }))
    }

    fn write_whole(&self, session: &Session, out: &mut dyn Write) -> io::Result<()> {
        let hosts: Vec<Host> = self.hosts.iter().filter(|host| session.host() == Some(&host.name)).cloned().collect();
        let name = format!("{}:{}", session.agent, session.id());
        let answering = self.ask(&hosts, &["show", "--messages=1000000", &name]).map_err(io::Error::other)?;
        for mut answering in answering {
            while let Some(text) = answering.text() {
                write!(out, "{}", text::printable(&text))?;
            }
            let ended = answering.end();
            if let Some(fault) = ended.fault {
                writeln!(out, "{fault}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_with_a_value_is_passed_on() {
        let words =
            "resume -a claude --tag=shop --until 2026 --force --dir /a -- --since 1d".split(' ').map(str::to_owned);
        let passed = filters(&words.collect::<Vec<_>>());
        assert_eq!(passed, ["-a", "claude", "--tag=shop", "--until", "2026", "--dir", "/a"]);
    }
}
