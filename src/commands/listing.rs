//! The rules of a listing, shared by the commands that list sessions: selection, order, limit and layout.

use std::path::Path;

use crate::cli::{Format, ListArgs};
use crate::session::Session;
use crate::session::fields::Field;
use crate::session::select::{self, Filter, ShortIds, SortKey};
use crate::system::env::Terminal;
use crate::view::render::list::ListLayout;
use crate::view::render::table::TableLayout;

/// Lines of a screen that are kept for the head of a table and for the next prompt.
const AROUND_TABLE: usize = 3;
/// Lines that are kept for notes before they are known.
const NOTES: usize = 3;
/// Minimum lines of a table on a very small screen.
const FEWEST: usize = 3;

/// Returns whether a user reads the table on this terminal, so that notes are printed below it.
pub(super) fn says_more(args: &ListArgs, terminal: &Terminal) -> bool {
    terminal.stdout && args.format.for_list(terminal.stdout) == Format::Table
}

/// Returns whether the marks of the sessions are part of the answer.
pub(super) fn shows_marks(args: &ListArgs, terminal: &Terminal) -> bool {
    let is_table = args.format.for_list(terminal.stdout) == Format::Table && !args.running;
    args.fields.contains(&Field::Marks) || (is_table && args.fields.is_empty())
}

/// Returns whether the processes of the sessions are part of the answer.
pub(super) fn shows_processes(args: &ListArgs, terminal: &Terminal) -> bool {
    let has_fields = args.running || args.fields.iter().any(|field| field.needs_process());
    has_fields || args.format.for_list(terminal.stdout).is_json()
}

/// Decides the layout of the sessions; ids are shortened so that they are unique among all sessions.
pub(super) fn layout(args: &ListArgs, short: impl FnOnce() -> ShortIds, terminal: &Terminal) -> ListLayout {
    let fields = || {
        if args.fields.is_empty() { args.usual_fields().collect() } else { args.fields.clone() }
    };
    match args.format.for_list(terminal.stdout) {
        Format::Table => ListLayout::Table(TableLayout {
            short: short(),
            fields: Some(args.fields.clone()).filter(|fields| !fields.is_empty()),
            is_of_running: args.running,
            is_wide: args.wide,
            has_groups: args.group.is_some(),
            has_places: args.has_places() && terminal.stdout,
            is_by_size: args.order() == SortKey::Size,
        }),
        Format::Csv => ListLayout::Csv { fields: fields(), has_head: true },
        _ => ListLayout::Lines(fields()),
    }
}

/// Returns the format of a listing as a document; its layout writes tables and rows.
pub(super) fn document(args: &ListArgs) -> Format {
    Some(args.format.for_text()).filter(|format| format.is_json()).unwrap_or(Format::Table)
}

/// Filters and sorts sessions, which come in order of agent and id; returns the number that only `--all` shows.
pub(super) fn put_in_order(sessions: &mut Vec<Session>, filter: &Filter, key: SortKey) -> usize {
    sessions.retain(|session| filter.matches(session));
    let matching = sessions.len();
    sessions.retain(|session| filter.shows_kind(session));
    select::sort(sessions, key, false);
    matching - sessions.len()
}

/// Truncates sessions to the limit, in the requested order; returns the number of those beyond.
pub(super) fn cut(sessions: &mut Vec<Session>, args: &ListArgs) -> usize {
    if args.reverse {
        select::reverse(sessions, args.order());
    }
    if args.group.is_some() {
        select::put_projects_together(sessions, |session| session.launch_dir().map(Path::to_owned));
    }
    let shown = args.limit.filter(|limit| *limit > 0).unwrap_or(sessions.len());
    let beyond_limit = sessions.len().saturating_sub(shown);
    sessions.truncate(shown);
    beyond_limit
}

/// Returns the number of lines of a table that fit the screen with usual notes.
pub(super) fn room_of_screen(terminal: &Terminal) -> Option<usize> {
    terminal.height.map(|height| room(height, NOTES))
}

fn room(height: u16, notes: usize) -> usize {
    usize::from(height).saturating_sub(AROUND_TABLE + notes).max(FEWEST)
}

/// Returns the number of sessions that fit the screen, unless there is a limit. `notes` returns the number of lines
/// below a table of that many sessions.
pub(super) fn screenful(
    sessions: &[Session],
    args: &ListArgs,
    terminal: &Terminal,
    mut notes: impl FnMut(usize) -> usize,
) -> usize {
    let height = terminal.height.filter(|_| args.limit.is_none() && says_more(args, terminal));
    let Some(height) = height else { return sessions.len() };
    let dir = |at: usize| sessions[at].launch_dir();
    let begins_group = |at: usize| args.group.is_some() && (at == 0 || dir(at) != dir(at - 1));
    let mut shown = sessions.len();
    loop {
        let room = room(height, notes(shown));
        let lines = (0..shown).scan(0, |used, at| {
            *used += 1 + usize::from(begins_group(at));
            Some(*used)
        });
        let fits = lines.take_while(|used| *used <= room).count();
        if fits == shown {
            return shown;
        }
        shown = fits;
    }
}
