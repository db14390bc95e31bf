//! The answer when nothing matches: the reason, and what would match.

mod dirs;
mod elsewhere;
mod sessions;

use std::path::Path;

use jiff::Timestamp;

use crate::agent;
use crate::commands::query::{are_in, unmatched_filter, unmatched_word};
use crate::error::{Exit, Refusal, RefusalCode, reason};
use crate::format::{command_line, shell, text};
use crate::scan::{self, Scan, ScanScope};
use crate::session::Session;
use crate::session::matching::{Query, no_tag};
use crate::session::select::Filter;
use crate::system::env::Env;
use crate::system::links;
use crate::view::render::table::shown_dir;
use crate::view::ui::Ui;

pub(super) use sessions::{nearest, of_nearest_agent};

/// Notes on standard error why no session passes the filters. Returns false if the caller must explain it.
pub(super) fn note_of_filters(filter: &Filter, env: &Env, ui: &mut Ui) -> bool {
    explain(filter, &Query::default(), env, ui).0
}

/// Notes on standard error why `list` shows no session, and whether the archive or the trash has one. Returns false if
/// the caller must explain it.
pub(super) fn note_of_list(filter: &Filter, query: &Query, env: &Env, ui: &mut Ui) -> bool {
    let (is_explained, sessions) = explain(filter, query, env, ui);
    if env.terminal.stdout {
        elsewhere::notes(filter, query, &sessions, env).iter().for_each(|note| ui.print_note(note));
    }
    is_explained
}

/// Notes on standard error that the archive or the trash may have what no searched message has.
pub(super) fn note_of_messages(filter: &Filter, words: &Query, env: &Env, ui: &mut Ui) {
    elsewhere::notes_of_search(filter, words, env).iter().for_each(|note| ui.print_note(note));
}

/// Notes why no session passes the filters and has the words of a query; returns whether that explains it, and all sessions.
fn explain(filter: &Filter, query: &Query, env: &Env, ui: &mut Ui) -> (bool, Vec<Session>) {
    let Some(mut scan) = everything(filter, env) else {
        match broken_link(env) {
            Some(why) => ui.warn(&why),
            // A script gets an empty answer without a reason.
            None if env.terminal.stdout => {
                ui.print_note("No agent has sessions here. `rejoin agents` shows where rejoin looked.");
            }
            None => {}
        }
        return (true, Vec::new());
    };
    if let Some((dir, near)) = dirs::nowhere(filter, &scan.sessions, env) {
        let dir = shown_dir(dir, env);
        if near.is_empty() {
            ui.print_note(&format!("No session worked in {dir} or below it. `rejoin list` shows where some did."))
        } else {
            ui.print_note(&format!("No session worked in {dir} or below it. Closest:"))
        }
        near.iter().for_each(|line| ui.print_note(&format!("  {line}")));
        return (true, scan.sessions);
    }
    // A script gets an empty answer without a reason.
    let is_explained = env.terminal.stdout;
    if is_explained {
        super::mark(&mut scan.sessions, query, env, ui);
    }
    let why = if is_explained { why(filter, query, &scan.sessions, env) } else { None };
    why.iter().for_each(|why| ui.print_note(why));
    (why.is_some(), scan.sessions)
}

/// Notes on standard error that nothing was searched, with the reason.
pub(super) fn note_of_search(filter: &Filter, env: &Env, ui: &mut Ui) {
    if !note_of_filters(filter, env, ui) && env.terminal.stdout {
        ui.print_note("No session passes the filters. `rejoin list` shows all.");
    }
}

/// Reads every session, the newest first; `None` if no agent has one. A store that cannot be read, or is on a mount
/// that does not answer, may have some.
fn everything(filter: &Filter, env: &Env) -> Option<Scan> {
    let found = scan::locate(env, &[]);
    if found.places.is_empty() && found.problems.is_empty() {
        return None;
    }
    let mut scan = found.read_with_dirs(env, filter, ScanScope { sizes: false, ..ScanScope::GLANCE });
    scan.sessions.sort_by_key(|session| std::cmp::Reverse(session.recency()));
    Some(scan)
}

/// Describes a store, or a directory in it, that is a link to nothing: its sessions may be on a volume that is not mounted.
fn broken_link(env: &Env) -> Option<String> {
    let (link, why) = agent::roots(env, &[]).into_iter().find_map(|root| links::broken_in(&root))?;
    Some(format!("cannot read {}: {}", link.display(), reason(&why)))
}

