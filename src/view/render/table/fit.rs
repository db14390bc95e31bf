//! The columns of a list of sessions, and the length of their words.

use super::{Look, cell, is_closed, started_at};
use crate::format::text;
use crate::session::Session;
use crate::session::fields::Field;
use crate::session::select::list_number;
use crate::system::env::Env;
use crate::view::grid::{Column, Fit, needed};
use crate::view::render::fields;
use crate::view::ui::Styles;

/// Minimum useful widths of a title and of a path, and the widths that they get before other columns are dropped.
const NARROWEST: [usize; 2] = [14, 12];
const COMFORTABLE: [usize; 2] = [28, 16];
/// The width that a title and a path get before marks in words shrink, and the narrowest and the widest column of those.
const WANTED: [usize; 2] = [40, 16];
const MARKS: [usize; 2] = [14, 30];
/// A narrower table has no room for the numbers of its lines.
const LEAST_FOR_PLACES: usize = 80;

/// Returns the columns of a table for which there is room.
pub(super) fn fitted(sessions: &[Session], env: &Env, styles: &Styles, look: &Look, width: usize) -> Vec<Column> {
    let shown = look.fields.clone().unwrap_or_else(|| usual(sessions, env, look));
    let mut columns = Vec::with_capacity(shown.len() + 1);
    if look.has_places && width >= LEAST_FOR_PLACES {
        // A longer number is the beginning of an id.
        let place = |at: usize| Some(at.to_string()).filter(|place| list_number(place).is_some()).unwrap_or_default();
        columns.push(Column::new("#", Fit::Number, (1..=sessions.len()).map(place)).styled(styles.faint));
    }
    let cells = |field: Field| sessions.iter().map(move |session| cell(field, session, env, look));
    columns.extend(shown.iter().map(|field| Column::new(fields::heading(*field), fit(*field), cells(*field))));
    let all = needed(&columns, WANTED);
    if let Some(marks) = find(&mut columns, Field::Marks) {
        let others = all - needed(std::slice::from_ref(marks), WANTED);
        let most = width.saturating_sub(others).clamp(MARKS[0], MARKS[1]);
        marks.cut(|words| text::truncated(words, most));
    }
    if needed(&columns, COMFORTABLE) > width {
        say_times_shortly(&mut columns, sessions, env);
    }
    if look.fields.is_none() {
        let in_order = [
            (Field::Size, COMFORTABLE),
            (Field::Replies, NARROWEST),
            (Field::Prompts, NARROWEST),
            (Field::Pid, NARROWEST),
            (Field::Dir, NARROWEST),
            (Field::Since, NARROWEST),
            (Field::Active, NARROWEST),
            (Field::Agent, NARROWEST),
            (Field::Marks, NARROWEST),
            (Field::State, NARROWEST),
            (Field::Title, [1, 1]),
        ];
        for (field, least) in in_order {
            if needed(&columns, least) > width {
                columns.retain(|column| column.head != fields::heading(field));
            }
        }
    }
    columns
}

/// Returns the default columns of a table.
fn usual(sessions: &[Session], env: &Env, look: &Look) -> Vec<Field> {
    let counts = Field::COUNTS.into_iter().filter(|_| sessions.iter().any(|it| it.copy().prompts.is_some()));
    let usual: &[Field] = if look.is_of_running { &Field::OF_RUNNING } else { &Field::OF_TABLES };
    let (last, others) = usual.split_last().unwrap_or((&Field::Marks, &[]));
    let others = others.iter().copied().filter(|field| !look.has_groups || *field != Field::Dir);
    let is_elsewhere = |it: &Session| it.host().is_some_and(|host| host != env.hostname);
    let host = [Field::Host].into_iter().filter(|_| sessions.iter().any(is_elsewhere));
    host.chain(others).chain(counts).chain([*last]).collect()
}

fn fit(field: Field) -> Fit {
    match field {
        Field::Title => Fit::Text,
        Field::Dir | Field::Path | Field::Project => Fit::Path,
        Field::Size | Field::Prompts | Field::Replies | Field::Copies | Field::Pid => Fit::Number,
        _ => Fit::Whole,
    }
}

fn find(columns: &mut [Column], field: Field) -> Option<&mut Column> {
    columns.iter_mut().find(|column| column.head == fields::heading(field))
}

/// Writes "20h" instead of "20 hours ago".
fn say_times_shortly(columns: &mut [Column], sessions: &[Session], env: &Env) {
    for field in [Field::Active, Field::Created, Field::Since] {
        let Some(column) = find(columns, field) else { continue };
        for (cell, session) in column.cells.iter_mut().zip(sessions) {
            let time = match field {
                Field::Active => session.active_at(),
                Field::Since => started_at(session),
                _ => session.copy().created_at.as_ref().map(|at| at.value),
            };
            if field == Field::Since && time.is_none() {
                continue;
            }
            let ago = text::short_ago(time, env.clock.now);
            *cell = if field == Field::Active && is_closed(session) { format!("closed {ago}") } else { ago };
        }
    }
}
