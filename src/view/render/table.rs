//! Listings for users: a table that fits its terminal, one line per session.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;
use unicode_width::UnicodeWidthStr as _;

use crate::format::text;
use crate::session::facts::FieldValue;
use crate::session::fields::Field;
use crate::session::select::{ShortIds, list_number};
use crate::session::{Health, Session, marks};
use crate::system::env::Env;
use crate::view::grid::{self, Column, Fit, needed};
use crate::view::render::fields;
use crate::view::ui::Styles;

/// The layout of a table.
#[derive(Debug)]
pub(crate) struct TableLayout {
    /// The shortened ids.
    pub short: ShortIds,
    /// The requested columns; `None` for as many of the usual ones as fit.
    pub fields: Option<Vec<Field>>,
    /// Selects the usual columns of sessions in use.
    pub is_of_running: bool,
    /// Set to show marks as words on narrow terminals, too.
    pub is_wide: bool,
    /// Set to give each project a heading.
    pub has_groups: bool,
    /// Set to begin each line with its number, which selects the session.
    pub has_places: bool,
    /// Set if the sessions are sorted by size, so that the sizes are shown as long as the table has room for them.
    pub is_by_size: bool,
}

impl TableLayout {
    /// Minimum width of a table with words instead of letters for marks.
    const LEAST_FOR_WORDS: usize = 100;

    /// Returns whether marks are words in a table of this width.
    fn has_words(&self, width: usize) -> bool {
        self.is_wide || width >= Self::LEAST_FOR_WORDS
    }

    /// Returns whether the table may have letters, which are then explained.
    fn has_letters(&self, width: usize) -> bool {
        let has_marks =
            !self.is_of_running || self.fields.as_ref().is_some_and(|fields| fields.contains(&Field::Marks));
        has_marks && !self.has_words(width)
    }
}

