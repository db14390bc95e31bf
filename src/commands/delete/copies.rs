//! `rejoin delete --copy`: moves copies of a session to the trash, and keeps the others.

use std::collections::{BTreeSet, HashMap};

use anyhow::Context as _;

use crate::agent;
use crate::cli::{DeleteArgs, RemovalArgs};
use crate::commands::{self, find};
use crate::doctor::repair;
use crate::doctor::survey::file_only_in;
use crate::error::{Exit, Refusal, RefusalCandidate, RefusalCode};
use crate::format::shell;
use crate::format::text::{count, one_line, truncated};
use crate::scan::missing::{MissingMessages, missing};
use crate::scan::{ScanScope, processes};
use crate::session::select::Filter;
use crate::session::{Comparison, Message, Session, SessionCopy};
use crate::system::env::Env;
use crate::view::ui::Ui;

/// Maximum width of a message quoted in the confirmation, in columns.
const QUOTED: usize = 40;

pub(super) fn run(args: &DeleteArgs, filter: &Filter, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let RemovalArgs { change: how, yes, .. } = &args.removal;
    let [selector] = args.sessions.as_slice() else {
        return Err(Refusal::new(RefusalCode::Usage, "--copy needs exactly one SESSION, whose copies it names").into());
    };
    if !how.dry_run {
        commands::recover_first("delete", how.lock, env, ui)?;
    }
    commands::refuse_number(selector)?;
    let mut session =
        find::Finder::new(filter, ScanScope::RESUME, env, ui).find_one("delete a copy", selector)?.session()?;
    processes::verify_for_change(std::slice::from_mut(&mut session));
    let going = args.copy.iter().map(|copy| find::copy_at(&session, copy, env));
    let going = going.collect::<Result<BTreeSet<usize>, Refusal>>()?;
    if going.len() == session.copies.len() {
        let (agent, id) = (session.agent, session.id());
        let message = format!("{agent} session {id} has no other copy, so this one stays");
        let name = shell::selector(agent, id);
        let refusal = Refusal::new(RefusalCode::NotRemovable, message);
        return Err(refusal.hint(format!("remove the whole session with `rejoin delete {name}`")).into());
    }
    let change = repair::without_copies(&session, &going).map_err(|unable| {
        let message = format!("a copy of {} session {} cannot be removed: {unable}", session.agent, session.id());
        Refusal { hint: unable.hint, ..Refusal::new(RefusalCode::NotRemovable, message) }
    })?;
    let is_asked = !yes && how.apply.is_none() && (!how.dry_run || args.format.is_table());
    let about = if is_asked { lost_with(&session, &going, env)? } else { Vec::new() };
    if how.dry_run {
        about.iter().for_each(|line| ui.print_note(line));
    } else if !about.is_empty() {
        let question = match going.first().filter(|_| going.len() == 1) {
            Some(at) => format!("Remove copy {}?", at + 1),
            None => format!("Remove {} copies?", going.len()),
        };
        commands::confirm_or_refuse(&about, &question, env, ui)?;
    }
    commands::change::carry_out(&change, how, args.format, env, ui)
}

/// Describes each copy, by its path.
fn descriptions(session: &Session, env: &Env) -> HashMap<String, String> {
    let copies = find::candidates(session, false, env);
    let described = |one: RefusalCandidate| {
        let described = find::description(&RefusalCandidate { differs: None, ..one.clone() });
        Some((one.path, described?))
    };
    copies.into_iter().filter_map(described).collect()
}

/// Describes the copies that stay and those that go; empty if the kept ones have all data of the others.
fn lost_with(session: &Session, going: &BTreeSet<usize>, env: &Env) -> anyhow::Result<Vec<String>> {
    let at = |is_going: bool| {
        let copies = session.copies.iter().enumerate().filter(move |(at, _)| going.contains(at) == is_going);
        copies.map(|(_, copy)| copy).collect::<Vec<_>>()
    };
    let (kept, others) = (at(false), at(true));
    let contains = |kept: &SessionCopy, copy: &SessionCopy| {
        let compared = agent::by_kind(session.agent).and_then(|agent| agent.compare(kept, copy));
        matches!(compared, Some(Comparison::Identical | Comparison::Longer { .. }))
            && file_only_in(copy, kept).is_none()
    };
    if others.iter().all(|copy| kept.iter().any(|kept| contains(kept, copy))) {
        return Ok(Vec::new());
    }
    let described = descriptions(session, env);
    let name = |copy: &SessionCopy| described.get(&*copy.place.path.to_string_lossy()).cloned().unwrap_or_default();
    let mut about: Vec<String> = kept.iter().map(|kept| format!("keep    {}", name(kept))).collect();
    for copy in &others {
        let kept = kept.iter().find(|kept| contains(kept, copy)).or(kept.first()).context("no copy stays")?;
        about.push(format!("remove  {}", name(copy)));
        about.push(format!("        {}", only_there(missing(kept, copy).map_err(|error| error.to_string()))));
        about.extend(file_only_in(copy, kept).map(|path| format!("        only there: {}", env.tilde(&path))));
    }
    Ok(about)
}

/// Describes the messages that only this copy has.
fn only_there(missing: Result<MissingMessages, String>) -> String {
    let quoted = |message: Option<Message>| {
        let text = message.map(|message| message.text).unwrap_or_default();
        format!("\"{}\"", truncated(&one_line(text.trim()), QUOTED))
    };
    match missing {
        Err(why) => format!("its messages cannot be compared: {why}"),
        Ok(MissingMessages { count: 0, .. }) => "has no message that the kept copy lacks".to_owned(),
        Ok(MissingMessages { count: 1, first, .. }) => format!("only there: 1 message, {}", quoted(first)),
        Ok(MissingMessages { count: many, first, last }) => {
            format!("only there: {}, from {} to {}", count(many, "message"), quoted(first), quoted(last))
        }
    }
}
