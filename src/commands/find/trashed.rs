//! Resolves typed text to items of a run, and to one session in the trash.

use std::collections::BTreeSet;

use crate::change::apply::history;
use crate::change::apply::in_use::agent_of;
use crate::error::{Refusal, RefusalCandidate, RefusalCode};
use crate::format::shell;
use crate::session::AgentKind;
use crate::session::select::{self, Filter, Selector};
use crate::system::env::Env;
use changes::history::History;
use changes::journal::{ItemRecord, Run};

/// Returns the items of a run that a selector matches: all items of one session, which an id, its start or a part of the title
/// names, or the one item at a path.
pub(crate) fn items(run: &Run, selector: &Selector, env: &Env) -> Result<BTreeSet<usize>, Refusal> {
    let (agent, text, path) = match selector {
        Selector::Id { agent, text } => (*agent, text.clone(), None),
        Selector::Path(path) => (None, path.to_string_lossy().into_owned(), Some(env.absolute(path))),
        Selector::Latest => (None, "latest".to_owned(), None),
    };
    let records = || run.items.iter().map(|(record, _)| record);
    let is_at = |record: &&ItemRecord| {
        path.as_ref().is_some_and(|path| record.steps.iter().any(|step| step.path().starts_with(path)))
    };
    let mut found: Vec<_> = records().filter(is_at).collect();
    if found.is_empty() {
        let own = records().filter(|record| agent.is_none() || agent_of(record) == agent);
        let named = select::named(&text, own.map(|record| candidate(record.item, record)));
        found = named.into_iter().flat_map(|named| named.keys).map(|item| &run.items[item].0).collect();
    }
    let id = run.id.as_str();
    match found.as_slice() {
        [] => Err(Refusal::new(RefusalCode::NotFound, format!("run {id} changed nothing that matches {text}"))
            .hint(format!("run `rejoin undo {} --dry-run` to see what it changed", shell::word(id)))),
        [first, others @ ..] if others.iter().all(|other| is_of_same_session(first, other)) => {
            let parts = records().filter(|record| path.is_none() && is_of_same_session(first, record));
            Ok(found.iter().copied().chain(parts).map(|record| record.item).collect())
        }
        several => {
            let message = format!("{text} matches several items of run {id}");
            Err(ambiguous(message, several.iter().map(|record| (run, *record))))
        }
    }
}

/// Returns whether two items are about the same session, such as its files and the output of its background tasks.
pub(crate) fn is_of_same_session(one: &ItemRecord, other: &ItemRecord) -> bool {
    one.agent.is_some() && one.id.is_some() && (&one.agent, &one.id) == (&other.agent, &other.id)
}

/// Finds the one removed session that a selector matches, and the item of the newest run that has it in the trash.
///
/// The trash records only agent, id and title, so other filters match nothing.
pub(crate) fn trashed<'h>(
    selector: &Selector,
    filter: &Filter,
    history: &'h History,
) -> Result<Option<(&'h Run, &'h ItemRecord)>, Refusal> {
    if filter.is_narrow() { Ok(None) } else { newest(selector, filter, history) }
}

fn newest<'h>(
    selector: &Selector,
    filter: &Filter,
    history: &'h History,
) -> Result<Option<(&'h Run, &'h ItemRecord)>, Refusal> {
    let Selector::Id { agent, text } = selector else { return Ok(None) };
    let mut entries = history::in_trash(history);
    // Runs are sorted newest first, so the first one has the newest state of a session that was removed twice.
    let mut known = BTreeSet::new();
    entries.retain(|(_, record)| {
        let is_of = |of: AgentKind| agent.is_none_or(|agent| agent == of) && filter.has_agent(of);
        record.is_whole_session() && agent_of(record).is_some_and(is_of) && known.insert((&record.agent, &record.id))
    });
    let candidates = entries.iter().enumerate().map(|(at, (_, record))| candidate(at, record));
    match select::named(text, candidates).map(|named| named.keys).unwrap_or_default().as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(entries[*one])),
        several => {
            let message = format!("{text} matches {} sessions in the trash", several.len());
            Err(ambiguous(message, several.iter().map(|at| entries[*at])))
        }
    }
}

/// Returns the error for a selector that matches a session in the trash, or several, with the command that restores it.
pub(super) fn instead(refusal: &Refusal, selector: &Selector, filter: &Filter, env: &Env) -> Option<Refusal> {
    // `undo` and `doctor` report an unreadable journal.
    let history = history::read(env).ok()?;
    // If the session was found in the trash, similar sessions in the stores are not suggested.
    let found = Refusal { candidates: Vec::new(), picker: None, ..refusal.clone() };
    match newest(selector, filter, &history) {
        Ok(found_one) => {
            let (run, record) = found_one?;
            let command = undo_of(run, record.item, env);
            Some(found.hint(format!("it is in the trash; run `{command}` to put it back")))
        }
        Err(several) => {
            let hint = format!("several sessions in the trash match: {}", several.hint.unwrap_or_default());
            Some(found.candidates(several.candidates).hint(hint))
        }
    }
}

/// Describes an item for a typed name; one that is about no session has its label as the title.
fn candidate(key: usize, record: &ItemRecord) -> select::NameCandidate<'_, usize> {
    let label = Some(&record.label).filter(|_| record.id.is_none());
    let title = record.title.as_ref().or(label).map(String::as_str);
    select::NameCandidate { key, id: record.id.as_deref().unwrap_or_default(), title, is_subagent: false }
}

/// Returns the command that undoes an item, with its group.
fn undo_of(run: &Run, item: usize, env: &Env) -> String {
    let groups = run.groups();
    let is_alone = groups.iter().filter(|group| **group == groups[item]).nth(1).is_none();
    if run.items.len() == 1 || !is_alone || run.is_interrupted() {
        return format!("rejoin undo {}", run.id);
    }
    let record = &run.items[item].0;
    let is_its = |id: &Selector| items(run, id, env).is_ok_and(|items| items.contains(&item));
    let id = record.id.clone().filter(|id| id.parse().is_ok_and(|id| is_its(&id)));
    format!("rejoin undo {} {}", run.id, shell::word(&id.unwrap_or_else(|| name(record))))
}

/// Returns a name for an item that [`items`] finds: its session, or else its first path.
fn name(record: &ItemRecord) -> String {
    let path = record.steps.first().map(|step| step.path().display().to_string());
    let session = record.agent.as_ref().zip(record.id.as_ref()).map(|(agent, id)| format!("{agent}:{id}"));
    session.or(path).unwrap_or_default()
}

/// Lists items among which the user must choose.
fn ambiguous<'r>(message: String, found: impl Iterator<Item = (&'r Run, &'r ItemRecord)> + Clone) -> Refusal {
    let candidate = |(run, record): (&Run, &ItemRecord)| RefusalCandidate {
        select: format!("{} {}", run.id, shell::word(&name(record))),
        agent: record.agent.clone().unwrap_or_default(),
        id: record.id.clone().unwrap_or_default(),
        path: record.steps.first().map(|step| step.path().display().to_string()).unwrap_or_default(),
        title: record.title.clone().or_else(|| Some(record.label.clone())),
        active_at: Some(run.at.to_string()),
        ..RefusalCandidate::default()
    };
    let first = found.clone().next().map(candidate).unwrap_or_default();
    let hint = format!("choose one of them, such as with `rejoin undo {}`", first.select);
    Refusal::new(RefusalCode::Ambiguous, message).hint(hint).candidates(found.map(candidate).collect())
}
