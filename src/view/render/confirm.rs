//! The explanation before a question: the sessions to remove, and the run to undo.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::format::text;
use crate::session::Session;
use crate::session::fields::Field;
use crate::session::select::{ShortIds, short_among};
use crate::system::env::Env;
use crate::view::render::table::{self, TableLayout};
use crate::view::ui::Styles;
use changes::journal::{ItemRecord, ItemState, Run};

/// Maximum sessions that are named before a question.
const NAMED: usize = 10;
/// Maximum projects that are named in a total.
const PROJECTS: usize = 5;

/// Describes the sessions that would be removed: the first of them in a table, and all by agent and project.
pub(crate) fn removal(sessions: &[&Session], env: &Env) -> Vec<String> {
    let mut newest = sessions.to_vec();
    newest.sort_by_key(|session| Reverse(session.recency()));
    let named: Vec<Session> = newest.into_iter().take(NAMED).cloned().collect();
    let fields = Field::OF_TABLES.into_iter().filter(|field| *field != Field::Marks).collect();
    let look = TableLayout {
        short: ShortIds::from_sessions(&named),
        fields: Some(fields),
        is_of_running: false,
        is_wide: false,
        has_groups: false,
        has_places: false,
        is_by_size: false,
    };
    let mut rows = Vec::new();
    // Writing to memory does not fail.
    let _ = table::sessions(&mut rows, env, &Styles::default(), &named, &look);
    let mut lines: Vec<String> = String::from_utf8_lossy(&rows).lines().map(str::to_owned).collect();
    if sessions.len() > NAMED {
        lines.push(format!("and {} more", sessions.len() - NAMED));
        let width = env.terminal.columns();
        let by_agent = totals(sessions, |session| session.agent.name().to_owned());
        lines.extend(text::flowed("By agent:", &by_agent, width));
        let dir = |session: &Session| {
            session.launch_dir().map_or_else(|| "directory unknown".to_owned(), |dir| table::shown_dir(dir, env))
        };
        let mut by_project = totals(sessions, dir);
        if by_project.len() > PROJECTS {
            let more = by_project.split_off(PROJECTS).len();
            by_project.push(format!("{more} more"));
        }
        lines.extend(text::flowed("By project:", &by_project, width));
    }
    lines
}

/// Counts sessions by a name, the largest count first.
fn totals(sessions: &[&Session], name: impl Fn(&Session) -> String) -> Vec<String> {
    let mut counts: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for session in sessions {
        let (count, bytes) = counts.entry(name(session)).or_default();
        *count += 1;
        *bytes += session.copy().size().unwrap_or_default();
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, (count, _))| Reverse(*count));
    counts.into_iter().map(|(name, (count, bytes))| format!("{name} {count} ({})", text::size(bytes))).collect()
}

/// Describes the run that would be undone.
pub(crate) fn undo(run: &Run, env: &Env) -> Vec<String> {
    /// Maximum items of a run that are named.
    const ITEMS: usize = 5;
    let done: Vec<_> = run.items.iter().filter(|(_, state)| *state == ItemState::Done).collect();
    let when = text::ago(Some(run.at), env.clock.now);
    let what = text::count(done.len(), "change");
    let mut lines = vec![format!("Run {} (rejoin {}), {when}: {what}", run.id, run.verb)];
    let named = |record: &ItemRecord| {
        let id = record.id.as_deref().unwrap_or_default();
        let others = done.iter().filter_map(|(other, _)| other.id.as_deref());
        text::one_line(&record.named().replacen(id, short_among(id, others), 1)).into_owned()
    };
    lines.extend(done.iter().take(ITEMS).map(|(record, _)| format!("  {}", named(record))));
    if done.len() > ITEMS {
        lines.push(format!("  and {} more", done.len() - ITEMS));
    }
    lines
}
