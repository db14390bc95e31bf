//! Resolves typed text to one session in the trash.

use std::collections::BTreeSet;

use crate::change::apply::history;
use crate::change::apply::in_use::agent_of;
use crate::session::select::{Filter, Selector};
use crate::system::env::Env;
use changes::journal::{ItemRecord, Run, State, StepRecord};

/// Returns a hint with the command that restores the session of a selector, if it is in the trash.
pub(super) fn hint(selector: &Selector, filter: &Filter, env: &Env) -> Option<String> {
    let Selector::Id { agent, text } = selector else { return None };
    // `undo` and `doctor` report an unreadable journal.
    let history = history::read(env).ok()?;
    // A session that a later run put in place is not restored from an earlier one.
    let mut later = BTreeSet::new();
    let mut entries: Vec<(&Run, &ItemRecord)> = Vec::new();
    for run in &history.runs {
        let kept = run.trash().map(|(item, _)| &run.items[item].0);
        entries.extend(kept.filter(|record| !later.contains(&(&record.agent, &record.id))).map(|record| (run, record)));
        let is_put = |step: &StepRecord| matches!(step, StepRecord::Put { .. });
        let stays = |state: &State| matches!(state, State::Done | State::Stuck(_));
        let put = run.items.iter().filter(|(record, state)| stays(state) && record.steps.iter().any(is_put));
        later.extend(put.map(|(record, _)| (&record.agent, &record.id)));
    }
    let is_meant = |record: &ItemRecord| {
        record.is_whole_session()
            && agent.is_none_or(|agent| agent_of(record) == Some(agent))
            && agent_of(record).is_some_and(|agent| filter.has_agent(agent))
    };
    let text = text.to_lowercase();
    let found = |fits: &dyn Fn(&ItemRecord) -> bool| {
        // The newest run is first. It has the newest state of a session that was removed twice.
        let mut known = BTreeSet::new();
        let fitting = entries.iter().filter(|(_, record)| is_meant(record) && fits(record));
        fitting.filter(|(_, record)| known.insert((record.agent.clone(), record.id.clone()))).collect::<Vec<_>>()
    };
    let has_id = |record: &ItemRecord| record.id.as_ref().is_some_and(|id| id.to_lowercase().starts_with(&text));
    let has_title =
        |record: &ItemRecord| record.title.as_ref().is_some_and(|title| title.to_lowercase().contains(&text));
    let by_id = found(&has_id);
    let command = match if by_id.is_empty() { found(&has_title) } else { by_id }.as_slice() {
        [] => return None,
        [(run, _)] if run.items.len() == 1 => format!("rejoin undo {}", run.id),
        [(run, record)] => run.undo_of(record.item),
        _ => return Some("several sessions in the trash match; run `rejoin trash list` to see them".to_owned()),
    };
    Some(format!("it is in the trash; run `{command}` to put it back"))
}