/// Returns a sentence with the first condition that no session meets, and the nearest condition that a session meets.
fn why(filter: &Filter, query: &Query, sessions: &[Session], env: &Env) -> Option<String> {
    let tags = || sessions.iter().flat_map(|session| &session.tags).map(|tag| tag.word());
    let missing = filter.tags.iter().find(|tag| !tags().any(|known| known == tag.word()));
    let unmatched = missing.map(|tag| no_tag(tag.word(), tags(), "--tag "));
    let unmatched = unmatched.or_else(|| unmatched_filter(query, sessions, env)).map(|filter| filter.to_string());
    let word = || {
        let word = unmatched_word(query, sessions, env)?;
        let words: Vec<_> = query.words().map(shell::word).collect();
        let search = format!("rejoin search {}", words.join(" "));
        Some(format!("{word}. `{}` searches the messages", command_line::in_home(&search, &env.invocation.elsewhere)))
    };
    let unmatched = unmatched.or_else(word).map(|why| text::sentence(&why));
    unmatched.or_else(|| out_of_time(filter, query, sessions, env))
}

/// Returns the reason if the times alone exclude every session.
fn out_of_time(filter: &Filter, query: &Query, sessions: &[Session], env: &Env) -> Option<String> {
    let (since, before) = query.times();
    let (since, before) = (filter.since.or(since), filter.before.or(before));
    let without = Filter { since: None, until: None, before: None, ..filter.clone() };
    let words = query.without_times();
    let is_meant =
        |session: &&Session| without.matches(session) && without.shows_kind(session) && are_in(&words, session, env);
    let times = || sessions.iter().filter(is_meant).filter_map(|session| session.active_at());
    // An age of 24 to 48 hours is "yesterday", even if its day is the one before.
    let ago = |at| match text::ago(Some(at), env.clock.now) {
        day if day == "yesterday" => env.clock.local_time(at),
        ago => ago,
    };
    let newest = times().filter(|at| *at <= env.clock.now).max()?;
    if let Some(since) = since.filter(|since| newest < *since) {
        return Some(format!(
            "No session was active since {}; the newest was active {}.",
            typed(since, "since", env),
            ago(newest)
        ));
    }
    let (oldest, before) = (times().min()?, before.filter(|before| newest >= *before)?);
    let is_all = oldest >= before;
    is_all.then(|| {
        format!(
            "Every session was active since {}; the oldest was last active {}.",
            typed(before, "before", env),
            ago(oldest)
        )
    })
}

/// Returns a time as the user typed it if that is the name of a day, or else as a date.
fn typed(at: Timestamp, name: &str, env: &Env) -> String {
    let words = &env.invocation.words;
    let long = [format!("--{name}"), format!("--{name}="), format!("{name}:")];
    let value = words.iter().enumerate().find_map(|(n, word)| match word.strip_prefix(&*long[1]) {
        _ if *word == long[0] => words.get(n + 1).map(String::as_str),
        value => value.or_else(|| word.strip_prefix(&*long[2])),
    });
    let is_name = |value: &&str| value.starts_with(char::is_alphabetic);
    let date = || env.clock.local_time(at).trim_end_matches(" 00:00:00").to_owned();
    value.filter(is_name).map_or_else(date, str::to_owned)
}

/// Returns commands for the directories of sessions that are nearest to this one.
pub(super) fn commands_near(dir: &Path, env: &Env, command: impl Fn(&str) -> String) -> Vec<String> {
    let scan = everything(&Filter::default(), env);
    scan.map_or_else(Vec::new, |scan| dirs::commands(dir, scan.sessions.iter(), command))
}

/// Replaces the error for a missing session if there is no session at all, or none in the directory of the filters; the
/// new error names the nearest directories.
pub(super) fn instead(error: anyhow::Error, filter: &Filter, env: &Env) -> anyhow::Error {
    let is_none = |refusal: &Refusal| refusal.exit == Exit::NotFound && refusal.code == RefusalCode::NotFound;
    if !error.downcast_ref::<Refusal>().is_some_and(is_none) {
        return error;
    }
    let Some(scan) = everything(filter, env) else {
        let message = broken_link(env).unwrap_or_else(|| "no agent has sessions here".to_owned());
        let refusal = Refusal::new(RefusalCode::NotFound, message);
        return refusal.hint("run `rejoin agents` to see where rejoin looked").into();
    };
    let Some((dir, near)) = dirs::nowhere(filter, &scan.sessions, env) else { return error };
    let message = format!("no session worked in {} or below it", dir.display());
    let hint = if near.is_empty() {
        "run `rejoin list` to see where sessions worked".to_owned()
    } else {
        format!("the closest directories are:\n      {}", near.join("\n      "))
    };
    Refusal::new(RefusalCode::NotFound, message).hint(hint).into()
}
