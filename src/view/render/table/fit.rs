//! Fitting a table to a width: what is said in fewer words, which columns go, and what is cut.

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr as _;

use super::{Columns, GAP, Look, cell, is_closed};
use crate::format::text;
use crate::session::Session;
use crate::session::fields::Field;
use crate::system::env::Env;
use crate::view::render::fields;

/// The least that a title and a path are worth showing in, and what they get before other columns go for them.
const NARROWEST: [usize; 2] = [14, 12];
const COMFORTABLE: [usize; 2] = [20, 16];
/// Of the room that a title and paths share, so much is the paths' if both could use more.
const PATHS_SHARE: [usize; 2] = [2, 5];
/// Room for marks in words beside other columns.
const WIDEST_MARKS: usize = 30;

/// Returns the columns of a table, cut until a row fits the width.
pub(super) fn fitted(sessions: &[Session], env: &Env, look: &Look, width: usize) -> Columns {
    let is_shown = |field: &Field| !(look.has_groups && *field == Field::Dir);
    let is_chosen = look.fields.is_some();
    let mut shown: Vec<Field> = look.fields.clone().unwrap_or_else(|| {
        let counts = Field::COUNTS.into_iter().filter(|_| sessions.iter().any(|it| it.copy().prompts.is_some()));
        let (marks, others) = Field::OF_TABLES.split_last().unwrap_or((&Field::Marks, &[]));
        let is_elsewhere = |it: &Session| it.host().is_some_and(|host| host != env.hostname);
        let host = [Field::Host].into_iter().filter(|_| sessions.iter().any(is_elsewhere));
        host.chain(others.iter().copied().filter(is_shown)).chain(counts).chain([*marks]).collect()
    });
    let cells = shown.iter().map(|field| sessions.iter().map(|it| cell(*field, it, env, look)).collect()).collect();
    let mut columns = Columns { fields: std::mem::take(&mut shown), cells };
    let marks = columns.natural(Field::Marks).min(WIDEST_MARKS).min((width / 4).max("MARKS".len()));
    columns.cut(Field::Marks, |words| text::truncated(words, marks));
    if columns.needed(COMFORTABLE) > width {
        columns.say_times_shortly(sessions, env);
    }
    if !is_chosen {
        columns.leave_out(Field::Size, COMFORTABLE, width);
        for field in [Field::Replies, Field::Prompts, Field::Dir, Field::Active, Field::Agent, Field::Marks] {
            columns.leave_out(field, NARROWEST, width);
        }
        columns.leave_out(Field::Title, [1, 1], width);
    }
    columns.share_out(width);
    columns
}

/// Returns whether a column is a path, which is cut in its middle.
fn is_path(field: Field) -> bool {
    matches!(field, Field::Dir | Field::Path | Field::Project)
}

impl Columns {
    /// Returns the width of a column that is not cut.
    fn natural(&self, field: Field) -> usize {
        let Some(at) = self.at(field) else { return 0 };
        let widest = self.cells[at].iter().map(|cell| cell.width()).max().unwrap_or_default();
        widest.max(fields::heading(field).len())
    }

    fn at(&self, field: Field) -> Option<usize> {
        self.fields.iter().position(|known| *known == field)
    }

    fn has(&self, field: Field) -> bool {
        self.at(field).is_some()
    }

    /// Returns the room that a row takes if its title and each path get this much.
    fn needed(&self, [title, path]: [usize; 2]) -> usize {
        let column = |field: &Field| match field {
            Field::Title => self.natural(*field).min(title),
            field if is_path(*field) => self.natural(*field).min(path),
            field => self.natural(*field),
        };
        let gaps = self.fields.len().saturating_sub(1) * GAP;
        self.fields.iter().map(column).sum::<usize>() + gaps
    }

    /// Says "20h" instead of "20 hours ago".
    fn say_times_shortly(&mut self, sessions: &[Session], env: &Env) {
        for field in [Field::Active, Field::Created] {
            let Some(at) = self.at(field) else { continue };
            for (cell, session) in self.cells[at].iter_mut().zip(sessions) {
                let time = match field {
                    Field::Active => session.active_at(),
                    _ => session.copy().created_at.as_ref().map(|at| at.value),
                };
                let ago = text::short_ago(time, env.now);
                *cell = if field == Field::Active && is_closed(session) { format!("closed {ago}") } else { ago };
            }
        }
    }

    fn leave_out(&mut self, field: Field, least: [usize; 2], width: usize) {
        if let Some(at) = self.at(field).filter(|_| self.needed(least) > width) {
            self.fields.remove(at);
            self.cells.remove(at);
        }
    }

    /// Divides what is left among the title and the paths: a path gets its share, or what the title does not need.
    fn share_out(&mut self, width: usize) {
        let paths: Vec<Field> = self.fields.iter().copied().filter(|field| is_path(*field)).collect();
        let mut room = width.saturating_sub(self.needed([0, 0]));
        let title = if self.has(Field::Title) { self.natural(Field::Title) } else { 0 };
        for (at, path) in paths.iter().enumerate() {
            let [share, of] = if title > 0 { PATHS_SHARE } else { [1, 1] };
            let own = (room * share / of).max(room.saturating_sub(title)) / (paths.len() - at);
            let own = self.natural(*path).min(own.max(NARROWEST[1].min(room)));
            self.cut(*path, |text| text::truncated_path(text, own));
            room -= own;
        }
        self.cut(Field::Title, |text| text::truncated(text, room));
    }

    fn cut(&mut self, field: Field, shorten: impl Fn(&str) -> Cow<'_, str>) {
        let Some(at) = self.at(field) else { return };
        for cell in &mut self.cells[at] {
            if let Cow::Owned(short) = shorten(cell) {
                *cell = short;
            }
        }
    }
}
