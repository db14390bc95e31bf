//! Completion candidates for a word of a command line, each with a short description.

use std::collections::BTreeSet;

use clap::CommandFactory as _;
use clap_complete::CompletionCandidate;
use indexmap::IndexMap;

use crate::archive::Archive;
use crate::change::apply::history;
use crate::change::pins::Pins;
use crate::change::tags::Tags;
use crate::cli::Cli;
use crate::commands::help::names;
use crate::format::text;
use crate::scan::{self, ScanScope};
use crate::session::marks::Mark;
use crate::session::select::{self, SortKey};
use crate::session::when::When;
use crate::session::{AgentKind, Session};
use crate::system::env::Env;

/// Maximum candidates; more would not fit a screen.
const MAX_CANDIDATES: usize = 50;

fn candidate(value: impl Into<String>, help: &str) -> CompletionCandidate {
    let help = text::one_line(help).into_owned();
    CompletionCandidate::new(value.into()).help(Some(help.into()))
}

/// Returns the newest sessions, and the agents that have any: with an agent typed, those of that agent as `agent:id`,
/// else ids and words of titles.
pub(super) fn sessions(env: &Env, typed: &str) -> Vec<CompletionCandidate> {
    let scope = ScanScope { sizes: false, ..ScanScope::GLANCE };
    let mut sessions = scan::locate(env, &[]).read_all(env, scope).sessions;
    sessions.retain(|session| session.copy().kind.is_listed());
    select::sort(&mut sessions, SortKey::Active, false);
    of_sessions(&sessions, typed)
}

/// Like [`sessions`], for the sessions in the archive.
pub(super) fn archived(env: &Env, typed: &str) -> Vec<CompletionCandidate> {
    let holdings = Archive::open(env, None).holdings();
    let mut sessions = holdings.newest_sessions();
    select::sort(&mut sessions, SortKey::Active, false);
    of_sessions(&sessions, typed)
}

fn of_sessions(sessions: &[Session], typed: &str) -> Vec<CompletionCandidate> {
    let label = |session: &Session| session.label().unwrap_or_default().to_owned();
    if let Some((agent, _)) = typed.split_once(':') {
        let own = sessions.iter().filter(|session| session.agent.name() == agent);
        let begun = own.map(|session| (format!("{agent}:{}", session.id()), label(session)));
        let begun = begun.filter(|(name, _)| name.starts_with(typed));
        return begun.take(MAX_CANDIDATES).map(|(name, label)| candidate(name, &label)).collect();
    }
    let begun = sessions.iter().filter(|session| session.id().starts_with(typed)).take(MAX_CANDIDATES);
    let ids = begun.map(|session| candidate(session.id(), &format!("{} {}", session.agent, label(session))));
    let agents: BTreeSet<AgentKind> = sessions.iter().map(|session| session.agent).collect();
    let agents = agents.into_iter().filter(|_| !typed.is_empty());
    let agents = agents.map(|agent| candidate(format!("{agent}:"), "only its sessions"));
    ids.chain(agents).chain(words_of_titles(sessions, typed)).collect()
}

/// Returns the words of titles that begin as typed, each with its title or the number of sessions. A word of a title names its
/// session, and every shell offers it, because it continues the typed word.
fn words_of_titles(sessions: &[Session], typed: &str) -> Vec<CompletionCandidate> {
    let mut found: IndexMap<String, Vec<&Session>> = IndexMap::new();
    let start = typed.to_lowercase();
    for session in sessions.iter().filter(|_| !start.is_empty()) {
        let label = session.label().unwrap_or_default().to_lowercase();
        for word in label.split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_')) {
            let Some(rest) = word.strip_prefix(&start) else { continue };
            let of_word = found.entry(format!("{typed}{rest}")).or_default();
            if of_word.last().is_none_or(|last| last.key() != session.key()) {
                of_word.push(session);
            }
        }
    }
    let help = |sessions: &[&Session]| match sessions {
        [session] => format!("{} {}", session.agent, session.label().unwrap_or_default()),
        many => text::count(many.len(), "session"),
    };
    found.into_iter().take(MAX_CANDIDATES).map(|(word, sessions)| candidate(word, &help(&sessions))).collect()
}