/// Writes a table that fits the terminal, one line per session, whatever the sessions contain.
pub(crate) fn sessions(
    out: &mut impl Write,
    env: &Env,
    styles: &Styles,
    sessions: &[Session],
    look: &TableLayout,
) -> io::Result<()> {
    if sessions.is_empty() {
        return Ok(());
    }
    let width = env.terminal.columns();
    let Styles { header, strong, faint, .. } = styles;
    let mut lines = grid::lines(fitted(sessions, env, styles, look, width), width);
    writeln!(out, "{header}{}{header:#}", lines.next().unwrap_or_default())?;
    let mut group = None;
    for (at, line) in lines.enumerate() {
        let session = &sessions[at];
        if look.has_groups && group != Some(project(session)) {
            group = Some(project(session));
            let (dir, holds) = heading(&sessions[at..], env, width);
            writeln!(out, "{strong}{dir}{strong:#}{faint}{holds}{faint:#}")?;
        }
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Returns the project of a session: a directory, with the host that it is on.
fn project(session: &Session) -> (Option<&str>, Option<&Path>) {
    (session.host(), session.launch_dir())
}

/// Returns the name of the first session's project, and a summary of its sessions; both together fit the width.
fn heading(rest: &[Session], env: &Env, width: usize) -> (String, String) {
    let dir = rest[0].launch_dir();
    let own = || rest.iter().take_while(|session| project(session) == project(&rest[0]));
    let size: u64 = own().filter_map(|session| session.copy().size()).sum();
    let holds = format!("  {}, {}", text::count(own().count(), "session"), text::size(size));
    let holds = text::truncated(&holds, width / 2).into_owned();
    let name = match (rest[0].host().filter(|host| *host != env.hostname), dir) {
        (_, None) => "directory unknown".to_owned(),
        (None, Some(dir)) => shown_dir(dir, env),
        (Some(host), Some(dir)) => text::one_line(&format!("{host}:{}", dir.display())).into_owned(),
    };
    (text::truncated_path(&name, width - holds.width()).into_owned(), holds)
}

/// Formats a directory for users.
pub(crate) fn shown_dir(dir: &Path, env: &Env) -> String {
    text::one_line(&env.tilde(dir)).into_owned()
}

/// Returns the title or first prompt of a session, on one line.
pub(crate) fn title(session: &Session) -> String {
    match session.label() {
        Some(label) => text::one_line(label).into_owned(),
        None if session.health.contains(Health::UnknownFormat) => "(unknown format)".to_owned(),
        None => "(no prompt)".to_owned(),
    }
}

/// Formats a moment as its local time and its age.
pub(crate) fn moment(at: Timestamp, env: &Env) -> String {
    let (shown, ago) = (env.clock.local_time(at), text::ago(Some(at), env.clock.now));
    // An old time is shown as its date only.
    if shown.starts_with(&ago) { shown } else { format!("{shown}, {ago}") }
}

/// Formats the time of the last activity.
pub(crate) fn active(session: &Session, env: &Env) -> String {
    text::ago(session.active_at(), env.clock.now)
}

/// Describes the process that uses a session: "process 7, started 2 hours ago, waits for you".
pub(crate) fn holder(session: &Session, pid: u32, now: Timestamp) -> String {
    let process = session.process.unwrap_or_default();
    let started = process.started_at.map(|at| format!("started {}", text::ago(Some(at), now)));
    let activity = process.state.activity().map(str::to_owned);
    [Some(format!("process {pid}")), started, activity].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the text of a cell, before it is cut.
fn cell(field: Field, session: &Session, env: &Env, look: &TableLayout) -> String {
    match field {
        Field::Id => text::one_line(look.short.get(session)).into_owned(),
        Field::Title => title(session),
        Field::Marks if !look.has_words(env.terminal.columns()) => marks::letters(session),
        field => match field.value(session) {
            Some(FieldValue::Time(at)) => text::ago(Some(at), env.clock.now),
            Some(FieldValue::Path(path)) => shown_dir(path, env),
            Some(FieldValue::Number(bytes)) if field == Field::Size => text::size(bytes),
            Some(FieldValue::Tokens(tokens)) => text::short(tokens.total()),
            Some(value) => fields::words(&value, env),
            None if field == Field::Dir => "?".to_owned(),
            None if matches!(field, Field::Active | Field::Created) => text::ago(None, env.clock.now),
            None => String::new(),
        },
    }
}

/// Explains the letters in a table of these sessions, in lines of at most this width.
pub(crate) fn legend(sessions: &[Session], look: &TableLayout, env: &Env) -> Vec<String> {
    let width = env.terminal.columns();
    if !look.has_letters(width) {
        return Vec::new();
    }
    let letters = sessions.iter().flat_map(|session| marks::letters(session).into_bytes());
    let used: BTreeSet<char> = letters.map(char::from).collect();
    let entries = marks::Mark::ALL.iter().filter(|mark| used.contains(&mark.letter()));
    let entries: Vec<String> = entries.map(|mark| format!("{} {}", mark.letter(), mark.word())).collect();
    // A narrow table may not have the column.
    let has_column =
        || find_column(&mut fitted(sessions, env, &Styles::default(), look, width), Field::Marks).is_some();
    if entries.is_empty() || !has_column() { Vec::new() } else { text::flowed("Marks:", &entries, width) }
}

/// Minimum useful widths of a title and of a path, and the widths that they get before other columns are dropped.
const NARROWEST: [usize; 2] = [14, 12];
const COMFORTABLE: [usize; 2] = [28, 16];
/// The width that a title and a path get before marks in words shrink, and the minimum and maximum width of marks in
/// words.
const WANTED: [usize; 2] = [40, 16];
const MARKS: [usize; 2] = [14, 30];
/// Minimum width of a table with line numbers.
const LEAST_FOR_PLACES: usize = 80;

/// Returns the columns of a table for which there is room.
fn fitted(sessions: &[Session], env: &Env, styles: &Styles, look: &TableLayout, width: usize) -> Vec<Column> {
    let shown = look.fields.clone().unwrap_or_else(|| usual(sessions, env, look));
    let mut columns = Vec::with_capacity(shown.len() + 1);
    if look.has_places && width >= LEAST_FOR_PLACES {
        // A longer number would be parsed as the beginning of an id.
        let place = |at: usize| Some(at.to_string()).filter(|place| list_number(place).is_some()).unwrap_or_default();
        columns.push(Column::new("#", Fit::Number, (1..=sessions.len()).map(place)).styled(styles.faint));
    }
    let cells = |field: Field| sessions.iter().map(move |session| cell(field, session, env, look));
    columns.extend(shown.iter().map(|field| Column::new(&fields::heading(*field), fit(*field), cells(*field))));
    let all = needed(&columns, WANTED);
    if let Some(marks) = find_column(&mut columns, Field::Marks) {
        let others = all - needed(std::slice::from_ref(marks), WANTED);
        let most = width.saturating_sub(others).clamp(MARKS[0], MARKS[1]);
        marks.cut(|words| text::truncated(words, most));
    }
    if needed(&columns, COMFORTABLE) > width {
        say_times_shortly(&mut columns, sessions, env);
    }
    if look.fields.is_none() {
        let in_order = [
            (Field::Size, if look.is_by_size { NARROWEST } else { COMFORTABLE }),
            (Field::Dir, NARROWEST),
            (Field::Active, NARROWEST),
            (Field::Agent, NARROWEST),
            (Field::Marks, NARROWEST),
            // Columns that an option requested are dropped last.
            (Field::Since, NARROWEST),
            (Field::Tokens, NARROWEST),
            (Field::Cost, NARROWEST),
            (Field::Replies, NARROWEST),
            (Field::Prompts, NARROWEST),
            (Field::Pid, NARROWEST),
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
fn usual(sessions: &[Session], env: &Env, look: &TableLayout) -> Vec<Field> {
    let counts = Field::COUNTS.into_iter().filter(|_| sessions.iter().any(|it| it.copy().prompts.is_some()));
    let usage = Field::USAGE.into_iter().filter(|field| sessions.iter().any(|it| field.value(it).is_some()));
    let usual: &[Field] = if look.is_of_running { &Field::OF_RUNNING } else { &Field::OF_TABLES };
    let (last, others) = usual.split_last().unwrap_or((&Field::Marks, &[]));
    let others = others.iter().copied().filter(|field| !look.has_groups || *field != Field::Dir);
    let is_elsewhere = |it: &Session| it.host().is_some_and(|host| host != env.hostname);
    let host = [Field::Host].into_iter().filter(|_| sessions.iter().any(is_elsewhere));
    host.chain(others).chain(counts).chain(usage).chain([*last]).collect()
}

fn fit(field: Field) -> Fit {
    match field {
        Field::Title => Fit::Text,
        Field::Dir | Field::Path | Field::Project => Fit::Path,
        Field::Size | Field::Prompts | Field::Replies | Field::Copies | Field::Pid => Fit::Number,
        Field::Tokens | Field::Cost => Fit::Number,
        _ => Fit::Whole,
    }
}

fn find_column(columns: &mut [Column], field: Field) -> Option<&mut Column> {
    columns.iter_mut().find(|column| column.head == fields::heading(field))
}

/// Shortens times in columns: "20h" instead of "20 hours ago".
fn say_times_shortly(columns: &mut [Column], sessions: &[Session], env: &Env) {
    for field in [Field::Active, Field::Created, Field::Since] {
        let Some(column) = find_column(columns, field) else { continue };
        for (cell, session) in column.cells.iter_mut().zip(sessions) {
            match field.value(session) {
                Some(FieldValue::Time(at)) => *cell = text::short_ago(Some(at), env.clock.now),
                _ if field == Field::Since => {}
                _ => *cell = text::short_ago(None, env.clock.now),
            }
        }
    }
}