/// The ages and days that are offered; `rejoin help filters` explains the others.
const AGES: &[&str] = &["2h", "today", "yesterday", "7d", "monday", "30d", "3mo", "1y"];

/// Returns ages and days, each with the moment that it means.
pub(super) fn ages(env: &Env, _: &str) -> Vec<CompletionCandidate> {
    let parsed = AGES.iter().filter_map(|age| Some((*age, age.parse::<When>().ok()?)));
    parsed.map(|(age, when)| candidate(age, &env.clock.local_time(env.clock.before(when)))).collect()
}

/// Returns the words of marks.
pub(super) fn marks() -> Vec<CompletionCandidate> {
    Mark::ALL.iter().map(|mark| candidate(mark.word(), mark.meaning())).collect()
}

/// Returns the pinned sessions.
pub(super) fn pinned(env: &Env, typed: &str) -> Vec<CompletionCandidate> {
    let Ok(pins) = Pins::read(env) else { return Vec::new() };
    let name = |agent: AgentKind, id: &str| if typed.contains(':') { format!("{agent}:{id}") } else { id.to_owned() };
    pins.sessions().map(|(agent, id)| candidate(name(agent, id), agent.name())).collect()
}

/// Returns sessions or, after a plus sign, the tags in use.
pub(super) fn sessions_and_tags(env: &Env, typed: &str) -> Vec<CompletionCandidate> {
    if typed.starts_with('+') { tags(env, "+") } else { sessions(env, typed) }
}

/// Returns the tags in use, each with a prefix.
pub(super) fn tags(env: &Env, prefix: &str) -> Vec<CompletionCandidate> {
    let Ok(tags) = Tags::read(env) else { return Vec::new() };
    let counts = tags.counts().into_iter();
    counts.map(|(tag, count)| candidate(format!("{prefix}{}", tag.word()), &text::count(count, "session"))).collect()
}

/// Returns the runs that can be undone.
pub(super) fn undoable(env: &Env, _: &str) -> Vec<CompletionCandidate> {
    let Ok(history) = history::read(env) else { return Vec::new() };
    let runs = history.runs.iter().filter(|run| run.is_undoable()).take(MAX_CANDIDATES);
    runs.map(|run| candidate(&run.id, &format!("{}, {}", run.verb, text::ago(Some(run.at), env.clock.now)))).collect()
}

/// Returns the sessions in the trash.
pub(super) fn in_trash(env: &Env, _: &str) -> Vec<CompletionCandidate> {
    let Ok(history) = history::read(env) else { return Vec::new() };
    let sessions = history::in_trash(&history).into_iter().filter_map(|(_, record)| Some((record.id.clone()?, record)));
    sessions.take(MAX_CANDIDATES).map(|(id, record)| candidate(id, &record.named())).collect()
}

/// Returns the topics of help, and the commands.
pub(super) fn topics() -> Vec<CompletionCandidate> {
    let command = Cli::command();
    let commands = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let commands =
        commands.map(|verb| candidate(verb.get_name(), &verb.get_about().map(ToString::to_string).unwrap_or_default()));
    names().map(|topic| candidate(topic, "a topic")).chain(commands).collect()
}

/// Returns the groups of hosts in the config file, and the words for all of them and for this machine.
pub(super) fn hosts(env: &Env, _: &str) -> Vec<CompletionCandidate> {
    let groups = env.config.hosts.iter().map(|(name, hosts)| candidate(name, &hosts.join(", ")));
    let words = [("all", "every host of the config file"), (".", "this machine")];
    let words = words.into_iter().filter(|(word, _)| !env.config.hosts.contains_key(*word));
    groups.chain(words.map(|(word, help)| candidate(word, help))).collect()
}
